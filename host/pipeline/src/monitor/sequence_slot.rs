//! A sequence number from its assignment until the committer receives its commit.

use tokio::sync::mpsc;
use tollgate_model::sequence::Sequence;

use crate::monitor::group::Commit;

/// A message to the committer about one number.
#[derive(Debug)]
pub(super) enum CommitMessage {
    /// The transaction was judged, or the update took effect.
    Ready(Box<Commit>),
    /// The number was dropped, because its owner failed.
    Lost(Sequence),
}

/// An assigned sequence number. The committer waits for every number, so dropping this unfilled reports the number as
/// lost.
#[derive(Debug)]
pub(super) struct SequenceSlot {
    sequence: Sequence,
    /// Taken when the message is sent.
    committer: Option<mpsc::UnboundedSender<CommitMessage>>,
}

impl CommitMessage {
    pub(super) fn sequence(&self) -> Sequence {
        match self {
            CommitMessage::Ready(commit) => commit.sequence(),
            CommitMessage::Lost(sequence) => *sequence,
        }
    }

    /// Answers the callers that they should retry.
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
            // If the committer is gone, dropping the waiter notifies the callers.
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
