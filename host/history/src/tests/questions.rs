//! Guarantees of queries, one per test.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_guest_abi::prices::{DISTINCT_VALUE, EQUAL_KEY, ROW, ROW_FIELD, ROW_TEST, ROWS};
use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, Comparison, Condition, FieldPath, Item, MatchPair, Operand,
    PreviousSpec, Semantics, Window,
};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{Json, Transaction};

use super::{count_of_same, equal, same, spec, transaction};
use crate::sample::{Sample, literal, number, text};
use crate::{History, HistoryError, LookupDeadline, LookupError, LookupLimits, SERIES_MAX};

fn no_lists() -> HashMap<String, NamedList> {
    HashMap::new()
}

fn history_of(rows: &[Arc<Transaction>]) -> History {
    let history = History::new();
    for row in rows {
        history.admit(Arc::clone(row), |_| ());
    }
    history
}

#[track_caller]
fn check(history: &History, spec: &AggregateSpec, current: &Transaction, expected: f64) {
    let as_of = history.last_sequence().next();
    assert_eq!(
        history.aggregate(spec, Semantics::CURRENT).unwrap().answer(current, as_of, &no_lists()).unwrap(),
        expected
    );
}

#[test]
fn the_window_includes_both_its_ends() {
    let rows = [-3601, -3600, -1, 0, 1].map(|at| transaction("alice", "1", at));
    let history = history_of(&rows);
    check(&history, &count_of_same("source", "PT1H"), &transaction("alice", "1", 0), 3.0);
    check(&history, &count_of_same("source", "PT1S"), &transaction("alice", "1", 0), 2.0);
    check(&history, &count_of_same("source", "P400D"), &transaction("alice", "1", 1), 5.0);
}

#[test]
fn a_transaction_sees_those_accepted_before_it_and_not_itself() {
    let history = History::new();
    let count = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    for expected in 0..300_u32 {
        let row = transaction("alice", "1", 0);
        let sequence = history.admit(Arc::clone(&row), |sequence| sequence);
        assert_eq!(count.answer(&row, sequence, &no_lists()).unwrap(), f64::from(expected));
    }
    assert_eq!(count.answer(&transaction("alice", "1", 0), Sequence(101), &no_lists()).unwrap(), 100.0);
}

#[test]
fn a_question_looks_at_no_more_rows_than_it_may() {
    // Every third row has another source, so the window has 200 rows of `alice`.
    let rows = (0..300).map(|n| transaction(if n % 3 == 0 { "bob" } else { "alice" }, "1", n));
    let history = history_of(&rows.collect::<Vec<_>>());
    let larger = Condition::Compare {
        left: Operand::Field(FieldPath::parse("amount")),
        operator: Comparison::Greater,
        right: Operand::Current(FieldPath::parse("amount")),
    };
    let of_alice = |rest: Vec<Condition>| AggregateSpec {
        filter: Condition::All([vec![same("source")], rest].concat()),
        ..count_of_same("source", "PT1H")
    };
    let current = transaction("alice", "1", 300);
    let as_of = history.last_sequence().next();
    for (spec, costs, answer) in [
        (of_alice(Vec::new()), [0, 0], 200.0),
        // Two operands per row, and the five bytes of the key twice.
        (of_alice(vec![larger.clone()]), [400, ROWS + 200 * (ROW + ROW_TEST) + 10], 0.0),
        (
            AggregateSpec { filter: larger, ..count_of_same("source", "PT1H") },
            [600, ROWS + 300 * (ROW + ROW_TEST)],
            0.0,
        ),
        (
            AggregateSpec {
                function: AggregateFunction::Distinct,
                value: FieldPath::parse("reference"),
                ..of_alice(Vec::new())
            },
            [25, ROWS + 200 * (ROW + ROW_FIELD) + DISTINCT_VALUE],
            1.0,
        ),
    ] {
        let question = history.aggregate(&spec, Semantics::CURRENT).unwrap();
        for (semantics, fuel) in [Semantics::V3, Semantics::V4].into_iter().zip(costs) {
            let deadline = LookupDeadline::never();
            let limits = |fuel_max| LookupLimits { fuel_max, semantics, deadline: &deadline };
            let ask = |fuel_max| question.answer_within(&current, as_of, &no_lists(), limits(fuel_max));
            let answered = ask(u64::MAX).unwrap();
            assert_eq!((answered.value.nearest, answered.fuel), (answer, fuel), "{spec:?}");
            assert_eq!(ask(fuel), Ok(answered));
            if let Some(less) = fuel.checked_sub(1) {
                assert_eq!(ask(less), Err(LookupError::TooManyRows));
            }
        }
    }
}

