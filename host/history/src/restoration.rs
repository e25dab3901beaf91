//! Everything the past holds is brought back into the series in use, as fast as the machine can.
//!
//! ```text
//!  past ─┬─ reader ── rows ─┐                        ┌─ series, series, …
//!        ├─ reader ── rows ─┼─▶ in order, a batch ──▶├─ series, series, …     in parallel, each in order
//!        └─ …               ┘     at a time          └─ …
//! ```
//!
//! A snapshot saves most of it: what it has of the series in use is taken from there, and only what came later is read.
//! Rules may change meanwhile. A series that came into use on the way is brought back in a round of its own; the history
//! is exact only when, under the lock of activation, none is left.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tollgate_model::sequence::Sequence;

use crate::History;
use crate::change::ChangeStep;
use crate::past::{Past, PastError, PastItem};
use crate::series::{PreparedRows, Series};
use crate::snapshot::{LoadedSnapshot, SnapshotError, SnapshotMark, load};

/// Numbers of one batch.
const BATCH: u64 = 4_096;
/// Series that one thread fills side by side: what they wait for in memory, they wait for together.
const SERIES_AT_ONCE: usize = 4;
/// Rows put into series before memory is looked after.
const ROWS_BEFORE_ROOM: usize = 256;
/// Batches a reader may be ahead: each has one more at hand.
const BATCHES_AHEAD: usize = 1;
/// Threads that read, and threads that put in.
const THREADS_MAX: usize = 4;

/// How the history is brought back, as whoever waits for it sees it.
pub trait RestorationObserver: Sync {
    /// Everything up to here is back. Asked often: answers whether to go on.
    fn reached(&self, through: Sequence) -> bool;
}

/// What was brought back, and from where.
#[derive(Debug, Default)]
pub struct Restored {
    /// Transactions in the history.
    pub n_transactions: u64,
    /// Those of them that a snapshot had.
    pub n_from_snapshot: u64,
    /// Rows read from the past, those read twice counted twice.
    pub n_read: u64,
    /// Series that came from the snapshot.
    pub n_series_from_snapshot: usize,
    /// Why there was a snapshot and it was not used.
    pub refused: Option<SnapshotError>,
    /// What the snapshot is of that was used.
    pub mark: Option<SnapshotMark>,
}

/// A series, and what it holds.
#[derive(Debug, Clone)]
struct RestorationTarget {
    series: Arc<Series>,
    identity: String,
    /// Which of its shelves holds it.
    n_shelves: u64,
}

/// Steps in order.
type StepBatch = Vec<(Sequence, ChangeStep)>;

/// The restoring that is under way.
struct Restoration<'a> {
    history: &'a History,
    past: &'a dyn Past,
    way: &'a dyn RestorationObserver,
    n_threads: usize,
}

impl History {
    /// Brings back everything up to `last` that the past holds, from this snapshot as far as it can be believed. It must
    /// be the whole past, and nothing may be admitted before this has ended. `None` when it was asked to stop; the history
    /// is not exact then, nor when this fails.
    ///
    /// # Errors
    /// When a row cannot be read. A snapshot that cannot is no error.
    pub fn restore_all(
        &self,
        past: &dyn Past,
        last: Sequence,
        snapshot: Option<&Path>,
        way: &dyn RestorationObserver,
    ) -> Result<Option<Restored>, PastError> {
        let n_threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        Restoration { history: self, past, way, n_threads }.run(last, snapshot)
    }
}

