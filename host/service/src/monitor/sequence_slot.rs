//! A number given away, until the committer has heard what became of it.

use tokio::sync::mpsc;
use tollgate_model::sequence::Sequence;

use crate::monitor::group::Commit;

/// What the committer hears of a number.
#[derive(Debug)]
pub(super) enum CommitMessage {
    /// Its transaction was judged, or its update took effect.
    Ready(Box<Commit>),
    /// That will never be: whoever had it went down.
    Lost(Sequence),
}

/// A place in the sequence. The committer waits for every number, so it is told even when this is dropped on the way.
#[derive(Debug)]
pub(super) struct SequenceSlot {
    sequence: Sequence,
    /// Taken when the news is sent.
    committer: Option<mpsc::UnboundedSender<CommitMessage>>,
}

impl CommitMessage {
    pub(super) fn sequence(&self) -> Sequence {
        match self {
            CommitMessage::Ready(commit) => commit.sequence(),
            CommitMessage::Lost(sequence) => *sequence,
        }
    }

    /// Tells whoever waits for it to try again.
    pub(super) fn refuse(self) {
        match self {
            CommitMessage::Ready(commit) => commit.refuse(),
            CommitMessage::Lost(_) => {}
        }
    }
}

impl SequenceSlot {
    pub(super) const fn sequence(&self) -> Sequence {
        self.sequence
    }

    pub(super) const fn new(sequence: Sequence, committer: mpsc::UnboundedSender<CommitMessage>) -> Self {
        Self { sequence, committer: Some(committer) }
    }

    pub(super) fn fill(mut self, commit: Commit) {
        if let Some(committer) = self.committer.take() {
            // A committer that is gone has nobody to answer: the ticket tells them when it is dropped.
            drop(committer.send(CommitMessage::Ready(Box::new(commit))));
        }
    }
}

impl Drop for SequenceSlot {
    fn drop(&mut self) {
        if let Some(committer) = self.committer.take() {
            drop(committer.send(CommitMessage::Lost(self.sequence)));
        }
    }
}