#[test]
fn spellings_of_a_number_cost_a_text_nothing_and_a_number_one_key_each() {
    const N: usize = 200;
    let row = |at: usize, card: Json| {
        let at = i64::try_from(at).unwrap();
        Arc::new(Sample { at, metadata: vec![("card", card)], ..Sample::default() }.build())
    };
    let texts = (0..N).map(|n| row(n, text(&format!("{}7", "0".repeat(n)))));
    let rows = texts.chain([row(300, Json::Number(number("7")))]);
    let history = history_of(&rows.collect::<Vec<_>>());
    let spec = count_of_same("metadata.card", "PT1H");
    let question = history.aggregate(&spec, Semantics::CURRENT).unwrap();
    let as_of = history.last_sequence().next();
    let deadline = LookupDeadline::never();
    let ask = |card: Json, fuel_max: u64| {
        let current = row(400, card);
        let limits = LookupLimits { fuel_max, semantics: Semantics::V4, deadline: &deadline };
        let answer = question.answer_within(&current, as_of, &no_lists(), limits)?;
        Ok::<_, LookupError>((answer.value.nearest, answer.fuel))
    };
    // A text equals itself and the number.
    assert_eq!(ask(text("0007"), 0), Ok((2.0, 0)));
    assert_eq!(ask(text("7.0"), 0), Ok((1.0, 0)));
    // The number equals itself and every text.
    let fuel = (N as u64 + 1 - 4) * EQUAL_KEY;
    assert_eq!(ask(Json::Number(number("7")), fuel), Ok((N as f64 + 1.0, fuel)));
    assert_eq!(ask(Json::Number(number("7")), fuel - 1), Err(LookupError::TooManyRows));
}

#[test]
fn a_late_arrival_sees_and_is_seen_by_its_event_time() {
    let history = history_of(&[transaction("alice", "1", 7200), transaction("alice", "1", 0)]);
    check(&history, &count_of_same("source", "PT1H"), &transaction("alice", "1", 60), 1.0);
    check(&history, &count_of_same("source", "PT1H"), &transaction("alice", "1", 7200), 1.0);
    check(&history, &count_of_same("source", "PT2H"), &transaction("alice", "1", 7200), 2.0);
}

#[test]
fn without_a_row_every_function_answers_zero() {
    let history = history_of(&[transaction("alice", "5", 0)]);
    for function in AggregateFunction::ALL {
        check(&history, &spec(function, same("source"), "PT1H"), &transaction("bob", "1", 0), 0.0);
        check(&history, &spec(function, same("destination"), "PT1H"), &transaction("alice", "1", 0), 0.0);
    }
}

#[test]
fn each_function_of_a_few_amounts() {
    let rows = ["0.1", "0.1", "0.1", "5"].map(|amount| transaction("alice", amount, 0));
    let history = history_of(&rows);
    for (function, expected) in [
        (AggregateFunction::Count, 4.0),
        (AggregateFunction::Sum, 5.3),
        (AggregateFunction::Avg, 1.325),
        (AggregateFunction::Min, 0.1),
        (AggregateFunction::Max, 5.0),
        (AggregateFunction::Distinct, 2.0),
        (AggregateFunction::Stddev, 2.45),
    ] {
        check(&history, &spec(function, same("source"), "PT1H"), &transaction("alice", "1", 0), expected);
    }
}