impl Restoration<'_> {
    fn run(&self, last: Sequence, snapshot: Option<&Path>) -> Result<Option<Restored>, PastError> {
        let mut restored = Restored::default();
        let loaded = match snapshot.map_or(Ok(None), |path| self.load(path)) {
            Err(SnapshotError::GivenUp) => return Ok(None),
            Err(error) => {
                refuse(snapshot, &error);
                restored.refused = Some(error);
                None
            }
            Ok(loaded) => loaded,
        };
        let Some(mut complete) = self.first_round(last, loaded, &mut restored)? else { return Ok(None) };
        if let Some(error @ SnapshotError::Miscounted) = &restored.refused {
            refuse(snapshot, error);
        }
        loop {
            let late = self.lacking(&complete, Some((last, restored.n_transactions)));
            if late.is_empty() {
                return Ok(Some(restored));
            }
            let Some(n_read) = self.read(Sequence::default(), last, &late)? else { return Ok(None) };
            restored.n_read += n_read;
            complete.extend(late);
        }
    }

    fn load(&self, path: &Path) -> Result<Option<LoadedSnapshot>, SnapshotError> {
        let series = self.history.admission.lock().series();
        let go_on = || self.way.reached(Sequence::default());
        load(path, self.past, series, self.n_threads, &go_on)
    }

    /// What the snapshot lacks, and what came after it. Answers the series that have everything then.
    fn first_round(
        &self,
        last: Sequence,
        loaded: Option<LoadedSnapshot>,
        restored: &mut Restored,
    ) -> Result<Option<Vec<RestorationTarget>>, PastError> {
        let through = loaded.as_ref().map_or(Sequence::default(), LoadedSnapshot::through);
        let mut complete = loaded.map_or_else(Vec::new, |loaded| self.put_in_place(loaded, restored));
        let lacking = self.lacking(&complete, None);
        let mut n_before = restored.n_from_snapshot;
        if !lacking.is_empty() {
            let Some(n_read) = self.read(Sequence::default(), through, &lacking)? else { return Ok(None) };
            restored.n_read += n_read;
            n_before = n_read;
        }
        let is_of_this_past = n_before == restored.n_from_snapshot;
        if !is_of_this_past {
            *restored = Restored {
                refused: Some(SnapshotError::Miscounted),
                n_read: n_before,
                ..Restored::default()
            };
            // These are lacking in the next round.
            complete.clear();
        }
        complete.extend(lacking);
        let Some(n_behind) = self.read(through, last, &complete)? else { return Ok(None) };
        restored.n_read += n_behind;
        restored.n_transactions = n_before + n_behind;
        Ok(Some(complete))
    }

    /// Lets series hold what a snapshot has of them.
    fn put_in_place(&self, loaded: LoadedSnapshot, restored: &mut Restored) -> Vec<RestorationTarget> {
        restored.n_from_snapshot = loaded.n_transactions;
        restored.n_series_from_snapshot = loaded.shelves.len();
        restored.mark = Some(loaded.mark);
        let _nobody_builds_meanwhile = self.history.activation.lock();
        let mut targets = Vec::with_capacity(loaded.shelves.len());
        for (series, identity, key_table) in loaded.shelves {
            // Otherwise it was rebuilt with more columns, or is asked about longer windows, and is lacking.
            let suffices =
                key_table.forgotten().is_none_or(|gone| series.longest_window() <= gone.longest_window);
            if suffices && series.identity() == identity {
                drop(series.replace(key_table));
                targets.push(RestorationTarget::of(series));
            }
        }
        targets
    }

    /// The series in use that are none of these, emptied. When there are none and an end is given, that is reached: under
    /// the same locks everything is exact.
    fn lacking(
        &self,
        complete: &[RestorationTarget],
        end: Option<(Sequence, u64)>,
    ) -> Vec<RestorationTarget> {
        let _nobody_builds_meanwhile = self.history.activation.lock();
        let mut admission = self.history.admission.lock();
        let mut lacking: Vec<RestorationTarget> =
            admission.series().into_iter().map(RestorationTarget::of).collect();
        lacking.retain(|target| !complete.iter().any(|known| known.is_same_as(target)));
        for target in &mut lacking {
            let series = Arc::clone(&target.series);
            drop(series.replace(series.empty_key_table(series.columns())));
            *target = RestorationTarget::of(series);
        }
        if let Some((last, n_transactions)) = end
            && lacking.is_empty()
        {
            admission.restored(last, usize::try_from(n_transactions).unwrap_or(usize::MAX));
        }
        lacking
    }

    /// Reads what the past holds between two numbers, the first excluded, into these series; how many rows that were, `None`
    /// when it was asked to stop.
    fn read(
        &self,
        after: Sequence,
        through: Sequence,
        targets: &[RestorationTarget],
    ) -> Result<Option<u64>, PastError> {
        let n_batches = through.0.saturating_sub(after.0).div_ceil(BATCH);
        let n_readers = self.n_threads.min(usize::try_from(n_batches).unwrap_or(usize::MAX));
        thread::scope(|scope| {
            let mut readers: Vec<Receiver<Result<StepBatch, PastError>>> = Vec::with_capacity(n_readers);
            for reader in 0..n_readers {
                let (send, receive) = sync_channel(BATCHES_AHEAD);
                let own = (reader as u64..n_batches).step_by(n_readers);
                scope.spawn(move || self.read_batches(after, through, own, &send));
                readers.push(receive);
            }
            let mut n_rows = 0;
            // Batches come in order: each reader has every so manieth.
            for (number, reader) in (0..n_batches).zip(readers.iter().cycle()) {
                let gone = |_| PastError { reason: "a thread that reads them died".into() };
                let batch = reader.recv().map_err(gone).flatten()?;
                self.put_in(&batch, targets);
                n_rows += batch.iter().filter(|(_, step)| step.is_accepted()).count() as u64;
                if !self.way.reached(end_of(number, after, through)) {
                    return Ok(None);
                }
            }
            Ok(Some(n_rows))
        })
    }

    /// Until there are no more, or nobody wants them.
    fn read_batches(
        &self,
        after: Sequence,
        through: Sequence,
        numbers: impl Iterator<Item = u64>,
        send: &SyncSender<Result<StepBatch, PastError>>,
    ) {
        for number in numbers {
            let first = Sequence(after.0 + number * BATCH);
            let mut batch = StepBatch::with_capacity(usize::try_from(BATCH).unwrap_or_default());
            let mut keep = |item: PastItem<'_>| batch.push((item.sequence(), ChangeStep::of(item)));
            let read = self.past.each_after(first, end_of(number, after, through), &mut keep);
            let is_over = read.is_err();
            if send.send(read.map(|()| batch)).is_err() || is_over {
                return;
            }
        }
    }

    /// Each series is one thread's until it has all of the batch.
    fn put_in(&self, batch: &StepBatch, targets: &[RestorationTarget]) {
        let groups: Vec<Vec<Arc<Series>>> = targets
            .chunks(SERIES_AT_ONCE)
            .map(|group| group.iter().map(|target| Arc::clone(&target.series)).collect())
            .collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut bench = PreparedRows::default();
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                for rows in batch.chunks(ROWS_BEFORE_ROOM) {
                    rows.iter().for_each(|(sequence, step)| match step.shown(*sequence) {
                        PastItem::Accepted { sequence, transaction } => {
                            Series::insert_into_all(group, &mut bench, sequence, transaction);
                        }
                        item @ PastItem::Updated { .. } => group.iter().for_each(|series| item.apply(series)),
                    });
                    self.history.spill.make_room();
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.n_threads.min(groups.len()) {
                scope.spawn(work);
            }
            work();
        });
    }
}

impl RestorationTarget {
    /// As it is now; asked under the lock of activation.
    fn of(series: Arc<Series>) -> Self {
        Self { identity: series.identity(), n_shelves: series.n_shelves(), series }
    }

    fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.series, &other.series)
            && self.identity == other.identity
            && self.n_shelves == other.n_shelves
    }
}

/// A snapshot that is not believed goes away before anything new is accepted: numbers it knows otherwise may be given
/// again, and it must not look right then.
fn refuse(snapshot: Option<&Path>, error: &SnapshotError) {
    tracing::warn!(%error, "the snapshot of the history is not used; everything is read from the store");
    if let Some(path) = snapshot
        && let Err(error) = std::fs::remove_file(path)
    {
        tracing::warn!(%error, "the snapshot cannot be removed");
    }
}

/// The last number of a batch.
fn end_of(number: u64, after: Sequence, through: Sequence) -> Sequence {
    Sequence(after.0.saturating_add((number + 1).saturating_mul(BATCH)).min(through.0))
}
