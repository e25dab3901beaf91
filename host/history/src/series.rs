//! Entries by the values of some fields: what all questions with these fields in their equalities, the same selection and
//! the same measure share.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use smallvec::SmallVec;
use tollgate_model::calendar::ZoneData;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::filter::FilterError;
use crate::forgotten::HistoryForgotten;
use crate::key::{ExportKey, KeyQuery, OnlyText};
use crate::layout::{Layout, PreparedRow, SeriesSpec};
use crate::lookup_error::LookupError;
use crate::row::Columns;
use crate::spill::{Extent, Spill, SpillError, SpillMiss, SpillSource, until_read};
use crate::timeline::{TimeRange, TimelineRuns, TimelineVisitor};

pub(super) use crate::key_table::KeyTable;
use crate::key_table::{Entries, pieces};

/// So many series are locked at a time while a transaction is put into all.
const SERIES_AT_ONCE: usize = 16;

/// Every accepted transaction that is selected and has a key, by key, in order of event time.
#[derive(Debug)]
pub(super) struct Series {
    spec: SeriesSpec,
    spill: Arc<Spill>,
    key_table: RwLock<KeyTable>,
    /// The windows of the questions that ask it, in microseconds, each with how many of these there are.
    windows: Mutex<BTreeMap<i64, usize>>,
    /// How often another shelf took the place of its own.
    n_shelves: AtomicU64,
}

/// Slots from which entries are let go at a time; whoever puts something in waits meanwhile.
const FORGOTTEN_SLOTS: usize = 1_024;

impl Series {
    /// An empty one, without columns. Without fields, all entries have one key.
    ///
    /// # Errors
    /// When the selection is no filter.
    pub(super) fn new(
        spec: SeriesSpec,
        spill: &Arc<Spill>,
        zones: &ZoneData,
    ) -> Result<Arc<Self>, FilterError> {
        let layout = Arc::new(Layout::bind(&spec, zones)?);
        let key_table = RwLock::new(KeyTable::new(layout, spill));
        let windows = Mutex::default();
        let series = Arc::new(Self {
            spec,
            spill: Arc::clone(spill),
            key_table,
            windows,
            n_shelves: AtomicU64::new(0),
        });
        let spill_source: Arc<dyn SpillSource> = Arc::<Self>::clone(&series);
        spill.register(Arc::downgrade(&spill_source));
        Ok(series)
    }

    /// What it is of.
    pub(super) const fn spec(&self) -> &SeriesSpec {
        &self.spec
    }

    /// Identity of what it holds: fields, selection, measure, columns. Equal text means interchangeable content.
    pub(super) fn identity(&self) -> String {
        // Every map key is a string and every number is finite, so JSON can always say it.
        let spec = serde_json::to_string(&self.spec).unwrap_or_default();
        format!("{spec} {:?}", self.columns().fields())
    }

    /// What its entries keep besides their amounts.
    pub(super) fn columns(&self) -> Columns {
        self.key_table.read().layout().columns().clone()
    }

    /// A shelf for it, with these columns and nothing on it.
    pub(super) fn empty_key_table(&self, columns: Columns) -> KeyTable {
        let layout = self.key_table.read().layout().with(columns);
        KeyTable::new(Arc::new(layout), &self.spill)
    }

    /// How often another shelf took the place of its own: as long as that is the same, slots are.
    pub(super) fn n_shelves(&self) -> u64 {
        self.n_shelves.load(Ordering::Acquire)
    }

    /// Puts another shelf in place of its own, which it gives back.
    pub(super) fn replace(&self, key_table: KeyTable) -> KeyTable {
        let mut own = self.key_table.write();
        self.n_shelves.fetch_add(1, Ordering::Release);
        std::mem::replace(&mut own, key_table)
    }