#[test]
fn only_json_numbers_are_values() {
    let values = [
        Json::Number(number("1.5")),
        text("100"),
        Json::Null,
        Json::Boolean(true),
        Json::Number(number("2")),
    ];
    let rows =
        values.map(|value| Arc::new(Sample { metadata: vec![("fee", value)], ..Sample::default() }.build()));
    let history = history_of(&rows);
    for (function, expected) in [
        (AggregateFunction::Count, 5.0),
        (AggregateFunction::Sum, 3.5),
        (AggregateFunction::Avg, 1.75),
        (AggregateFunction::Max, 2.0),
        (AggregateFunction::Distinct, 4.0),
    ] {
        let mut asked = spec(function, same("source"), "PT1H");
        asked.value = FieldPath::parse("meta_data.fee");
        check(&history, &asked, &rows[0], expected);
    }
}

#[test]
fn a_query_finds_equal_values_under_every_spelling() {
    let cards =
        [Json::Number(number("42")), text("42"), text("0042"), text("x"), Json::Boolean(true), text("true")];
    let rows = cards
        .clone()
        .map(|card| Arc::new(Sample { metadata: vec![("card", card)], ..Sample::default() }.build()));
    let history = history_of(&rows);
    for (row, expected) in rows.iter().zip([3.0, 2.0, 2.0, 1.0, 2.0, 2.0]) {
        check(&history, &count_of_same("metadata.card", "PT1H"), row, expected);
        let both = Condition::All(vec![same("metadata.card"), same("source")]);
        check(&history, &spec(AggregateFunction::Count, both, "PT1H"), row, expected);
    }
}

#[test]
fn a_previous_transaction_satisfies_every_pair_and_an_unresolved_pair_nothing() {
    let failed = Arc::new(Sample { status: Some("failed"), ..Sample::default() }.build());
    let history = history_of(&[failed, transaction("bob", "7", 0)]);
    let pair = |field: &str, value| MatchPair { field: FieldPath::parse(field), value };
    let here = |path: &str| Item::Current(FieldPath::parse(path));
    #[track_caller]
    fn check(history: &History, pairs: Vec<MatchPair>, expected: bool) {
        let previous = history
            .previous(&PreviousSpec { window: Window::parse("PT1H").unwrap(), pairs }, Semantics::CURRENT)
            .unwrap();
        let current = transaction("alice", "7", 60);
        assert_eq!(previous.answer(&current, history.last_sequence().next(), &no_lists()).unwrap(), expected);
    }
    check(&history, vec![pair("source", here("source"))], true);
    check(&history, vec![pair("source", here("source")), pair("status", Item::Text("failed".into()))], true);
    check(&history, vec![pair("source", here("source")), pair("amount", here("amount"))], false);
    check(&history, vec![pair("amount", Item::Number(literal("7.0")))], true);
    check(
        &history,
        vec![pair("inflight", Item::Boolean(false)), pair("amount", Item::Text("07".into()))],
        true,
    );
    check(&history, vec![pair("source", here("source")), pair("status", here("status"))], false);
    check(&history, vec![pair("timestamp", Item::Text("2026-01-05T11:00:00+01:00".into()))], true);
    check(&history, vec![pair("timestamp", here("timestamp"))], false);
}

#[test]
fn a_retracted_transaction_is_gone_and_its_sequence_number_is_not_reused() {
    let history = History::new();
    let early = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    for _ in 0..200 {
        history.admit(transaction("alice", "1", 0), |_| ());
    }
    history.retract_from(Sequence(151));
    assert_eq!((history.len(), history.last_sequence()), (150, Sequence(200)));
    let late = history
        .aggregate(
            &spec(AggregateFunction::Sum, equal("amount", Operand::Number(literal("1.0"))), "PT1H"),
            Semantics::CURRENT,
        )
        .unwrap();
    let current = transaction("alice", "1", 0);
    for (answer, place) in [(early.answer(&current, Sequence(999), &no_lists()).unwrap(), "live before")]
        .into_iter()
        .chain([(late.answer(&current, Sequence(999), &no_lists()).unwrap(), "filled after")])
    {
        assert_eq!(answer, 150.0, "{place}");
    }
    assert_eq!(history.admit(current, |sequence| sequence), Sequence(201));
    history.retract_from(Sequence(0));
    assert!(history.is_empty());
}

