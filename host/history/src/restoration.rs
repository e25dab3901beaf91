//! Restoration of all series in use from the store, in parallel.
//!
//! ```text
//!  store ─┬─ reader ── rows ─┐                              ┌─ series, series, …
//!         ├─ reader ── rows ─┼─▶ one batch at a time, in ──▶├─ series, series, …     in parallel, each in order
//!         └─ …               ┘   sequence order             └─ …
//! ```
//!
//! Transactions that no query reaches are left out, so that a restart needs no more memory than the run before it. A snapshot
//! saves most of
//! the work: the series in it are loaded, and only later steps are read from the store. Rules
//! may change meanwhile, and a series that comes into use is restored in a further round. The history is exact only
//! when a check while nobody builds finds no series left to restore.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tollgate_model::sequence::Sequence;

use crate::History;
use crate::change::ChangeStep;
use crate::past::{Past, PastError, PastItem};
use crate::residency::{CheckpointedHistory, Residency};
use crate::series::{PreparedRows, Series};
use crate::snapshot::{LoadedSnapshot, SnapshotError, SnapshotMark, load};

/// Sequence numbers per batch.
const BATCH: u64 = 4_096;
/// Series that one thread fills together, so that their memory accesses overlap.
const SERIES_AT_ONCE: usize = 4;
/// Rows inserted between two checks of the memory limit.
const ROWS_BEFORE_ROOM: usize = 256;
/// Batches a reader may run ahead, in addition to the one it holds.
const BATCHES_AHEAD: usize = 1;
/// Maximum number of threads that read, and of threads that insert.
const THREADS_MAX: usize = 4;

/// An observer of the restoration.
pub trait RestorationObserver: Sync {
    /// Reports that everything up to this number is restored. Called often; returns whether to continue.
    fn reached(&self, through: Sequence) -> bool;
}

/// The result of a restoration.
#[derive(Debug, Default)]
pub struct Restored {
    /// Transactions in the history.
    pub n_transactions: u64,
    /// Transactions taken from the snapshot.
    pub n_from_snapshot: u64,
    /// Transactions read from the store; one that is read twice counts twice.
    pub n_read: u64,
    /// Series taken from the snapshot.
    pub n_series_from_snapshot: usize,
    /// The reason an existing snapshot was not used.
    pub refused: Option<SnapshotError>,
    /// Mark of the snapshot that was used.
    pub mark: Option<SnapshotMark>,
}

/// A series and the state of its contents.
#[derive(Debug, Clone)]
struct RestorationTarget {
    series: Arc<Series>,
    identity: String,
    /// How often its key table was replaced; see [`Series::n_shelves`].
    n_shelves: u64,
    /// Event time from which queries come; see [`History::forget`].
    reached_from: Option<i64>,
    /// Event time up to which no query reaches from there, when the restoration began. Windows that grow since make it
    /// earlier.
    out_of_reach: i64,
}

/// Steps in order.
type StepBatch = Vec<(Sequence, ChangeStep)>;

struct Restoration<'a> {
    history: &'a History,
    past: &'a dyn Past,
    way: &'a dyn RestorationObserver,
    n_threads: usize,
}

