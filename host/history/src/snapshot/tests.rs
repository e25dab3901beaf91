//! Snapshots that are written, read back, damaged, or moved to another store. Every fault is noticed, and the answers
//! are right nevertheless.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::TempDir;
use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, Comparison, Condition, FieldPath, Operand, Semantics, Window,
};
use tollgate_model::named_list::NamedList;
use tollgate_model::transaction::Transaction;

use super::block::BlockWriter;
use super::load::fill_from;
use super::*;
use crate::key::ExportKey;
use crate::restoration::{RestorationObserver, Restored};
use crate::sample::{Sample, text};
use crate::timeline::TimelineRuns;
use crate::{AggregateQuery, History, Past, PastItem, PastSummary};

#[derive(Debug)]
struct Kept {
    store: [u8; 16],
    rows: Mutex<Vec<(Sequence, Arc<Transaction>)>>,
}

impl Past for Kept {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        let rows = self.rows.lock();
        let asked = rows.iter().filter(|(sequence, _)| *sequence > after && *sequence <= through);
        asked.for_each(|(sequence, transaction)| {
            show(PastItem::Accepted { sequence: *sequence, transaction })
        });
        Ok(())
    }

    fn testimony(&self, through: Sequence) -> Result<Option<PastSummary>, PastError> {
        let rows = self.rows.lock();
        let last = rows.iter().rev().find(|(sequence, _)| *sequence <= through);
        let mut digest = [0; 32];
        let id = last.map_or("", |(_, row)| &*row.transaction_id);
        digest.iter_mut().zip(id.bytes()).for_each(|(place, byte)| *place = byte);
        let last = last.map_or(Sequence::default(), |(sequence, _)| *sequence);
        Ok(Some(PastSummary { store: self.store, last, rows: digest }))
    }
}

impl Kept {
    fn of(ids: std::ops::Range<u64>) -> Arc<Self> {
        let rows = (1..).map(Sequence).zip(ids.map(row)).collect();
        Arc::new(Self { store: [1; 16], rows: Mutex::new(rows) })
    }

    fn last(&self) -> Sequence {
        self.rows.lock().last().map_or(Sequence::default(), |(sequence, _)| *sequence)
    }
}

fn row(id: u64) -> Arc<Transaction> {
    let sample = Sample {
        id,
        amount: ["1", "2.5", "1e20"][(id % 3) as usize],
        source: Some(["alice", "bob", "0042"][(id % 3) as usize]),
        status: (!id.is_multiple_of(4)).then_some("applied"),
        at: (id % 7) as i64,
        metadata: vec![("card", text("c"))],
        ..Sample::default()
    };
    Arc::new(sample.build())
}

struct Unwatched;

impl RestorationObserver for Unwatched {
    fn reached(&self, _through: Sequence) -> bool {
        true
    }
}

/// A history with two queries over different fields, one of which stores a column.
struct Asked {
    history: History,
    count: Arc<AggregateQuery>,
    cards: Arc<AggregateQuery>,
}

impl Asked {
    fn over(kept: &Arc<Kept>) -> Self {
        let history = History::over(Arc::<Kept>::clone(kept));
        history.resume_at(kept.last());
        let count =
            history.aggregate(&spec(AggregateFunction::Sum, "amount", "source"), Semantics::CURRENT).unwrap();
        let cards = history
            .aggregate(&spec(AggregateFunction::Distinct, "metadata.card", "status"), Semantics::CURRENT)
            .unwrap();
        Self { history, count, cards }
    }

    fn restored(kept: &Arc<Kept>, file: &Path) -> (Self, Restored) {
        let asked = Self::over(kept);
        let restored = asked.history.restore_all(&**kept, kept.last(), Some(file), &Unwatched);
        (asked, restored.unwrap().unwrap())
    }

    fn answers(&self) -> Vec<(f64, f64)> {
        let lists: std::collections::HashMap<String, NamedList> = Default::default();
        let as_of = self.history.last_sequence().next();
        let answer = |id| {
            let current = row(id);
            let ask = |question: &AggregateQuery| question.answer(&current, as_of, &lists).unwrap();
            (ask(&self.count), ask(&self.cards))
        };
        (0..12).map(answer).collect()
    }
}

fn spec(function: AggregateFunction, value: &str, same: &str) -> AggregateSpec {
    AggregateSpec {
        function,
        value: FieldPath::parse(value),
        filter: Condition::Compare {
            left: Operand::Field(FieldPath::parse(same)),
            operator: Comparison::Equal,
            right: Operand::Current(FieldPath::parse(same)),
        },
        window: Window::parse("PT1H").unwrap(),
    }
}

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("history.snapshot");
    (directory, file)
}

fn write(kept: &Arc<Kept>, file: &Path) -> WrittenSnapshot {
    let (asked, _) = Asked::restored(kept, Path::new("/nowhere"));
    asked.history.write_snapshot(file, None, &|| true).unwrap().unwrap()
}

