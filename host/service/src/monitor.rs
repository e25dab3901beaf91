//! The transaction river: admit, evaluate, commit, answer.
//!
//! ```text
//!  judge ─▶ pending ─▶ known to the store? ──yes──▶ the stored answer, or a conflict
//!              │              │ no
//!              │              ▼
//!              │   history.admit: number and rule set, under one short lock
//!              │              ▼
//!              │        pool: evaluate, in parallel, as of the own number
//!              │              ▼
//!              └───── committer: durable, in order of the numbers, many at once ──▶ answer
//! ```
//!
//! A report of a ledger on a known transaction takes another way: the *updater* waits until the evaluations under way are
//! over, changes the transaction's entries in place under numbers of their own, and hands the change to the committer.
//! So a verdict has seen exactly the updates with lower numbers than its own.
//!
//! What a ledger feeds (`feed`) is admitted and committed alike, and judged by nobody; who wants a verdict on it after all
//! gets one as of the place it has (`late`).
//!
//! What an answer says is on disk before it is given. The work of an admitted transaction goes on when its caller
//! leaves: later transactions have counted it.

mod arrivals;
mod committer;
mod deferred;
mod feed;
mod gate;
mod group;
mod pending;
mod reported;
mod restoring;
mod sequence_slot;
mod updater;

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures_util::FutureExt as _;
use tokio::sync::{Semaphore, TryAcquireError, mpsc};
use tollgate_engine::evaluation::{Breakers, Evaluated, EvaluationJob, EvaluatorPool};
use tollgate_engine::registry::{Registry, RuleSet};
use tollgate_history::History;
use tollgate_model::assessment::Assessment;
use tollgate_model::clock::Clock;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{AmountAgreement, Fingerprint, Transaction, TransactionReport};
use tollgate_store::{CurrentRecord, Store, TransactionRecord};

use crate::alerting::Alerting;
use crate::monitor::reported::ReportOutcome;
use crate::readiness::ReadinessCheck;
use crate::telemetry::logs::ErrorChain;
use crate::telemetry::metrics::Metrics;
use arrivals::AcceptanceOrder;
use committer::Committer;
use gate::UpdateGate;
use group::{
    Announcement, Caller, Commit, CommitCompletion, CommitWaiter, EvaluationFigures, InFlightPermit,
    NumberedRecord,
};
use pending::{EntryState, Operation, PendingIds};
use sequence_slot::{CommitMessage, SequenceSlot};
use updater::{Update, Updater};

pub use committer::Committing;
pub use feed::{FeedMode, FeedReport, LedgerFeedRow};
pub use restoring::Restoring;

/// Judges transactions, each exactly once. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Monitor {
    pipeline: Arc<TransactionPipeline>,
}

/// What a [`Monitor`] works with.
#[derive(Debug)]
pub struct MonitorDeps {
    /// The clock of `evaluated_at`.
    pub clock: Arc<dyn Clock>,
    /// Holds everything the store holds.
    pub history: Arc<History>,
    /// How far the history has come; nothing is judged before it is exact.
    pub restoring: Arc<Restoring>,
    /// The rule set in force.
    pub registry: Arc<Registry>,
    /// Where answers are kept.
    pub store: Store,
    /// Where it is reported whether the last commit went well.
    pub commits: ReadinessCheck,
    /// Who tells others.
    pub alerting: Alerting,
    /// Who evaluates.
    pub pool: EvaluatorPool,
    /// Who notices that a rule keeps failing.
    pub breakers: Arc<Breakers>,
    /// Who counts.
    pub metrics: Arc<Metrics>,
    /// When the last transaction of an earlier run was accepted.
    pub last_arrival: DateTime<Utc>,
    /// Transactions and reports under way at once.
    pub in_flight_max: NonZeroUsize,
    /// When the amounts that two tellings of one transaction bring are the same.
    pub amounts: AmountAgreement,
}

