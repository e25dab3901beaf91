//! A series: entries by the values of some fields. Queries share it when key fields, selection and measure are equal.

mod anchored;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use smallvec::SmallVec;
use tollgate_model::background::drop_in_background;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::filling_table::FillingTable;
use crate::filter::FilterError;
use crate::forgotten::HistoryForgotten;
use crate::key::{ExportKey, KeyQuery, OnlyText};
use crate::layout::{Layout, PreparedRow, ReadingData, SeriesSpec};
use crate::lookup_budget::LookupBudget;
use crate::lookup_error::LookupError;
use crate::owned_value::StructureDigests;
use crate::progress::FillProgress;
use crate::residency::{AnchorReader, Residency};
use crate::row::Columns;
use crate::spill::{Extent, Spill, SpillError, SpillMiss, SpillSource, until_read};
use crate::timeline::{TimeRange, TimelineRuns, TimelineVisitor};

use anchored::{hold_to_add, hold_to_change, hold_to_remove};

use crate::key_table::Entries;
pub(super) use crate::key_table::KeyTable;

/// Series locked at a time while a transaction is inserted into all.
const SERIES_AT_ONCE: usize = 16;

/// All accepted transactions that are selected and have a key, by key, in event-time order.
#[derive(Debug)]
pub(super) struct Series {
    spec: SeriesSpec,
    spill: Arc<Spill>,
    /// `None` when its keys stay in memory.
    anchor: Option<Arc<AnchorReader>>,
    key_table: RwLock<KeyTable>,
    /// Windows of its queries, in microseconds, with the number of queries for each.
    windows: Mutex<BTreeMap<i64, usize>>,
    /// Number of times the key table was replaced.
    n_shelves: AtomicU64,
    /// Held while it is filled.
    filling: Mutex<()>,
    progress: FillProgress,
    /// Whether it was filled, so that accepted transactions are inserted.
    is_attached: AtomicBool,
}

/// The series that a query needs, and its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesUse {
    /// Identifies the series while it exists.
    pub series: usize,
    /// The part of its memory that cannot leave it, in bytes, without what the allocator leaves unused.
    pub n_kept_bytes: usize,
}

/// Memory that is freed by the thread that drops a series, in bytes.
const FREED_AT_ONCE_BYTES: usize = 1 << 20;

/// Slots from which entries are discarded at a time; insertions wait meanwhile.
const FORGOTTEN_SLOTS: usize = 1_024;

impl Series {
    /// Creates an empty series without columns. Without key fields, all entries have the same key.
    ///
    /// # Errors
    /// When the selection is not a valid filter.
    pub(super) fn new(
        spec: SeriesSpec,
        spill: &Arc<Spill>,
        data: ReadingData<'_>,
    ) -> Result<Arc<Self>, FilterError> {
        let layout = Layout::bind(&spec, data)?;
        Ok(Self::with(spec, layout, spill))
    }

    /// Returns an empty series like this one, with other columns, to be filled beside it.
    pub(super) fn empty_with(&self, columns: Columns) -> Arc<Self> {
        let layout = self.key_table.read().layout().with(columns);
        Self::with(self.spec.clone(), layout, &self.spill)
    }

    fn with(spec: SeriesSpec, layout: Layout, spill: &Arc<Spill>) -> Arc<Self> {
        let layout = Arc::new(layout);
        let anchor = spill.residency().and_then(|residency| residency.reader_of(&layout));
        let key_table = RwLock::new(KeyTable::new(layout, spill));
        let windows = Mutex::default();
        let series = Arc::new(Self {
            spec,
            spill: Arc::clone(spill),
            anchor,
            key_table,
            windows,
            n_shelves: AtomicU64::new(0),
            filling: Mutex::default(),
            progress: FillProgress::default(),
            is_attached: AtomicBool::new(false),
        });
        let spill_source: Arc<dyn SpillSource> = Arc::<Self>::clone(&series);
        spill.register(Arc::downgrade(&spill_source));
        if let (Some(anchor), Some(residency)) = (&series.anchor, spill.residency()) {
            residency.register(anchor.field.domain, &series);
        }
        series
    }

    pub(super) const fn spec(&self) -> &SeriesSpec {
        &self.spec
    }

