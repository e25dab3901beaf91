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
mod feed;
mod gate;
mod group;
mod late;
mod pending;
mod place;
mod reported;
mod restoring;
mod updater;

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures_util::FutureExt as _;
use tokio::sync::{Semaphore, TryAcquireError, mpsc};
use tollgate_engine::evaluation::{Breakers, Evaluated, Job, Pool};
use tollgate_engine::registry::{Registry, RuleSet};
use tollgate_history::History;
use tollgate_model::assessment::Assessment;
use tollgate_model::clock::Clock;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{AmountAgreement, Fingerprint, Report, Transaction};
use tollgate_store::{CurrentRecord, Store, TransactionRecord};

use crate::alerting::Alerting;
use crate::monitor::reported::Heard;
use crate::readiness::Check;
use crate::telemetry::logs::Causes;
use crate::telemetry::metrics::Metrics;
use arrivals::Arrivals;
use committer::Committer;
use gate::Gate;
use group::{Announcement, Commit, Counted, TakenOn, Waiting};
use pending::{Errand, Pending, Turn};
use place::{News, Place};
use updater::{Update, Updater};

pub use committer::Committing;
pub use feed::{Fed, FeedManner, FeedReport};
pub use restoring::Restoring;

/// Judges transactions, each exactly once. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Monitor {
    river: Arc<River>,
}

/// What a [`Monitor`] works with.
#[derive(Debug)]
pub struct Means {
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
    pub commits: Check,
    /// Who tells others.
    pub alerting: Alerting,
    /// Who evaluates.
    pub pool: Pool,
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
struct River {
    means: Means,
    pending: Pending,
    arrivals: Arrivals,
    permits: Arc<Semaphore>,
    gate: Arc<Gate>,
    committer: mpsc::UnboundedSender<News>,
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
type Answer = Result<Arc<str>, MonitorError>;

impl Monitor {
    /// Starts judging; needs a tokio runtime. The receiver hears of whoever commits: when that ends before the monitor is
    /// gone, nothing can be judged any more and the process should end. Its error is the one failure after which only
    /// a restart can tell what is on the disk.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(means: Means) -> std::io::Result<(Self, Committing)> {
        let (committer, arriving) = mpsc::unbounded_channel();
        let committing = Committer::new(&means).start(arriving)?;
        let (updater, waiting) = mpsc::unbounded_channel();
        let (history, gate) = (Arc::clone(&means.history), Arc::<Gate>::default());
        let updating = Updater { gate: Arc::clone(&gate), history, committer: committer.clone() };
        tokio::spawn(updating.run(waiting));
        let permits = Arc::new(Semaphore::new(means.in_flight_max.get()));
        let arrivals = Arrivals::after(means.last_arrival);
        let river = River { means, pending: Pending::default(), arrivals, permits, gate, committer, updater };
        Ok((Self { river: Arc::new(river) }, committing))
    }

    /// Judges a transaction, or gives the answer it got before, and returns when that is durable: canonical JSON.
    ///
    /// # Errors
    /// See [`MonitorError`].
    pub fn judge(
        &self,
        transaction: Transaction,
        fingerprint: Fingerprint,
    ) -> impl Future<Output = Answer> + Send {
        let id = Arc::clone(&transaction.transaction_id);
        // It stays where it is from here on, and is not moved from one future into the next.
        let transaction = Arc::new(transaction);
        let carry = |river: Arc<River>, waiting| river.carry(transaction, waiting);
        async move { self.take_on(&id, Errand::Judge(fingerprint), carry).await }
    }

    /// Takes note of what a ledger reports with this event, and returns when that is durable. A transaction that is not
    /// known is judged as by [`Monitor::judge`]; of a known one the further status stands, and its verdict as it was.
    /// The end is the same in whatever order and however often reports come.
    ///
    /// # Errors
    /// See [`MonitorError`]; a conflict when the report moves something else: another amount, currency or account.
    pub async fn report(&self, report: Report, event: Arc<str>) -> Result<(), MonitorError> {
        let id = Arc::clone(&report.transaction().transaction_id);
        let errand = Errand::Report(report.fingerprint());
        let carry = |river: Arc<River>, waiting| river.carry_report(report, event, waiting);
        self.take_on(&id, errand, carry).await.map(drop)
    }

