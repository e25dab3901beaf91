//! The payments of a ledger: which of its entries are part of which, and what each entry does to its payment.
//!
//! ```text
//!  Entry ─▶ a payment of its own ───────────────────▶ monitor.report
//!        ─▶ settles a hold, or gives another one back ─▶ the other one is known? ──yes──▶ monitor.advance, monitor.report
//!                                                                │ no
//!                                                                ▼
//!                                   waits, durably ──▶ the other one is told, or it waited too long
//! ```
//!
//! INVARIANT: an entry is noted as known after everything it does is durable, and an entry that waits is noted before its
//! teller is answered. So whatever is cut short is told again, or found waiting, and doing it twice changes nothing. The end
//! is the same in whatever order entries are told: what settles a hold is a whole or a part by the amount of the hold alone.

mod events;
mod joining;
mod rows;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard, RwLock};
use tollgate_model::clock::Clock;
use tollgate_model::ledger_kind::LedgerIdentity;
use tollgate_model::ledger_kind::LedgerKind;
use tollgate_model::ledger_kind::{EntryReport, PaymentEvent, Progress, ReportChannel, ReportedEntry};
use tollgate_model::transaction::{InvalidTransaction, Json};
use tollgate_store::{
    CommitRecord, DeadLetter, EntryChange, Hold, LedgerEntry, LedgerProgress, PaymentState, Store,
    StoreError, WaitingEntry,
};

use crate::monitor::{Judged, Monitor, MonitorError};
use crate::telemetry::logs::ErrorChain;
use crate::telemetry::metrics::Metrics;

pub use events::LedgerEvents;
pub use joining::envelope;
use joining::text_of;
pub use rows::RowEntry;

/// Most entries that wait for their parent. Who brings more is told to try again.
pub const WAITING_MAX: u64 = 10_000;
/// Entries that are joined at once when their parent is told; the others follow.
const JOINED_AT_ONCE: usize = 256;
/// How often those that wait are looked after.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Of one entry that is waited for, and of one payment, only one thing is done at a time; so many are done side by side.
const LOCKS: usize = 256;
/// The feed of dead letters that events and hooks left: these can be told again.
pub const EVENTS: &str = "events";
/// That of rows which contradict others.
const ROWS: &str = "rows";

/// What the payments work with.
#[derive(Debug)]
pub struct PaymentsDeps {
    /// Which ledger tells of them.
    pub kind: LedgerKind,
    /// By what they are known.
    pub identity: LedgerIdentity,
    /// How long an entry waits for its parent.
    pub parent_wait: Duration,
    /// Whether rows of the ledger get a verdict.
    pub evaluates_rows: bool,
    /// Who takes them.
    pub monitor: Monitor,
    /// Where it is kept which entry is part of which.
    pub store: Store,
    /// The clock of arrivals.
    pub clock: Arc<dyn Clock>,
    /// Who counts.
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
    news: LedgerEvents,
    /// Of entries, and of payments. Whoever holds both has taken that of the entry first.
    entries: Locks,
    payments: Locks,
    hasher: RandomState,
    /// Those that are told, side by side; or what waited, alone: when a teller is answered, all that its entry does is done.
    turn: RwLock<()>,
    n_waiting: AtomicU64,
    /// Whether the store knows which ledger it is of.
    is_kind_noted: AtomicBool,
}

/// Why an entry was not taken now; it may be told again.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// The monitor did not take it.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// As many wait for their parent as may.
    #[error("too many entries of the ledger wait for their parent; try again later")]
    TooManyWait,
    /// As many dead letters are kept as may be.
    #[error("too many dead letters of the ledger are kept; replay them, or try again later")]
    TooManyDead,
}