    /// Returns a text that identifies the contents: fields, selection, measure, columns. Contents with equal texts are
    /// interchangeable.
    pub(super) fn identity(&self) -> String {
        format!("{} {:?}", self.spec.identity(), self.columns().fields())
    }

    /// Returns the part of its memory that cannot leave it, in bytes.
    pub(super) fn n_kept_bytes(&self) -> usize {
        self.key_table.read().n_kept_bytes()
    }

    pub(super) fn layout(&self) -> Arc<Layout> {
        Arc::clone(self.key_table.read().layout())
    }

    pub(super) fn columns(&self) -> Columns {
        self.key_table.read().layout().columns().clone()
    }

    pub(super) fn empty_key_table(&self, columns: Columns) -> KeyTable {
        let layout = self.key_table.read().layout().with(columns);
        KeyTable::new(Arc::new(layout), &self.spill)
    }

    /// Returns an empty key table to be filled for this series.
    pub(super) fn filling_table(&self, columns: Columns) -> FillingTable {
        FillingTable::new(self.empty_key_table(columns), &self.spill)
    }

    /// Returns how often the key table was replaced. Slots remain valid while this is unchanged.
    pub(super) fn n_shelves(&self) -> u64 {
        self.n_shelves.load(Ordering::Acquire)
    }

    /// Returns the lock that is held while the series is filled.
    pub(super) const fn filling(&self) -> &Mutex<()> {
        &self.filling
    }

    /// Returns the progress of its fill.
    pub(super) const fn progress(&self) -> &FillProgress {
        &self.progress
    }

    /// Returns whether it was filled, so that accepted transactions are inserted.
    pub(super) fn is_attached(&self) -> bool {
        self.is_attached.load(Ordering::Acquire)
    }

    pub(super) fn mark_attached(&self) {
        self.is_attached.store(true, Ordering::Release);
    }

    pub(super) fn replace(&self, mut key_table: KeyTable) -> KeyTable {
        let _generation = self.spill.residency().map(Residency::new_generation);
        if self.spill.has_records() {
            key_table.index_anchors();
        }
        let mut own = self.key_table.write();
        self.n_shelves.fetch_add(1, Ordering::Release);
        std::mem::replace(&mut own, key_table)
    }

    /// Exchanges the key table with that of a series which was filled beside this one.
    pub(super) fn exchange_table(&self, filled: &Self) {
        let _nothing_leaves = self.spill.residency().map(Residency::hold_generation);
        let (mut own, mut other) = (self.key_table.write(), filled.key_table.write());
        self.n_shelves.fetch_add(1, Ordering::Release);
        std::mem::swap(&mut *own, &mut *other);
    }

    /// Records the number of the status change that is applied to it next, if it is not settled.
    pub(super) fn note_update(&self, number: Option<Sequence>) {
        if let Some(residency) = self.spill.residency() {
            residency.note_update(number);
        }
    }
    /// Records a range of which it has no transactions.
    pub(super) fn lacks(&self, what: HistoryForgotten) {
        self.key_table.write().lacks(what);
    }

    /// Returns why its contents are uncertain, if they are.
    pub(super) fn doubt(&self) -> Option<SpillError> {
        self.key_table.read().doubt().cloned()
    }

