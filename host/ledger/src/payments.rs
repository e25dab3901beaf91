//! The payments of a ledger: assigns entries to payments, and applies each entry to its payment.
//!
//! ```text
//!  entry ─▶ a payment ─────────────────────────────▶ monitor.report
//!        ─▶ settles a hold, or reverses a payment ─▶ is the parent known? ──yes──▶ monitor.advance, monitor.report
//!                                                           │ no
//!                                                           ▼
//!                                  waits, durably ──▶ the parent arrives, or the wait times out
//! ```
//!
//! INVARIANT: an entry is stored as known only after all its effects are durable, and a waiting entry is stored before
//! its sender is answered. An interrupted entry is therefore sent again or found waiting, and repeating it has no
//! effect. The result does not depend on the order of entries: whether a settlement is whole or partial depends on the
//! amount of the hold alone.

mod child_entry;
mod dead_letters;
mod events;
mod joining;
mod legs;
mod queued_refunds;
mod rows;
mod shadows;
mod waiting;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::kind::{self, EntryReport, PaymentEvent, Progress, QueuedRefund, ReportChannel, ReportedEntry};
use tokio::sync::{Mutex, MutexGuard, RwLock};
use tollgate_model::clock::Clock;
use tollgate_model::transaction::{InvalidTransaction, Json, StatusWords};
use tollgate_store::{
    CommitRecord, DeadLetter, EntryChange, Hold, LedgerEntry, LedgerProgress, PaymentState,
    StatusWithoutEffect, Store, StoreError, TallyKind, WaitingEntry,
};
use tollgate_telemetry::config::LedgerIdentity;
use tollgate_telemetry::config::{LedgerKind, LeftOutTreatment, UnreadableVerdict};

use tollgate_pipeline::alerting::Alerting;
use tollgate_pipeline::monitor::{Judged, Monitor, MonitorError};
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::Metrics;

use child_entry::{ChildEntry, text_of};
pub(crate) use dead_letters::KeptLetters;
pub use events::LedgerEvents;
pub use joining::envelope;
pub(crate) use rows::RowEntry;

/// Maximum number of entries that wait for their parent; beyond it, senders must retry.
pub(crate) const WAITING_MAX: u64 = 10_000;
/// Maximum number of entries joined at once when their parent arrives; the others follow later.
const JOINED_AT_ONCE: usize = 256;
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Number of locks; operations on the same parent entry, or on the same payment, are serialized by hash.
const LOCKS: usize = 256;
/// The feed name of dead letters left by events and hooks, which can be replayed.
pub const EVENTS: &str = "events";
/// The feed name of dead letters left by contradictory rows.
const ROWS: &str = "rows";

/// The dependencies of [`Payments`].
#[derive(Debug)]
pub struct PaymentsDeps {
    /// The kind of the ledger.
    pub kind: LedgerKind,
    /// The field that identifies a payment.
    pub identity: LedgerIdentity,
    /// How long an entry waits for its parent.
    pub parent_wait: Duration,
    /// Whether rows of the ledger get a verdict.
    pub evaluates_rows: bool,
    /// Treatment of payments of which a part was left out.
    pub left_out: LeftOutTreatment,
    /// Verdict in the alert about an entry that cannot be read.
    pub unreadable: UnreadableVerdict,
    /// Sends alerts about such entries.
    pub alerting: Alerting,
    /// The monitor that receives the payments.
    pub monitor: Monitor,
    /// The store of entries and their payments.
    pub store: Store,
    /// The clock of arrivals.
    pub clock: Arc<dyn Clock>,
    /// Metrics registry.
    pub metrics: Arc<Metrics>,
}

/// The payments of a ledger. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Payments {
    inner: Arc<PaymentsInner>,
}

type Locks = Vec<Mutex<()>>;

