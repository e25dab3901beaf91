//! The transaction pipeline: admit, evaluate, commit, answer.
//!
//! ```text
//!  judge ─▶ pending ─▶ in the store? ──yes──▶ the stored answer, or a conflict
//!              │              │ no
//!              │              ▼
//!              │   history.admit: sequence number and rule set, under one short lock
//!              │              ▼
//!              │        pool: evaluate, in parallel, as of the sequence number
//!              │              ▼
//!              └───── committer: durable, in sequence order, in groups ──▶ answer
//! ```
//!
//! Reports of a ledger on a known transaction go through the *updater*. It waits for the evaluations under way, changes
//! the transaction's entries in place, and hands the numbered change to the committer. A verdict therefore sees exactly
//! the updates with lower numbers than its own.
//!
//! Transactions that a ledger feeds (`feed`), or a caller adds to the history alone (`past`), are admitted and committed in
//! the same way, without a verdict. A verdict requested later is as of the transaction's number (`deferred`).
//!
//! An answer is durable before it is returned. An admitted transaction is completed even if its caller leaves, because
//! later transactions have counted it.

mod admitted;
mod arrivals;
mod batch;
mod clock_watch;
mod committer;
mod deferred;
mod elsewhere;
mod error;
mod failures;
mod feed;
mod gate;
mod group;
mod hashes;
mod holding;
mod known;
mod past;
mod pending;
mod reported;
mod restoring;
mod sequence_slot;
mod turns;
mod unjudged;
mod updater;

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::{Mutex, Semaphore, TryAcquireError, mpsc};
use tokio::time::{Instant, timeout};
use tollgate_engine::evaluation::{Breakers, Evaluated, EvaluationJob, EvaluatorPool};
use tollgate_engine::registry::Registry;
use tollgate_history::History;
use tollgate_model::clock::Clock;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{AmountAgreement, Fingerprint, Transaction, TransactionReport};
use tollgate_store::{Store, TransactionOrigin};

use crate::alerting::Alerting;
use crate::monitor::reported::with_update;
use admitted::Admitted;
use batch::BatchPlace;
use committer::Committer;
use gate::UpdateGate;
use group::{Caller, CommitWaiter, InFlightPermits, NumberedRecord, TransactionInFlight};
use pending::{EntryState, Operation, PendingIds};
use sequence_slot::{CommitMessage, SequenceSlot};
use tollgate_telemetry::holding::PaymentHolds;
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::ReadinessCheck;
use updater::{Update, Updater};

pub use arrivals::AcceptanceOrder;
pub use batch::{Batch, BatchPermission};
pub use committer::Committing;
pub use error::MonitorError;
pub use feed::{FeedMode, FeedReport, LedgerFeedRow};
pub use hashes::KnownHashes;
pub use past::PastTransaction;
pub use restoring::Restoring;

/// Judges transactions, each exactly once. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Monitor {
    pipeline: Arc<TransactionPipeline>,
}

/// The dependencies of a [`Monitor`].
#[derive(Debug)]
pub struct MonitorDeps {
    /// The clock of `evaluated_at`.
    pub clock: Arc<dyn Clock>,
    /// The history of every stored transaction.
    pub history: Arc<History>,
    /// Progress of restoring the history; nothing is judged before it is complete.
    pub restoring: Arc<Restoring>,
    /// The rule set in force.
    pub registry: Arc<Registry>,
    /// Reasons to hold new transactions.
    pub holds: PaymentHolds,
    /// The store of transactions and answers.
    pub store: Store,
    /// Readiness check that reports whether the last commit succeeded.
    pub commits: ReadinessCheck,
    /// Sends alerts to external systems.
    pub alerting: Alerting,
    /// The pool that evaluates rules.
    pub pool: EvaluatorPool,
    /// Circuit breakers for rules that keep failing.
    pub breakers: Arc<Breakers>,
    /// Metrics registry.
    pub metrics: Arc<Metrics>,
    /// Times of acceptance, which continue those of an earlier run.
    pub arrivals: Arc<AcceptanceOrder>,
    /// Maximum number of transactions and reports under way.
    pub in_flight_max: NonZeroUsize,
    /// When two reports of one transaction agree on the amount.
    pub amounts: AmountAgreement,
    /// Hashes that no further transaction may have; `None` if duplicates are allowed.
    pub hashes: Option<Arc<KnownHashes>>,
}