    /// Inserts a transaction into several series; does nothing where it exists. Most of the time goes to cache misses;
    /// running each step for all series makes them overlap. Only one thread at a time may call this for the same
    /// series.
    pub(super) fn insert_into_all(
        all: &[Arc<Self>],
        bench: &mut PreparedRows,
        sequence: Sequence,
        transaction: &Transaction,
    ) {
        bench.digests.clear();
        let _held = all
            .first()
            .and_then(|first| hold_to_add(&first.spill, all.iter().map(|series| &**series), transaction));
        for some in all.chunks(SERIES_AT_ONCE) {
            let mut open: SmallVec<[OpenSeries<'_>; SERIES_AT_ONCE]> = SmallVec::new();
            for (series, prepared) in some.iter().zip(&mut bench.prepared) {
                let key_table = series.key_table.write();
                if key_table
                    .layout()
                    .prepare_in(prepared, &mut bench.digests, sequence, transaction)
                    .is_some()
                {
                    open.push(OpenSeries { key_table, prepared, slot: None });
                }
            }
            open.iter_mut().for_each(OpenSeries::guess);
            open.iter_mut().for_each(OpenSeries::find);
            black_box(open.iter().map(|one| one.key_table.touch(one.slot)).sum::<usize>());
            black_box(open.iter().fold(0, |all, one| all ^ one.key_table.touch_end(one.slot)));
            open.iter_mut().for_each(OpenSeries::put);
        }
    }

    /// Inserts a transaction; does nothing when it exists.
    pub(super) fn insert(&self, sequence: Sequence, transaction: &Transaction) {
        let _held = hold_to_add(&self.spill, [self], transaction);
        let mut key_table = self.key_table.write();
        if let Some(prepared) = key_table.layout().prepare(sequence, transaction) {
            key_table.put(&prepared.key, &prepared.entry);
        }
    }

    /// Removes a transaction that is not settled; does nothing when it does not exist.
    pub(super) fn remove(&self, sequence: Sequence, transaction: &Transaction) {
        let held = hold_to_remove(&self.spill, self, transaction);
        let mut key_table = self.key_table.write();
        if let Some(prepared) = key_table.layout().prepare(sequence, transaction) {
            key_table.take_away(&prepared.key, prepared.entry.place());
        }
        if let Some(error) = held.and_then(|held| held.error) {
            key_table.mark_in_doubt(error);
        }
    }

    /// Replaces a transaction; does nothing when no entry changes.
    pub(super) fn replace_transaction(&self, sequence: Sequence, before: &Transaction, after: &Transaction) {
        let held = hold_to_change(&self.spill, self, &[before, after]);
        let mut key_table = self.key_table.write();
        key_table.replace_transaction(sequence, before, after);
        if let Some(error) = held.and_then(|held| held.error) {
            key_table.mark_in_doubt(error);
        }
    }

    /// Visits the entries that equal the key and lie in the time range. The series is locked meanwhile: read sums and
    /// the latest entries at once, and collect chunks for later.
    ///
    /// # Errors
    /// When the contents are uncertain, or part of the range was discarded.
    #[inline]
    pub(super) fn visit(
        &self,
        key: &KeyQuery<'_>,
        stretch: &TimeRange,
        budget: &LookupBudget<'_>,
        look: &mut impl TimelineVisitor,
    ) -> Result<(), LookupError> {
        let key_table = self.key_table.read();
        if !key_table.may_be_elsewhere() {
            return key_table.visit(key, stretch, budget, look).map(drop);
        }
        let taken = budget.taken();
        if !self.spill.has_partial_keys() && key_table.visit(key, stretch, budget, look)? {
            return Ok(());
        }
        drop(key_table);
        budget.restore(taken);
        self.visit_resident(key, stretch, budget, look)
    }

    /// Passes the entries of a single text to `look`, unless other keys may equal it or the contents are uncertain. The
    /// series is locked meanwhile.
    #[inline]
    pub(super) fn look(&self, text: &OnlyText<'_>, look: impl FnOnce(&Entries<'_>)) {
        let key_table = self.key_table.read();
        if let Some(entries) = key_table.entries_of(text) {
            look(&entries);
        }
    }

    /// Registers a query with this window.
    pub(super) fn widen(&self, window: i64) {
        *self.windows.lock().entry(window).or_default() += 1;
    }

    /// Unregisters a query with this window.
    pub(super) fn narrow(&self, window: i64) {
        let mut windows = self.windows.lock();
        if let Some(n_questions) = windows.get_mut(&window) {
            *n_questions -= 1;
            if *n_questions == 0 {
                windows.remove(&window);
            }
        }
    }

    /// Returns the longest window of its queries, in microseconds; 0 without one.
    pub(super) fn longest_window(&self) -> i64 {
        self.windows.lock().last_key_value().map_or(0, |(window, _)| *window)
    }

    /// Discards entries that no query reaches from this time, in microseconds since 1970 UTC, or later, if a search for them
    /// is due.
    pub(super) fn forget(&self, before: i64) {
        if !self.key_table.write().begin_search(self.out_of_reach(before)) {
            return;
        }
        let mut next = Some(usize::MAX);
        while let Some(end) = next {
            let mut key_table = self.key_table.write();
            // Computed under the lock: a query that widens the window now will find the discarded range.
            let what = self.out_of_reach(before);
            next = key_table.forget(what, end, FORGOTTEN_SLOTS);
        }
    }

