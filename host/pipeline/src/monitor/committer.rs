//! Group commit, in the order of the sequence numbers.
//!
//! INVARIANT: the store holds a prefix of the accepted sequence of transactions and status updates. A transaction is
//! committed only after everything with a lower number, because it may have counted it. When a commit fails, its group
//! and everything accepted after it are removed from the history and answered with 503.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tollgate_history::History;
use tollgate_model::sequence::Sequence;
use tollgate_store::{Store, StoreError};

use crate::alerting::Alerting;
use crate::monitor::MonitorDeps;
use crate::monitor::group::{self, Commit};
use crate::monitor::sequence_slot::CommitMessage;
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::ReadinessCheck;

/// Maximum number of transactions and updates in one commit; the rest waits for the next.
const GROUP_MAX: usize = 512;

/// Time between two log lines about commits that fail.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// Receives the result when the committer ends.
pub type Committing = oneshot::Receiver<Result<(), StoreError>>;

pub(super) struct Committer {
    store: Store,
    history: Arc<History>,
    metrics: Arc<Metrics>,
    check: ReadinessCheck,
    failures: CommitFailures,
    alerting: Alerting,
    /// The lowest number that is neither committed nor taken back.
    next: Sequence,
    /// Messages received before that of a lower number.
    waiting: BTreeMap<Sequence, CommitMessage>,
}

impl Committer {
    pub(super) fn new(deps: &MonitorDeps) -> Self {
        Self {
            store: deps.store.clone(),
            history: Arc::clone(&deps.history),
            metrics: Arc::clone(&deps.metrics),
            check: deps.commits.clone(),
            failures: CommitFailures::default(),
            alerting: deps.alerting.clone(),
            next: deps.history.last_sequence().next(),
            waiting: BTreeMap::new(),
        }
    }

    /// Commits on a dedicated thread, so that the system schedules commits even when requests flood the runtime.
    pub(super) fn start(
        self,
        arriving: mpsc::UnboundedReceiver<CommitMessage>,
    ) -> std::io::Result<Committing> {
        let executor = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let (end, committing) = oneshot::channel();
        thread::Builder::new().name("commit".to_owned()).spawn(move || {
            // The receiver is gone once the service has ended.
            end.send(executor.block_on(self.run(arriving))).ok();
        })?;
        Ok(committing)
    }

    /// Commits until all senders are gone. Messages that arrive during one commit form the next group: a single
    /// transaction is committed at once, and groups grow under load.
    ///
    /// Returns an error when the disk does not confirm a write: only a restart can then determine what is stored.
    async fn run(mut self, mut arriving: mpsc::UnboundedReceiver<CommitMessage>) -> Result<(), StoreError> {
        let mut arrived = Vec::with_capacity(GROUP_MAX);
        while arriving.recv_many(&mut arrived, GROUP_MAX).await > 0 {
            self.sort_in(&mut arrived);
            loop {
                let group = self.take_group();
                if let [first, .., last] | [first @ last] = &*group {
                    let (first, last) = (first.sequence(), last.sequence());
                    self.commit(group, first, last).await?;
                } else if !self.give_up_lost() {
                    break;
                }
                // Lets threads that wait for a core run first; their messages join the next group.
                thread::yield_now();
                while arrived.len() < GROUP_MAX
                    && let Ok(message) = arriving.try_recv()
                {
                    arrived.push(message);
                }
                self.sort_in(&mut arrived);
            }
        }
        Ok(())
    }

    fn sort_in(&mut self, arrived: &mut Vec<CommitMessage>) {
        for message in arrived.drain(..) {
            if message.sequence() < self.next {
                // It was taken back while it was evaluated.
                message.refuse();
            } else {
                self.waiting.insert(message.sequence(), message);
            }
        }
    }

    /// Takes the commits with consecutive numbers from `next`.
    fn take_group(&mut self) -> Vec<Commit> {
        let mut group = Vec::new();
        while group.len() < GROUP_MAX
            && let Some(entry) = self.waiting.first_entry()
            && *entry.key() == self.next
            && let CommitMessage::Ready(_) = entry.get()
        {
            if let CommitMessage::Ready(commit) = entry.remove() {
                group.push(*commit);
            }
            self.next = self.next.next();
        }
        group
    }

    /// Takes back a lost number and everything after it. Returns whether the next number was lost.
    fn give_up_lost(&mut self) -> bool {
        let is_lost = matches!(self.waiting.get(&self.next), Some(CommitMessage::Lost(_)));
        if is_lost {
            tracing::error!(
                sequence = self.next.0,
                "a transaction or an update did not complete; it is rolled back"
            );
            self.take_back(self.next);
        }
        is_lost
    }

    async fn commit(
        &mut self,
        group: Vec<Commit>,
        first: Sequence,
        last: Sequence,
    ) -> Result<(), StoreError> {
        let started = Instant::now();
        match self.store.commit(&group::record_of(&group, self.alerting.keeps_alerts())).await {
            Ok(()) => {
                self.history.settle(last);
                if self.failures.end() {
                    self.check.ok();
                }
                self.metrics.committed(group.len(), started.elapsed());
                let alerts = group::complete(group, &self.metrics);
                // Last: whoever waits for a verdict does not wait for this.
                self.alerting.announce(&alerts);
            }
            Err(error) => {
                let n_rolled_back = group.len();
                // Before the callers are notified, so that an immediate retry does not see the entries.
                self.take_back(first);
                group.into_iter().for_each(Commit::refuse);
                return self.judge_failure(error, n_rolled_back);
            }
        }
        Ok(())
    }

    /// Returns an error if the committer must end after this failure.
    fn judge_failure(&mut self, error: StoreError, n_rolled_back: usize) -> Result<(), StoreError> {
        self.metrics.commit_failed();
        if matches!(error, StoreError::SyncFailed { .. }) {
            tracing::error!(
                error = %ErrorChain(&error),
                n_kept = n_rolled_back,
                "a commit was not confirmed; it may be stored"
            );
            return Err(error);
        }
        self.failures.note(&error, n_rolled_back);
        self.check.failing(format!("the last commit failed: {}", ErrorChain(&error)));
        Ok(())
    }

    /// Undoes everything accepted from `first` on: none of it is stored, all of it may have been counted.
    fn take_back(&mut self, first: Sequence) {
        self.next = self.history.retract_from(first);
        let kept = self.waiting.split_off(&self.next);
        std::mem::replace(&mut self.waiting, kept).into_values().for_each(CommitMessage::refuse);
    }
}

/// Commits that failed in a row. The log tells of them once a second.
#[derive(Debug, Default)]
struct CommitFailures {
    has_failed: bool,
    last_logged: Option<Instant>,
    n_commits: u64,
    n_transactions: u64,
}

impl CommitFailures {
    fn note(&mut self, error: &StoreError, n_transactions: usize) {
        self.has_failed = true;
        self.n_commits += 1;
        self.n_transactions += n_transactions as u64;
        if self.last_logged.is_none_or(|logged| logged.elapsed() >= BETWEEN_LINES) {
            tracing::error!(
                error = %ErrorChain(error),
                commits = self.n_commits,
                transactions = self.n_transactions,
                "commits failed since the last such line; nothing of them was stored"
            );
            *self = Self { has_failed: true, last_logged: Some(Instant::now()), ..Self::default() };
        }
    }

    /// Returns whether there were any before this commit, which succeeded.
    const fn end(&mut self) -> bool {
        std::mem::replace(&mut self.has_failed, false)
    }
}
