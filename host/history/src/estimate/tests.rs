//! Estimates against what the queries then really cost.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, Comparison, Condition, FieldPath, Operand, Semantics, Window,
};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::QueryEstimate;
use crate::lookup_budget::{LookupDeadline, LookupLimits};
use crate::past::{Past, PastError, PastItem};
use crate::sample::Sample;
use crate::{History, HistoryError};

/// Transactions stored, a minute apart.
const N_STORED: u64 = 30_000;
const N_ASKED: u64 = 1_000;

#[derive(Debug)]
struct Log(Vec<Arc<Transaction>>);

impl Past for Log {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        for number in after.0 + 1..=through.0 {
            let transaction = &self.0[number as usize - 1];
            show(PastItem::Accepted { sequence: Sequence(number), transaction });
        }
        Ok(())
    }
}

/// Returns a number that looks random, by the generator `SplitMix64`.
fn splitmix(n: u64) -> u64 {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A log in which a tenth of all payments are of one account and the others are spread over 3,000, in random order.
fn log() -> Log {
    let row = |n: u64| {
        let random = splitmix(n);
        let mut row = Sample { id: n, at: n as i64 * 60, ..Sample::default() }.build();
        row.source = Some(if random.is_multiple_of(10) {
            "hub".into()
        } else {
            format!("acc-{}", random % 3_000).into()
        });
        row.destination = Some(format!("to-{}", splitmix(random) % 40_000).into());
        Arc::new(row)
    };
    Log((1..=N_STORED).map(row).collect())
}

fn of(field: &str) -> Condition {
    let (left, right) = (Operand::Field(FieldPath::parse(field)), Operand::Current(FieldPath::parse(field)));
    Condition::Compare { left, operator: Comparison::Equal, right }
}

fn above_current() -> Condition {
    let amount = || FieldPath::parse("amount");
    let (left, right) = (Operand::Field(amount()), Operand::Current(amount()));
    Condition::Compare { left, operator: Comparison::GreaterOrEqual, right }
}

fn asked(function: AggregateFunction, value: &str, filter: Vec<Condition>, window: &str) -> AggregateSpec {
    AggregateSpec {
        function,
        value: FieldPath::parse(value),
        filter: Condition::All(filter),
        window: Window::parse(window).unwrap(),
    }
}

fn history() -> History {
    let log = log();
    let history = History::over(Arc::new(Log(log.0.clone())));
    log.0.iter().for_each(|row| history.admit(Arc::clone(row), |_| ()));
    history.settle(history.last_sequence());
    history
}

fn estimate(history: &History, spec: &AggregateSpec) -> QueryEstimate {
    let lists = HashMap::<String, NamedList>::new();
    history.estimate(std::slice::from_ref(spec), &[], Semantics::CURRENT, &lists).unwrap()
}

/// Checks the estimate of a query against its real mean fuel and the real size of its series: within 25 % and a little.
#[track_caller]
fn check(spec: &AggregateSpec) {
    let history = history();
    let estimate = estimate(&history, spec);
    let query = history.aggregate(spec, Semantics::CURRENT).unwrap();
    let bytes = history.resident_bytes() as f64;
    let lists = HashMap::<String, NamedList>::new();
    let fuel = |number: u64| {
        let deadline = LookupDeadline::never();
        let current = &log_row(number);
        query.answer_within(current, Sequence(number), &lists, LookupLimits::none(&deadline)).unwrap().fuel
    };
    let fuel = (N_STORED - N_ASKED..N_STORED).map(fuel).sum::<u64>() as f64 / N_ASKED as f64;
    assert!((estimate.fuel as f64 - fuel).abs() < fuel * 0.25 + 60.0, "{estimate:?}, really {fuel} of fuel");
    assert!(
        (estimate.bytes as f64 - bytes).abs() < bytes * 0.25 + 4_096.0,
        "{estimate:?}, really {bytes} bytes"
    );
    assert!(estimate.kept_bytes < estimate.bytes);
    assert_eq!(estimate.n_stored, N_STORED);
}

fn log_row(number: u64) -> Arc<Transaction> {
    thread_local!(static LOG: Log = log());
    LOG.with(|log| Arc::clone(&log.0[number as usize - 1]))
}

#[test]
fn a_count_for_each_account_takes_next_to_nothing() {
    check(&asked(AggregateFunction::Count, "amount", vec![of("source")], "PT1H"));
}

#[test]
fn a_key_that_is_different_for_each_transaction_takes_memory() {
    check(&asked(AggregateFunction::Count, "amount", vec![of("transaction_id")], "P1D"));
    check(&asked(AggregateFunction::Sum, "amount", vec![of("destination"), of("source")], "P1D"));
}

#[test]
fn a_scan_of_everything_takes_fuel() {
    check(&asked(AggregateFunction::Count, "amount", vec![above_current()], "P300D"));
    check(&asked(AggregateFunction::Count, "amount", vec![above_current()], "P2D"));
}

#[test]
fn a_scan_of_an_account_takes_fuel_by_its_usual_payments() {
    check(&asked(AggregateFunction::Count, "amount", vec![of("source"), above_current()], "P300D"));
    check(&asked(AggregateFunction::Distinct, "destination", vec![of("source")], "P300D"));
}

#[test]
fn few_different_values_do_not_become_more_with_the_payments() {
    check(&asked(AggregateFunction::Distinct, "currency", vec![of("source")], "PT6H"));
    check(&asked(AggregateFunction::Distinct, "currency", vec![of("source")], "P300D"));
}

#[test]
fn one_account_with_all_payments_has_little_that_stays_in_memory() {
    let spec = asked(AggregateFunction::Count, "amount", vec![of("currency")], "P1D");
    let estimate = estimate(&history(), &spec);
    assert!(estimate.kept_bytes * 2 < estimate.bytes, "{estimate:?}");
}

#[test]
fn a_series_that_is_there_takes_no_memory_again() {
    let history = history();
    let spec = asked(AggregateFunction::Count, "amount", vec![of("source")], "PT1H");
    let _query = history.aggregate(&spec, Semantics::CURRENT).unwrap();
    assert_eq!(estimate(&history, &spec).bytes, 0);
    let columns = asked(AggregateFunction::Distinct, "destination", vec![of("source")], "PT1H");
    assert!(estimate(&history, &columns).bytes > 0);
}

#[test]
fn without_stored_transactions_everything_is_free() {
    let spec = asked(AggregateFunction::Count, "amount", vec![above_current()], "P300D");
    assert_eq!(estimate(&History::new(), &spec), QueryEstimate::default());
}

#[test]
fn a_query_whose_series_does_not_fit_is_refused_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let history =
        History::over(Arc::new(log())).bounded(1 << 20, directory.path()).unwrap().refusing_excess();
    log().0.iter().for_each(|row| history.admit(Arc::clone(row), |_| ()));
    history.settle(history.last_sequence());
    let each = asked(AggregateFunction::Count, "amount", vec![of("transaction_id")], "P1D");
    assert!(!history.fits(&estimate(&history, &each)));
    let refused = history.aggregate(&each, Semantics::CURRENT).map(drop);
    assert_eq!(refused, Err(HistoryError::OverLimit));
    assert!(history.resident_bytes() < 1 << 20);
    let few = asked(AggregateFunction::Count, "amount", vec![of("currency")], "P1D");
    assert!(history.fits(&estimate(&history, &few)));
    history.aggregate(&few, Semantics::CURRENT).unwrap();
}