#[derive(Debug)]
struct PaymentsInner {
    deps: PaymentsDeps,
    ledger_events: LedgerEvents,
    /// Locks of entries and of payments. A task that needs both locks the entry first.
    entries: Locks,
    payments: Locks,
    hasher: RandomState,
    /// Shared by incoming entries, exclusive for waiting ones, so that all effects of an entry are complete when its
    /// sender is answered.
    turn: RwLock<()>,
    n_waiting: AtomicU64,
    /// Whether the kind of the ledger is stored.
    is_kind_noted: AtomicBool,
}

/// The reason why an entry was not taken; it may be sent again.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// The monitor refused it.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The limit of waiting entries is reached.
    #[error("too many entries of the ledger wait for their parent; try again later")]
    TooManyWait,
    /// The limit of dead letters is reached.
    #[error("too many dead letters of the ledger are kept; replay or delete some, or try again later")]
    TooManyDead,
}

/// The reason why a store does not fit a ledger.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another ledger filled the store.
    #[error(
        "the payments in this store come from a ledger with LEDGER_KIND={kind} and LEDGER_IDENTITY={identity}, and would count \
         twice under other values: set these two, or start with an empty data directory"
    )]
    OtherKind {
        /// The kind of that ledger.
        kind: String,
        /// The identity of its payments.
        identity: String,
    },
}

/// The result for an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryOutcome {
    /// It is part of this payment.
    Payment(Arc<str>),
    /// It waits for this entry.
    Waits(Arc<str>),
    /// It is an internal record of the ledger.
    Nothing,
    /// It can never be taken; it became a dead letter for this reason.
    Dead(&'static str),
}

#[derive(Debug)]
pub(crate) struct Contradiction {
    reason: &'static str,
    detail: String,
}

impl Payments {
    /// Opens the payments of a store.
    ///
    /// # Errors
    /// When the store cannot be read, or was filled by a ledger of another kind.
    pub async fn open(deps: PaymentsDeps) -> Result<Self, OpenError> {
        check_kind(&deps).await?;
        let n_waiting = deps.store.n_waiting_entries().await?;
        deps.metrics.ledger_waiting(n_waiting);
        let events = LedgerEvents::new(deps.kind);
        dead_letters::count(&events, &deps.store).await?;
        let inner = PaymentsInner {
            ledger_events: events,
            deps,
            entries: locks(),
            payments: locks(),
            hasher: RandomState::new(),
            turn: RwLock::default(),
            n_waiting: AtomicU64::new(n_waiting),
            is_kind_noted: AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the kind of the ledger.
    #[must_use]
    pub fn kind(&self) -> LedgerKind {
        self.inner.deps.kind
    }

    /// Returns the monitor that receives the payments.
    #[must_use]
    pub fn monitor(&self) -> &Monitor {
        &self.inner.deps.monitor
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.deps.metrics
    }

    /// Returns the table of the stages that statuses mean.
    #[must_use]
    pub fn status_words(&self) -> &StatusWords {
        self.inner.deps.monitor.status_words()
    }

    /// Returns the state of the ledger's events.
    #[must_use]
    pub fn ledger_events(&self) -> &LedgerEvents {
        &self.inner.ledger_events
    }

    /// Stores the kind of the ledger. Must be called before its first payment is taken.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) async fn note_kind(&self) -> Result<(), StoreError> {
        self.inner.note_kind().await
    }

    /// Reads a report as an entry.
    ///
    /// # Errors
    /// When it is not a valid entry; the error names the field.
    pub fn read(&self, report: EntryReport<'_>) -> Result<ReportedEntry, InvalidTransaction> {
        self.inner.read(report)
    }

    /// Takes an entry, and returns when that is durable. Repeating an entry has no effect. `data` is the original
    /// report, stored if the entry has to wait.
    ///
    /// # Errors
    /// See [`PaymentError`]; a conflict when the entry belongs to a known payment with another amount, currency or
    /// account.
    pub async fn take(
        &self,
        entry: ReportedEntry,
        channel: ReportChannel<'_>,
        data: &Json,
        event: Arc<str>,
    ) -> Result<EntryOutcome, PaymentError> {
        let inner = &self.inner;
        inner.note_kind().await?;
        if inner.deps.kind == LedgerKind::Generic {
            let payment = Arc::clone(&entry.report.transaction().transaction_id);
            inner.deps.monitor.report(entry.report, event).await?;
            return Ok(EntryOutcome::Payment(payment));
        }
        // Boxed, so that the future for an event of a generic ledger stays small.
        Box::pin(inner.take_entry(entry, channel, data, event)).await
    }

    /// Returns the stored payment with this id, or the one that contains the entry with this id.
    ///
    /// # Errors
    /// [`MonitorError::Unavailable`] when the store cannot be read.
    pub async fn find(&self, id: &str) -> Result<Option<Judged>, MonitorError> {
        let PaymentsDeps { monitor, store, kind, .. } = &self.inner.deps;
        let found = monitor.find(id).await?;
        if found.is_some() || *kind == LedgerKind::Generic {
            return Ok(found);
        }
        let unreadable = |error| {
            tracing::error!(error = %ErrorChain(&error), "an entry of the ledger cannot be looked up");
            MonitorError::Unavailable
        };
        match store.ledger_entry(id).await.map_err(unreadable)? {
            // An internal record refers to an entry, which belongs to a payment.
            Some(entry) => match store.ledger_entry(&entry.transaction_id).await.map_err(unreadable)? {
                Some(about) => monitor.find(&about.transaction_id).await,
                None => monitor.find(&entry.transaction_id).await,
            },
            None => Ok(None),
        }
    }

    /// Returns the latest description of a payment as JSON, if it differs from the stored transaction.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn latest_description(&self, transaction_id: &str) -> Result<Option<String>, StoreError> {
        self.inner.deps.store.later_description(transaction_id).await
    }