/// Checks that the file is rejected for this reason and removed, and that the answers are those of the store.
#[track_caller]
fn check_refused(kept: &Arc<Kept>, file: &Path, reason: &str) {
    let (asked, restored) = Asked::restored(kept, file);
    let refused = restored.refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains(reason), "`{refused}` and not `{reason}`");
    assert_eq!((restored.n_from_snapshot, restored.mark), (0, None));
    assert!(!file.exists());
    let (plain, _) = Asked::restored(kept, Path::new("/nowhere"));
    assert_eq!(asked.answers(), plain.answers());
    assert_eq!(asked.history.len(), kept.rows.lock().len());
}

#[test]
fn a_snapshot_restores_the_history_without_reading_stored_rows() {
    let ((_directory, file), kept) = (place(), Kept::of(0..50));
    let written = write(&kept, &file);
    assert_eq!((written.n_transactions, written.mark.through()), (50, Sequence(50)));
    assert_eq!(written.n_bytes, file.metadata().unwrap().len());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let (asked, restored) = Asked::restored(&kept, &file);
    assert_eq!((restored.n_from_snapshot, restored.n_read, restored.n_series_from_snapshot), (50, 0, 2));
    let (plain, _) = Asked::restored(&kept, Path::new("/nowhere"));
    assert_eq!(asked.answers(), plain.answers());
    assert!(asked.answers().iter().any(|answers| *answers != (0.0, 0.0)));
    // The existing file has the same contents already.
    let mark = restored.mark.unwrap();
    assert_eq!(asked.history.write_snapshot(&file, Some(&mark), &|| true).unwrap(), None);
}

#[test]
fn a_snapshot_has_the_series_of_all_queries() {
    let ((_directory, file), kept) = (place(), Kept::of(0..50));
    let (asked, _) = Asked::restored(&kept, Path::new("/nowhere"));
    let (mut mark, mut queries) = (None, Vec::new());
    for n_series in [2, 3] {
        let written = asked.history.write_snapshot(&file, mark.as_ref(), &|| true).unwrap().unwrap();
        assert_eq!(written.mark.identities, asked.history.series_identities());
        assert_eq!(written.mark.identities.len(), n_series);
        mark = Some(written.mark);
        let spec = spec(AggregateFunction::Sum, "amount", "metadata.card");
        queries.push(asked.history.aggregate(&spec, Semantics::CURRENT).unwrap());
    }
}

#[test]
fn rows_stored_after_a_snapshot_are_read_from_the_store() {
    let ((_directory, file), kept) = (place(), Kept::of(0..50));
    write(&kept, &file);
    kept.rows.lock().extend((52..60).map(|id| (Sequence(id), row(id))));
    let (asked, restored) = Asked::restored(&kept, &file);
    assert_eq!((restored.n_from_snapshot, restored.n_read, restored.n_transactions), (50, 8, 58));
    let (plain, _) = Asked::restored(&kept, Path::new("/nowhere"));
    assert_eq!(asked.answers(), plain.answers());
}

#[test]
fn a_snapshot_leaves_out_unsettled_transactions() {
    let ((_directory, file), kept) = (place(), Kept::of(0..50));
    let (asked, _) = Asked::restored(&kept, &file);
    (50..70).for_each(|id| asked.history.admit(row(id), |_| ()));
    let written = asked.history.write_snapshot(&file, None, &|| true).unwrap().unwrap();
    assert_eq!((written.n_transactions, written.mark.through()), (50, Sequence(50)));
    let (again, _) = Asked::restored(&kept, &file);
    let (plain, _) = Asked::restored(&kept, Path::new("/nowhere"));
    assert_eq!(again.answers(), plain.answers());
}

#[test]
fn one_byte_that_is_not_what_was_written_is_noticed_wherever_it_is() {
    let ((_directory, file), kept) = (place(), Kept::of(0..12));
    write(&kept, &file);
    let bytes = fs::read(&file).unwrap();
    for place in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        fs::write(&file, flipped).unwrap();
        check_refused(&kept, &file, "");
        fs::write(&file, &bytes[..place]).unwrap();
        check_refused(&kept, &file, "");
    }
    fs::write(&file, [&bytes[..], b"x"].concat()).unwrap();
    check_refused(&kept, &file, "its end");
    fs::write(&file, &bytes).unwrap();
    assert!(Asked::restored(&kept, &file).1.refused.is_none());
}

#[test]
fn each_kind_of_wrong_has_its_reason() {
    let ((_directory, file), kept) = (place(), Kept::of(0..50));
    write(&kept, &file);
    let bytes = fs::read(&file).unwrap();
    let check = |kept: &Arc<Kept>, change: &dyn Fn(&mut Vec<u8>), reason: &str| {
        let mut changed = bytes.clone();
        change(&mut changed);
        fs::write(&file, changed).unwrap();
        check_refused(kept, &file, reason);
    };
    let nothing = |_: &mut Vec<u8>| {};
    check(&kept, &|bytes| bytes.clear(), "its head is invalid");
    check(&kept, &|bytes| bytes[0] ^= 1, "not a snapshot");
    check(&kept, &|bytes| bytes[8] = 99, "format version 99");
    check(&kept, &|bytes| bytes[30] ^= 1, "its head is invalid");
    check(&kept, &|bytes| bytes[layout::HEAD_BYTES] ^= 1, "a block is invalid");
    check(&kept, &|bytes| bytes.truncate(bytes.len() - 1), "its end is invalid");
    let rows = || kept.rows.lock().clone();
    let other = Arc::new(Kept { store: [2; 16], rows: Mutex::new(rows()) });
    check(&other, &nothing, "another store");
    check(&Kept::of(0..49), &nothing, "the store ends at 49");
    check(&Kept::of(1..51), &nothing, "does not hold the transactions");
    check(&Kept::of(1..60), &nothing, "does not hold the transactions");
}

