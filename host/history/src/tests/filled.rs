//! Series that are filled while keys of theirs and of others are on the disk.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, Condition, FieldPath, Operand, Semantics};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::elsewhere::damage_records;
use super::loaded::{MostCounted, StoredRows};
use super::settled::RecordedPast;
use super::{count_of_same, equal, same, spec};
use crate::change::ChangeStep;
use crate::sample::{Sample, text};
use crate::{AggregateQuery, History, HistoryError, LookupError, StatusChange};

const N_ACCOUNTS: u64 = 12_000;
/// Room for a quarter of the accounts, in one series.
const LIMIT_BYTES: usize = 2_000_000;

fn payment(id: u64, account: u64, status: &'static str) -> Transaction {
    payment_at(i64::try_from(id / 100).unwrap(), id, account, status)
}

/// A payment after all others.
fn current(account: u64, status: &'static str) -> Transaction {
    payment_at(3_600, u64::MAX, account, status)
}

fn payment_at(at: i64, id: u64, account: u64, status: &'static str) -> Transaction {
    let sample = Sample {
        id,
        at,
        source: Some(format!("account-{account}").leak()),
        destination: Some(format!("account-{}", account * 7 % N_ACCOUNTS).leak()),
        metadata: vec![("device", text(&format!("device-{account}")))],
        status: Some(status),
        ..Sample::default()
    };
    sample.build()
}

fn bounded(history: History, directory: &Path) -> History {
    history.bounded_with_keys(LIMIT_BYTES, directory, &directory.join("records")).unwrap()
}

fn ask(history: &History, query: &AggregateQuery, account: u64) -> Result<f64, LookupError> {
    query.answer(
        &current(account, "open"),
        history.last_sequence().next(),
        &HashMap::<String, NamedList>::new(),
    )
}

/// A history over a store, with two payments of each account, of which most are on the disk.
struct Filled {
    past: Arc<RecordedPast>,
    history: Arc<History>,
    by_source: Arc<AggregateQuery>,
    directory: TempDir,
}

impl Filled {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let past = Arc::<RecordedPast>::default();
        let history = Arc::new(bounded(History::over(Arc::<RecordedPast>::clone(&past)), directory.path()));
        let by_source = history.aggregate(&count_of_same("source", "P1D"), Semantics::CURRENT).unwrap();
        let filled = Self { past, history, by_source, directory };
        for id in 0..2 * N_ACCOUNTS {
            filled.pay(id, id % N_ACCOUNTS, "open");
            // Rows that are not durable stay in memory.
            filled.settle();
        }
        assert!(filled.history.n_records() > 4_000, "{}", filled.history.n_records());
        filled
    }

    fn pay(&self, id: u64, account: u64, status: &'static str) {
        let row = Arc::new(payment(id, account, status));
        let sequence = self.history.admit(Arc::clone(&row), |sequence| sequence);
        self.past.steps.lock().push((sequence, ChangeStep::Accepted(row)));
    }

    /// Changes the status of the payment with this id, which is its number less one.
    fn update(&self, id: u64, from: &'static str, to: &'static str) {
        let account = id % N_ACCOUNTS;
        let change = StatusChange {
            target: Sequence(id + 1),
            before: payment(id, account, from),
            after: payment(id, account, to),
        };
        let numbers = self.history.update([change.clone()], |sequence| sequence);
        self.past.steps.lock().push((numbers[0], ChangeStep::Updated(Arc::new(change))));
    }

    fn settle(&self) {
        self.history.settle(self.history.last_sequence());
    }
}

fn of_status(field: &str, status: &str) -> AggregateSpec {
    let condition = Condition::All(vec![same(field), equal("status", Operand::Text(status.into()))]);
    spec(AggregateFunction::Count, condition, "P1D")
}

fn distinct_destinations() -> AggregateSpec {
    AggregateSpec {
        value: FieldPath::parse("destination"),
        ..spec(AggregateFunction::Distinct, same("source"), "P1D")
    }
}

#[test]
fn a_series_of_more_keys_than_memory_is_filled_exactly() {
    let filled = Filled::new();
    for id in (0..N_ACCOUNTS).step_by(3) {
        filled.update(id, "open", "shut");
        filled.settle();
    }
    let history = &filled.history;
    let specs = [
        of_status("source", "open"),
        of_status("source", "shut"),
        distinct_destinations(),
        count_of_same("metadata.device", "P1D"),
        of_status("metadata.device", "shut"),
    ];
    let queries: Vec<Arc<AggregateQuery>> =
        specs.iter().map(|spec| history.aggregate(spec, Semantics::CURRENT).unwrap()).collect();
    assert!(history.resident_bytes() <= LIMIT_BYTES + LIMIT_BYTES / 10, "{}", history.resident_bytes());
    for account in 0..N_ACCOUNTS {
        let n_shut = f64::from(u8::from(account.is_multiple_of(3)));
        let answers: Vec<_> = queries.iter().map(|query| ask(history, query, account)).collect();
        assert_eq!(answers, [2.0 - n_shut, n_shut, 1.0, 2.0, n_shut].map(Ok), "account {account}");
        assert_eq!(ask(history, &filled.by_source, account), Ok(2.0), "{account}");
    }
}