#[derive(Debug)]
struct TransactionPipeline {
    deps: MonitorDeps,
    pending: PendingIds,
    arrivals: Arc<AcceptanceOrder>,
    permits: Arc<Semaphore>,
    /// Further permits that the transactions of batches need.
    batch_permits: Arc<Semaphore>,
    gate: Arc<UpdateGate>,
    /// Held while keys leave memory for transactions, so that one thread at a time waits for that, and while updates are
    /// prepared.
    room: Arc<Mutex<()>>,
    /// Permits to read the history of a transaction from the disk.
    reading: Arc<Semaphore>,
    committer: mpsc::UnboundedSender<CommitMessage>,
    /// Bounded by the permits, like the committer's channel.
    updater: mpsc::UnboundedSender<Update>,
}

/// A stored transaction and its answer.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The transaction as sent, with its current status.
    pub transaction: Transaction,
    /// The answer as canonical JSON; `None` if the transaction was stored without a verdict and none was requested since.
    pub assessment: Option<Arc<str>>,
    /// Its sequence number.
    pub sequence: Sequence,
    /// How it came to be stored.
    pub origin: TransactionOrigin,
}

/// The event recorded for a status sent by a caller that requests a verdict.
const INJECTED: &str = "inject";

/// The answer to a transaction: its verdict as canonical JSON.
pub type MonitorAnswer = Result<Arc<str>, MonitorError>;

impl Monitor {
    /// Starts the pipeline. Must be called within a tokio runtime.
    ///
    /// The receiver reports the end of the committer. If that ends before the monitor is dropped, nothing can be judged
    /// and the process should exit. Its error is the one failure after which only a restart can determine what is on
    /// the disk.
    ///
    /// # Errors
    /// When the system cannot create a thread.
    pub fn start(deps: MonitorDeps) -> std::io::Result<(Self, Committing)> {
        let (committer, arriving) = mpsc::unbounded_channel();
        let committing = Committer::new(&deps).start(arriving)?;
        let (updater, waiting) = mpsc::unbounded_channel();
        let (history, gate) = (Arc::clone(&deps.history), Arc::<UpdateGate>::default());
        let room = Arc::<Mutex<()>>::default();
        let updating = Updater {
            gate: Arc::clone(&gate),
            room: Arc::clone(&room),
            history,
            committer: committer.clone(),
        };
        tokio::spawn(updating.run(waiting));
        let permits = Arc::new(Semaphore::new(deps.in_flight_max.get()));
        let batch_permits = Arc::new(Semaphore::new(batch::batched_max(deps.in_flight_max)));
        let arrivals = Arc::clone(&deps.arrivals);
        let pipeline = TransactionPipeline {
            deps,
            pending: PendingIds::default(),
            arrivals,
            permits,
            batch_permits,
            gate,
            room,
            reading: Arc::new(Semaphore::new(elsewhere::READ_AT_ONCE)),
            committer,
            updater,
        };
        Ok((Self { pipeline: Arc::new(pipeline) }, committing))
    }

    /// Judges a transaction, or returns its earlier answer, as canonical JSON. Returns when the answer is durable.
    ///
    /// # Errors
    /// See [`MonitorError`].
    pub fn judge(
        &self,
        transaction: Transaction,
        fingerprint: Fingerprint,
    ) -> impl Future<Output = MonitorAnswer> + Send {
        let id = Arc::clone(&transaction.transaction_id);
        // Placed on the heap once, so that it is not moved from future to future.
        let transaction = Arc::new(transaction);
        let work = |pipeline: Arc<TransactionPipeline>, waiting| pipeline.judge(transaction, waiting);
        async move { self.run(&id, Operation::Judge(fingerprint), BatchPlace::default(), work).await }
    }

    /// Records what a ledger reports with this event, and returns when that is durable. An unknown transaction is
    /// judged as by [`Monitor::judge`]. A known one keeps its verdict, and the more advanced status wins. The result
    /// does not depend on the order or the number of reports.
    ///
    /// # Errors
    /// See [`MonitorError`]; a conflict when the report names another amount, currency or account.
    pub async fn report(&self, report: TransactionReport, event: Arc<str>) -> Result<(), MonitorError> {
        let id = Arc::clone(&report.transaction().transaction_id);
        let operation = Operation::Report(report.fingerprint());
        let work =
            |pipeline: Arc<TransactionPipeline>, waiting| pipeline.apply_report(report, event, waiting);
        self.run(&id, operation, BatchPlace::default(), work).await.map(drop)
    }

    /// Advances the status of a stored transaction if this one is more advanced, and returns when that is durable.
    ///
    /// # Errors
    /// See [`MonitorError`]; also [`MonitorError::Unavailable`] when no transaction has this id.
    pub async fn advance(&self, id: &Arc<str>, status: &str, event: Arc<str>) -> Result<(), MonitorError> {
        let operation = Operation::Report(Fingerprint::of_status(status));
        let status: Arc<str> = status.into();
        let work =
            |pipeline: Arc<TransactionPipeline>, waiting| pipeline.apply_status(status, event, waiting);
        self.run(id, operation, BatchPlace::default(), work).await.map(drop)
    }