#[test]
fn a_store_that_lost_rows_in_between_is_noticed_when_it_is_read_anyway() {
    let ((_directory, file), kept) = (place(), Kept::of(0..50));
    write(&kept, &file);
    kept.rows.lock().remove(20);
    let asked = Asked::over(&kept);
    let _another = asked
        .history
        .aggregate(&spec(AggregateFunction::Count, "amount", "currency"), Semantics::CURRENT)
        .unwrap();
    let restored = asked.history.restore_all(&*kept, kept.last(), Some(&file), &Unwatched);
    let restored = restored.unwrap().unwrap();
    assert!(matches!(restored.refused, Some(SnapshotError::Miscounted)));
    assert_eq!((restored.n_transactions, asked.history.len(), file.exists()), (49, 49, false));
    let (plain, _) = Asked::restored(&kept, Path::new("/nowhere"));
    assert_eq!(asked.answers(), plain.answers());
}

#[test]
fn one_that_is_given_up_or_fails_leaves_the_older_one_alone() {
    let ((directory, file), kept) = (place(), Kept::of(0..50));
    write(&kept, &file);
    let before = fs::read(&file).unwrap();
    kept.rows.lock().push((Sequence(60), row(60)));
    let (asked, _) = Asked::restored(&kept, &file);
    let given_up = asked.history.write_snapshot(&file, None, &|| false);
    assert!(matches!(given_up, Err(SnapshotError::GivenUp)));
    let nowhere = asked.history.write_snapshot(&directory.path().join("no/such/place"), None, &|| true);
    assert!(matches!(nowhere, Err(SnapshotError::Io { .. })));
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn it_is_exact_while_transactions_come_and_become_durable() {
    let ((_directory, file), kept) = (place(), Kept::of(0..200));
    let (asked, _) = Asked::restored(&kept, &file);
    std::thread::scope(|scope| {
        let admitting = scope.spawn(|| {
            for id in 200..6_000 {
                let sequence = asked.history.admit(row(id), |sequence| sequence);
                kept.rows.lock().push((sequence, row(id)));
                asked.history.settle(sequence);
            }
        });
        for _ in 0..40 {
            if admitting.is_finished() {
                break;
            }
            let written = asked.history.write_snapshot(&file, None, &|| true).unwrap().unwrap();
            let rows = kept.rows.lock().clone();
            let through = written.mark.through();
            let known: Vec<_> = rows.into_iter().filter(|(sequence, _)| *sequence <= through).collect();
            assert_eq!(known.len() as u64, written.n_transactions);
            let then = Arc::new(Kept { store: kept.store, rows: Mutex::new(known) });
            let (again, restored) = Asked::restored(&then, &file);
            assert!(restored.refused.is_none() && restored.n_read == 0, "{restored:?}");
            let (plain, _) = Asked::restored(&then, Path::new("/nowhere"));
            assert_eq!(again.answers(), plain.answers());
        }
    });
}

#[test]
fn key_that_moved_while_it_was_exported_counts_once() {
    let history = History::new();
    let query =
        history.aggregate(&spec(AggregateFunction::Count, "amount", "source"), Semantics::CURRENT).unwrap();
    // Two chunks, and no latest run.
    let n_rows = 256;
    (0..n_rows).for_each(|id| history.admit(alone(id), |_| ()));
    history.activation.lock().each_series(|series| {
        let mut block = BlockWriter::default();
        for _ in 0..2 {
            let mut write = |key: &ExportKey, runs: &TimelineRuns| {
                assert_eq!((runs.chunks.len(), runs.latest.is_none()), (2, true));
                runs.chunks.iter().for_each(|chunk| block.add_chunk(key.to_bytes(), chunk.bytes()));
            };
            series.export(usize::MAX, 1, &|_| true, &mut write).unwrap();
        }
        let filling = series.filling_table(series.columns());
        assert_eq!(fill_from(&filling, &block.take()), Some(2 * n_rows));
        series.replace(filling.finish());
    });
    let lists = std::collections::HashMap::<String, NamedList>::new();
    assert_eq!(query.answer(&alone(n_rows), history.last_sequence().next(), &lists), Ok(256.0));
}

/// A payment of one account, each a second later.
fn alone(id: u64) -> Arc<Transaction> {
    Arc::new(Sample { id, at: id as i64, ..Sample::default() }.build())
}
