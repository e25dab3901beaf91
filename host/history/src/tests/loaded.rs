//! A history that is loaded spills while it loads, and has room afterwards wherever it had room before.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use tempfile::TempDir;
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, FieldPath, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::count_of_same;
use crate::restoration::RestorationObserver;
use crate::sample::{Sample, text};
use crate::{AggregateQuery, History, Past, PastError, PastItem, PastSummary};

const FIELDS: [&str; 4] = ["card", "device", "shop", "town"];
const N_ROWS: u64 = 6_000;
/// Keys of a field; each has several entries.
const N_KEYS: u64 = 2_000;

/// Stored payments.
#[derive(Debug)]
pub(super) struct StoredRows(pub(super) Vec<Arc<Transaction>>);

/// A history with a limit, a question for each field, and the most that was counted while it was loaded.
struct Limited {
    history: Arc<History>,
    queries: Vec<Arc<AggregateQuery>>,
    _spill_dir: TempDir,
}

#[derive(Default)]
pub(super) struct MostCounted {
    history: OnceLock<Weak<History>>,
    n_bytes: AtomicUsize,
}

impl Past for StoredRows {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        let rows = (1..).map(Sequence).zip(&self.0);
        let asked = rows.filter(|(sequence, _)| *sequence > after && *sequence <= through);
        asked.for_each(|(sequence, transaction)| show(PastItem::Accepted { sequence, transaction }));
        Ok(())
    }

    fn testimony(&self, through: Sequence) -> Result<Option<PastSummary>, PastError> {
        Ok(Some(PastSummary { store: [7; 16], last: through, rows: [0; 32] }))
    }
}

impl RestorationObserver for MostCounted {
    fn reached(&self, _through: Sequence) -> bool {
        if let Some(history) = self.history.get().and_then(Weak::upgrade) {
            self.n_bytes.fetch_max(history.resident_bytes(), Ordering::Relaxed);
        }
        true
    }
}

fn row(id: u64) -> Arc<Transaction> {
    let metadata = FIELDS.map(|field| (field, text(&format!("{field}-{}", id % N_KEYS)))).to_vec();
    Arc::new(Sample { id, at: id as i64, metadata, ..Sample::default() }.build())
}

fn limited(past: &Arc<StoredRows>, limit_bytes: usize) -> Limited {
    let directory = tempfile::tempdir().unwrap();
    let history =
        History::over(Arc::<StoredRows>::clone(past)).bounded(limit_bytes, directory.path()).unwrap();
    let query = |field: &&str| {
        let spec = count_of_same(&format!("metadata.{field}"), "P1D");
        history.aggregate(&spec, Semantics::CURRENT).unwrap()
    };
    let queries = FIELDS.iter().map(query).collect();
    Limited { history: Arc::new(history), queries, _spill_dir: directory }
}

fn admitted(past: &Arc<StoredRows>, limit_bytes: usize) -> Limited {
    let limited = limited(past, limit_bytes);
    past.0.iter().for_each(|row| limited.history.admit(Arc::clone(row), |_| ()));
    limited.history.settle(limited.history.last_sequence());
    limited
}

fn loaded(past: &Arc<StoredRows>, limit_bytes: usize, snapshot: Option<&Path>) -> (Limited, usize) {
    let limited = limited(past, limit_bytes);
    let last = Sequence(N_ROWS);
    limited.history.resume_at(last);
    let most = MostCounted::default();
    most.history.set(Arc::downgrade(&limited.history)).unwrap();
    let restored = limited.history.restore_all(&**past, last, snapshot, &most).unwrap().unwrap();
    assert_eq!(restored.n_from_snapshot, if snapshot.is_some() { N_ROWS } else { 0 });
    (limited, most.n_bytes.into_inner())
}

fn answers(limited: &Limited) -> Vec<f64> {
    let lists = HashMap::<String, NamedList>::new();
    let as_of = limited.history.last_sequence().next();
    let ask = |id: u64, query: &AggregateQuery| query.answer(&row(id), as_of, &lists).unwrap();
    let ids = (0..N_ROWS).rev().step_by(611);
    ids.flat_map(|id| limited.queries.iter().map(|query| ask(id, query)).collect::<Vec<_>>()).collect()
}