impl History {
    /// Restores everything up to `last` from the store, and from the snapshot where it is valid. The store must be
    /// complete, and nothing may be admitted until this returns. Returns `None` when the observer stops it. The history
    /// is not exact then, nor after an error.
    ///
    /// # Errors
    /// When a row cannot be read. An unreadable snapshot is not an error.
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
        self.history.note_settled(last);
        let loaded = match snapshot.map_or(Ok(None), |path| self.load(path)) {
            Err(SnapshotError::GivenUp) => return Ok(None),
            Err(error) => {
                self.refuse(snapshot, &error);
                restored.refused = Some(error);
                None
            }
            Ok(loaded) => loaded,
        };
        let Some(mut complete) = self.first_round(last, loaded, &mut restored)? else { return Ok(None) };
        if let Some(error @ SnapshotError::Miscounted) = &restored.refused {
            self.refuse(snapshot, error);
        }
        loop {
            let late = self.lacking(&complete, Some((last, restored.n_transactions)));
            if late.is_empty() {
                self.history.spill.attempt_anew();
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
        let Some((residency, opened)) = self.open_checkpoint()? else {
            return load(path, self.past, series, self.n_threads, &go_on);
        };
        let resident = load(&opened.resident, self.past, series, self.n_threads, &go_on)?;
        let mut loaded = resident.ok_or(SnapshotError::Damaged { what: "the file of the other keys" })?;
        self.history.spill.skip_tables(opened.next_table());
        loaded.shelves.retain(|(_, identity, filling)| {
            let table = opened.table(identity);
            table.inspect(|table| filling.fill(|key_table| key_table.adopt(*table))).is_some()
        });
        residency.take_over(opened)?;
        Ok(Some(loaded))
    }

    fn open_checkpoint(&self) -> Result<Option<(&Residency, CheckpointedHistory)>, SnapshotError> {
        let Some(residency) = self.history.spill.residency() else { return Ok(None) };
        Ok(residency.open()?.map(|opened| (residency, opened)))
    }

    /// Removes a rejected snapshot before anything is admitted. Its sequence numbers may be reused for other transactions,
    /// and it must not look valid then.
    fn refuse(&self, snapshot: Option<&Path>, error: &SnapshotError) {
        tracing::warn!(%error, "the history snapshot is not used; the history is rebuilt from the store");
        if let Some(residency) = self.history.spill.residency() {
            residency.discard_checkpoint();
        }
        if let Some(path) = snapshot
            && let Err(error) = std::fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the snapshot cannot be removed");
        }
    }