    /// Returns whether no query reaches this event time from `before`, both in microseconds since 1970 UTC. The series
    /// then counts as one that has discarded the transactions up to there.
    pub(super) fn leaves_out(&self, event: i64, before: i64) -> bool {
        // Computed under the lock, as in `forget`.
        let mut key_table = self.key_table.write();
        let what = self.out_of_reach(before);
        let is_out_of_reach = event <= what.through;
        if is_out_of_reach {
            key_table.lacks(what);
        }
        is_out_of_reach
    }

    /// Returns the range that no query reaches from this time, in microseconds since 1970 UTC, or later.
    pub(super) fn out_of_reach(&self, before: i64) -> HistoryForgotten {
        let longest_window = self.longest_window();
        HistoryForgotten { through: before.saturating_sub(longest_window).saturating_sub(1), longest_window }
    }

    pub(super) fn forgotten(&self) -> Option<HistoryForgotten> {
        self.key_table.read().forgotten()
    }

    /// Reads what this or another series wrote to the spill file.
    ///
    /// # Errors
    /// When the bytes are damaged or no longer there.
    pub(super) fn read(&self, extent: Extent) -> Result<Arc<[u8]>, SpillMiss> {
        self.spill.read(extent)
    }

    /// Passes the entries of up to `n_keys` keys before a slot to `show`, each with its key, if `wants` it: all of them from
    /// `usize::MAX` on. Returns the slot before which to continue, `None` at the end. The lock is held only while handles are
    /// copied; a key that changes meanwhile is shown as it is before or after the change, or both.
    ///
    /// # Errors
    /// When the contents are uncertain or cannot be read. Some keys were shown.
    pub(super) fn export(
        &self,
        end: usize,
        n_keys: usize,
        wants: &dyn Fn(&ExportKey) -> bool,
        show: &mut dyn FnMut(&ExportKey, &TimelineRuns),
    ) -> Result<Option<usize>, SpillError> {
        let mut end = end;
        for _ in 0..n_keys.max(1) {
            let (exported, next) = until_read(|| {
                let key_table = self.key_table.read();
                if let Some(error) = key_table.doubt() {
                    return Err(error.clone().into());
                }
                let (stay, next) = key_table.stay(end);
                drop(key_table);
                let Some((key, stay)) = stay.filter(|(key, _)| wants(key)) else { return Ok((None, next)) };
                let runs = stay.runs(|extent| self.spill.read(extent))?;
                Ok((Some((key, runs)), next))
            })?;
            if let Some((key, runs)) = exported {
                show(&key, &runs);
            }
            let Some(next) = next else { return Ok(None) };
            end = next;
        }
        Ok(Some(end))
    }
}

/// Prepared rows of one transaction for several series. Reused, because creating them takes longer than using them.
#[derive(Debug)]
pub(super) struct PreparedRows {
    prepared: [PreparedRow; SERIES_AT_ONCE],
    digests: StructureDigests,
}

impl Default for PreparedRows {
    fn default() -> Self {
        Self {
            prepared: std::array::from_fn(|_| PreparedRow::default()),
            digests: StructureDigests::default(),
        }
    }
}

/// A locked series into which a transaction is inserted step by step. Each step uses memory that the previous one
/// fetched.
struct OpenSeries<'s> {
    key_table: RwLockWriteGuard<'s, KeyTable>,
    prepared: &'s PreparedRow,
    slot: Option<u32>,
}

impl OpenSeries<'_> {
    fn guess(&mut self) {
        self.slot = self.key_table.guess(&self.prepared.key);
    }

    fn find(&mut self) {
        self.slot = self.key_table.find_guessed(self.slot, &self.prepared.key);
    }

    fn put(&mut self) {
        self.key_table.put_at(self.slot, &self.prepared.key, &self.prepared.entry);
    }
}

impl Drop for Series {
    /// Frees a large table in the background, because a thread that judges a transaction may drop the series.
    fn drop(&mut self) {
        let own = self.key_table.get_mut();
        if own.n_bytes() > FREED_AT_ONCE_BYTES {
            let empty = KeyTable::new(Arc::clone(own.layout()), &self.spill);
            drop_in_background(std::mem::replace(own, empty));
        }
    }
}