    /// Returns the reported statuses of a payment that did not stand, the first one first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn without_effect(&self, judged: &Judged) -> Result<Vec<StatusWithoutEffect>, StoreError> {
        self.inner.deps.store.statuses_without_effect(judged.sequence).await
    }

    /// Stores an event that can never be taken as a dead letter.
    ///
    /// # Errors
    /// When the store cannot be written, or the limit of dead letters is reached. The event must then be sent again.
    pub async fn store_dead_letter(&self, letter: DeadLetter) -> Result<(), PaymentError> {
        self.inner.store_dead_letter(letter, EVENTS).await
    }

    /// Returns the event of a dead letter as it was sent, or `None` if there is none or a row left it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn dead_letter(&self, number: i64) -> Result<Option<String>, StoreError> {
        let letter = self.inner.deps.store.dead_letter(number).await?;
        Ok(letter.filter(|letter| letter.feed == EVENTS).map(|letter| letter.row))
    }

    /// Removes a dead letter whose event was taken after all.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn delete_dead_letter(&self, number: i64) -> Result<(), StoreError> {
        self.inner.deps.store.remove_dead_letter(number).await?;
        dead_letters::count(&self.inner.ledger_events, &self.inner.deps.store).await
    }

    /// Runs until dropped: joins entries whose parent has arrived, takes overdue ones, and logs refused events.
    pub async fn run_maintenance(self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.inner.ledger_events.log_pending();
            // No entry of a generic ledger waits, and nothing can be taken before the history is restored.
            if self.kind() == LedgerKind::Generic || self.inner.deps.monitor.readiness().is_err() {
                continue;
            }
            let looked = match self.inner.join_ready_entries().await {
                Ok(()) => self.inner.expire_waiting().await,
                Err(error) => Err(error),
            };
            if let Err(error) = looked {
                tracing::warn!(error = %ErrorChain(&error), "waiting entries of the ledger cannot be checked");
            }
        }
    }
}

impl PaymentsInner {
    fn read(&self, report: EntryReport<'_>) -> Result<ReportedEntry, InvalidTransaction> {
        let PaymentsDeps { kind, identity, left_out, .. } = &self.deps;
        let entry = kind::read(*kind, report, *identity, self.deps.monitor.status_words())?;
        Ok(match left_out {
            LeftOutTreatment::Review => entry,
            LeftOutTreatment::Judge => {
                ReportedEntry { report: entry.report.judged_without_what_is_left_out(), ..entry }
            }
        })
    }