#[derive(Debug)]
struct TransactionPipeline {
    deps: MonitorDeps,
    pending: PendingIds,
    arrivals: AcceptanceOrder,
    permits: Arc<Semaphore>,
    gate: Arc<UpdateGate>,
    committer: mpsc::UnboundedSender<CommitMessage>,
    /// Bounded by the permits, as the committer's.
    updater: mpsc::UnboundedSender<Update>,
}

/// What is known of a transaction that was judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// As it was sent, with the status it has by now.
    pub transaction: Transaction,
    /// The answer it got, as canonical JSON; `None` when a ledger fed it and nobody asked for one.
    pub assessment: Option<Arc<str>>,
}

/// Why a transaction was not judged. Short of a disk that does not confirm a write,
/// none of these stores anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MonitorError {
    /// Another transaction has this id, and differs from this one in a field, named as a path of the wire.
    #[error("another transaction with this id was judged before, with another `{0}`; its verdict stands")]
    Conflict(Arc<str>),
    /// More is under way than the service takes on at once.
    #[error("the service is busy; try again shortly")]
    Overloaded,
    /// The store did not take it.
    #[error("the transaction could not be stored; try again")]
    Unavailable,
    /// The history does not know everything yet.
    #[error("the service is starting; its history is not complete yet")]
    Starting,
    /// The history can hold no more.
    #[error("the history is over its memory limit, and no more of it can leave memory; try again later")]
    HistoryFull,
    /// The service is stopping.
    #[error("the service is stopping; try again")]
    Stopping,
}

/// The event of a status that a caller brought who asks for a verdict.
const INJECTED: &str = "inject";

/// The answer to one transaction, for all who asked.
type MonitorAnswer = Result<Arc<str>, MonitorError>;

