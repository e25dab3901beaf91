//! The entries of one key in event-time order: a latest run that grows, and chunks under a tree of precomputed sums.
//!
//! ```text
//!  Timeline ─┬─ latest: a run of up to 128 entries, each inserted in order
//!            └─ TreeNode ─┬─ TreeNode ─┬─ chunk ─ chunk ─ …      by their last entries
//!                         │            │    └ body: 128 entries, in memory or in the spill file
//!                         ├─ TreeNode  └ figures: first, last, lowest and highest number, count, sum, min, max, …
//!                         └─ …
//!
//!  window         ├──────────────────────────────────────────┤
//!  chunks    ▒▒▒▒▒▒▒▒▒▒ ██████████ ██████████ ██████████ ▒▒▒▒▒▒▒▒▒▒
//!               part    └── sums of chunks or nodes ───┘    part         TimelineVisitor::sum and ::part
//! ```
//!
//! Every chunk and every node has a time range and precomputed sums. A query takes the sums of the highest nodes that
//! lie entirely in its window, so their number grows with the logarithm of the entries. It reads entries only where a
//! chunk crosses an edge of the window, or where sums do not suffice. A full run becomes a chunk unchanged. Chunk
//! bodies never change, so readers keep a reference and read them without a lock.

mod chunk;
mod figures;
mod forgetting;
mod node;
mod rows;
mod run;
mod span;
mod spilling;

use tollgate_model::decimal::Decimal;
use tollgate_model::sequence::Sequence;

use crate::owned_value::OwnedValue;
use crate::spill::{Extent, SeriesAccount, SpillError, heap_bytes};

use chunk::Chunk;
use node::{TreeNode, is_left_to_show};
use run::{RUN_ENTRIES_MAX, ValueTable};

pub(super) use chunk::ChunkBytes;
pub(super) use figures::EntrySum;
pub(super) use rows::Rows;
pub(super) use run::{OpenRun, RestingRun, Run};
pub(super) use spilling::{DeferredBytes, SpillingBytes, TimelineRuns};

/// Number of entries at the end of the last chunk. A late entry that belongs among them goes to the latest run instead,
/// which keeps the chunk intact.
const LATE_ENTRIES_MAX: usize = 32;

/// An accepted transaction in a timeline.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Entry {
    /// Event time, in microseconds since 1970 UTC.
    pub(super) micros: i64,
    pub(super) sequence: Sequence,
    /// Amount, or the measure of the series.
    pub(super) amount: Decimal,
    /// Other values that queries read: the columns of the series.
    pub(super) cells: Box<[OwnedValue]>,
}

/// The place of an entry: event time and sequence number.
pub(super) type EntryPosition = (i64, Sequence);

/// A range of event time, both ends included, as of a sequence number.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeRange {
    /// Microseconds since 1970 UTC.
    pub(super) from: i64,
    /// Microseconds since 1970 UTC.
    pub(super) to: i64,
    /// Entries with this number or a higher one are invisible.
    pub(super) as_of: Sequence,
}

/// A visitor of the entries in a time range.
pub(super) trait TimelineVisitor {
    /// Receives entries that are all visible. Returns whether their sum suffices; otherwise the entries follow.
    fn sum(&mut self, sum: EntrySum<'_>) -> bool;

    /// Receives entries of which some may be visible.
    fn part(&mut self, part: EntryBlock<'_>);
}

#[derive(Debug, Clone, Copy)]
pub(super) enum EntryBlock<'t> {
    /// To be read at once: they may change when the lock is released.
    Latest(&'t OpenRun<'t>),
    /// To be read at once, or later through a clone.
    Chunk(&'t ChunkBytes),
}

/// The entries of one key, each (event time, sequence number) once.
#[derive(Debug)]
pub(super) struct Timeline {
    latest: LatestRun,
    more: Option<Box<TimelineExtras>>,
}

/// The latest run without its value tables.
#[derive(Debug)]
enum LatestRun {
    Here(Vec<u8>),
    /// In the spill file, with its tables.
    Away(Extent),
}

/// A timeline prepared for visits.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenTimeline<'t> {
    latest: OpenLatestRun<'t>,
    more: Option<&'t TimelineExtras>,
}

#[derive(Debug, Clone, Copy)]
enum OpenLatestRun<'t> {
    /// The run, with the event times of its first and last entry.
    Here(OpenRun<'t>, (i64, i64)),
    Away(Extent),
    Nothing,
}

/// Parts that most timelines do not have.
#[derive(Debug, Default)]
struct TimelineExtras {
    tables: Vec<ValueTable>,
    root: TreeNode,
    /// Upper bound of the sequence numbers in chunks.
    sequence_max: Sequence,
    /// Former latest runs that could not be read back when an entry was to be added; their time ranges are unknown.
    lost: Vec<ChunkBytes>,
}

impl Entry {
    pub(super) const fn place(&self) -> EntryPosition {
        (self.micros, self.sequence)
    }
}

impl TimelineExtras {
    fn put(&mut self, chunk: Chunk, account: &mut SeriesAccount) {
        self.sequence_max = self.sequence_max.max(chunk.figures.sequence_max());
        self.root.put(chunk, account);
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self { latest: LatestRun::Here(Vec::new()), more: None }
    }
}

impl Timeline {
    pub(super) fn is_empty(&self) -> bool {
        let has_more = self.more.as_ref().is_some_and(|more| !more.root.is_empty() || !more.lost.is_empty());
        let is_latest_empty = match &self.latest {
            LatestRun::Here(rows) => Rows::of(rows).len() == 0,
            LatestRun::Away(_) => false,
        };
        is_latest_empty && !has_more
    }

