//! Entries that no query reaches are discarded; a query that reaches discarded ones fails.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_guest_abi::Semantics;
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::{count_of_same, transaction};
use crate::{
    AggregateQuery, History, LookupError, Past, PastError, PastItem, PastSummary, RestorationObserver,
};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
const N_DAYS: i64 = 10;

/// All accepted transactions, to be read again.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<(Sequence, Arc<Transaction>)>>);

impl Past for Kept {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        let rows = self.0.lock().clone();
        let asked = rows.iter().filter(|(sequence, _)| *sequence > after && *sequence <= through);
        asked.for_each(|(sequence, transaction)| {
            show(PastItem::Accepted { sequence: *sequence, transaction })
        });
        Ok(())
    }

    fn testimony(&self, _through: Sequence) -> Result<Option<PastSummary>, PastError> {
        Ok(Some(PastSummary { store: [1; 16], last: self.last(), rows: [2; 32] }))
    }
}

impl Kept {
    fn last(&self) -> Sequence {
        self.0.lock().last().map_or(Sequence::default(), |(sequence, _)| *sequence)
    }
}

struct Unwatched;

impl RestorationObserver for Unwatched {
    fn reached(&self, _through: Sequence) -> bool {
        true
    }
}

/// Ten days with a transaction of `busy` every ten minutes, and one of `idle` in the first hour.
fn ten_days(limit_bytes: usize) -> (History, Arc<AggregateQuery>, tempfile::TempDir) {
    kept_ten_days(&Arc::default(), limit_bytes)
}

fn kept_ten_days(kept: &Arc<Kept>, limit_bytes: usize) -> (History, Arc<AggregateQuery>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let past: Arc<dyn Past> = Arc::<Kept>::clone(kept);
    let history = History::over(past).bounded(limit_bytes, directory.path()).unwrap();
    let count = fill(&history, kept);
    (history, count, directory)
}

/// Admits the transactions of ten days. Returns a question about one day.
fn fill(history: &History, kept: &Kept) -> Arc<AggregateQuery> {
    let count = history.aggregate(&count_of_same("source", "P1D"), Semantics::CURRENT).unwrap();
    let busy = (0..N_DAYS * DAY).step_by(600).map(|at| transaction("busy", "1", at));
    for row in std::iter::once(transaction("idle", "1", 60)).chain(busy) {
        let sequence = history.admit(Arc::clone(&row), |sequence| sequence);
        kept.0.lock().push((sequence, row));
        history.settle(sequence);
    }
    count
}

fn count(
    history: &History,
    question: &AggregateQuery,
    source: &'static str,
    at: i64,
) -> Result<f64, LookupError> {
    let as_of = history.last_sequence().next();
    question.answer(&transaction(source, "1", at), as_of, &HashMap::<String, NamedList>::new())
}

fn micros(at: i64) -> i64 {
    transaction("", "1", at).timestamp.micros()
}

#[test]
fn a_question_finds_all_of_its_window_or_is_told_that_it_is_gone() {
    for limit_bytes in [usize::MAX, 0] {
        let (history, question, _directory) = ten_days(limit_bytes);
        let n_bytes = || history.resident_bytes() as u64 + history.spilled_bytes();
        let before = n_bytes();
        history.forget(micros(8 * DAY));
        assert!(n_bytes() < before * 3 / 4, "{} of {before}", n_bytes());
        // Nothing after the seventh day was discarded, nor anything that a window from the eighth day on reaches.
        for at in (8 * DAY..N_DAYS * DAY).step_by(1_800) {
            assert_eq!(count(&history, &question, "busy", at), Ok(145.0), "{at}");
            assert_eq!(count(&history, &question, "idle", at), Ok(0.0), "{at}");
        }
        for at in [0, DAY, 5 * DAY, 8 * DAY - 1] {
            for source in ["busy", "idle", "nobody"] {
                assert_eq!(count(&history, &question, source, at), Err(LookupError::Forgotten), "{at}");
            }
        }
    }
}

#[test]
fn entries_that_come_late_are_discarded_at_the_next_search() {
    let (history, _question, _directory) = ten_days(usize::MAX);
    for _ in 0..3 {
        history.forget(micros(8 * DAY));
        history.admit(transaction("late", "1", 3 * DAY), |_| ());
        let before = history.resident_bytes();
        history.forget(micros(8 * DAY));
        assert!(history.resident_bytes() < before, "{} of {before}", history.resident_bytes());
    }
}

#[test]
fn keys_are_searched_again_when_a_thousandth_of_the_window_has_passed() {
    let (history, _question, _directory) = ten_days(usize::MAX);
    // The first transaction is ten hours after midnight.
    let midnight = 6 * DAY + 14 * HOUR;
    history.admit(transaction("once", "1", midnight - 1), |_| ());
    history.forget(micros(midnight + DAY - 60));
    let before = history.resident_bytes();
    for (seconds, is_discarded) in [(-60, false), (0, false), (30, true)] {
        history.forget(micros(midnight + DAY + seconds));
        assert_eq!(history.resident_bytes() < before, is_discarded, "{seconds}");
    }
}

#[test]
fn an_old_transaction_that_was_not_discarded_is_still_found() {
    let (history, question, _directory) = ten_days(usize::MAX);
    history.forget(micros(0));
    assert_eq!(count(&history, &question, "busy", 0), Ok(1.0));
    assert_eq!(count(&history, &question, "idle", DAY), Ok(1.0));
}