/// Why a store does not do for a ledger.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another ledger filled it.
    #[error(
        "the payments of this store were told by a ledger with LEDGER_KIND={kind} and LEDGER_IDENTITY={identity}, and would count \
         twice as others: set these two, or begin with an empty data directory"
    )]
    OtherKind {
        /// The kind of that ledger.
        kind: String,
        /// The identity of its payments.
        identity: String,
    },
}

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryOutcome {
    /// It is part of this payment.
    Payment(Arc<str>),
    /// It waits for this entry.
    Waits(Arc<str>),
    /// It is book-keeping of the ledger.
    Nothing,
    /// It can never be taken: it has a dead letter, for this reason.
    Dead(&'static str),
}

/// Why an entry can never be taken.
#[derive(Debug)]
pub(crate) struct Contradiction {
    reason: &'static str,
    detail: String,
}

impl Payments {
    /// Those that this store knows.
    ///
    /// # Errors
    /// When the store cannot be read, or was filled by a ledger of another kind.
    pub async fn open(deps: PaymentsDeps) -> Result<Self, OpenError> {
        check_kind(&deps).await?;
        let n_waiting = deps.store.n_waiting_entries().await?;
        deps.metrics.ledger_waiting(n_waiting);
        let inner = PaymentsInner {
            news: LedgerEvents::of(deps.kind),
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

    /// Which ledger tells of them.
    #[must_use]
    pub fn kind(&self) -> LedgerKind {
        self.inner.deps.kind
    }

    /// Who takes them.
    #[must_use]
    pub fn monitor(&self) -> &Monitor {
        &self.inner.deps.monitor
    }

    /// How the events of the ledger fare.
    #[must_use]
    pub fn news(&self) -> &LedgerEvents {
        &self.inner.news
    }

    /// Keeps which ledger fills the store, before the first of its payments is taken.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn note_kind(&self) -> Result<(), StoreError> {
        self.inner.note_kind().await
    }

    /// Reads what is told as an entry.
    ///
    /// # Errors
    /// When it is none; the error names the field.
    pub fn read(&self, told: EntryReport<'_>) -> Result<ReportedEntry, InvalidTransaction> {
        self.inner.deps.kind.read(told, self.inner.deps.identity)
    }

    /// Takes an entry, and returns when that is durable. The same entry again changes nothing. `told`: as it was told, for when
    /// it has to wait.
    ///
    /// # Errors
    /// See [`PaymentError`]; a conflict when the entry is of a known payment and tells another amount, currency or account.
    pub async fn take(
        &self,
        entry: ReportedEntry,
        telling: ReportChannel<'_>,
        told: &Json,
        event: Arc<str>,
    ) -> Result<EntryOutcome, PaymentError> {
        let inner = &self.inner;
        inner.note_kind().await?;
        if inner.deps.kind == LedgerKind::Generic {
            let payment = Arc::clone(&entry.report.transaction().transaction_id);
            inner.deps.monitor.report(entry.report, event).await?;
            return Ok(EntryOutcome::Payment(payment));
        }
        // In a place of its own: an event of a generic ledger does not carry the room for all that may follow.
        Box::pin(inner.take_entry(entry, telling, told, event)).await
    }

    /// What is stored of a payment, by its id or that of one of its entries.
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
            // Book-keeping stands for an entry, which stands for its payment.
            Some(entry) => match store.ledger_entry(&entry.transaction_id).await.map_err(unreadable)? {
                Some(about) => monitor.find(&about.transaction_id).await,
                None => monitor.find(&entry.transaction_id).await,
            },
            None => Ok(None),
        }
    }

    /// What a ledger told last of a payment, as JSON, where that has other words than what is stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn latest_description(&self, transaction_id: &str) -> Result<Option<String>, StoreError> {
        self.inner.deps.store.later_description(transaction_id).await
    }

    /// Keeps an event that can never be taken.
    ///
    /// # Errors
    /// When the store cannot be written, or keeps as many as it may: the event has to be told again.
    pub async fn bury(&self, letter: DeadLetter) -> Result<(), PaymentError> {
        self.inner.bury(letter, EVENTS).await
    }

    /// The event that left this dead letter, as it was sent; `None` when there is none, or a row left it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn buried(&self, number: i64) -> Result<Option<String>, StoreError> {
        let letter = self.inner.deps.store.dead_letter(number).await?;
        Ok(letter.filter(|letter| letter.feed == EVENTS).map(|letter| letter.row))
    }

    /// Removes a dead letter, whose event was taken after all.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn forget(&self, number: i64) -> Result<(), StoreError> {
        self.inner.deps.store.remove_dead_letter(number).await
    }

    /// Joins entries whose parent came, takes those that waited too long, and tells the log of refusals, until it is dropped.
    pub async fn look_after(self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.inner.news.say();
            // Nothing waits of a generic ledger; and while the history comes back nothing can be done.
            if self.kind() == LedgerKind::Generic || self.inner.deps.monitor.readiness().is_err() {
                continue;
            }
            let looked = match self.inner.join_what_can_be().await {
                Ok(()) => self.inner.take_what_waited().await,
                Err(error) => Err(error),
            };
            if let Err(error) = looked {
                tracing::warn!(error = %ErrorChain(&error), "entries of the ledger that wait cannot be looked after");
            }
        }
    }
}