    /// Inserts an entry: fast at the end, correct anywhere. Does nothing when it exists. `is_new` means that no entry
    /// has its sequence number; `slot` is the slot of the timeline in its key table.
    ///
    /// # Errors
    /// When the entry may exist among entries that cannot be read back.
    pub(super) fn insert(
        &mut self,
        entry: &Entry,
        is_new: bool,
        slot: u32,
        account: &mut SeriesAccount,
    ) -> Result<(), SpillError> {
        self.wake(account);
        if !is_new && self.contains(entry.place(), account)? {
            return Ok(());
        }
        if self.more.is_some() && self.belongs_in_tree(entry.place()) {
            return self.insert_in_tree(entry, slot, account);
        }
        if !entry.cells.is_empty() && self.more.is_none() {
            self.make_more(account);
        }
        let LatestRun::Here(rows) = &mut self.latest else { return Ok(()) };
        let capacity = rows.capacity();
        match &mut self.more {
            Some(more) if !entry.cells.is_empty() => {
                let before = run::tables_bytes(&more.tables);
                more.tables.resize_with(entry.cells.len(), ValueTable::default);
                run::insert(rows, &mut more.tables, entry);
                account.exchange_entries(before, run::tables_bytes(&more.tables));
            }
            Some(_) | None => run::insert(rows, &mut [], entry),
        }
        if rows.capacity() != capacity {
            account.exchange_entries(heap_bytes(capacity), heap_bytes(rows.capacity()));
        }
        if Rows::of(rows).len() >= RUN_ENTRIES_MAX {
            self.seal(slot, account);
        }
        Ok(())
    }

    /// Returns whether the latest run is only in the spill file.
    #[inline]
    pub(super) const fn is_asleep(&self) -> bool {
        matches!(self.latest, LatestRun::Away(_))
    }

    /// Fills an empty timeline with entries, which are in order.
    pub(super) fn fill(&mut self, entries: &[Entry], slot: u32, account: &mut SeriesAccount) {
        let (full, rest) = entries.as_chunks::<RUN_ENTRIES_MAX>();
        for entries in full {
            self.make_more(account);
            if let (Some(chunk), Some(more)) = (Chunk::of_entries(entries, slot, account), &mut self.more) {
                more.put(chunk, account);
            }
        }
        if !rest.is_empty() {
            self.put_latest(Run::of(rest), account);
        }
    }

    /// Returns the number of entries of the latest run if it is in memory; also fetches it into the cache.
    pub(super) fn n_latest(&self) -> usize {
        match &self.latest {
            LatestRun::Here(rows) => Rows::of(rows).len(),
            LatestRun::Away(_) => 0,
        }
    }

    /// Returns the event time of the last entry of the latest run if it is in memory; also fetches it into the cache.
    pub(super) fn end_of_latest(&self) -> i64 {
        match &self.latest {
            LatestRun::Here(rows) => Rows::of(rows).times().map_or(0, |(_, last)| last),
            LatestRun::Away(_) => 0,
        }
    }

    fn contains(&self, place: EntryPosition, account: &SeriesAccount) -> Result<bool, SpillError> {
        if let LatestRun::Here(rows) = &self.latest {
            let open = OpenRun::of(rows, &[]);
            // Usually the number is higher than all before.
            if place.1 <= open.rows().sequence_max() && open.contains(place) {
                return Ok(true);
            }
        }
        let Some(more) = &self.more else { return Ok(false) };
        for body in &more.lost {
            let run = body.open(|extent| account.read(extent))?;
            if run.open().contains(place) {
                return Ok(true);
            }
        }
        Ok(place.1 <= more.sequence_max && more.root.holder_of(place, account)?.is_some())
    }

    /// Returns whether an entry is too early for the latest run.
    fn belongs_in_tree(&self, place: EntryPosition) -> bool {
        // Checks the cached run first.
        if let LatestRun::Here(rows) = &self.latest
            && Rows::of(rows).times().is_some_and(|(first, _)| first <= place.0)
        {
            return false;
        }
        let Some(more) = &self.more else { return false };
        if more.root.last().is_none_or(|last| last < place) {
            return false;
        }
        let Some(ChunkBytes::Here(bytes)) = more.root.last_chunk().map(Chunk::body) else { return true };
        let rows = Rows::of(bytes);
        let late = rows.len().saturating_sub(LATE_ENTRIES_MAX);
        rows.len() < RUN_ENTRIES_MAX || place < rows.place(late)
    }

