//! Updates of the status of a transaction.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_guest_abi::{AggregateFunction, Condition, Operand, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;

use super::{equal, same, spec, transaction};
use crate::{AggregateQuery, History, StatusChange};

/// One transaction per status, of one source, one second apart, and the sums of the open ones and of the others.
struct Book {
    history: History,
    open: Arc<AggregateQuery>,
    not_open: Arc<AggregateQuery>,
    all: Arc<AggregateQuery>,
}

impl Book {
    fn of(statuses: &[&str]) -> Self {
        let history = History::new();
        let sum = |condition: Option<Condition>| {
            let filter = Condition::All([Some(same("source")), condition].into_iter().flatten().collect());
            history.aggregate(&spec(AggregateFunction::Sum, filter, "PT1H"), Semantics::CURRENT).unwrap()
        };
        let is_open = equal("status", Operand::Text("open".into()));
        let open = sum(Some(is_open.clone()));
        let not_open = sum(Some(Condition::Not(Box::new(is_open))));
        let all = sum(None);
        for (status, second) in statuses.iter().zip(0..) {
            let row = transaction("alice", "1", second).with_status(Some(status));
            history.admit(Arc::new(row), |_| ());
        }
        Self { history, open, not_open, all }
    }

    /// Updates the transaction with this number, which is its second plus one.
    fn update(&self, target: u64, from: &str, to: &str) {
        let row = transaction("alice", "1", target.cast_signed() - 1);
        let (before, after) = (row.with_status(Some(from)), row.with_status(Some(to)));
        self.history.update([StatusChange { target: Sequence(target), before, after }], |_| ());
    }

    #[track_caller]
    fn check(&self, as_of: u64, expected: [f64; 3]) {
        let current = transaction("alice", "1", 60);
        let answers = [&self.open, &self.not_open, &self.all].map(|question| {
            question.answer(&current, Sequence(as_of), &HashMap::<String, NamedList>::new()).unwrap()
        });
        assert_eq!(answers, expected);
    }
}

#[test]
fn it_is_counted_under_the_new_status_and_at_its_old_place() {
    let book = Book::of(&["open", "shut", "open"]);
    book.check(4, [2.0, 1.0, 3.0]);
    book.update(3, "open", "shut");
    book.update(2, "shut", "open");
    book.check(6, [2.0, 1.0, 3.0]);
    book.check(4, [2.0, 1.0, 3.0]);
    book.check(3, [2.0, 0.0, 2.0]);
    book.check(2, [1.0, 0.0, 1.0]);
    assert_eq!((book.history.len(), book.history.last_sequence()), (3, Sequence(5)));
}

#[test]
fn the_same_update_again_changes_nothing() {
    let book = Book::of(&["open", "shut"]);
    for _ in 0..3 {
        book.update(1, "open", "shut");
        book.check(9, [0.0, 2.0, 2.0]);
    }
}

#[test]
fn updates_taken_back_leave_what_was_there_before_the_first_of_them() {
    let book = Book::of(&["open", "shut"]);
    book.update(1, "open", "shut");
    book.update(1, "shut", "lost");
    book.update(1, "lost", "open");
    book.update(2, "shut", "open");
    book.check(9, [2.0, 0.0, 2.0]);
    assert_eq!(book.history.retract_from(Sequence(4)), Sequence(7));
    book.check(9, [0.0, 2.0, 2.0]);
    book.history.retract_from(Sequence(3));
    book.check(9, [1.0, 1.0, 2.0]);
    book.history.retract_from(Sequence(2));
    book.check(9, [1.0, 0.0, 1.0]);
}
