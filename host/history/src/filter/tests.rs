//! Every kind of test in a filter, on one row and one current transaction.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_guest_abi::{
    ArithmeticOperator, Condition, FieldPath, Item, ListSource, Operand, PreviousSpec, Semantics,
    TimeFunction, TimeSpec, Window,
};
use tollgate_model::calendar::ZoneData;
use tollgate_model::named_list::NamedList;
use tollgate_model::transaction::{Json, StatusWords, Transaction};

use super::*;
use crate::layout::ReadingData;
use crate::row::Cells;
use crate::sample::{Sample, literal, number, text};

use ArithmeticOperator::{Add, Divide, Multiply, Subtract};
use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};

fn row() -> Transaction {
    Sample {
        amount: "42",
        status: Some("true"),
        inflight: true,
        metadata: vec![
            ("code", text("0042")),
            ("word", text("abc")),
            ("score", Json::Number(number("1.5"))),
            ("at", text("2026-01-05T23:30:00+01:00")),
            ("tags", Json::Array(vec![text("a"), text("b")])),
            ("nothing", Json::Null),
        ],
        ..Sample::default()
    }
    .build()
}

fn current() -> Transaction {
    Sample {
        amount: "21",
        status: Some("open"),
        at: 3_600,
        metadata: vec![
            ("codes", Json::Array(vec![Json::Number(number("42")), text("xyz"), Json::Null])),
            ("one", text("abc")),
            ("object", Json::Object(vec![])),
        ],
        ..Sample::default()
    }
    .build()
}

fn field(path: &str) -> Operand {
    Operand::Field(FieldPath::parse(path))
}

fn now(path: &str) -> Operand {
    Operand::Current(FieldPath::parse(path))
}

fn word(text: &str) -> Operand {
    Operand::Text(text.to_owned())
}

fn arithmetic(left: Operand, operator: ArithmeticOperator, right: Operand) -> Operand {
    Operand::Arithmetic { left: Box::new(left), operator, right: Box::new(right) }
}

fn compare(left: Operand, operator: Comparison, right: Operand) -> Condition {
    Condition::Compare { left, operator, right }
}

fn within(value: Operand, list: ListSource, negated: bool) -> Condition {
    Condition::In { value, list, negated }
}

fn matches(value: Operand, pattern: &str, negated: bool) -> Condition {
    Condition::Matches { value, pattern: pattern.to_owned(), negated }
}

fn time(function: TimeFunction, field: &str, current: bool) -> Operand {
    Operand::Time(TimeSpec { function, field: FieldPath::parse(field), current, zone: None })
}

fn reading<'d>(zones: &'d ZoneData, status_words: &'d Arc<StatusWords>) -> ReadingData<'d> {
    ReadingData { zones, status_words }
}

/// Returns `None` when the filter matches nothing, whatever the row.
fn judge(condition: &Condition) -> Option<bool> {
    let (zones, words) = (ZoneData::built_in(), StatusWords::built_in());
    let mut binder = Binder::new(Semantics::CURRENT, reading(&zones, &words), None);
    let filter = binder.filter([condition]).unwrap();
    let lists = HashMap::from([("bad".to_owned(), ["abc", "42"].into_iter().collect::<NamedList>())]);
    let current = current();
    let (demand, columns) = binder.finish();
    let scene = demand.meet(&current, &lists)?;
    let transaction = row();
    let cells = Cells::Fresh(&transaction, columns.fields());
    let row = Row::new(transaction.amount.value(), cells, &[]);
    Some(filter.holds(row, &scene, None))
}

#[track_caller]
fn check(condition: Condition, expected: bool) {
    assert_eq!(judge(&condition), Some(expected), "{condition:?}");
}

const OPERATORS: [Comparison; 6] = [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual];

#[test]
fn fields_compare_by_the_table_of_the_language() {
    check(compare(field("metadata.code"), Equal, Operand::Number(literal("42.0"))), true);
    check(compare(field("metadata.code"), Equal, word("42")), false);
    check(compare(field("metadata.code"), GreaterOrEqual, word("42")), true);
    check(compare(field("metadata.word"), NotEqual, Operand::Number(literal("42.0"))), true);
    check(compare(field("metadata.word"), Less, Operand::Number(literal("42.0"))), false);
    check(compare(field("inflight"), Equal, Operand::Boolean(true)), true);
    check(compare(field("status"), Equal, Operand::Boolean(true)), true);
    check(compare(field("metadata.tags"), NotEqual, Operand::Number(literal("1.0"))), true);
    check(compare(field("timestamp"), Less, now("timestamp")), true);
    check(compare(field("timestamp"), Equal, word("2026-01-05T11:00:00+01:00")), true);
}