    async fn lock<'l>(&'l self, locks: &'l Locks, id: &str) -> MutexGuard<'l, ()> {
        #[expect(clippy::indexing_slicing, reason = "a remainder of the number of locks")]
        locks[self.lock_index_of(id)].lock().await
    }

    fn lock_index_of(&self, id: &str) -> usize {
        usize::try_from(self.hasher.hash_one(id) % LOCKS as u64).unwrap_or_default()
    }

    /// Takes an entry of a ledger that keeps several for one payment.
    async fn take_entry(
        &self,
        entry: ReportedEntry,
        channel: ReportChannel<'_>,
        data: &Json,
        event: Arc<str>,
    ) -> Result<EntryOutcome, PaymentError> {
        let _turn = self.turn.read().await;
        let sent = match &entry.happened {
            PaymentEvent::Payment(_)
                if self.deps.identity == LedgerIdentity::Id && entry.queued_refund.is_none() =>
            {
                String::new()
            }
            _ => text_of(channel, data),
        };
        let (event, sent) = (&event, &sent);
        self.apply(&ChildEntry { entry: &entry, channel, event, sent, waiting: None, further: &[] }).await
    }

    /// Applies an entry that does not wait.
    async fn apply(&self, child: &ChildEntry<'_>) -> Result<EntryOutcome, PaymentError> {
        let ChildEntry { entry, .. } = child;
        match &entry.happened {
            PaymentEvent::Payment(_) => match self.take_leg(child).await? {
                Some(taken) => Ok(taken),
                None => {
                    let taken = self.take_own(child).await?;
                    self.refund_from_queue(child).await?;
                    Ok(taken)
                }
            },
            PaymentEvent::Reversed { original } => {
                let taken = self.take_own(child).await?;
                if matches!(taken, EntryOutcome::Payment(_)) {
                    self.join_or_wait(child, original).await?;
                }
                Ok(taken)
            }
            PaymentEvent::Settled { hold, .. } => self.join_or_wait(child, hold).await,
            PaymentEvent::Shadow { .. } => self.take_shadow(child).await,
        }
    }

    /// Stores the kind of the ledger with its first report.
    async fn note_kind(&self) -> Result<(), StoreError> {
        if !self.is_kind_noted.load(Ordering::Relaxed) {
            let PaymentsDeps { kind, identity, store, .. } = &self.deps;
            store.note_ledger_kind(kind.as_str(), identity.as_str()).await?;
            self.is_kind_noted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn commit(&self, entries: &[EntryChange]) -> Result<(), StoreError> {
        self.deps.store.commit(&CommitRecord { entries, ..CommitRecord::default() }).await
    }
}

fn locks() -> Locks {
    std::iter::repeat_with(Mutex::default).take(LOCKS).collect()
}

fn known(entry: &str, payment: &str) -> EntryChange {
    EntryChange::Known { entry: entry.into(), transaction_id: payment.into() }
}

/// Checks that the store belongs to a ledger of this kind and identity.
async fn check_kind(PaymentsDeps { kind, identity, store, .. }: &PaymentsDeps) -> Result<(), OpenError> {
    let generic = || (LedgerKind::Generic.as_str().to_owned(), LedgerIdentity::Id.as_str().to_owned());
    let kept = match store.ledger_kind().await? {
        Some(kept) => kept,
        // Versions that stored no kind supported only the generic one.
        None if *kind != LedgerKind::Generic && store.find_ledger_of_unnamed_kind().await? => generic(),
        None => return Ok(()),
    };
    // A generic ledger has no choice of identity.
    let is_same_identity = *kind == LedgerKind::Generic || kept.1 == identity.as_str();
    if kept.0 == kind.as_str() && is_same_identity {
        return Ok(());
    }
    Err(OpenError::OtherKind { kind: kept.0, identity: kept.1 })
}