impl PaymentsInner {
    /// The lock of one of these.
    async fn lock<'l>(&'l self, locks: &'l Locks, id: &str) -> MutexGuard<'l, ()> {
        let place = usize::try_from(self.hasher.hash_one(id) % LOCKS as u64).unwrap_or_default();
        #[expect(clippy::indexing_slicing, reason = "a remainder of the number of locks")]
        locks[place].lock().await
    }

    /// Takes an entry of a ledger that has several for one payment.
    async fn take_entry(
        &self,
        entry: ReportedEntry,
        telling: ReportChannel<'_>,
        told: &Json,
        event: Arc<str>,
    ) -> Result<EntryOutcome, PaymentError> {
        let payment = Arc::clone(&entry.report.transaction().transaction_id);
        let _turn = self.turn.read().await;
        match entry.happened.clone() {
            PaymentEvent::Nothing { .. } => {
                self.commit(&self.known_by(&entry).await?).await?;
                Ok(EntryOutcome::Nothing)
            }
            PaymentEvent::Payment(_) => {
                self.take_own(&entry, &event).await?;
                Ok(EntryOutcome::Payment(payment))
            }
            PaymentEvent::Reversed { original } => {
                self.take_own(&entry, &event).await?;
                self.join_or_wait(&entry, &original, telling, &text_of(telling, told), &event).await?;
                Ok(EntryOutcome::Payment(payment))
            }
            PaymentEvent::Settled { hold, .. } => {
                self.join_or_wait(&entry, &hold, telling, &text_of(telling, told), &event).await
            }
        }
    }

    /// The first thing that a ledger tells settles which kind this store is of.
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

    async fn bury(&self, letter: DeadLetter, feed: &str) -> Result<(), PaymentError> {
        tracing::warn!(
            transaction.id = %letter.transaction_id.escape_debug(),
            reason = letter.reason,
            "what the ledger told cannot be taken; it has a dead letter"
        );
        let digest = letter.digest;
        let progress = LedgerProgress { feed: feed.into(), mark: None, dead_letters: vec![letter] };
        self.deps.store.commit(&CommitRecord { ledger: vec![&progress], ..CommitRecord::default() }).await?;
        // A row stays in its table; an event that is acknowledged and not kept would be lost.
        if feed == EVENTS && !self.deps.store.keeps_dead_letter(&digest).await? {
            return Err(PaymentError::TooManyDead);
        }
        Ok(())
    }
}

fn locks() -> Locks {
    std::iter::repeat_with(Mutex::default).take(LOCKS).collect()
}

/// An entry that is known to be part of this payment.
fn known(entry: &str, payment: &str) -> EntryChange {
    EntryChange::Known { entry: entry.into(), transaction_id: payment.into() }
}

/// Whether the payments of this store are those of this ledger, under the same names.
async fn check_kind(PaymentsDeps { kind, identity, store, .. }: &PaymentsDeps) -> Result<(), OpenError> {
    let generic = || (LedgerKind::Generic.as_str().to_owned(), LedgerIdentity::Id.as_str().to_owned());
    let kept = match store.ledger_kind().await? {
        Some(kept) => kept,
        // Versions that kept no kind had only this one.
        None if *kind != LedgerKind::Generic && store.find_ledger_of_unnamed_kind().await? => generic(),
        None => return Ok(()),
    };
    // The identity of a generic ledger is no choice.
    let is_same_identity = *kind == LedgerKind::Generic || kept.1 == identity.as_str();
    if kept.0 == kind.as_str() && is_same_identity {
        return Ok(());
    }
    Err(OpenError::OtherKind { kind: kept.0, identity: kept.1 })
}
