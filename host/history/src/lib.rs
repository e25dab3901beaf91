//! Past transactions, as something to ask: exactly.
//!
//! ```text
//!  admit ──one short lock──▶ sequence number, log, every series in use
//!                                               │
//!  question ──bound once──▶ series by key ──▶ chunks of the window ──as of the own number──▶ answer
//! ```
//!
//! Every accepted transaction has a *sequence number*, and a question is answered as of one: transactions with that number
//! or a higher one are invisible. So evaluation runs in parallel, and still, of N transactions accepted at once, each
//! counts exactly those accepted before it.
//!
//! A *series* holds the transactions by the values of some fields, in the order of event time; all questions whose filters
//! ask for equality of the same fields share one, as long as they agree in what they say of past transactions alone
//! (the *selection*) and in the field they sum up (the *measure*). It is built when the first of them is activated and goes
//! away with the last. What a series cannot find is tested row by row.

mod activation;
mod admission;
mod aggregate;
mod aggregate_batch;
mod change;
mod distinct;
mod exact;
mod filter;
mod forgotten;
mod key;
mod key_table;
mod layout;
mod lookup_budget;
mod lookup_error;
mod owned_value;
mod past;
mod previous;
mod restoration;
mod row;
mod scope;
mod series;
mod snapshot;
mod spill;
mod summary;
mod tally;
mod timeline;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_guest_abi::{AggregateSpec, FieldPath, PreviousSpec, Semantics};

use tollgate_model::calendar::ZoneData;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use activation::{Activation, FillSource};
use admission::Admission;
use past::NoPast;
use spill::Spill;

pub use activation::SERIES_MAX;
pub use aggregate::AggregateQuery;
pub use aggregate_batch::AggregateBatch;
pub use change::StatusChange;
pub use exact::{AggregateValue, ExactValue};
pub use filter::FilterError;
pub use lookup_budget::CostedAnswer;
pub use lookup_error::LookupError;
pub use past::{Past, PastError, PastItem, PastSummary};
pub use previous::PreviousQuery;
pub use restoration::{RestorationObserver, Restored};
pub use snapshot::{
    SNAPSHOT_FILE, SnapshotError, SnapshotMark, WrittenSnapshot, recognise as recognise_snapshot,
};
pub use spill::SpillError;

/// All accepted transactions, as far as questions in force ask about them.
///
/// It is shared by [`Arc`]; its answers come from [`AggregateQuery`] and [`PreviousQuery`], which live as long as somebody asks.
#[derive(Debug)]
pub struct History {
    /// `None`: nothing is anywhere else, so everything not durable yet is kept, for good.
    past: Option<Arc<dyn Past>>,
    spill: Arc<Spill>,
    /// The zone data that every question is asked by.
    zones: Arc<ZoneData>,
    // Lock order: activation before admission, admission before a series.
    activation: Mutex<Activation>,
    admission: Mutex<Admission>,
}