impl Monitor {
    /// Starts judging; needs a tokio runtime. The receiver hears of whoever commits: when that ends before the monitor is
    /// gone, nothing can be judged any more and the process should end. Its error is the one failure after which only
    /// a restart can tell what is on the disk.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(deps: MonitorDeps) -> std::io::Result<(Self, Committing)> {
        let (committer, arriving) = mpsc::unbounded_channel();
        let committing = Committer::new(&deps).start(arriving)?;
        let (updater, waiting) = mpsc::unbounded_channel();
        let (history, gate) = (Arc::clone(&deps.history), Arc::<UpdateGate>::default());
        let updating = Updater { gate: Arc::clone(&gate), history, committer: committer.clone() };
        tokio::spawn(updating.run(waiting));
        let permits = Arc::new(Semaphore::new(deps.in_flight_max.get()));
        let arrivals = AcceptanceOrder::after(deps.last_arrival);
        let pipeline = TransactionPipeline {
            deps,
            pending: PendingIds::default(),
            arrivals,
            permits,
            gate,
            committer,
            updater,
        };
        Ok((Self { pipeline: Arc::new(pipeline) }, committing))
    }

    /// Judges a transaction, or gives the answer it got before, and returns when that is durable: canonical JSON.
    ///
    /// # Errors
    /// See [`MonitorError`].
    pub fn judge(
        &self,
        transaction: Transaction,
        fingerprint: Fingerprint,
    ) -> impl Future<Output = MonitorAnswer> + Send {
        let id = Arc::clone(&transaction.transaction_id);
        // It stays where it is from here on, and is not moved from one future into the next.
        let transaction = Arc::new(transaction);
        let carry = |pipeline: Arc<TransactionPipeline>, waiting| pipeline.carry(transaction, waiting);
        async move { self.take_on(&id, Operation::Judge(fingerprint), carry).await }
    }

    /// Takes note of what a ledger reports with this event, and returns when that is durable. A transaction that is not
    /// known is judged as by [`Monitor::judge`]; of a known one the further status stands, and its verdict as it was.
    /// The end is the same in whatever order and however often reports come.
    ///
    /// # Errors
    /// See [`MonitorError`]; a conflict when the report moves something else: another amount, currency or account.
    pub async fn report(&self, report: TransactionReport, event: Arc<str>) -> Result<(), MonitorError> {
        let id = Arc::clone(&report.transaction().transaction_id);
        let operation = Operation::Report(report.fingerprint());
        let carry =
            |pipeline: Arc<TransactionPipeline>, waiting| pipeline.carry_report(report, event, waiting);
        self.take_on(&id, operation, carry).await.map(drop)
    }

    /// Moves the status of a transaction that is stored, if this one is further than the one that stands, and returns when that
    /// is durable.
    ///
    /// # Errors
    /// See [`MonitorError`]; [`MonitorError::Unavailable`] too when no transaction has this id.
    pub async fn advance(&self, id: &Arc<str>, status: &str, event: Arc<str>) -> Result<(), MonitorError> {
        let operation = Operation::Report(Fingerprint::of_status(status));
        let status: Arc<str> = status.into();
        let carry =
            |pipeline: Arc<TransactionPipeline>, waiting| pipeline.carry_status(status, event, waiting);
        self.take_on(id, operation, carry).await.map(drop)
    }

    async fn take_on<C>(
        &self,
        id: &Arc<str>,
        operation: Operation,
        carry: impl FnOnce(Arc<TransactionPipeline>, CommitWaiter) -> C,
    ) -> MonitorAnswer
    where
        C: Future<Output = ()> + Send + 'static,
    {
        let answer = self.perform(id, operation, carry).await;
        if matches!(answer, Err(MonitorError::Conflict(_))) {
            self.pipeline.deps.metrics.conflicted();
        }
        answer
    }

    async fn perform<C>(
        &self,
        id: &Arc<str>,
        operation: Operation,
        carry: impl FnOnce(Arc<TransactionPipeline>, CommitWaiter) -> C,
    ) -> MonitorAnswer
    where
        C: Future<Output = ()> + Send + 'static,
    {
        let MonitorDeps { metrics, .. } = &self.pipeline.deps;
        loop {
            match self.pipeline.pending.enter(id, operation) {
                EntryState::First(pending_entry) => {
                    let permit = match Arc::clone(&self.pipeline.permits).try_acquire_owned() {
                        Ok(permit) => permit,
                        Err(TryAcquireError::NoPermits) => {
                            return pending_entry.settle(Err(MonitorError::Overloaded));
                        }
                        Err(TryAcquireError::Closed) => {
                            return pending_entry.settle(Err(MonitorError::Stopping));
                        }
                    };
                    let completion = pending_entry.completion();
                    let taken_on = InFlightPermit { _permit: permit, _counted: metrics.taken_on() };
                    let waiting = CommitWaiter { pending_entry, _in_flight: Some(taken_on) };
                    let mut carried = Box::pin(carry(Arc::clone(&self.pipeline), waiting));
                    // Whatever has to wait for something goes on by itself, also when this caller leaves.
                    if (&mut carried).now_or_never().is_none() {
                        tokio::spawn(carried);
                    }
                    return completion.wait().await;
                }
                EntryState::Same(answer) => {
                    let answer = answer.wait().await;
                    if let (Operation::Report(_), Ok(_)) = (operation, &answer) {
                        metrics.status_unchanged();
                    }
                    return answer;
                }
                // Whether this one is a conflict depends on whether the other makes it, and of two reports on whether
                // they differ in more than the status. Where they differ, what is stored says.
                EntryState::Other(answer) => {
                    answer.wait().await.ok();
                }
            }
        }
    }

    /// What is stored under an id.
    ///
    /// # Errors
    /// [`MonitorError::Unavailable`] when the store cannot be read.
    pub async fn find(&self, transaction_id: &str) -> Result<Option<Judged>, MonitorError> {
        let known =
            self.pipeline.deps.store.current(transaction_id).await.map_err(|error| unreadable(&error))?;
        let Some(known) = known else { return Ok(None) };
        let parse = |body: &str| Transaction::from_stored(body).map_err(|error| unreadable(&error));
        let mut transaction = parse(known.body())?;
        if known.status.is_some() {
            transaction = with_update(transaction, known.status.as_deref());
        } else if known.late.is_some() {
            // Nothing moved the status that the ledger fed.
            transaction = transaction.with_status(parse(&known.record.body)?.status.as_deref());
        }
        Ok(Some(Judged { transaction, assessment: known.assessment().map(Into::into) }))
    }

    /// Whether something new would be taken in at the moment.
    ///
    /// # Errors
    /// Why not.
    pub fn readiness(&self) -> Result<(), MonitorError> {
        self.pipeline.readiness()
    }

    /// How far the traffic of this run has come: the latest event time, in microseconds since 1970 UTC, none taken for
    /// later than its arrival. `None` before the first transaction.
    #[must_use]
    pub fn latest_event(&self) -> Option<i64> {
        self.pipeline.arrivals.latest_event()
    }

    /// Refuses new transactions and waits until every one under way is answered.
    pub async fn stop(&self) {
        let all = u32::try_from(self.pipeline.deps.in_flight_max.get()).unwrap_or(u32::MAX);
        let every_one = self.pipeline.permits.acquire_many(all).await;
        self.pipeline.permits.close();
        drop(every_one);
    }
}