    /// Reads what the snapshot lacks and what came after it. Returns the series that are complete then.
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
            // The next round restores these again.
            complete.clear();
        }
        complete.extend(lacking);
        let Some(n_behind) = self.read(through, last, &complete)? else { return Ok(None) };
        restored.n_read += n_behind;
        restored.n_transactions = n_before + n_behind;
        Ok(Some(complete))
    }

    /// Puts the contents of a snapshot into their series.
    fn put_in_place(&self, loaded: LoadedSnapshot, restored: &mut Restored) -> Vec<RestorationTarget> {
        restored.n_from_snapshot = loaded.n_transactions;
        restored.n_series_from_snapshot = loaded.shelves.len();
        restored.mark = Some(loaded.mark);
        let _nobody_builds_meanwhile = self.history.building.write();
        let reached_from = self.history.admission.lock().reached_from();
        let mut targets = Vec::with_capacity(loaded.shelves.len());
        for (series, identity, filling) in loaded.shelves {
            let key_table = filling.finish();
            // A series that was rebuilt with more columns, or has longer windows now, is restored later.
            let suffices =
                key_table.forgotten().is_none_or(|gone| series.longest_window() <= gone.longest_window);
            if suffices && series.identity() == identity {
                drop(series.replace(key_table));
                if let Some(before) = reached_from {
                    series.forget(before);
                }
                targets.push(RestorationTarget::of(series, reached_from));
            }
        }
        targets
    }

    /// Returns the series in use that are not complete, after emptying them. If there are none and an end is given,
    /// records it as restored under the same locks.
    fn lacking(
        &self,
        complete: &[RestorationTarget],
        end: Option<(Sequence, u64)>,
    ) -> Vec<RestorationTarget> {
        let _nobody_builds_meanwhile = self.history.building.write();
        let mut admission = self.history.admission.lock();
        let reached_from = admission.reached_from();
        let mut lacking: Vec<RestorationTarget> = admission
            .series()
            .into_iter()
            .map(|series| RestorationTarget::of(series, reached_from))
            .collect();
        lacking.retain(|target| !complete.iter().any(|known| known.is_same_as(target)));
        for target in &mut lacking {
            let series = Arc::clone(&target.series);
            drop(series.replace(series.empty_key_table(series.columns())));
            *target = RestorationTarget::of(series, reached_from);
        }
        if let Some((last, n_transactions)) = end
            && lacking.is_empty()
        {
            admission.restored(last, usize::try_from(n_transactions).unwrap_or(usize::MAX));
        }
        lacking
    }

    /// Reads the steps above `after` and up to `through` into these series. Returns the number of transactions, or
    /// `None` when the observer stops it.
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
            // Batches come in order, because the readers take turns.
            for (number, reader) in (0..n_batches).zip(readers.iter().cycle()) {
                let gone = |_| PastError { reason: "a reader thread ended unexpectedly".into() };
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

    /// Reads batches until there are no more or the receiver is gone.
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

    /// Brings back what rows need that is on the disk.
    fn prepare(&self, rows: &[(Sequence, ChangeStep)]) {
        let Some(residency) = self.history.spill.residency().filter(|residency| residency.has_records())
        else {
            return;
        };
        let transactions = rows.iter().flat_map(|(_, step)| step.transactions());
        residency.prepare(&residency.elsewhere(transactions));
    }

    /// Inserts a batch. Each series belongs to one thread until it has the complete batch.
    fn put_in(&self, batch: &StepBatch, targets: &[RestorationTarget]) {
        // An anchor leaves all series at once: so it comes back once for a row.
        let series_at_once =
            if self.history.spill.has_records() { targets.len().max(1) } else { SERIES_AT_ONCE };
        let groups: Vec<(&[RestorationTarget], Vec<Arc<Series>>)> =
            targets.chunks(series_at_once).map(|group| (group, series_of(group.iter()))).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut bench = PreparedRows::default();
            while let Some((group, all)) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut rest = batch.chunks(ROWS_BEFORE_ROOM).peekable();
                rest.peek().into_iter().for_each(|rows| self.prepare(rows));
                while let Some(rows) = rest.next() {
                    // Records that the next rows need are read meanwhile.
                    thread::scope(|scope| {
                        if let Some(next) = rest.peek().filter(|_| self.history.spill.has_records()) {
                            scope.spawn(|| self.prepare(next));
                        }
                        put_rows(rows, group, all, &mut bench);
                        self.history.spill.make_room_in_turn();
                    });
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

fn series_of<'t>(targets: impl Iterator<Item = &'t RestorationTarget>) -> Vec<Arc<Series>> {
    targets.map(|target| Arc::clone(&target.series)).collect()
}

/// Inserts rows into those series of a group that keep them.
fn put_rows(
    rows: &[(Sequence, ChangeStep)],
    group: &[RestorationTarget],
    all: &[Arc<Series>],
    bench: &mut PreparedRows,
) {
    for (sequence, step) in rows {
        let event = step.shown(*sequence).event_micros();
        if group.iter().all(|target| target.keeps(event)) {
            put_step(*sequence, step, all, bench);
        } else {
            let some = series_of(group.iter().filter(|target| target.keeps(event)));
            put_step(*sequence, step, &some, bench);
        }
    }
}

fn put_step(sequence: Sequence, step: &ChangeStep, all: &[Arc<Series>], bench: &mut PreparedRows) {
    match step.shown(sequence) {
        PastItem::Accepted { sequence, transaction } => {
            Series::insert_into_all(all, bench, sequence, transaction);
        }
        item @ PastItem::Updated { .. } => all.iter().for_each(|series| item.apply(series)),
    }
}

impl RestorationTarget {
    /// Captures the current state of a series; requires that nobody builds.
    fn of(series: Arc<Series>, reached_from: Option<i64>) -> Self {
        let out_of_reach = reached_from.map_or(i64::MIN, |before| series.out_of_reach(before).through);
        Self {
            identity: series.identity(),
            n_shelves: series.n_shelves(),
            series,
            reached_from,
            out_of_reach,
        }
    }

    /// Returns whether a query may reach this event time.
    fn keeps(&self, event: i64) -> bool {
        event > self.out_of_reach
            || self.reached_from.is_none_or(|before| !self.series.leaves_out(event, before))
    }

    fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.series, &other.series)
            && self.identity == other.identity
            && self.n_shelves == other.n_shelves
    }
}

fn end_of(number: u64, after: Sequence, through: Sequence) -> Sequence {
    Sequence(after.0.saturating_add((number + 1).saturating_mul(BATCH)).min(through.0))
}
