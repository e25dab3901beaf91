//! The history: accepted transactions that rules query, with exact answers.
//!
//! ```text
//!  admit ──admission lock──▶ sequence number, recent steps, every series in use
//!                                               │
//!  query ──bound once──▶ series by key ──▶ chunks in the window ──as of its sequence number──▶ answer
//! ```
//!
//! Every accepted transaction gets a *sequence number*, and a query is answered as of one: transactions with that
//! number or a higher one are invisible. Evaluations therefore run in parallel, and each of N concurrent transactions
//! counts exactly those accepted before it.
//!
//! A *series* holds transactions by the values of some fields, in event-time order. Queries share a series when their
//! filters test the same fields for equality. They must also agree in the conditions on past transactions alone (the
//! *selection*) and in the summed field (the *measure*). A series is built when its first query is activated and
//! dropped with its last one. Conditions that a series cannot answer are tested row by row.

mod activation;
mod admission;
mod aggregate;
mod aggregate_batch;
mod anchor;
mod change;
mod distinct;
mod estimate;
mod exact;
mod fill;
mod filling_table;
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
mod progress;
mod residency;
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

use parking_lot::{Mutex, RwLock};
use tollgate_guest_abi::{AggregateSpec, FieldPath, PreviousSpec, Semantics};

use tollgate_model::calendar::ZoneData;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{StatusWords, Transaction};

use activation::Activation;
use admission::Admission;
use estimate::SampleCache;
use fill::FillSource;
use past::NoPast;
use spill::Spill;

pub use activation::SERIES_MAX;
pub use aggregate::AggregateQuery;
pub use aggregate_batch::AggregateBatch;
pub use change::StatusChange;
pub use estimate::QueryEstimate;
pub use exact::{AggregateValue, ExactValue};
pub use filter::FilterError;
pub use lookup_budget::{CostedAnswer, LookupDeadline, LookupLimits};
pub use lookup_error::LookupError;
pub use past::{Past, PastError, PastItem, PastSummary};
pub use previous::PreviousQuery;
pub use progress::RunningFills;
pub use restoration::{RestorationObserver, Restored};
pub use series::SeriesUse;
pub use snapshot::{
    RECORDS_DIRECTORY, SNAPSHOT_FILE, SnapshotError, SnapshotMark, SnapshotSummary, WrittenSnapshot,
    recognise as recognise_snapshot,
};
pub use spill::{MemoryUse, SpillError};

/// All accepted transactions that active queries need.
///
/// Shared by [`Arc`]. Answers come from [`AggregateQuery`] and [`PreviousQuery`].
#[derive(Debug)]
pub struct History {
    /// Durable store. Without one, every transaction stays in memory.
    past: Option<Arc<dyn Past>>,
    spill: Arc<Spill>,
    /// Zone data for all queries.
    zones: Arc<ZoneData>,
    /// Table of the stages that statuses mean, for all queries.
    status_words: Arc<StatusWords>,
    /// Whether a query is refused when its series does not fit into the memory limit.
    refuses_excess: bool,
    /// Held by everyone who fills a series, and alone by a restoration while it takes stock.
    building: RwLock<()>,
    // Lock order: building, the filling of a series, activation, admission, a series.
    activation: Mutex<Activation>,
    admission: Mutex<Admission>,
    /// The last sample of the stored transactions, for estimates. Locked before all others.
    sampled: Mutex<SampleCache>,
}

