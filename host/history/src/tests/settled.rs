//! Durable steps are read again when a new series needs them, and are not retained otherwise.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, Condition, FieldPath, Operand, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;

use super::{count_of_same, equal, same, spec, transaction};
use crate::change::ChangeStep;
use crate::{History, HistoryError, Past, PastError, PastItem, PastSummary, StatusChange};

/// Steps of a store, and an action that runs during the first read.
#[derive(Default)]
pub(super) struct RecordedPast {
    pub(super) steps: Mutex<Vec<(Sequence, ChangeStep)>>,
    pub(super) meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    is_broken: bool,
}

impl std::fmt::Debug for RecordedPast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shelf")
    }
}

impl Past for RecordedPast {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        if self.is_broken {
            return Err(PastError { reason: "the disk is gone".into() });
        }
        if let Some(meanwhile) = self.meanwhile.lock().take() {
            meanwhile();
        }
        let steps = self.steps.lock().clone();
        let asked = steps.iter().filter(|(sequence, _)| *sequence > after && *sequence <= through);
        asked.for_each(|(sequence, step)| show(step.shown(*sequence)));
        Ok(())
    }

    fn testimony(&self, through: Sequence) -> Result<Option<PastSummary>, PastError> {
        Ok(Some(PastSummary { store: [7; 16], last: through, rows: [0; 32] }))
    }
}

fn admit(history: &History, key_table: &RecordedPast, n_rows: usize) {
    for _ in 0..n_rows {
        let row = transaction("alice", "1", 0);
        let sequence = history.admit(Arc::clone(&row), |sequence| sequence);
        key_table.steps.lock().push((sequence, ChangeStep::Accepted(row)));
    }
}

#[track_caller]
fn check_count(history: &History, expected: f64) {
    let count = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    let (current, as_of) = (transaction("alice", "1", 0), history.last_sequence().next());
    assert_eq!(count.answer(&current, as_of, &HashMap::<String, NamedList>::new()).unwrap(), expected);
}

#[test]
fn a_new_series_holds_what_is_durable_and_what_is_not_yet() {
    let key_table = Arc::<RecordedPast>::default();
    let history = History::over(Arc::<RecordedPast>::clone(&key_table));
    admit(&history, &key_table, 50);
    history.settle(Sequence(30));
    check_count(&history, 50.0);
    history.settle(Sequence(50));
    check_count(&history, 50.0);
}

#[test]
fn a_change_while_a_series_is_filled_keeps_its_count_exact() {
    for n_meanwhile in [0, 1, 10, 10_000] {
        let key_table = Arc::<RecordedPast>::default();
        let history = Arc::new(History::over(Arc::<RecordedPast>::clone(&key_table)));
        admit(&history, &key_table, 6_000);
        history.settle(Sequence(5_990));
        let (same_history, same_key_table) = (Arc::clone(&history), Arc::clone(&key_table));
        *key_table.meanwhile.lock() = Some(Box::new(move || {
            same_history.retract_from(Sequence(5_996));
            same_key_table.steps.lock().retain(|(sequence, _)| sequence.0 < 5_996);
            admit(&same_history, &same_key_table, n_meanwhile);
            let settled = same_history.last_sequence().0 - n_meanwhile as u64 / 3;
            same_history.settle(Sequence(settled));
        }));
        check_count(&history, (5_995 + n_meanwhile) as f64);
    }
}

fn update(
    history: &History,
    key_table: &RecordedPast,
    targets: impl Iterator<Item = u64>,
    from: &str,
    to: &str,
) {
    let row = transaction("alice", "1", 0);
    let (before, after) = (row.with_status(Some(from)), row.with_status(Some(to)));
    for target in targets {
        let change = StatusChange { target: Sequence(target), before: before.clone(), after: after.clone() };
        let numbers = history.update([change.clone()], |sequence| sequence);
        key_table.steps.lock().push((numbers[0], ChangeStep::Updated(Arc::new(change))));
    }
}