    /// Moves the status of a transaction that is stored, if this one is further than the one that stands, and returns when that
    /// is durable.
    ///
    /// # Errors
    /// See [`MonitorError`]; [`MonitorError::Unavailable`] too when no transaction has this id.
    pub async fn advance(&self, id: &Arc<str>, status: &str, event: Arc<str>) -> Result<(), MonitorError> {
        let errand = Errand::Report(Fingerprint::of_status(status));
        let status: Arc<str> = status.into();
        let carry = |river: Arc<River>, waiting| river.carry_status(status, event, waiting);
        self.take_on(id, errand, carry).await.map(drop)
    }

    async fn take_on<C>(
        &self,
        id: &Arc<str>,
        errand: Errand,
        carry: impl FnOnce(Arc<River>, Waiting) -> C,
    ) -> Answer
    where
        C: Future<Output = ()> + Send + 'static,
    {
        let answer = self.answer(id, errand, carry).await;
        if matches!(answer, Err(MonitorError::Conflict(_))) {
            self.river.means.metrics.conflicted();
        }
        answer
    }

    async fn answer<C>(
        &self,
        id: &Arc<str>,
        errand: Errand,
        carry: impl FnOnce(Arc<River>, Waiting) -> C,
    ) -> Answer
    where
        C: Future<Output = ()> + Send + 'static,
    {
        let Means { metrics, .. } = &self.river.means;
        loop {
            match self.river.pending.enter(id, errand) {
                Turn::First(ticket) => {
                    let permit = match Arc::clone(&self.river.permits).try_acquire_owned() {
                        Ok(permit) => permit,
                        Err(TryAcquireError::NoPermits) => {
                            return ticket.settle(Err(MonitorError::Overloaded));
                        }
                        Err(TryAcquireError::Closed) => return ticket.settle(Err(MonitorError::Stopping)),
                    };
                    let answer = ticket.answer();
                    let taken_on = TakenOn { _permit: permit, _counted: metrics.taken_on() };
                    let waiting = Waiting { ticket, _taken_on: Some(taken_on) };
                    let mut carried = Box::pin(carry(Arc::clone(&self.river), waiting));
                    // Whatever has to wait for something goes on by itself, also when this caller leaves.
                    if (&mut carried).now_or_never().is_none() {
                        tokio::spawn(carried);
                    }
                    return answer.wait().await;
                }
                Turn::Same(answer) => {
                    let answer = answer.wait().await;
                    if let (Errand::Report(_), Ok(_)) = (errand, &answer) {
                        metrics.status_unchanged();
                    }
                    return answer;
                }
                // Whether this one is a conflict depends on whether the other makes it, and of two reports on whether
                // they differ in more than the status. Where they differ, what is stored says.
                Turn::Other(answer) => {
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
            self.river.means.store.current(transaction_id).await.map_err(|error| unreadable(&error))?;
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
        self.river.readiness()
    }

    /// How far the traffic of this run has come: the latest event time, in microseconds since 1970 UTC, none taken for
    /// later than its arrival. `None` before the first transaction.
    #[must_use]
    pub fn latest_event(&self) -> Option<i64> {
        self.river.arrivals.latest_event()
    }

    /// Refuses new transactions and waits until every one under way is answered.
    pub async fn stop(&self) {
        let all = u32::try_from(self.river.means.in_flight_max.get()).unwrap_or(u32::MAX);
        let every_one = self.river.permits.acquire_many(all).await;
        self.river.permits.close();
        drop(every_one);
    }
}

impl River {
    /// Brings one transaction, the only business of its id at this moment, to its answer.
    async fn carry(self: Arc<Self>, transaction: Arc<Transaction>, waiting: Waiting) {
        let answer = match self.means.store.current(&transaction.transaction_id).await {
            Ok(None) => return self.carry_new(transaction, waiting).await,
            Ok(Some(known)) => match known.assessment() {
                None => return self.carry_unjudged(known, transaction, INJECTED.into(), waiting).await,
                Some(assessment) if known.fingerprint() == waiting.ticket.fingerprint() => {
                    match self.left_behind(&known, &transaction) {
                        Ok(Heard { change: Some(change), standing }) => {
                            return self.update(
                                change,
                                standing,
                                assessment.into(),
                                INJECTED.into(),
                                waiting,
                            );
                        }
                        Ok(Heard { change: None, standing }) => {
                            self.keep_standing(&known, standing).await.map(|()| assessment.into())
                        }
                        Err(error) => Err(error),
                    }
                }
                Some(_) => Err(conflict(&known, |first| transaction.difference_from(first))),
            },
            Err(error) => {
                tracing::error!(error = %Causes(&error), "the store cannot be asked for a transaction");
                Err(MonitorError::Unavailable)
            }
        };
        waiting.ticket.settle(answer).ok();
    }

    /// Brings one that the store does not know to its answer.
    async fn carry_new(self: Arc<Self>, transaction: Arc<Transaction>, waiting: Waiting) {
        match self.readiness() {
            Ok(()) => self.admit(transaction, waiting).await,
            Err(error) => {
                waiting.ticket.settle(Err(error)).ok();
            }
        }
    }

    /// Whether the history can take something in.
    fn readiness(&self) -> Result<(), MonitorError> {
        if !self.means.restoring.is_done() {
            return Err(MonitorError::Starting);
        }
        if !self.means.history.has_room() {
            return Err(MonitorError::HistoryFull);
        }
        Ok(())
    }

    async fn admit(self: Arc<Self>, mut transaction: Arc<Transaction>, waiting: Waiting) {
        let evaluating = self.gate.evaluate().await;
        let (place, admitted) = self.means.history.admit_as(|sequence| {
            let place = Place::new(sequence, self.committer.clone());
            let arrival = self.arrivals.stamp(Arc::make_mut(&mut transaction), self.means.clock.now());
            let rule_set = self.means.registry.current();
            (Arc::clone(&transaction), (place, Admitted { sequence, arrival, transaction, rule_set }))
        });
        let (rule_set, transaction) = (Arc::clone(&admitted.rule_set), Arc::clone(&admitted.transaction));
        let as_of = admitted.sequence;
        let river = Arc::clone(&self);
        let done = Box::new(move |evaluated: Evaluated| {
            drop(evaluating);
            let assessment = river.assess(&admitted, &evaluated);
            match admitted.record(&assessment, waiting.ticket.fingerprint()) {
                Ok(record) => {
                    let counted = Counted::of(&assessment, evaluated.duration);
                    let alert = river.means.alerting.alert(&admitted.transaction, &assessment);
                    let micros = river.means.clock.now().timestamp_micros();
                    let announcement = alert.map(|alert| Announcement { alert, micros });
                    place.fill(Commit::Judged { record, counted, announcement, waiting });
                }
                // The place, dropped, takes the number back, and the ticket tells who waits.
                Err(error) => tracing::error!(error = %error, "an assessment cannot be written down"),
            }
        });
        self.means.pool.submit(Job { rule_set, transaction, as_of, done });
    }

    fn assess(&self, admitted: &Admitted, evaluated: &Evaluated) -> Assessment {
        let Admitted { transaction, rule_set, .. } = admitted;
        self.means.breakers.note(rule_set, &evaluated.outcomes, transaction.source.as_deref());
        if evaluated.n_bodies_failed > 0 {
            self.means.metrics.bodies_failed(evaluated.n_bodies_failed);
        }
        let outcomes = evaluated.outcomes.told().filter_map(|(place, outcome)| {
            let instruction = &rule_set.rules.get(place)?.rule.instruction;
            Some((instruction.record.id, &instruction.entry, outcome.clone()))
        });
        let now = self.means.clock.now();
        Assessment::consolidate(&transaction.transaction_id, rule_set.version, now, outcomes)
    }
}

fn unreadable(error: &(dyn std::error::Error + 'static)) -> MonitorError {
    tracing::error!(error = %Causes(error), "a stored transaction cannot be read");
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