#[test]
fn payments_and_changes_while_a_series_is_filled_are_in_it_once() {
    for n_meanwhile in [10, 6_000] {
        let filled = Arc::new(Filled::new());
        let same = Arc::clone(&filled);
        *filled.past.meanwhile.lock() = Some(Box::new(move || {
            let settle_most = || same.history.settle(Sequence(same.history.last_sequence().0 - 5));
            for n in 0..n_meanwhile {
                same.pay(2 * N_ACCOUNTS + n, n % N_ACCOUNTS, "open");
                settle_most();
            }
            for id in 0..n_meanwhile.min(500) {
                same.update(id, "open", "shut");
                settle_most();
            }
        }));
        let history = &filled.history;
        let shut = history.aggregate(&of_status("source", "shut"), Semantics::CURRENT).unwrap();
        // Anchors beside one with a change that is not durable stay in memory.
        filled.settle();
        let open = history.aggregate(&of_status("metadata.device", "open"), Semantics::CURRENT).unwrap();
        for account in (0..N_ACCOUNTS).step_by(7).chain(0..520) {
            let n_shut = f64::from(u8::from(account < n_meanwhile.min(500)));
            let n_more = f64::from(u8::from(account < n_meanwhile));
            assert_eq!(ask(history, &shut, account), Ok(n_shut), "{account}");
            assert_eq!(ask(history, &open, account), Ok(2.0 + n_more - n_shut), "{account}");
            assert_eq!(ask(history, &filled.by_source, account), Ok(2.0 + n_more), "{account}");
        }
    }
}

#[test]
fn a_series_is_not_filled_from_damaged_records_and_those_in_use_stay() {
    let filled = Filled::new();
    damage_records(filled.directory.path());
    let refused = filled.history.aggregate(&distinct_destinations(), Semantics::CURRENT).unwrap_err();
    assert!(matches!(refused, HistoryError::Spill(_)), "{refused}");
    let n_exact = (0..N_ACCOUNTS).filter(|account| match ask(&filled.history, &filled.by_source, *account) {
        Ok(count) => count == 2.0,
        Err(error) => matches!(error, LookupError::Spill(_)),
    });
    assert_eq!(n_exact.count() as u64, N_ACCOUNTS);
}

#[test]
fn keys_that_lost_all_their_rows_are_not_there_again_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let past = Arc::<RecordedPast>::default();
    let is_shut = equal("status", Operand::Text("shut".into()));
    let not_shut = Condition::All(vec![same("source"), Condition::Not(Box::new(is_shut))]);
    let not_shut = spec(AggregateFunction::Count, not_shut, "P1D");
    let started = || {
        let history = bounded(History::over(Arc::<RecordedPast>::clone(&past)), directory.path());
        let by_source = history.aggregate(&not_shut, Semantics::CURRENT).unwrap();
        (Arc::new(history), by_source)
    };
    let (history, by_source) = started();
    let before =
        Filled { past: Arc::clone(&past), history, by_source, directory: tempfile::tempdir().unwrap() };
    for id in 0..N_ACCOUNTS {
        before.pay(id, id, "open");
        before.settle();
    }
    for id in (0..N_ACCOUNTS).step_by(40) {
        before.update(id, "open", "shut");
        before.settle();
    }
    let file = directory.path().join("snapshot");
    before.history.write_snapshot(&file, None, &|| true).unwrap().unwrap();
    let last = before.history.last_sequence();
    drop(before);

    let (after, by_source) = started();
    after.resume_at(last);
    let restored = after.restore_all(&*past, last, Some(&file), &MostCounted::default()).unwrap().unwrap();
    assert_eq!(restored.n_from_snapshot, N_ACCOUNTS, "{:?}", restored.refused);
    for account in (0..N_ACCOUNTS).step_by(8) {
        let expected = if account.is_multiple_of(40) { 0.0 } else { 1.0 };
        assert_eq!(ask(&after, &by_source, account), Ok(expected), "{account}");
    }
}

#[test]
fn keys_of_a_series_that_is_gone_are_not_those_of_a_new_one_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let rows = (0..2 * N_ACCOUNTS).map(|id| Arc::new(payment(id, id % N_ACCOUNTS, "open")));
    let past = Arc::new(StoredRows(rows.collect()));
    let file = directory.path().join("snapshot");
    let of_fields = |fields: [&str; 2]| {
        let condition = Condition::All(fields.map(same).to_vec());
        spec(AggregateFunction::Count, condition, "P1D")
    };
    let started = || {
        let history = bounded(History::over(Arc::<StoredRows>::clone(&past)), directory.path());
        let plain = history.aggregate(&count_of_same("source", "P1D"), Semantics::CURRENT).unwrap();
        (history, plain)
    };
    let (before, _plain) = started();
    // Rules come and go.
    for _ in 0..50 {
        before.spill.next_table();
    }
    let by_status = before.aggregate(&of_fields(["source", "status"]), Semantics::CURRENT).unwrap();
    for row in &past.0 {
        let sequence = before.admit(Arc::clone(row), |sequence| sequence);
        before.settle(sequence);
    }
    let gone = by_status.scope().series().table_id();
    drop(by_status);
    before.write_snapshot(&file, None, &|| true).unwrap().unwrap();
    drop(before);

    let (after, plain) = started();
    let last = Sequence(2 * N_ACCOUNTS);
    after.resume_at(last);
    let restored = after.restore_all(&*past, last, Some(&file), &MostCounted::default()).unwrap().unwrap();
    assert_eq!(restored.n_from_snapshot, 2 * N_ACCOUNTS, "{:?}", restored.refused);
    // The table of a new series is the second one that is made for it.
    while after.spill.tables_end() + 1 < gone {
        after.spill.next_table();
    }
    let by_id = after.aggregate(&of_fields(["source", "transaction_id"]), Semantics::CURRENT).unwrap();
    for account in (0..N_ACCOUNTS).step_by(13) {
        assert_eq!(ask(&after, &plain, account), Ok(2.0), "{account}");
        // The key of this account and this id is that of the account and the status.
        let other = Transaction { transaction_id: "open".into(), ..current(account, "open") };
        let n_others = by_id.answer(&other, last.next(), &HashMap::<String, NamedList>::new());
        assert_eq!(n_others, Ok(0.0), "{account}");
    }
}
