//! Filling of a series with all stored transactions.
//!
//! ```text
//!  store ── rows ──▶ sorted by anchor ──▶ all rows of an anchor at once ──▶ a series beside the one in use ──▶ its table
//!                    in a temporary file  while its keys are in memory      whose keys leave memory, too
//! ```
//!
//! The new table is filled beside the one in use, and replaces it at the end. Its keys leave memory as those in use do, so
//! that it may be larger than memory. The store is read once. Without the order by anchor, every row would read and write
//! the record of its anchor again.

mod row_sorter;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_model::background::Pace;
use tollgate_model::calendar::ZoneData;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::StatusWords;

use crate::HistoryError;
use crate::admission::Admission;
use crate::forgotten::HistoryForgotten;
use crate::layout::ReadingData;
use crate::past::{Past, PastItem};
use crate::progress::FillProgress;
use crate::row::Columns;
use crate::series::Series;
use crate::spill::{MemoryUse, Spill};

use row_sorter::RowSorter;

pub(super) use row_sorter::{RowChange, RowChangeKind};

/// Lag, in sequence numbers, at which the last catch-up round begins. New steps are retained for the series from then
/// on.
const CATCH_UP_ROWS_MAX: u64 = 4_096;
/// Rounds after which the last one begins whatever the lag.
const CATCH_UP_ROUNDS_MAX: usize = 16;
/// At most so many sequence numbers are read after a series turned out not to fit. Its memory is taken until then.
const ROWS_AFTER_MISFIT: u64 = 2_048;
/// Rows that change while an anchor is held; payments of it wait meanwhile.
const CHANGES_AT_ONCE: usize = 32;
/// Maximum rest between two batches of anchors while transactions come.
const REST_MAX: Duration = Duration::from_millis(50);
/// Attempts to read back what the last steps change before they are applied.
const PREPARATIONS_MAX: usize = 3;

/// Sources from which a series is filled.
#[derive(Debug, Clone, Copy)]
pub(super) struct FillSource<'h> {
    /// Steps that are not durable yet.
    pub(super) admission: &'h Mutex<Admission>,
    /// Durable steps.
    pub(super) past: &'h dyn Past,
    /// Memory account and spill file.
    pub(super) spill: &'h Arc<Spill>,
    /// Zone data for the selection.
    pub(super) zones: &'h ZoneData,
    /// Table by which `stage` is read.
    pub(super) status_words: &'h Arc<StatusWords>,
    /// Whether a series that does not fit into the memory limit is given up.
    pub(super) must_fit: bool,
    /// Whether conditions on rows alone may select the rows of a series.
    pub(super) may_select: bool,
}

/// Fills a series with all transactions, under these columns, and attaches it to admission. Settled steps are read from
/// the store, mostly outside the admission lock, while others are accepted, settled and retracted.
///
/// # Errors
/// When the store or the disk cannot be read, or the series does not fit. The series stays as it was.
pub(super) fn fill(
    series: &Arc<Series>,
    columns: Columns,
    source: FillSource<'_>,
) -> Result<(), HistoryError> {
    let admission = source.admission;
    let out_of_reach = admission.lock().reached_from().map(|before| series.out_of_reach(before));
    // Keys that may leave make room themselves.
    let n_replaced_bytes = if series.has_anchors() { 0 } else { series.n_kept_bytes() };
    let _replaced = source.spill.replacing(n_replaced_bytes);
    let progress = series.progress();
    let _running = RunningFill(progress);
    let filled = series.empty_with(columns);
    let mut seen = Sequence::default();
    for round in 1.. {
        let mut state = admission.lock();
        let settled = state.settled();
        let is_last = settled.0 - seen.0 <= CATCH_UP_ROWS_MAX || round >= CATCH_UP_ROUNDS_MAX;
        if is_last {
            state.want_after(series, settled);
        }
        drop(state);
        progress.begin(settled);
        if let Err(error) = source.read_into(&filled, out_of_reach, progress, (seen, settled), is_last) {
            let detached = admission.lock().give_up_filling(series);
            // Freed without the lock.
            drop(detached);
            return Err(error);
        }
        seen = settled;
        if is_last {
            break;
        }
    }
    source.prepare_retained(series);
    // Otherwise bytes of one table that are being written would be taken for bytes of the other.
    let nothing_is_spilled = source.spill.pause();
    let finished = admission.lock().finish_filling(series, &filled);
    drop(nothing_is_spilled);
    match finished {
        Ok(orphans) => {
            drop(orphans);
            Ok(())
        }
        Err(error) => {
            let detached = admission.lock().give_up_filling(series);
            drop(detached);
            Err(error.into())
        }
    }
}

/// Ends the progress of a fill when dropped.
struct RunningFill<'s>(&'s FillProgress);