#[test]
fn updates_that_come_or_go_while_a_series_is_filled_are_in_it_once_or_not_at_all() {
    for n_meanwhile in [0, 1, 5_000] {
        let key_table = Arc::<RecordedPast>::default();
        let history = Arc::new(History::over(Arc::<RecordedPast>::clone(&key_table)));
        admit(&history, &key_table, 6_000);
        update(&history, &key_table, 1..=100, "", "open");
        history.settle(Sequence(6_090));
        let (same_history, same_key_table) = (Arc::clone(&history), Arc::clone(&key_table));
        *key_table.meanwhile.lock() = Some(Box::new(move || {
            // Retracts the last five updates, then closes some durable rows and reopens some of these.
            same_history.retract_from(Sequence(6_096));
            same_key_table.steps.lock().retain(|(sequence, _)| sequence.0 < 6_096);
            update(&same_history, &same_key_table, 1..=50, "open", "closed");
            same_history.settle(same_history.last_sequence());
            update(&same_history, &same_key_table, 1..=10, "closed", "open");
            admit(&same_history, &same_key_table, n_meanwhile);
            update(&same_history, &same_key_table, 1..=3, "open", "closed");
            same_history.retract_from(same_history.last_sequence());
        }));
        let open = Condition::All(vec![same("source"), equal("status", Operand::Text("open".into()))]);
        let open =
            history.aggregate(&spec(AggregateFunction::Count, open, "PT1H"), Semantics::CURRENT).unwrap();
        let (current, as_of) = (transaction("alice", "1", 0), history.last_sequence().next());
        let n_open = open.answer(&current, as_of, &HashMap::<String, NamedList>::new()).unwrap();
        assert_eq!(n_open, f64::from(95 - 50 + 10 - 2), "{n_meanwhile} meanwhile");
    }
}

#[test]
fn a_durable_transaction_is_not_retracted() {
    let key_table = Arc::<RecordedPast>::default();
    let history = History::over(Arc::<RecordedPast>::clone(&key_table));
    admit(&history, &key_table, 10);
    history.settle(Sequence(7));
    history.retract_from(Sequence(3));
    check_count(&history, 7.0);
    assert_eq!(history.len(), 7);
}

#[test]
fn a_series_that_is_in_use_learns_another_field() {
    let key_table = Arc::<RecordedPast>::default();
    let history = History::over(Arc::<RecordedPast>::clone(&key_table));
    let plain = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    admit(&history, &key_table, 200);
    history.settle(Sequence(150));
    let of_current = Operand::Current(FieldPath::parse("source"));
    let filter = Condition::All(vec![same("source"), Condition::Not(Box::new(equal("status", of_current)))]);
    let not_open =
        history.aggregate(&spec(AggregateFunction::Count, filter, "PT1H"), Semantics::CURRENT).unwrap();
    let currency = AggregateSpec {
        value: FieldPath::parse("currency"),
        ..spec(AggregateFunction::Distinct, same("source"), "PT1H")
    };
    let currencies = history.aggregate(&currency, Semantics::CURRENT).unwrap();
    assert_eq!(history.n_series(), 1);
    admit(&history, &key_table, 20);
    let (current, as_of) = (transaction("alice", "1", 0), history.last_sequence().next());
    let answers = [&plain, &not_open, &currencies]
        .map(|question| question.answer(&current, as_of, &HashMap::<String, NamedList>::new()).unwrap());
    assert_eq!(answers, [220.0, 220.0, 1.0]);
}

#[test]
fn a_past_that_cannot_be_read_refuses_the_question_and_harms_no_other() {
    let key_table = Arc::new(RecordedPast { is_broken: true, ..RecordedPast::default() });
    let history = History::over(Arc::<RecordedPast>::clone(&key_table));
    let plain = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    admit(&history, &key_table, 10);
    history.settle(Sequence(5));
    let refused = history.aggregate(&count_of_same("destination", "PT1H"), Semantics::CURRENT).unwrap_err();
    assert!(matches!(refused, HistoryError::Past(_)), "{refused}");
    admit(&history, &key_table, 10);
    history.settle(Sequence(20));
    check_count(&history, 20.0);
    drop(plain);
}