    /// Puts a transaction at its place in every one of some series; nothing happens where it is already. Most of the work
    /// is waiting for memory: done step by step for all, they wait together. Only one thread at a time may do this with the
    /// same series.
    pub(super) fn insert_into_all(
        all: &[Arc<Self>],
        bench: &mut PreparedRows,
        sequence: Sequence,
        transaction: &Transaction,
    ) {
        for some in all.chunks(SERIES_AT_ONCE) {
            let mut open: SmallVec<[OpenSeries<'_>; SERIES_AT_ONCE]> = SmallVec::new();
            for (series, prepared) in some.iter().zip(&mut bench.prepared) {
                let key_table = series.key_table.write();
                if key_table.layout().prepare_in(prepared, sequence, transaction).is_some() {
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

    /// Puts a transaction at its place; nothing happens when it is there already.
    pub(super) fn insert(&self, sequence: Sequence, transaction: &Transaction) {
        let mut key_table = self.key_table.write();
        if let Some(prepared) = key_table.layout().prepare(sequence, transaction) {
            key_table.put(&prepared.key, &prepared.entry);
        }
    }

    /// Takes a transaction back; nothing happens when it is not there.
    pub(super) fn remove(&self, sequence: Sequence, transaction: &Transaction) {
        let mut key_table = self.key_table.write();
        if let Some(prepared) = key_table.layout().prepare(sequence, transaction) {
            key_table.take_away(&prepared.key, prepared.entry.place());
        }
    }

    /// Puts a transaction in place of what it was; nothing happens where it is so already.
    pub(super) fn replace_transaction(&self, sequence: Sequence, before: &Transaction, after: &Transaction) {
        self.key_table.write().replace_transaction(sequence, before, after);
    }

    /// Shows the entries that equal the key and that the stretch shows. The series is locked meanwhile: look at figures
    /// and the latest entries here, take chunks along.
    ///
    /// # Errors
    /// When it is not sure what it holds, or has let go of some of it.
    #[inline]
    pub(super) fn visit(
        &self,
        key: &KeyQuery<'_>,
        stretch: &TimeRange,
        look: &mut impl TimelineVisitor,
    ) -> Result<(), LookupError> {
        self.key_table.read().visit(key, stretch, look)
    }

    /// Shows what a text alone has, unless other keys may equal it, or nobody is sure. The series is locked meanwhile.
    #[inline]
    pub(super) fn look(&self, text: &OnlyText<'_>, look: impl FnOnce(&Entries<'_>)) {
        let key_table = self.key_table.read();
        if let Some(entries) = key_table.entries_of(text) {
            look(&entries);
        }
    }

    /// A question with this window asks it from now on.
    pub(super) fn widen(&self, window: i64) {
        *self.windows.lock().entry(window).or_default() += 1;
    }

    /// A question with this window asks it no more.
    pub(super) fn narrow(&self, window: i64) {
        let mut windows = self.windows.lock();
        if let Some(n_questions) = windows.get_mut(&window) {
            *n_questions -= 1;
            if *n_questions == 0 {
                windows.remove(&window);
            }
        }
    }

    /// The longest window of the questions that ask it, in microseconds; 0 without one.
    pub(super) fn longest_window(&self) -> i64 {
        self.windows.lock().last_key_value().map_or(0, |(window, _)| *window)
    }

    /// Lets go of what no question reaches from this time, in microseconds since 1970 UTC, or a later one.
    pub(super) fn forget(&self, before: i64) {
        let mut from = Some(0);
        while let Some(slot) = from {
            let mut key_table = self.key_table.write();
            // Under the lock: who widens it now will find that something is gone.
            let what = self.out_of_reach(before);
            from = key_table.forget(what, slot, FORGOTTEN_SLOTS);
        }
    }

    /// What no question reaches from this time, in microseconds since 1970 UTC, or a later one.
    pub(super) fn out_of_reach(&self, before: i64) -> HistoryForgotten {
        let longest_window = self.longest_window();
        HistoryForgotten { through: before.saturating_sub(longest_window).saturating_sub(1), longest_window }
    }

    /// What it has let go of.
    pub(super) fn forgotten(&self) -> Option<HistoryForgotten> {
        self.key_table.read().forgotten()
    }

    /// Reads what was written out of this or another series.
    ///
    /// # Errors
    /// When what is there is not what was written, or not any more.
    pub(super) fn read(&self, extent: Extent) -> Result<Arc<[u8]>, SpillMiss> {
        self.spill.read(extent)
    }

    /// Shows what up to `n_keys` keys from slot `from` on hold, each with its key; answers the slot to go on from, `None` at the end. It is locked only while handles are copied. A key that
    /// comes or changes meanwhile is shown as it was or as it is.
    ///
    /// # Errors
    /// When it is not sure what it holds, or that cannot be read. Some keys were shown.
    pub(super) fn export(
        &self,
        from: usize,
        n_keys: usize,
        show: &mut dyn FnMut(&ExportKey, &TimelineRuns),
    ) -> Result<Option<usize>, SpillError> {
        let mut next = from;
        for _ in 0..n_keys.max(1) {
            let (exported, after) = until_read(|| {
                let key_table = self.key_table.read();
                if let Some(error) = key_table.doubt() {
                    return Err(error.clone().into());
                }
                let (stays, after) = key_table.stay(next, 1);
                drop(key_table);
                let mut exported = Vec::new();
                for (key, stay) in stays {
                    exported.push((key, stay.runs(|extent| self.spill.read(extent))?));
                }
                Ok((exported, after))
            })?;
            exported.iter().for_each(|(key, runs)| show(key, runs));
            let Some(after) = after else { return Ok(None) };
            next = after;
        }
        Ok(Some(next))
    }
}

/// Where a transaction is prepared for some series at a time. It is kept: to make it takes longer than to use it.
#[derive(Debug)]
pub(super) struct PreparedRows {
    prepared: [PreparedRow; SERIES_AT_ONCE],
}

impl Default for PreparedRows {
    fn default() -> Self {
        Self { prepared: std::array::from_fn(|_| PreparedRow::default()) }
    }
}

/// A series to put a transaction into, step by step. What each step needs the one before it has fetched.
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

impl SpillSource for Series {
    fn let_go(&self, n_bytes: usize) -> Result<usize, SpillError> {
        let leaving = self.key_table.write().departure(n_bytes);
        if leaving.is_empty() {
            return Ok(0);
        }
        // Nobody waits while it is written.
        match self.spill.write(&pieces(&leaving)) {
            Ok(extents) => Ok(self.key_table.write().depart(&leaving, &extents)),
            Err(error) => {
                self.key_table.write().stays(&leaving);
                Err(error)
            }
        }
    }
}