    /// Runs the work of an operation, one at a time for each id, and returns its answer. An equal operation under way
    /// gives its answer to this one too. Without permits of its batch, it is refused if as many as possible are in flight.
    async fn run<W>(
        &self,
        id: &Arc<str>,
        operation: Operation,
        mut place: BatchPlace,
        work: impl FnOnce(Arc<TransactionPipeline>, CommitWaiter) -> W,
    ) -> MonitorAnswer
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let MonitorDeps { metrics, restoring, .. } = &self.pipeline.deps;
        restoring.wait_a_little().await;
        let answer = loop {
            match self.pipeline.pending.enter(id, operation) {
                EntryState::First(pending_entry) => {
                    let permits = match place.permits.take().map_or_else(|| self.pipeline.permits(), Ok) {
                        Ok(permits) => permits,
                        Err(refusal) => break pending_entry.settle(Err(refusal)),
                    };
                    let completion = pending_entry.completion();
                    let in_flight =
                        TransactionInFlight { _permits: permits, _counted: metrics.count_in_flight() };
                    let waiting = CommitWaiter::of_request(pending_entry, in_flight, place.turn);
                    let mut working = Box::pin(work(Arc::clone(&self.pipeline), waiting));
                    // Work that must wait continues in a task, even if this caller leaves.
                    if (&mut working).now_or_never().is_none() {
                        tokio::spawn(working);
                    }
                    break completion.wait().await;
                }
                EntryState::Same(answer) => {
                    let answer = answer.wait().await;
                    if let (Operation::Report(_), Ok(_)) = (operation, &answer) {
                        metrics.status_unchanged();
                    }
                    break answer;
                }
                // The outcome depends on the other operation: it may fail, and two reports may differ in the status
                // only. Retry once it is settled; the store then has the answer.
                EntryState::Other(answer) => {
                    if answer.wait().await.is_err() {
                        // Its retry may have to wait for a later transaction of its batch with this id, which must then not
                        // wait for it.
                        place.turn = None;
                    }
                }
            }
        };
        if matches!(answer, Err(MonitorError::Conflict(_))) {
            metrics.conflicted();
        }
        answer
    }

    /// Returns the transaction stored under an id.
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
            // No update changed the status that the ledger fed.
            transaction = transaction.with_status(parse(&known.record.body)?.status.as_deref());
        }
        if let Some(amount) = &known.amount {
            transaction = transaction.with_amount(amount);
        } else if known.late.is_some() {
            // The ledger fed all digits, of which the request may have lost some.
            let fed = parse(&known.record.body)?.amount;
            let is_fed = transaction.amount.value() == fed.value();
            transaction = if is_fed { transaction } else { transaction.with_amount(&fed) };
        }
        let (sequence, origin) = (known.record.sequence, known.record.origin);
        let assessment = known.assessment().map(Into::into);
        Ok(Some(Judged { transaction, assessment, sequence, origin }))
    }

    /// Checks whether a new transaction would be accepted at the moment.
    ///
    /// # Errors
    /// The reason why not.
    pub fn readiness(&self) -> Result<(), MonitorError> {
        self.pipeline.readiness()
    }

    /// Returns whether a second transaction with the same hash is refused.
    #[must_use]
    pub fn refuses_duplicates(&self) -> bool {
        self.pipeline.deps.hashes.is_some()
    }

    /// Returns the latest event time of this run and the end of the run before, in microseconds since 1970 UTC. An event counts as no later than its
    /// arrival. Returns `None` before the first transaction.
    #[must_use]
    pub fn latest_event(&self) -> Option<i64> {
        self.pipeline.arrivals.latest_event()
    }

    /// Refuses new transactions and waits until all under way are answered.
    pub async fn stop(&self) {
        let all = u32::try_from(self.pipeline.deps.in_flight_max.get()).unwrap_or(u32::MAX);
        let every_one = self.pipeline.permits.acquire_many(all).await;
        self.pipeline.permits.close();
        drop(every_one);
        // A key that leaves memory after the last snapshot makes the next start longer.
        timeout(elsewhere::PATIENCE, self.pipeline.room.lock()).await.ok();
    }
}