/// The reason a query cannot be activated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HistoryError {
    /// The condition is not a valid filter.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The query needs one series more than the limit allows.
    #[error(
        "the rules in force compare more than {SERIES_MAX} different sets of fields for equality; the set beyond the limit is `{}`",
        join(fields)
    )]
    TooManySeries {
        /// Key fields of the query.
        fields: Vec<FieldPath>,
    },
    /// The series of the query does not fit into the memory limit, even with all that can leave memory in the spill
    /// file.
    #[error(
        "the history that the rule asks about does not fit into the memory limit; use fewer different fields in its filters, or have \
         SERVICE_MEMORY_LIMIT raised"
    )]
    OverLimit,
    /// The series of the query cannot be filled from the store.
    #[error(transparent)]
    Past(#[from] PastError),
    /// The series of the query cannot be filled, because a file of the history cannot be read or written.
    #[error(transparent)]
    Spill(#[from] SpillError),
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

impl History {
    /// Creates an empty history without a store; it keeps every admitted transaction in memory.
    #[must_use]
    pub fn new() -> Self {
        Self {
            past: None,
            spill: Arc::default(),
            zones: ZoneData::built_in(),
            status_words: StatusWords::built_in(),
            refuses_excess: false,
            building: RwLock::default(),
            activation: Mutex::default(),
            admission: Mutex::default(),
            sampled: Mutex::default(),
        }
    }

    /// Returns this history with other zone data. The history must still be empty.
    #[must_use]
    pub fn in_zones(self, zones: Arc<ZoneData>) -> Self {
        Self { zones, ..self }
    }

    /// Returns this history with another table of status words. The history must still be empty.
    #[must_use]
    pub fn with_status_words(self, status_words: Arc<StatusWords>) -> Self {
        Self { status_words, ..self }
    }

    /// Returns the table of status words for queries.
    #[must_use]
    pub const fn status_words(&self) -> &Arc<StatusWords> {
        &self.status_words
    }

    /// Returns the zone data for queries.
    #[must_use]
    pub const fn zones(&self) -> &Arc<ZoneData> {
        &self.zones
    }

    /// Returns an empty history that reads fields as this one does.
    fn empty_alike(&self) -> Self {
        Self::new().in_zones(Arc::clone(&self.zones)).with_status_words(Arc::clone(&self.status_words))
    }

    /// Creates an empty history over a store from which settled transactions can be read again.
    #[must_use]
    pub fn over(past: Arc<dyn Past>) -> Self {
        Self { past: Some(past), ..Self::new() }
    }

    /// Returns this history with a memory limit, in bytes, and a directory for the spill file that holds the excess.
    /// The history must still be empty.
    ///
    /// # Errors
    /// When the spill file cannot be created.
    pub fn bounded(self, limit_bytes: usize, directory: &Path) -> Result<Self, SpillError> {
        Ok(Self { spill: Arc::new(Spill::bounded(limit_bytes, directory, None)?), ..self })
    }

    /// Corrects the memory limit by the resident memory of the process, which `resident` returns in bytes (`None` if the
    /// system does not tell). What the process takes now does not count: the history must be empty, and what the process
    /// needs besides it there.
    pub fn watch_process(&self, resident: fn() -> Option<usize>) {
        self.spill.watch_process(resident);
    }

    /// Returns this history such that it refuses a query whose series does not fit into the memory limit.
    #[must_use]
    pub fn refusing_excess(self) -> Self {
        Self { refuses_excess: true, ..self }
    }

    /// Returns the number of bytes by which what does not leave memory exceeds the limit.
    #[must_use]
    pub fn kept_excess(&self) -> usize {
        self.spill.kept_excess()
    }

    /// Returns the memory use that grows with the transactions, in bytes.
    #[must_use]
    pub fn resident_bytes(&self) -> usize {
        self.spill.resident_bytes()
    }

    /// Returns the number of bytes in use in the spill file.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.spilled_bytes()
    }

    /// Accepts a transaction as [`History::admit_as`] does, and [makes room](History::make_room).
    pub fn admit<T>(&self, transaction: Arc<Transaction>, with: impl FnOnce(Sequence) -> T) -> T {
        let answer = self.admit_as(|sequence| (transaction, with(sequence)));
        self.make_room();
        answer
    }

    /// Accepts a transaction under the admission lock. `make` receives the next sequence number and returns the
    /// transaction. It may read state that must be consistent with the number, but must not query this history. Every
    /// later transaction sees the new one. If `make` panics, the number is lost and nothing is accepted. The caller then
    /// [makes room](History::make_room): the next number must not wait for the disk.
    pub fn admit_as<T>(&self, make: impl FnOnce(Sequence) -> (Arc<Transaction>, T)) -> T {
        let mut admission = self.admission.lock();
        let sequence = admission.take_number();
        let (transaction, answer) = make(sequence);
        let orphans = admission.insert(sequence, transaction);
        drop(admission);
        drop(orphans);
        answer
    }

    /// Changes accepted transactions in place, under the admission lock. Each change takes the next sequence number and
    /// passes it to `with`; the transaction keeps its own number. From then on all queries see the changed
    /// transactions, whatever number they are answered as of. The caller must ensure that evaluations with lower
    /// numbers have ended, and that those with higher numbers start later. If `with` panics, its number is lost and its
    /// change is not made.
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
                self.note_update(Some(sequence));
                orphans.push(admission.update(sequence, Arc::new(change)));
                answer
            })
            .collect();
        self.note_update(None);
        drop(admission);
        drop(orphans);
        answers
    }

    /// Takes the next sequence number for an operation that is ordered but does not affect queries.
    pub fn take_place<T>(&self, with: impl FnOnce(Sequence) -> T) -> T {
        with(self.admission.lock().take_number())
    }

    /// Marks numbers up to this one as taken by an earlier process. The caller must restore their transactions before
    /// admitting anything.
    pub fn resume_at(&self, last: Sequence) {
        self.admission.lock().resume_at(last);
    }

    /// Marks so many transactions, with numbers up to `through`, as stored without reading them. For a history that only
    /// [estimates](History::estimate).
    pub fn assume_stored(&self, through: Sequence, n_transactions: usize) {
        self.admission.lock().restored(through, n_transactions);
    }

    /// Restores a transaction from the store; see [`History::restore_item`].
    ///
    /// # Panics
    /// When the number is not higher than all numbers restored or settled before.
    pub fn restore(&self, sequence: Sequence, transaction: &Transaction) {
        self.restore_item(PastItem::Accepted { sequence, transaction });
    }

    /// Restores a step from the store under its original number. Steps must come in sequence order and before anything
    /// is admitted.
    ///
    /// # Panics
    /// When the number is not higher than all numbers restored or settled before.
    pub fn restore_item(&self, item: PastItem<'_>) {
        let mut admission = self.admission.lock();
        let sequence = item.sequence();
        assert!(sequence > admission.settled(), "steps must be restored in sequence order: {sequence}");
        let orphans = admission.restore(item);
        self.note_settled(sequence);
        drop(admission);
        drop(orphans);
        self.spill.make_room();
    }

    /// Marks everything up to this number as durable. It can no longer be retracted, and only what queries need stays
    /// in memory.
    pub fn settle(&self, through: Sequence) {
        if self.past.is_some() {
            let orphans = self.admission.lock().settle(through);
            drop(orphans);
            self.note_settled(through);
        }
    }

    /// Retracts every transaction and change with this number or a higher one that is not settled. Retracted numbers
    /// are not reused. Returns the next number.
    pub fn retract_from(&self, first: Sequence) -> Sequence {
        let mut admission = self.admission.lock();
        let orphans = admission.retract_from(first);
        let next = admission.last().next();
        drop(admission);
        drop(orphans);
        next
    }

    /// Discards transactions that no active query reaches from event time `before`, in microseconds since 1970 UTC, or
    /// later. A query from an earlier time whose window includes discarded transactions returns
    /// [`LookupError::Forgotten`]. Runs long, but never blocks others for long.
    pub fn forget(&self, before: i64) {
        let _forgetting = self.spill.residency().map(|residency| residency.forgetting().lock());
        let series = self.admission.lock().reach_from(before);
        for series in series {
            series.forget(before);
        }
    }

    /// Refills every series that lacks transactions which queries reach from event time `before` (microseconds since
    /// 1970 UTC) or later. Needed when the clock behind [`History::forget`] was wrong. May run long.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn remember(&self, before: i64) -> Result<(), HistoryError> {
        let _building = self.building.read();
        activation::remember(&self.activation, before, FillSource { must_fit: false, ..self.source() })
    }

    /// Returns the highest sequence number taken; 0 when there is none.
    #[must_use]
    pub fn last_sequence(&self) -> Sequence {
        self.admission.lock().last()
    }

    /// Returns whether anything durable is known, which is not so before a restoration has ended.
    #[must_use]
    pub fn knows_stored(&self) -> bool {
        self.admission.lock().settled() > Sequence::default()
    }

    /// Returns the number of transactions accepted and not retracted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.admission.lock().n_transactions()
    }

    /// Returns whether the history holds no transaction.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of series in use.
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
            status_words: &self.status_words,
            must_fit: self.refuses_excess,
            may_select: true,
        }
    }

    /// Returns whether an equal aggregate is active, so that activating it takes no time.
    #[must_use]
    pub fn knows_aggregate(&self, spec: &AggregateSpec, semantics: Semantics) -> bool {
        self.activation.lock().knows_aggregate(spec, semantics)
    }

    /// Returns whether an equal lookup is active, so that activating it takes no time.
    #[must_use]
    pub fn knows_previous(&self, spec: &PreviousSpec, semantics: Semantics) -> bool {
        self.activation.lock().knows_previous(spec, semantics)
    }

    /// Activates an aggregate; equal specs share one query. This may build a series from the store, mostly outside the
    /// admission lock. The query sees every transaction accepted before this returns.
    ///
    /// # Errors
    /// When the filter contains an invalid pattern, an unknown zone or another query; when there are too many series;
    /// when the store cannot be read.
    pub fn aggregate(
        &self,
        spec: &AggregateSpec,
        semantics: Semantics,
    ) -> Result<Arc<AggregateQuery>, HistoryError> {
        let _building = self.building.read();
        activation::aggregate(&self.activation, spec, semantics, self.source())
    }

    /// Same as [`History::aggregate`], but may be told to test all conditions on rows one by one.
    fn aggregate_for_estimate(
        &self,
        spec: &AggregateSpec,
        semantics: Semantics,
        may_select: bool,
    ) -> Result<Arc<AggregateQuery>, HistoryError> {
        let _building = self.building.read();
        let source = FillSource { may_select, ..self.source() };
        activation::aggregate(&self.activation, spec, semantics, source)
    }

    /// Activates a lookup, as [`History::aggregate`] does.
    ///
    /// # Errors
    /// When there are too many series, or the store cannot be read.
    pub fn previous(
        &self,
        spec: &PreviousSpec,
        semantics: Semantics,
    ) -> Result<Arc<PreviousQuery>, HistoryError> {
        let _building = self.building.read();
        activation::previous(&self.activation, spec, semantics, self.source())
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