impl TransactionPipeline {
    /// Brings one transaction, the only business of its id at this moment, to its answer.
    async fn carry(self: Arc<Self>, transaction: Arc<Transaction>, waiting: CommitWaiter) {
        let answer = match self.deps.store.current(&transaction.transaction_id).await {
            Ok(None) => return self.carry_new(transaction, waiting).await,
            Ok(Some(known)) => match known.assessment() {
                None => return self.carry_unjudged(known, transaction, INJECTED.into(), waiting).await,
                Some(assessment) if known.fingerprint() == waiting.pending_entry.fingerprint() => {
                    match self.left_behind(&known, &transaction) {
                        Ok(ReportOutcome { change: Some(change), standing }) => {
                            return self.update(
                                change,
                                standing,
                                assessment.into(),
                                INJECTED.into(),
                                waiting,
                            );
                        }
                        Ok(ReportOutcome { change: None, standing }) => {
                            self.keep_standing(&known, standing).await.map(|()| assessment.into())
                        }
                        Err(error) => Err(error),
                    }
                }
                Some(_) => Err(conflict(&known, |first| transaction.difference_from(first))),
            },
            Err(error) => {
                tracing::error!(error = %ErrorChain(&error), "the store cannot be asked for a transaction");
                Err(MonitorError::Unavailable)
            }
        };
        waiting.pending_entry.settle(answer).ok();
    }

    /// Brings one that the store does not know to its answer.
    async fn carry_new(self: Arc<Self>, transaction: Arc<Transaction>, waiting: CommitWaiter) {
        match self.readiness() {
            Ok(()) => self.admit(transaction, waiting).await,
            Err(error) => {
                waiting.pending_entry.settle(Err(error)).ok();
            }
        }
    }

    /// Whether the history can take something in.
    fn readiness(&self) -> Result<(), MonitorError> {
        if !self.deps.restoring.is_done() {
            return Err(MonitorError::Starting);
        }
        if !self.deps.history.has_room() {
            return Err(MonitorError::HistoryFull);
        }
        Ok(())
    }