#[test]
fn a_restored_history_answers_as_it_did() {
    let history = History::new();
    let count = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    for number in [3, 4, 9] {
        history.restore(Sequence(number), &transaction("alice", "1", 0));
    }
    let current = transaction("alice", "1", 0);
    let seen = [3, 4, 5, 9, 10].map(|number| count.answer(&current, Sequence(number), &no_lists()).unwrap());
    assert_eq!(seen, [0.0, 1.0, 2.0, 2.0, 3.0]);
    assert_eq!(history.admit(current, |sequence| sequence), Sequence(10));
}

#[test]
fn when_the_callers_part_of_admission_panics_nothing_is_accepted() {
    let history = History::new();
    let admit = || history.admit(transaction("alice", "1", 0), |_| panic!("on purpose"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(admit)).unwrap_err();
    assert!(history.is_empty());
    check(&history, &count_of_same("source", "PT1H"), &transaction("alice", "1", 0), 0.0);
    assert_eq!(history.admit(transaction("alice", "1", 0), |sequence| sequence), Sequence(2));
}

#[test]
fn equal_specs_share_one_question_and_equal_keys_one_series() {
    let history = history_of(&[transaction("alice", "1", 0)]);
    let count = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    assert!(Arc::ptr_eq(
        &count,
        &history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap()
    ));
    let longer = history.aggregate(&count_of_same("source", "P1D"), Semantics::CURRENT).unwrap();
    let literal = history.aggregate(
        &spec(AggregateFunction::Sum, equal("source", Operand::Text("x".into())), "P1D"),
        Semantics::CURRENT,
    );
    let pair = MatchPair { field: FieldPath::parse("source"), value: Item::Text("x".into()) };
    let previous = history.previous(
        &PreviousSpec { window: Window::parse("PT1H").unwrap(), pairs: vec![pair] },
        Semantics::CURRENT,
    );
    assert_eq!(history.n_series(), 1);
    let other = history.aggregate(&count_of_same("destination", "P1D"), Semantics::CURRENT).unwrap();
    assert_eq!(history.n_series(), 2);
    drop((count, longer, literal, previous));
    assert_eq!(history.n_series(), 1);
    drop(other);
    assert_eq!(history.n_series(), 0);
    check(&history, &count_of_same("source", "PT1H"), &transaction("alice", "1", 0), 1.0);
}

/// Selects past transactions of the same source that satisfy these conditions.
fn same_source_and(conditions: Vec<Condition>) -> Condition {
    Condition::All([vec![same("source")], conditions].concat())
}

fn more_than(amount: &str) -> Condition {
    let left = Operand::Field(FieldPath::parse("amount"));
    Condition::Compare { left, operator: Comparison::Greater, right: Operand::Number(literal(amount)) }
}

fn not_open() -> Condition {
    Condition::Not(Box::new(equal("status", Operand::Text("open".into()))))
}

#[test]
fn conditions_on_past_transactions_alone_define_a_series() {
    let of = |status, amount| Arc::new(Sample { status: Some(status), amount, ..Sample::default() }.build());
    let history = history_of(&[of("open", "5"), of("failed", "5"), of("failed", "1"), of("open", "1")]);
    let asked = |conditions| spec(AggregateFunction::Sum, same_source_and(conditions), "PT1H");
    let (one, other) = (asked(vec![more_than("2.0"), not_open()]), asked(vec![not_open(), more_than("2")]));
    let kept = [&one, &other].map(|spec| history.aggregate(spec, Semantics::CURRENT).unwrap());
    assert_eq!(history.n_series(), 1, "in whatever order it is said");
    let plain = history.aggregate(&count_of_same("source", "PT1H"), Semantics::CURRENT).unwrap();
    let fee = AggregateSpec { value: FieldPath::parse("metadata.fee"), ..asked(vec![]) };
    let fees = history.aggregate(&fee, Semantics::CURRENT).unwrap();
    assert_eq!(history.n_series(), 3);
    let mut identities = Vec::new();
    history.each_series(|series| identities.push(series.identity()));
    identities.sort();
    identities.dedup();
    assert_eq!(identities.len(), 3, "{identities:?}");
    check(&history, &one, &of("x", "1"), 5.0);
    check(&history, &asked(vec![not_open()]), &of("x", "1"), 6.0);
    check(&history, &fee, &of("x", "1"), 0.0);
    drop((kept, plain, fees));
}

#[test]
fn beyond_the_most_selections_rows_are_tested_one_by_one() {
    let history = history_of(&["1", "200", "400"].map(|amount| transaction("alice", amount, 0)));
    let asked =
        |n: u32| spec(AggregateFunction::Count, same_source_and(vec![more_than(&n.to_string())]), "PT1H");
    let live: Vec<_> = (0..300).map(|n| history.aggregate(&asked(n), Semantics::CURRENT).unwrap()).collect();
    assert_eq!(history.n_series(), 257, "the most selections, and one series for all others");
    for n in [0, 250, 260, 299] {
        check(&history, &asked(n), &transaction("alice", "1", 0), if n == 0 { 3.0 } else { 1.0 });
    }
    drop(live);
}

#[test]
fn one_series_too_many_is_refused_until_another_goes() {
    let history = History::new();
    let nth = |n: usize| count_of_same(&format!("metadata.key{n}"), "PT1H");
    let mut live: Vec<_> =
        (0..SERIES_MAX).map(|n| history.aggregate(&nth(n), Semantics::CURRENT).unwrap()).collect();
    let error = history.aggregate(&nth(SERIES_MAX), Semantics::CURRENT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the rules in force compare more than 512 different sets of fields for equality; the set beyond the limit is `metadata.key512`"
    );
    live.pop();
    assert!(history.aggregate(&nth(SERIES_MAX), Semantics::CURRENT).is_ok());
}

#[test]
fn a_filter_that_cannot_be_bound_is_an_error() {
    let value = Operand::Field(FieldPath::parse("source"));
    let filter = Condition::Matches { value, pattern: "(".into(), negated: false };
    let error = History::new()
        .aggregate(&spec(AggregateFunction::Count, filter, "PT1H"), Semantics::CURRENT)
        .unwrap_err();
    assert!(matches!(error, HistoryError::Filter(_)));
}

#[test]
fn an_equality_with_a_date_time_is_by_the_instant() {
    let at =
        |time| Arc::new(Sample { metadata: vec![("at", text(time))], at: 0, ..Sample::default() }.build());
    let history = history_of(&[at("2026-01-05T10:00:00Z"), at("2026-01-05T11:00:00+01:00"), at("later")]);
    let current = Operand::Current(FieldPath::parse("timestamp"));
    let filter = equal("metadata.at", current);
    check(&history, &spec(AggregateFunction::Count, filter, "PT1H"), &transaction("alice", "1", 0), 2.0);
    let filter = equal("timestamp", Operand::Text("2026-01-05T11:00:00+01:00".into()));
    check(&history, &spec(AggregateFunction::Count, filter, "PT1H"), &transaction("alice", "1", 60), 3.0);
}

#[test]
fn more_equalities_than_a_key_holds_are_tested_all_the_same() {
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let with = |last| {
        let metadata = keys.iter().map(|key| (*key, text(if *key == "j" { last } else { "1" }))).collect();
        Arc::new(Sample { metadata, ..Sample::default() }.build())
    };
    let history = history_of(&[with("1"), with("2"), with("1")]);
    let all = keys.iter().map(|key| same(&format!("metadata.{key}"))).collect();
    check(&history, &spec(AggregateFunction::Count, Condition::All(all), "PT1H"), &with("1"), 2.0);
}

#[test]
fn two_equalities_on_one_field_both_restrict_a_query() {
    let history = history_of(&[transaction("alice", "1", 0), transaction("bob", "1", 0)]);
    let filter = Condition::All(vec![
        same("source"),
        Condition::Compare {
            left: Operand::Text("bob".into()),
            operator: Comparison::Equal,
            right: Operand::Field(FieldPath::parse("source")),
        },
    ]);
    let asked = spec(AggregateFunction::Count, filter, "PT1H");
    check(&history, &asked, &transaction("alice", "1", 0), 0.0);
    check(&history, &asked, &transaction("bob", "1", 0), 1.0);
}
