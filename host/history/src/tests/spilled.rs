//! With little memory, every answer is exact or an error.

use std::collections::HashMap;
use std::sync::Arc;

use tempfile::TempDir;
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, FieldPath, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;

use super::{count_of_same, same, spec, transaction};
use crate::{AggregateQuery, History, LookupError};

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
fn what_left_memory_is_counted_as_if_it_had_stayed() {
    let (_directory, history, [sum, distinct]) = spilled(100_000);
    assert!(history.spilled_bytes() > 5_000, "{}", history.spilled_bytes());
    for at in (0..N_ROWS).step_by(97) {
        assert_eq!(ask(&history, &sum, at), Ok((at + 1) as f64 * 2.5));
        assert_eq!(ask(&history, &distinct, at), Ok((at + 1) as f64));
    }
}

#[test]
fn what_the_disk_lost_is_never_guessed() {
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

#[test]
fn what_cannot_be_taken_back_for_sure_makes_its_series_answer_no_more() {
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
