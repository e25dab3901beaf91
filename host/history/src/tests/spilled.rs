//! With little memory, every answer is exact or an error.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use tempfile::TempDir;
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, FieldPath, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::{count_of_same, same, spec, transaction};
use crate::{AggregateQuery, History, HistoryError, LookupError, MemoryUse, Past, PastError, PastItem};

const N_ROWS: i64 = 3_000;

/// Rows of one source, one second apart.
fn spilled(limit_bytes: usize) -> (TempDir, History, [Arc<AggregateQuery>; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let history = History::new().bounded(limit_bytes, directory.path()).unwrap();
    let sum = spec(AggregateFunction::Sum, same("source"), "PT1H");
    let distinct = AggregateSpec {
        value: FieldPath::parse("timestamp"),
        ..spec(AggregateFunction::Distinct, same("source"), "PT1H")
    };
    let questions = [sum, distinct].map(|spec| history.aggregate(&spec, Semantics::CURRENT).unwrap());
    for at in 0..N_ROWS {
        history.admit(transaction("alice", "2.5", at), |_| ());
    }
    (directory, history, questions)
}

/// Queries at this second, as of everything accepted.
fn ask(history: &History, question: &AggregateQuery, at: i64) -> Result<f64, LookupError> {
    let as_of = history.last_sequence().next();
    question.answer(&transaction("alice", "1", at), as_of, &HashMap::<String, NamedList>::new())
}

#[test]
fn a_spilled_transaction_counts_as_if_it_were_in_memory() {
    let (_directory, history, [sum, distinct]) = spilled(100_000);
    assert!(history.spilled_bytes() > 5_000, "{}", history.spilled_bytes());
    for at in (0..N_ROWS).step_by(97) {
        assert_eq!(ask(&history, &sum, at), Ok((at + 1) as f64 * 2.5));
        assert_eq!(ask(&history, &distinct, at), Ok((at + 1) as f64));
    }
}

#[test]
fn memory_use_rises_until_room_is_made() {
    let (_directory, history, [sum, _]) = spilled(100_000);
    history.make_room();
    let mut uses = vec![history.memory_use()];
    for at in N_ROWS..2 * N_ROWS {
        history.admit_as(|_| (transaction("alice", "2.5", at), ()));
        uses.push(history.memory_use());
    }
    uses.dedup();
    // It falls again whenever rows become a chunk.
    assert_eq!(uses[..3], [MemoryUse::Within, MemoryUse::Above, MemoryUse::FarAbove]);
    history.make_room();
    assert_eq!(history.memory_use(), MemoryUse::Within);
    assert_eq!(ask(&history, &sum, 2 * N_ROWS - 1), Ok(3_601.0 * 2.5));
}

#[test]
fn a_query_that_needs_data_lost_on_disk_fails() {
    // The limit has room for figures and the latest entries, but not for chunks.
    let (_directory, history, [sum, distinct]) = spilled(20_000);
    let last = N_ROWS - 1;
    history.spill.break_disk();
    // All chunks lie in the window, so their sums suffice.
    assert_eq!(ask(&history, &sum, last), Ok(N_ROWS as f64 * 2.5));
    // A chunk crosses the edge of the window.
    assert!(ask(&history, &sum, 1_000).is_err());
    assert!(ask(&history, &distinct, last).is_err());
}

#[test]
fn without_a_place_to_go_nothing_leaves_memory_and_nothing_more_is_let_in() {
    let (_directory, history, [sum, _]) = spilled(usize::MAX);
    assert!(history.has_room());
    let full = History::new().bounded(0, tempfile::tempdir().unwrap().path()).unwrap();
    full.spill.break_disk();
    let count = full.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    for at in 0..500 {
        full.admit(transaction("alice", "1", at), |_| ());
    }
    assert!(!full.has_room());
    assert_eq!((full.spilled_bytes(), ask(&full, &count, 499)), (0, Ok(500.0)));
    assert_eq!(ask(&history, &sum, N_ROWS), Ok(N_ROWS as f64 * 2.5));
}

/// Stored payments, which note how often a history had no room for a transaction while they were read.
#[derive(Debug, Default)]
struct WatchedPast {
    rows: Vec<Arc<Transaction>>,
    history: OnceLock<Weak<History>>,
    n_without_room: AtomicUsize,
}

impl Past for WatchedPast {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        for (sequence, transaction) in (1..).map(Sequence).zip(&self.rows) {
            if sequence > after && sequence <= through {
                show(PastItem::Accepted { sequence, transaction });
                let history = self.history.get().and_then(Weak::upgrade).unwrap();
                self.n_without_room.fetch_add(usize::from(!history.has_room()), Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

#[test]
fn a_series_that_does_not_fit_is_given_up_while_there_is_room_for_transactions() {
    let rows: Vec<_> = (0..N_ROWS).map(|at| transaction("alice", "2.5", at)).collect();
    let past = Arc::new(WatchedPast { rows, ..WatchedPast::default() });
    let directory = tempfile::tempdir().unwrap();
    let history = History::over(Arc::<WatchedPast>::clone(&past)).bounded(10_000, directory.path()).unwrap();
    let history = Arc::new(history.refusing_excess());
    past.history.set(Arc::downgrade(&history)).unwrap();
    history.spill.break_disk();
    past.rows.iter().for_each(|row| history.admit(Arc::clone(row), |_| ()));
    history.settle(history.last_sequence());
    let refused = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).map(drop);
    assert_eq!(refused, Err(HistoryError::OverLimit));
    assert_eq!(past.n_without_room.load(Ordering::Relaxed), 0);
}

#[test]
fn a_series_fails_after_a_retraction_that_it_cannot_complete() {
    let (_directory, history, [sum, _]) = spilled(0);
    history.spill.break_disk();
    history.retract_from(Sequence(1_000));
    assert!(ask(&history, &sum, 100).is_err());
}

#[test]
fn memory_is_given_back_with_the_last_question() {
    let (_directory, history, questions) = spilled(100_000);
    assert!(history.resident_bytes() > 10_000);
    drop(questions);
    history.admit(transaction("alice", "1", 0), |_| ());
    assert_eq!((history.n_series(), history.resident_bytes(), history.spilled_bytes()), (0, 0, 0));
}