#[test]
fn a_restart_with_little_memory_leaves_the_room_that_was_there() {
    let past = Arc::new(StoredRows((0..N_ROWS).map(row).collect()));
    let directory = tempfile::tempdir().unwrap();
    let whole = admitted(&past, usize::MAX);
    let needed = whole.history.resident_bytes();
    let expected = answers(&whole);
    let mut n_spilling = 0;
    for tenths in [3, 5, 7, 8, 9, 10, 12, 14, 20] {
        let limit = needed * tenths / 10;
        let before = admitted(&past, limit);
        assert_eq!(answers(&before), expected, "{tenths}");
        let (had_room, kept) = (before.history.has_room(), before.history.spill.kept_bytes());
        let file: PathBuf = directory.path().join(format!("{tenths}.snapshot"));
        before.history.write_snapshot(&file, None, &|| true).unwrap().unwrap();
        drop(before);
        for snapshot in [Some(&*file), None] {
            let (after, most) = loaded(&past, limit, snapshot);
            let told = format!("{tenths} tenths, {snapshot:?}: limit {limit}, kept {kept}, at most {most}");
            assert_eq!(answers(&after), expected, "{told}");
            assert!(after.history.has_room() || !had_room, "{told}");
            if kept < limit {
                n_spilling += usize::from(limit < needed);
                assert!(most.max(after.history.resident_bytes()) <= limit + limit / 10, "{told}");
            }
        }
    }
    assert!(n_spilling >= 6, "{n_spilling} loads had to spill");
}

#[test]
fn a_key_that_is_too_long_for_a_record_is_there_after_a_restart() {
    // One shop has half of the payments, each of the others three.
    let shop_of = |id: u64| {
        if id.is_multiple_of(2) { "large".to_owned() } else { format!("shop-{}", id % N_KEYS) }
    };
    let payment = |id: u64, at: u64| {
        let note = format!("{id}/").repeat(20);
        let metadata = vec![("shop", text(&shop_of(id))), ("note", text(&note))];
        Arc::new(Sample { id, at: at as i64, metadata, ..Sample::default() }.build())
    };
    let past = Arc::new(StoredRows((0..N_ROWS).map(|id| payment(id, id)).collect()));
    let directory = tempfile::tempdir().unwrap();
    let notes = AggregateSpec {
        function: AggregateFunction::Distinct,
        value: FieldPath::parse("metadata.note"),
        ..count_of_same("metadata.shop", "P1D")
    };
    let limited = || {
        let history = History::over(Arc::<StoredRows>::clone(&past));
        let records = directory.path().join("records");
        let history = history.bounded_with_keys(200_000, directory.path(), &records).unwrap();
        let question = history.aggregate(&notes, Semantics::CURRENT).unwrap();
        (history, question)
    };
    let file = directory.path().join("snapshot");
    let (before, question) = limited();
    for row in &past.0 {
        let sequence = before.admit(Arc::clone(row), |sequence| sequence);
        before.settle(sequence);
    }
    assert!(before.n_records() > 500, "{} shops are on the disk", before.n_records());
    before.write_snapshot(&file, None, &|| true).unwrap().unwrap();
    drop((before, question));

    let (after, question) = limited();
    let last = Sequence(N_ROWS);
    after.resume_at(last);
    let restored = after.restore_all(&*past, last, Some(&file), &MostCounted::default()).unwrap().unwrap();
    assert_eq!(restored.n_from_snapshot, N_ROWS);
    let lists = HashMap::<String, NamedList>::new();
    for id in (0..N_ROWS).step_by(611) {
        let n_notes = question.answer(&payment(id, N_ROWS), last.next(), &lists).unwrap();
        let expected = if id.is_multiple_of(2) { N_ROWS / 2 } else { N_ROWS / N_KEYS };
        assert_eq!(n_notes, expected as f64, "{}", shop_of(id));
    }
}