    async fn admit(self: Arc<Self>, mut transaction: Arc<Transaction>, waiting: CommitWaiter) {
        let evaluating = self.gate.evaluate().await;
        let (place, admitted) = self.deps.history.admit_as(|sequence| {
            let place = SequenceSlot::new(sequence, self.committer.clone());
            let arrival = self.arrivals.stamp(Arc::make_mut(&mut transaction), self.deps.clock.now());
            let rule_set = self.deps.registry.current();
            (Arc::clone(&transaction), (place, Admitted { sequence, arrival, transaction, rule_set }))
        });
        let (rule_set, transaction) = (Arc::clone(&admitted.rule_set), Arc::clone(&admitted.transaction));
        let as_of = admitted.sequence;
        let pipeline = Arc::clone(&self);
        let done = Box::new(move |evaluated: Evaluated| {
            drop(evaluating);
            let assessment = pipeline.assess(&admitted, &evaluated);
            match admitted.record(&assessment, waiting.pending_entry.fingerprint()) {
                Ok(record) => {
                    let alert = pipeline.deps.alerting.alert(&admitted.transaction, &assessment);
                    let micros = pipeline.deps.clock.now().timestamp_micros();
                    let announcement = alert.map(|alert| Announcement { alert, micros });
                    let completion = CommitCompletion {
                        caller: Caller::Waiting(waiting),
                        answer: record.assessment.as_deref().unwrap_or_default().into(),
                        evaluation: Some(EvaluationFigures::of(&assessment, evaluated.duration)),
                    };
                    let record = NumberedRecord::Transaction(record, None);
                    place.fill(Commit { record, announcement, completion });
                }
                // The place, dropped, takes the number back, and the ticket tells who waits.
                Err(error) => tracing::error!(error = %error, "an assessment cannot be written down"),
            }
        });
        self.deps.pool.submit(EvaluationJob { rule_set, transaction, as_of, done });
    }

    fn assess(&self, admitted: &Admitted, evaluated: &Evaluated) -> Assessment {
        let Admitted { transaction, rule_set, .. } = admitted;
        self.deps.breakers.note(rule_set, &evaluated.outcomes, transaction.source.as_deref());
        if evaluated.n_bodies_failed > 0 {
            self.deps.metrics.bodies_failed(evaluated.n_bodies_failed);
        }
        let outcomes = evaluated.outcomes.noted().filter_map(|(place, outcome)| {
            let instruction = &rule_set.rules.get(place)?.rule.instruction;
            Some((instruction.record.id, &instruction.entry, outcome.clone()))
        });
        let now = self.deps.clock.now();
        Assessment::consolidate(&transaction.transaction_id, rule_set.version, now, outcomes)
    }
}

fn unreadable(error: &(dyn std::error::Error + 'static)) -> MonitorError {
    tracing::error!(error = %ErrorChain(error), "a stored transaction cannot be read");
    MonitorError::Unavailable
}

/// A conflict with what was stored first; where no other field differs, it is the time, which one of the two did not bring.
fn conflict(known: &CurrentRecord, difference: impl FnOnce(&Transaction) -> Option<String>) -> MonitorError {
    match Transaction::from_stored(known.body()) {
        Ok(first) => MonitorError::Conflict(difference(&first).as_deref().unwrap_or("created_at").into()),
        Err(error) => unreadable(&error),
    }
}

/// A transaction as it is, of which the last update left this status, if there was one.
fn with_update(accepted: Transaction, status: Option<&str>) -> Transaction {
    match status {
        Some(_) => accepted.with_status(status),
        None => accepted,
    }
}

/// A transaction with a number, on its way through the pool.
struct Admitted {
    sequence: Sequence,
    arrival: DateTime<Utc>,
    transaction: Arc<Transaction>,
    rule_set: Arc<RuleSet>,
}

impl Admitted {
    /// What is kept of it.
    fn record(
        &self,
        assessment: &Assessment,
        fingerprint: Fingerprint,
    ) -> Result<TransactionRecord, serde_json::Error> {
        Ok(TransactionRecord {
            sequence: self.sequence,
            transaction_id: Arc::clone(&self.transaction.transaction_id),
            fingerprint,
            event_micros: self.transaction.timestamp.micros(),
            accepted_micros: self.arrival.timestamp_micros(),
            rule_set_version: self.rule_set.version,
            body: self.transaction.to_stored(),
            assessment: Some(serde_json::to_string(assessment)?),
        })
    }
}

#[cfg(test)]
mod tests;