/// Why a question cannot be answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HistoryError {
    /// Its condition is no filter.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// It needs one series more than there may be.
    #[error(
        "the rules in force ask for equality of more than {SERIES_MAX} different sets of fields; one more: `{}`",
        join(fields)
    )]
    TooManySeries {
        /// The fields of the filter.
        fields: Vec<FieldPath>,
    },
    /// It needs a series, and what is to be in it cannot be read.
    #[error(transparent)]
    Past(#[from] PastError),
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

impl History {
    /// An empty one without a past: it keeps every transaction admitted, whole.
    #[must_use]
    pub fn new() -> Self {
        Self {
            past: None,
            spill: Arc::default(),
            zones: ZoneData::built_in(),
            activation: Mutex::default(),
            admission: Mutex::default(),
        }
    }

    /// This one, with zones as this data has them. It must be empty still.
    #[must_use]
    pub fn in_zones(self, zones: Arc<ZoneData>) -> Self {
        Self { zones, ..self }
    }

    /// The zone data that questions are asked by.
    #[must_use]
    pub const fn zones(&self) -> &Arc<ZoneData> {
        &self.zones
    }

    /// An empty one. Whatever is settled later can be read from this past.
    #[must_use]
    pub fn over(past: Arc<dyn Past>) -> Self {
        Self { past: Some(past), ..Self::new() }
    }

    /// This one, with a limit for what it holds in memory, in bytes, and a directory for a file with what is over it.
    /// It must be empty still.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn bounded(self, limit_bytes: usize, directory: &Path) -> Result<Self, SpillError> {
        Ok(Self { spill: Arc::new(Spill::bounded(limit_bytes, directory)?), ..self })
    }

    /// Whether it keeps its limit, or nearly. When not, because the file cannot take what is over it, nothing more should
    /// be admitted.
    #[must_use]
    pub fn has_room(&self) -> bool {
        if self.spill.has_room() {
            return true;
        }
        self.spill.make_room();
        self.spill.has_room()
    }

    /// How much memory it takes, in bytes, as far as that grows with the transactions.
    #[must_use]
    pub fn resident_bytes(&self) -> usize {
        self.spill.resident_bytes()
    }

    /// How much of what it holds is in the file, in bytes.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.spilled_bytes()
    }

    /// Accepts a transaction: [`History::admit_as`] of one that is whole already.
    pub fn admit<T>(&self, transaction: Arc<Transaction>, with: impl FnOnce(Sequence) -> T) -> T {
        self.admit_as(|sequence| (transaction, with(sequence)))
    }

    /// Accepts a transaction under the one lock: it takes the next number, asks `make` for the transaction (which may
    /// read what must be consistent with the number, but not ask this history), and from then on every later
    /// transaction sees it. When `make` panics, the number is gone and nothing was accepted.
    pub fn admit_as<T>(&self, make: impl FnOnce(Sequence) -> (Arc<Transaction>, T)) -> T {
        let mut admission = self.admission.lock();
        let sequence = admission.take_number();
        let (transaction, answer) = make(sequence);
        let orphans = admission.insert(sequence, transaction);
        drop(admission);
        drop(orphans);
        self.spill.make_room();
        answer
    }

    /// Changes accepted transactions in place, under the one lock: each change takes the next number, of which `with` is
    /// told, and its transaction keeps its own. Questions are answered from then on as of the changed transactions,
    /// whatever number they are asked as of: whoever updates sees to it that every evaluation with a lower number is
    /// over, and that one with a higher number starts after this. When `with` panics, its number is gone and nothing
    /// was changed with it.
    pub fn update<T>(
        &self,
        changes: impl IntoIterator<Item = StatusChange>,
        mut with: impl FnMut(Sequence) -> T,
    ) -> Vec<T> {
        let mut orphans = Vec::new();
        let mut admission = self.admission.lock();
        let answers = changes
            .into_iter()
            .map(|change| {
                let sequence = admission.take_number();
                let answer = with(sequence);
                orphans.push(admission.update(sequence, Arc::new(change)));
                answer
            })
            .collect();
        drop(admission);
        drop(orphans);
        self.spill.make_room();
        answers
    }

    /// Takes the next number under the one lock, for something that has a place in the order and changes nothing of what
    /// questions are asked about.
    pub fn take_place<T>(&self, with: impl FnOnce(Sequence) -> T) -> T {
        with(self.admission.lock().take_number())
    }

    /// Numbers up to this one were given in an earlier life. Whoever says so restores what has them before anything is
    /// admitted.
    pub fn resume_at(&self, last: Sequence) {
        self.admission.lock().resume_at(last);
    }

    /// Puts back a transaction that the past holds: [`History::restore_item`] of one.
    ///
    /// # Panics
    /// When the number is not higher than that of everything restored or settled before.
    pub fn restore(&self, sequence: Sequence, transaction: &Transaction) {
        self.restore_item(PastItem::Accepted { sequence, transaction });
    }

    /// Puts back what the past holds, with the number it had then; in the order of the numbers, and before anything is
    /// admitted.
    ///
    /// # Panics
    /// When the number is not higher than that of everything restored or settled before.
    pub fn restore_item(&self, item: PastItem<'_>) {
        let mut admission = self.admission.lock();
        let sequence = item.sequence();
        assert!(sequence > admission.settled(), "what is kept is restored in order: {sequence}");
        let orphans = admission.restore(item);
        drop(admission);
        drop(orphans);
        self.spill.make_room();
    }

    /// Everything up to this number is in the past for good: it is not taken back any more, and only what questions ask
    /// about stays in memory.
    pub fn settle(&self, through: Sequence) {
        if self.past.is_some() {
            let orphans = self.admission.lock().settle(through);
            drop(orphans);
        }
    }

    /// Takes back every transaction and every change with this number or a higher one that is not settled. The numbers
    /// are not given again: the answer is the next one that will be.
    pub fn retract_from(&self, first: Sequence) -> Sequence {
        let mut admission = self.admission.lock();
        let orphans = admission.retract_from(first);
        let next = admission.last().next();
        drop(admission);
        drop(orphans);
        next
    }

    /// Lets go of transactions that no question in force reaches from this event time, in microseconds since 1970 UTC, or
    /// from a later one. Who asks from an earlier one, about a time of which something is gone, gets
    /// [`LookupError::Forgotten`] for an answer. Takes long, but holds nobody up for long.
    pub fn forget(&self, before: i64) {
        let series = self.admission.lock().series();
        for series in series {
            series.forget(before);
        }
    }

    /// Reads again what was let go of although questions may reach it from this event time, in microseconds since 1970 UTC,
    /// or from a later one: when the clock by which it was let go turned out to be wrong. May take long.
    ///
    /// # Errors
    /// When the past cannot be read.
    pub fn remember(&self, before: i64) -> Result<(), PastError> {
        self.activation.lock().remember(before, self.source())
    }

    /// The highest number ever given; 0 when none was.
    #[must_use]
    pub fn last_sequence(&self) -> Sequence {
        self.admission.lock().last()
    }

    /// How many transactions were accepted and not taken back.
    #[must_use]
    pub fn len(&self) -> usize {
        self.admission.lock().n_transactions()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many series are in use.
    #[must_use]
    pub fn n_series(&self) -> usize {
        self.admission.lock().n_series()
    }

    fn source(&self) -> FillSource<'_> {
        FillSource {
            admission: &self.admission,
            past: self.past.as_deref().unwrap_or(&NoPast),
            spill: &self.spill,
            zones: &self.zones,
        }
    }

    #[cfg(test)]
    fn each_series(&self, show: impl FnMut(&series::Series)) {
        self.activation.lock().each_series(show);
    }

    /// Makes an aggregate answerable; equal specs share one. It may have to build a series out of the past, beside the
    /// lock; it knows every transaction accepted before it is given.
    ///
    /// # Errors
    /// When the filter holds a pattern or a zone that is none, or asks the history itself; when there are too many
    /// series; when the past cannot be read.
    pub fn aggregate(
        &self,
        spec: &AggregateSpec,
        semantics: Semantics,
    ) -> Result<Arc<AggregateQuery>, HistoryError> {
        self.activation.lock().aggregate(spec, semantics, self.source())
    }

    /// Makes a lookup answerable, as [`History::aggregate`] does.
    ///
    /// # Errors
    /// When there are too many series, or the past cannot be read.
    pub fn previous(
        &self,
        spec: &PreviousSpec,
        semantics: Semantics,
    ) -> Result<Arc<PreviousQuery>, HistoryError> {
        self.activation.lock().previous(spec, semantics, self.source())
    }
}

const _: () = {
    const fn assert_shared_between_threads<T: Send + Sync>() {}
    assert_shared_between_threads::<History>();
    assert_shared_between_threads::<AggregateQuery>();
    assert_shared_between_threads::<PreviousQuery>();
};

fn join(fields: &[FieldPath]) -> String {
    fields.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