#[test]
fn no_operator_holds_for_a_missing_value() {
    for missing in [
        field("metadata.nothing"),
        field("metadata.word.deeper"),
        field("unheard_of"),
        field("description"),
        arithmetic(field("amount"), Divide, Operand::Number(literal("0.0"))),
        arithmetic(field("metadata.word"), Add, Operand::Number(literal("1.0"))),
        Operand::Negate(Box::new(field("metadata.tags"))),
        time(TimeFunction::Year, "reference", false),
        time(TimeFunction::Year, "metadata.word", false),
    ] {
        for operator in OPERATORS {
            for other in [Operand::Number(literal("1.0")), word("abc"), now("source"), missing.clone()] {
                check(compare(missing.clone(), operator, other.clone()), false);
                check(compare(other, operator, missing.clone()), false);
            }
        }
        for negated in [false, true] {
            check(
                within(missing.clone(), ListSource::Items(vec![Item::Number(literal("1.0"))]), negated),
                false,
            );
            check(within(missing.clone(), ListSource::Named("bad".into()), negated), false);
            check(matches(missing.clone(), "", negated), false);
        }
        check(Condition::Not(Box::new(compare(missing, Equal, Operand::Number(literal("1.0"))))), true);
    }
}

#[test]
fn numbers_are_computed_in_doubles_texts_of_numbers_included() {
    check(
        compare(arithmetic(now("amount"), Multiply, Operand::Number(literal("2.0"))), Equal, field("amount")),
        true,
    );
    check(compare(arithmetic(field("metadata.code"), Subtract, now("amount")), Equal, word("21.0")), true);
    check(compare(Operand::Negate(Box::new(field("amount"))), Less, Operand::Number(literal("-41.5"))), true);
    check(
        compare(
            arithmetic(Operand::Number(literal("0.1")), Add, Operand::Number(literal("0.2"))),
            Greater,
            Operand::Number(literal("0.3")),
        ),
        true,
    );
    check(
        compare(arithmetic(field("amount"), Add, Operand::Number(literal("0.0"))), NotEqual, word("abc")),
        true,
    );
    check(
        compare(
            arithmetic(field("amount"), Add, Operand::Number(literal("0.0"))),
            Equal,
            field("metadata.tags"),
        ),
        false,
    );
    check(
        compare(word("abc"), NotEqual, arithmetic(field("amount"), Add, Operand::Number(literal("0.0")))),
        true,
    );
    check(compare(word("41"), Less, arithmetic(field("amount"), Add, Operand::Number(literal("0.0")))), true);
}

#[test]
fn lists_are_searched_by_equality() {
    let items = |items: &[Item]| ListSource::Items(items.to_vec());
    let status = || Item::Current(FieldPath::parse("status"));
    check(within(field("metadata.code"), items(&[Item::Number(literal("42.0"))]), false), true);
    check(within(field("metadata.code"), items(&[Item::Text("42".into())]), false), false);
    check(within(field("amount"), items(&[Item::Text("0042".into())]), false), true);
    check(within(field("inflight"), items(&[Item::Text("true".into())]), false), true);
    check(within(field("status"), items(&[Item::Boolean(true)]), false), true);
    check(within(field("metadata.tags"), items(&[Item::Text("a".into())]), true), true);
    check(within(field("status"), items(&[status()]), true), true);
    check(within(word("open"), items(&[Item::Number(literal("1.0")), status()]), false), true);
    check(
        within(arithmetic(now("amount"), Add, now("amount")), items(&[Item::Text("42".into())]), false),
        true,
    );
    check(within(field("metadata.word"), ListSource::Named("bad".into()), false), true);
    check(within(field("metadata.code"), ListSource::Named("bad".into()), true), true);
    check(within(field("amount"), ListSource::Named("bad".into()), false), true);
    for negated in [false, true] {
        check(within(field("amount"), ListSource::Named("unknown".into()), negated), false);
    }
}