#[test]
fn a_longer_window_brings_back_what_it_reaches_and_keeps_it() {
    let (history, question, _directory) = ten_days(usize::MAX);
    history.forget(micros(9 * DAY));
    assert_eq!(count(&history, &question, "busy", 6 * DAY), Err(LookupError::Forgotten));
    let longer = history.aggregate(&count_of_same("source", "P7D"), Semantics::CURRENT).unwrap();
    history.forget(micros(9 * DAY));
    assert_eq!(count(&history, &longer, "busy", 9 * DAY), Ok(7.0 * 144.0 + 1.0));
    drop(longer);
    history.forget(micros(9 * DAY));
    assert_eq!(count(&history, &question, "busy", 6 * DAY), Err(LookupError::Forgotten));
    assert_eq!(count(&history, &question, "busy", 9 * DAY), Ok(145.0));
}

#[test]
fn a_late_transaction_does_not_bring_back_a_discarded_period() {
    let (history, question, _directory) = ten_days(usize::MAX);
    history.forget(micros(9 * DAY));
    history.admit(transaction("late", "1", DAY), |_| ());
    history.admit(transaction("late", "1", 9 * DAY), |_| ());
    assert_eq!(count(&history, &question, "late", 9 * DAY), Ok(1.0));
    assert_eq!(count(&history, &question, "late", DAY), Err(LookupError::Forgotten));
}

/// Writes a snapshot after rows were let go, and restores it for each window.
fn check_a_snapshot_knows_what_was_let_go(limited: impl Fn(History, &Path) -> History, keeps_records: bool) {
    let kept = Arc::<Kept>::default();
    let directory = tempfile::tempdir().unwrap();
    let over_kept = || {
        let past: Arc<dyn Past> = Arc::<Kept>::clone(&kept);
        limited(History::over(past), directory.path())
    };
    let history = over_kept();
    let question = fill(&history, &kept);
    history.forget(micros(9 * DAY));
    let file = directory.path().join("snapshot");
    history.write_snapshot(&file, None, &|| true).unwrap().unwrap();
    assert_eq!(history.keeps_records(), keeps_records);
    drop((history, question));
    for (window, n_series_from_snapshot) in [("PT1H", 1), ("P1D", 1), ("P7D", 0)] {
        let history = over_kept();
        let question = history.aggregate(&count_of_same("source", window), Semantics::CURRENT).unwrap();
        history.resume_at(kept.last());
        let restored = history.restore_all(&*kept, kept.last(), Some(&file), &Unwatched).unwrap().unwrap();
        assert!(restored.refused.is_none(), "{:?}", restored.refused);
        assert_eq!(restored.n_series_from_snapshot, n_series_from_snapshot, "{window}");
        let expected = match window {
            "PT1H" => [Err(LookupError::Forgotten), Ok(7.0)],
            "P1D" => [Err(LookupError::Forgotten), Ok(145.0)],
            _ => [Ok(5.0 * 144.0 + 1.0), Ok(7.0 * 144.0 + 1.0)],
        };
        for (at, expected) in [5 * DAY, 9 * DAY].into_iter().zip(expected) {
            assert_eq!(count(&history, &question, "busy", at), expected, "{window} {at}");
        }
    }
}

#[test]
fn a_snapshot_knows_what_was_let_go_before_it_was_written() {
    check_a_snapshot_knows_what_was_let_go(|history, _| history, false);
}

#[test]
fn a_checkpoint_of_records_knows_what_was_let_go_before_it_was_written() {
    let limited = |history: History, directory: &Path| {
        history.bounded_with_keys(0, directory, &directory.join("records")).unwrap()
    };
    check_a_snapshot_knows_what_was_let_go(limited, true);
}

/// Restores ten days from the store after telling the history that queries come from day nine. Returns the memory that it takes,
/// and what is counted in a window before day five and day nine.
fn restored(window: &str, is_told: bool) -> (usize, [Result<f64, LookupError>; 2]) {
    let kept = Arc::<Kept>::default();
    let (first, _question, _directory) = kept_ten_days(&kept, usize::MAX);
    drop(first);
    let past: Arc<dyn Past> = Arc::<Kept>::clone(&kept);
    let history = History::over(past);
    let question = history.aggregate(&count_of_same("source", window), Semantics::CURRENT).unwrap();
    history.resume_at(kept.last());
    if is_told {
        history.forget(micros(9 * DAY));
    }
    history.restore_all(&*kept, kept.last(), None, &Unwatched).unwrap().unwrap();
    let counted = [5 * DAY, 9 * DAY].map(|at| count(&history, &question, "busy", at));
    (history.resident_bytes(), counted)
}

#[test]
fn a_restoration_leaves_out_what_no_query_reaches() {
    let (all, counted) = restored("P1D", false);
    assert_eq!(counted, [Ok(145.0), Ok(145.0)]);
    let (reached, counted) = restored("P1D", true);
    assert_eq!(counted, [Err(LookupError::Forgotten), Ok(145.0)]);
    assert!(2 * reached < all, "{reached} of {all} bytes");
    // Every transaction is within this window, so none is left out.
    let (_, counted) = restored("P30D", true);
    assert_eq!(counted, [Ok(5.0 * 144.0 + 1.0), Ok(9.0 * 144.0 + 1.0)]);
}