    fn insert_in_tree(
        &mut self,
        entry: &Entry,
        slot: u32,
        account: &mut SeriesAccount,
    ) -> Result<(), SpillError> {
        let Some(more) = &mut self.more else { return Ok(()) };
        let home = more.root.home_of(entry.place()).and_then(|last| more.root.take(last, account));
        let Some(home) = home else {
            let alone = Chunk::of_entries(std::slice::from_ref(entry), slot, account);
            alone.into_iter().for_each(|chunk| more.put(chunk, account));
            return Ok(());
        };
        let (result, parts) = match home.with(entry, slot, account) {
            Ok(parts) => {
                home.discard(account);
                (Ok(()), parts)
            }
            Err(error) => (Err(error), vec![home]),
        };
        parts.into_iter().for_each(|part| more.put(part, account));
        result
    }

    fn seal(&mut self, slot: u32, account: &mut SeriesAccount) {
        self.make_more(account);
        let (LatestRun::Here(rows), Some(more)) = (&mut self.latest, &mut self.more) else { return };
        let before = heap_bytes(rows.capacity()) + run::tables_bytes(&more.tables);
        let sealed = Chunk::of(rows, &more.tables, slot, account);
        (*rows, more.tables) = (Vec::new(), Vec::new());
        account.exchange_entries(before, 0);
        sealed.into_iter().for_each(|chunk| more.put(chunk, account));
    }

    /// Releases the memory of an empty timeline.
    pub(super) fn release(self, account: &mut SeriesAccount) {
        if let LatestRun::Here(rows) = &self.latest {
            account.exchange_entries(heap_bytes(rows.capacity()), 0);
        }
        if let Some(more) = &self.more {
            account.release(heap_bytes(size_of::<TimelineExtras>()));
            account.exchange_entries(run::tables_bytes(&more.tables), 0);
        }
    }

    fn make_more(&mut self, account: &mut SeriesAccount) {
        if self.more.is_none() {
            account.take(heap_bytes(size_of::<TimelineExtras>()));
            self.more = Some(Box::default());
        }
    }

    /// Removes an entry and returns whether it existed.
    ///
    /// # Errors
    /// When it may be among entries that cannot be read back.
    pub(super) fn remove(
        &mut self,
        place: EntryPosition,
        slot: u32,
        account: &mut SeriesAccount,
    ) -> Result<bool, SpillError> {
        self.wake(account);
        if let Some(mut run) = self.latest_run()
            && run.open().contains(place)
        {
            let mut entries = run.open().to_entries();
            entries.retain(|entry| entry.place() != place);
            run = if entries.is_empty() { Run::default() } else { Run::of(&entries) };
            self.put_latest(run, account);
            return Ok(true);
        }
        let Some(more) = &mut self.more else { return Ok(false) };
        for body in &more.lost {
            // Lost runs are never changed, only read.
            if body.open(|extent| account.read(extent))?.open().contains(place) {
                return Err(SpillError {
                    reason: "a transaction is in a part that could not be read back".into(),
                });
            }
        }
        let Some(last) = more.root.holder_of(place, account)? else { return Ok(false) };
        let Some(holder) = more.root.take(last, account) else { return Ok(false) };
        match holder.entries(account) {
            Ok(mut entries) => {
                entries.retain(|entry| entry.place() != place);
                holder.discard(account);
                let rest = Chunk::of_entries(&entries, slot, account);
                rest.into_iter().for_each(|chunk| more.put(chunk, account));
                more.root.shrink(account);
                Ok(true)
            }
            Err(error) => {
                more.put(holder, account);
                Err(error)
            }
        }
    }

    #[inline]
    pub(super) fn open(&self) -> OpenTimeline<'_> {
        let latest = match &self.latest {
            LatestRun::Here(rows) => {
                let tables = self.more.as_ref().map_or(&[][..], |more| &more.tables);
                let run = OpenRun::of(rows, tables);
                run.rows().times().map_or(OpenLatestRun::Nothing, |times| OpenLatestRun::Here(run, times))
            }
            LatestRun::Away(extent) => OpenLatestRun::Away(*extent),
        };
        OpenTimeline { latest, more: self.more.as_deref() }
    }
}

impl OpenTimeline<'_> {
    /// Visits the entries in the time range, the latest run first.
    #[inline]
    pub(super) fn visit(&self, stretch: &TimeRange, look: &mut impl TimelineVisitor) {
        match &self.latest {
            OpenLatestRun::Here(run, (first, last)) => {
                let numbers = (run.rows().sequence_min(), run.rows().sequence_max());
                if is_left_to_show(figures::share(*first, *last, numbers, stretch), || {
                    look.sum(EntrySum::of_run(run))
                }) {
                    look.part(EntryBlock::Latest(run));
                }
            }
            OpenLatestRun::Away(extent) => look.part(EntryBlock::Chunk(&ChunkBytes::Away(*extent))),
            OpenLatestRun::Nothing => {}
        }
        let Some(more) = self.more else { return };
        more.lost.iter().for_each(|body| look.part(EntryBlock::Chunk(body)));
        more.root.visit(stretch, look);
    }
}

#[cfg(test)]
mod tests;
