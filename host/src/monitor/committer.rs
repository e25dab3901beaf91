//! Group commit, in the order of the sequence numbers.
//!
//! INVARIANT: the store holds a prefix of the accepted sequence. A transaction is committed only after every one with a
//! lower number, because it may have counted it. When a commit fails, the group and everything accepted behind it is
//! taken back from the history and answered 503.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use tollgate_guest_abi::Verdict;

use crate::assessment::{Assessment, RuleFailure};
use crate::history::History;
use crate::monitor::pending::Ticket;
use crate::monitor::place::News;
use crate::monitor::{Means, MonitorError};
use crate::sequence::Sequence;
use crate::store::{Store, StoreError, TransactionRecord};
use crate::telemetry::logs::Causes;
use crate::telemetry::metrics::{InFlight, Metrics};

/// Most transactions of one commit.
const GROUP_MAX: usize = 512;

/// A judged transaction that waits to become durable.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) record: TransactionRecord,
    pub(super) counted: Counted,
    pub(super) ticket: Ticket,
    pub(super) under_way: UnderWay,
}

/// Held until the answer is given: it bounds what is under way, and counts it.
#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) _counted: InFlight,
}

/// What the metrics hear of a transaction, once it is durable.
#[derive(Debug)]
pub(super) struct Counted {
    verdict: Verdict,
    failures: Vec<RuleFailure>,
    evaluation_time: Duration,
}

impl Counted {
    pub(super) fn of(assessment: &Assessment, evaluation_time: Duration) -> Self {
        let failures = assessment.failures.iter().map(|failed| failed.failure).collect();
        Self { verdict: assessment.verdict, failures, evaluation_time }
    }
}

/// The one writer of transactions.
pub(super) struct Committer {
    store: Store,
    history: Arc<History>,
    metrics: Arc<Metrics>,
    /// The lowest number not committed and not taken back.
    next: Sequence,
    /// Heard of, but not yet of a lower number.
    waiting: BTreeMap<Sequence, News>,
}

impl Committer {
    pub(super) fn new(means: &Means) -> Self {
        Self {
            store: means.store.clone(),
            history: Arc::clone(&means.history),
            metrics: Arc::clone(&means.metrics),
            next: means.history.last_sequence().next(),
            waiting: BTreeMap::new(),
        }
    }

    /// Commits until nobody can send any more. Whatever arrives during one commit makes up the next: alone, a
    /// transaction is committed at once; under load, groups grow by themselves.
    ///
    /// Ends early when the disk does not confirm a write: what is on it then, only a restart can tell.
    pub(super) async fn run(mut self, mut arriving: mpsc::UnboundedReceiver<News>) -> Result<(), StoreError> {
        let mut arrived = Vec::with_capacity(GROUP_MAX);
        while arriving.recv_many(&mut arrived, GROUP_MAX).await > 0 {
            self.sort_in(&mut arrived);
            loop {
                let group = self.take_group();
                if !group.is_empty() {
                    self.commit(group).await?;
                } else if !self.give_up_lost() {
                    break;
                }
                while arrived.len() < GROUP_MAX
                    && let Ok(news) = arriving.try_recv()
                {
                    arrived.push(news);
                }
                self.sort_in(&mut arrived);
            }
        }
        Ok(())
    }

    fn sort_in(&mut self, arrived: &mut Vec<News>) {
        for news in arrived.drain(..) {
            if news.sequence() < self.next {
                // Taken back while it was being judged.
                news.refuse();
            } else {
                self.waiting.insert(news.sequence(), news);
            }
        }
    }

    /// The transactions whose turn it is: consecutive numbers from `next`.
    fn take_group(&mut self) -> Vec<Commit> {
        let mut group = Vec::new();
        while group.len() < GROUP_MAX
            && let Some(entry) = self.waiting.first_entry()
            && *entry.key() == self.next
            && let News::Judged(_) = entry.get()
        {
            if let News::Judged(commit) = entry.remove() {
                group.push(*commit);
            }
            self.next = self.next.next();
        }
        group
    }

    /// Takes back a transaction that will never be judged, and all behind it; whether the next number was such a one.
    fn give_up_lost(&mut self) -> bool {
        let is_lost = matches!(self.waiting.get(&self.next), Some(News::Lost(_)));
        if is_lost {
            tracing::error!(
                sequence = self.next.0,
                "a transaction was lost while it was judged; it is taken back"
            );
            self.take_back(self.next);
        }
        is_lost
    }

    async fn commit(&mut self, group: Vec<Commit>) -> Result<(), StoreError> {
        let started = Instant::now();
        let (records, waiting): (Vec<_>, Vec<_>) = group
            .into_iter()
            .map(|Commit { record, counted, ticket, under_way }| (record, (counted, ticket, under_way)))
            .unzip();
        match self.store.record(&records).await {
            Ok(()) => {
                if let Some(last) = records.last() {
                    self.history.settle(last.sequence);
                }
                self.metrics.committed(records.len(), started.elapsed());
                for (record, (counted, ticket, _under_way)) in records.into_iter().zip(waiting) {
                    self.count(&counted);
                    log_verdict(&record);
                    ticket.settle(Ok(record.assessment.into())).ok();
                }
            }
            Err(error) => {
                let first = records.first().map_or(self.next, |record| record.sequence);
                // Before anybody hears of it: who tries again at once must not meet what is taken back.
                self.take_back(first);
                for (_, ticket, _under_way) in waiting {
                    ticket.settle(Err(MonitorError::Unavailable)).ok();
                }
                return self.judge_failure(error, records.len());
            }
        }
        Ok(())
    }

    /// Whether to go on after a commit that failed.
    fn judge_failure(&self, error: StoreError, n_transactions: usize) -> Result<(), StoreError> {
        self.metrics.commit_failed();
        if matches!(error, StoreError::SyncFailed { .. }) {
            tracing::error!(error = %Causes(&error), n_transactions, "a commit was not confirmed; it may be stored");
            return Err(error);
        }
        tracing::error!(error = %Causes(&error), n_transactions, "a commit failed; nothing of it was stored");
        Ok(())
    }

    fn count(&self, counted: &Counted) {
        self.metrics.judged(counted.verdict, counted.evaluation_time);
        counted.failures.iter().for_each(|&failure| self.metrics.rule_failed(failure));
    }

    /// Undoes everything accepted from `first` on: none of it is stored, all of it may have been counted.
    fn take_back(&mut self, first: Sequence) {
        self.next = self.history.retract_from(first);
        let kept = self.waiting.split_off(&self.next);
        std::mem::replace(&mut self.waiting, kept).into_values().for_each(News::refuse);
    }
}

impl Commit {
    pub(super) fn refuse(self) {
        self.ticket.settle(Err(MonitorError::Unavailable)).ok();
    }
}

/// Verdicts are logged locally, whoever else hears of them: the canonical answer, without the transaction's fields.
fn log_verdict(record: &TransactionRecord) {
    tracing::debug!(
        transaction.id = %record.transaction_id,
        sequence = record.sequence.0,
        assessment = %record.assessment,
        "transaction judged"
    );
}