impl TransactionPipeline {
    fn permits(&self) -> Result<InFlightPermits, MonitorError> {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => Ok(InFlightPermits { _in_flight: permit, _of_batches: None }),
            Err(TryAcquireError::NoPermits) => Err(MonitorError::Overloaded),
            Err(TryAcquireError::Closed) => Err(MonitorError::Stopping),
        }
    }

    /// Answers one transaction; no other operation on its id is under way.
    async fn judge(self: Arc<Self>, transaction: Arc<Transaction>, waiting: CommitWaiter) {
        let answer = match self.deps.store.current(&transaction.transaction_id).await {
            Ok(None) => match self.check_ready_to_judge() {
                Ok(()) => return self.judge_new(transaction, waiting).await,
                Err(error) => Err(error),
            },
            // Nearly all transactions are new, and their future is the smaller without this one in it.
            Ok(Some(known)) => return Box::pin(self.answer_known(known, transaction, waiting)).await,
            Err(error) => {
                tracing::error!(error = %ErrorChain(&error), "a transaction cannot be read from the store");
                Err(MonitorError::Unavailable)
            }
        };
        waiting.pending_entry.settle(answer).ok();
    }

    /// Judges a transaction that the store does not have.
    async fn judge_new(self: Arc<Self>, mut transaction: Arc<Transaction>, mut waiting: CommitWaiter) {
        let mut deadline = Instant::now() + elsewhere::PATIENCE;
        self.make_room(deadline).await;
        if let Some(turn) = &waiting.turn {
            // The others of its batch do this at the same time. What is read here is found again below.
            Arc::make_mut(&mut transaction).read_long_texts();
            self.prepare_history(&transaction, deadline).await;
            turn.wait().await;
            deadline = Instant::now() + elsewhere::PATIENCE;
        }
        let claimed = match self.readiness() {
            Ok(()) => hashes::claim(&self.deps, &transaction, waiting.pending_entry.is_a_report()).await,
            Err(error) => Err(error),
        };
        match claimed {
            Ok(hash) => {
                waiting.hash = hash;
                self.admit(transaction, waiting, deadline).await;
            }
            Err(error) => {
                waiting.pending_entry.settle(Err(error)).ok();
            }
        }
    }

    fn readiness(&self) -> Result<(), MonitorError> {
        if !self.deps.restoring.is_done() {
            return Err(MonitorError::Starting);
        }
        if !self.deps.history.has_room() {
            return Err(MonitorError::HistoryFull);
        }
        Ok(())
    }

    /// Gives a transaction its number and has it judged. Waits until the deadline for others that read the disk.
    async fn admit(
        self: Arc<Self>,
        mut transaction: Arc<Transaction>,
        mut waiting: CommitWaiter,
        deadline: Instant,
    ) {
        if let Err(error) = self.settle_holds().await {
            return drop(waiting.pending_entry.settle(Err(error)));
        }
        // Before it gets its number, because others wait for that.
        Arc::make_mut(&mut transaction).read_long_texts();
        self.prepare_history(&transaction, deadline).await;
        let evaluating = self.gate.evaluate().await;
        let (slot, admitted) = self.deps.history.admit_as(|sequence| {
            let slot = SequenceSlot::new(sequence, self.committer.clone());
            let arrival = self.arrivals.stamp(Arc::make_mut(&mut transaction));
            let rule_set = self.deps.registry.current();
            (Arc::clone(&transaction), (slot, Admitted { sequence, arrival, transaction, rule_set }))
        });
        waiting.turn = None;
        let (rule_set, transaction) = (Arc::clone(&admitted.rule_set), Arc::clone(&admitted.transaction));
        let as_of = admitted.sequence;
        if let Some(hash) = &mut waiting.hash {
            hash.accepted_at(admitted.arrival);
        }
        let pipeline = Arc::clone(&self);
        let done = Box::new(move |evaluated: Evaluated| {
            drop(evaluating);
            waiting.evaluated(evaluated.duration);
            let assessment = pipeline.assess(&admitted, &evaluated);
            let pending = &waiting.pending_entry;
            match admitted.record(&assessment, pending.fingerprint(), pending.origin()) {
                Ok(record) => {
                    let answer = record.assessment.as_deref().unwrap_or_default().into();
                    let conclusion = pipeline.conclude(&admitted, &assessment, evaluated.duration);
                    let record = NumberedRecord::Transaction(record, None);
                    slot.fill(conclusion.commit(record, Caller::Waiting(waiting), answer));
                }
                // Dropping `slot` takes the number back; dropping the pending entry notifies the callers.
                Err(error) => tracing::error!(error = %error, "an assessment cannot be serialized"),
            }
        });
        self.deps.pool.submit(EvaluationJob { rule_set, transaction, as_of, done });
    }
}

fn unreadable(error: &(dyn std::error::Error + 'static)) -> MonitorError {
    tracing::error!(error = %ErrorChain(error), "a stored transaction cannot be read");
    MonitorError::Unavailable
}

#[cfg(test)]
mod tests;