#[test]
fn an_array_of_the_transaction_under_evaluation_is_a_list_and_a_single_value_a_list_of_one() {
    let list = |path| ListSource::Current(FieldPath::parse(path));
    check(within(field("metadata.code"), list("metadata.codes"), false), true);
    check(within(field("metadata.word"), list("metadata.codes"), true), true);
    check(within(field("metadata.word"), list("metadata.one"), false), true);
    check(within(field("metadata.word"), list("metadata.object"), true), true);
    check(within(field("amount"), list("amount"), true), true);
}

#[test]
fn patterns_are_searched_in_texts_numbers_and_words() {
    check(matches(field("metadata.word"), "^a", false), true);
    check(matches(field("amount"), "^42$", false), true);
    check(
        matches(arithmetic(now("amount"), Divide, Operand::Number(literal("2.0"))), r"^10\.5$", false),
        true,
    );
    check(matches(field("metadata.tags"), "", false), false);
    check(matches(field("metadata.tags"), "", true), true);
    check(matches(field("timestamp"), "^2026", false), true);
}

#[test]
fn times_are_read_from_the_row_or_from_the_transaction_under_evaluation() {
    check(
        compare(time(TimeFunction::HourOfDay, "timestamp", false), Equal, Operand::Number(literal("10.0"))),
        true,
    );
    check(
        compare(time(TimeFunction::HourOfDay, "timestamp", true), Equal, Operand::Number(literal("11.0"))),
        true,
    );
    check(
        compare(time(TimeFunction::HourOfDay, "metadata.at", false), Equal, Operand::Number(literal("22.0"))),
        true,
    );
}

#[test]
fn conditions_join_as_logic_joins_them() {
    let (yes, no) = (
        || compare(field("amount"), Equal, Operand::Number(literal("42.0"))),
        || compare(field("amount"), NotEqual, Operand::Number(literal("42.0"))),
    );
    check(Condition::All(vec![yes(), no()]), false);
    check(Condition::Any(vec![no(), yes()]), true);
    check(Condition::All(vec![]), true);
    check(Condition::Any(vec![]), false);
    check(Condition::Not(Box::new(Condition::Any(vec![no(), no()]))), true);
}

#[test]
fn a_missing_value_of_the_transaction_under_evaluation_makes_the_filter_match_nothing_wherever_it_stands() {
    let yes = || compare(field("amount"), Equal, Operand::Number(literal("42.0")));
    let gone = || FieldPath::parse("metadata.gone");
    for lacking in [
        compare(field("source"), Equal, Operand::Current(gone())),
        within(field("source"), ListSource::Current(gone()), true),
        within(
            field("source"),
            ListSource::Items(vec![Item::Text("alice".into()), Item::Current(gone())]),
            false,
        ),
        compare(Operand::Negate(Box::new(Operand::Current(gone()))), Equal, Operand::Number(literal("1.0"))),
        compare(time(TimeFunction::Year, "metadata.gone", true), Equal, Operand::Number(literal("1.0"))),
    ] {
        assert_eq!(judge(&Condition::Any(vec![yes(), lacking.clone()])), None, "{lacking:?}");
        assert_eq!(judge(&Condition::Not(Box::new(lacking.clone()))), None, "{lacking:?}");
    }
}

#[test]
fn an_invalid_filter_is_refused() {
    #[track_caller]
    fn refuse(condition: Condition, message: &str) {
        let error =
            Binder::new(Semantics::CURRENT, reading(&ZoneData::built_in(), &StatusWords::built_in()), None)
                .filter([&condition])
                .unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let previous = PreviousSpec { window: Window::parse("PT1H").unwrap(), pairs: vec![] };
    refuse(Condition::Previous(previous), "a filter cannot hold an aggregate or a previous transaction");
    refuse(matches(field("source"), "(", false), "the pattern `(` is refused");
    let zone = Some("Nowhere".to_owned());
    let spec =
        TimeSpec { function: TimeFunction::Year, field: FieldPath::parse("timestamp"), current: false, zone };
    refuse(
        compare(Operand::Time(spec), Equal, Operand::Number(literal("1.0"))),
        "unknown time zone `Nowhere`",
    );
}