impl Drop for RunningFill<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<'h> FillSource<'h> {
    /// Returns the data by which fields are read.
    pub(super) const fn reading(&self) -> ReadingData<'h> {
        ReadingData { zones: self.zones, status_words: self.status_words }
    }

    /// Reads the steps after a number, through another, into a series that is not in use yet, but those that no query
    /// reaches.
    fn read_into(
        &self,
        filled: &Arc<Series>,
        out_of_reach: Option<HistoryForgotten>,
        progress: &FillProgress,
        (after, through): (Sequence, Sequence),
        is_last: bool,
    ) -> Result<(), HistoryError> {
        let mut sorter = filled.has_anchors().then(|| RowSorter::new(filled.layout(), self.spill));
        let (mut seen, mut pace) = (after, Pace::default());
        while seen < through {
            let end = Sequence(seen.0.saturating_add(ROWS_AFTER_MISFIT)).min(through);
            let mut outcome = Ok(());
            self.past.each_after(seen, end, &mut |item| {
                pace.step();
                progress.reach(item.sequence());
                let left_out = out_of_reach.filter(|what| item.event_micros() <= what.through);
                outcome = match (&outcome, left_out, &mut sorter) {
                    (Err(_), ..) => return,
                    (Ok(()), Some(what), _) => {
                        filled.lacks(what);
                        return;
                    }
                    (Ok(()), None, Some(sorter)) => sorter.add(item).map_err(HistoryError::from),
                    (Ok(()), None, None) => self.put(filled, item),
                };
            })?;
            outcome?;
            if sorter.is_none() && self.must_fit && !self.spill.fits(0) {
                return Err(HistoryError::OverLimit);
            }
            seen = end;
        }
        if let Some(sorter) = sorter {
            self.put_sorted(filled, sorter, progress, &mut pace, is_last)?;
        }
        filled.doubt().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Applies a step to a series of which the keys stay in memory.
    fn put(&self, filled: &Series, item: PastItem<'_>) -> Result<(), HistoryError> {
        item.apply(filled);
        self.make_room()
    }

    /// Changes the rows of one anchor after the other. While transactions come, half of the time is left to them, but in the
    /// last round, during which steps are retained.
    fn put_sorted(
        &self,
        filled: &Series,
        sorter: RowSorter,
        progress: &FillProgress,
        pace: &mut Pace,
        is_last: bool,
    ) -> Result<(), HistoryError> {
        let Some(residency) = self.spill.residency() else { return Ok(()) };
        progress.sorted(sorter.n_changes());
        sorter.each_batch(|batch| {
            let (begun, settled) = (Instant::now(), self.admission.lock().settled());
            let mut finished = residency.prepare_cold(batch.iter().map(|change| change.anchor));
            let anchors = batch.chunk_by(|change, next| change.anchor == next.anchor);
            for changes in anchors.flat_map(|changes| changes.chunks(CHANGES_AT_ONCE)) {
                let Some(first) = changes.first() else { continue };
                residency.change_resident(first.anchor, || filled.change_rows(changes))?;
                progress.put(changes.len());
                pace.step();
            }
            if self.spill.memory_use() != MemoryUse::Within {
                finished = batch.iter().map(|change| change.anchor).collect();
                finished.dedup();
            }
            // Later batches rarely need these anchors. If they stayed, others would leave for them, and transactions would wait.
            self.spill.let_leave(&finished);
            self.spill.make_some_room();
            if !is_last && self.admission.lock().settled() != settled {
                thread::sleep(begun.elapsed().min(REST_MAX));
            }
            self.check_room()
        })
    }

    /// Lets something leave memory, if it is too much. Fails when that is not enough.
    fn make_room(&self) -> Result<(), HistoryError> {
        self.spill.make_room_in_turn();
        self.check_room()
    }

    /// Fails before rules in force would be suspended for the new one.
    fn check_room(&self) -> Result<(), HistoryError> {
        if !self.spill.has_room_to_fill() {
            self.spill.make_room_in_turn();
        }
        let fits = self.spill.has_room_to_fill() && self.spill.kept_excess() == 0;
        if self.must_fit && !fits { Err(HistoryError::OverLimit) } else { Ok(()) }
    }

    /// Reads back what the retained status changes need, so that nobody waits for the disk when they are applied.
    fn prepare_retained(&self, series: &Arc<Series>) {
        let Some(residency) = self.spill.residency().filter(|residency| residency.has_records()) else {
            return;
        };
        for _ in 0..PREPARATIONS_MAX {
            let retained = self.admission.lock().retained_for(series);
            let changes = retained.iter().filter(|(_, step)| !step.is_accepted());
            let cold = residency.elsewhere(changes.flat_map(|(_, step)| step.transactions()));
            if cold.is_empty() {
                return;
            }
            residency.prepare(&cold);
        }
    }
}
