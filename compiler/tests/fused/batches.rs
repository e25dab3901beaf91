//! Generates random conditions that share host calls.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn compare(left: Value, operator: &str, right: Value) -> Value {
    json!({"compare": {"left": left, "operator": operator, "right": right}})
}

fn operator() -> impl Strategy<Value = &'static str> {
    select(&["==", "!=", "<", "<=", ">", ">="][..])
}

fn path() -> impl Strategy<Value = Value> {
    select(&["currency", "source", "metadata.a", "metadata.b", "metadata.c"][..])
        .prop_map(|path| json!({"field": path}))
}

fn text() -> impl Strategy<Value = Value> {
    select(&["a", "b", "c", "true", "42"][..]).prop_map(|text| json!({"text": text}))
}

fn literal() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => text(),
        1 => any::<bool>().prop_map(|boolean| json!({"boolean": boolean})),
        3 => select(&[1.0, 7.0, 42.0, -0.0][..]).prop_map(|number| json!({"number": number})),
    ]
}

fn aggregate() -> impl Strategy<Value = Value> {
    select(&["PT1H", "P1D", "P7D"][..]).prop_map(|window| {
        let filter = compare(json!({"field": "source"}), "==", json!({"current": "source"}));
        json!({"aggregate": {"function": "count", "value": "amount", "filter": filter, "window": window}})
    })
}

fn time() -> impl Strategy<Value = Value> {
    select(&["hour_of_day", "year"][..])
        .prop_map(|function| json!({"time": {"function": function, "field": "timestamp"}}))
}

/// Operands that are computed as numbers.
fn number() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        4 => Just(json!({"field": "amount"})),
        3 => aggregate(),
        2 => time(),
        1 => select(&[0.0, 2.0][..]).prop_map(|number| json!({"number": number})),
    ];
    plain.prop_recursive(2, 4, 2, |inner| {
        let operator = select(&["+", "-", "*", "/"][..]);
        let field = path().boxed();
        prop_oneof![
            (inner.clone(), operator, prop_oneof![inner.clone(), field]).prop_map(
                |(left, operator, right)| {
                    json!({"arithmetic": {"left": left, "operator": operator, "right": right}})
                }
            ),
            inner.prop_map(|inner| json!({"negate": inner})),
        ]
    })
}

fn list() -> impl Strategy<Value = Value> {
    let items = |n| proptest::collection::vec(literal(), n).prop_map(|items| json!({"items": items}));
    prop_oneof![
        6 => items(1..5),
        // More numbers than are compared one by one.
        1 => items(12..16),
        1 => Just(json!({"items": [{"text": "a"}, {"current": "metadata.b"}]})),
        1 => Just(json!({"current": "metadata.list"})),
        2 => select(&["vip", "banned"][..]).prop_map(|name| json!({"named": name})),
    ]
}

fn test() -> impl Strategy<Value = Value> {
    let value = || prop_oneof![3 => path(), 1 => number()];
    let pattern = select(&["x", "y"][..]);
    let previous = select(&["PT1H", "P1D"][..]).prop_map(|window| {
        json!({"previous": {"window": window, "pairs": [{"field": "status", "value": {"text": "failed"}}]}})
    });
    prop_oneof![
        6 => (path(), operator(), literal()).prop_map(|(left, operator, right)| compare(left, operator, right)),
        6 => (number(), operator(), prop_oneof![literal(), path(), number()])
            .prop_map(|(left, operator, right)| compare(left, operator, right)),
        1 => (path(), operator(), path()).prop_map(|(left, operator, right)| compare(left, operator, right)),
        4 => (value(), list(), any::<bool>()).prop_map(|(value, list, negated)| {
            json!({"in": {"value": value, "list": list, "negated": negated}})
        }),
        1 => any::<bool>().prop_map(|negated| {
            json!({"in": {"value": {"text": "a"}, "list": {"current": "metadata.list"}, "negated": negated}})
        }),
        2 => (value(), pattern, any::<bool>()).prop_map(|(value, pattern, negated)| {
            json!({"matches": {"value": value, "pattern": pattern, "negated": negated}})
        }),
        2 => previous,
    ]
}

pub(crate) fn condition() -> impl Strategy<Value = Value> {
    test().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            4 => proptest::collection::vec(inner.clone(), 1..5).prop_map(|parts| json!({"all": parts})),
            4 => proptest::collection::vec(inner.clone(), 1..5).prop_map(|parts| json!({"any": parts})),
            1 => inner.prop_map(|inner| json!({"not": inner})),
        ]
    })
}

pub(crate) fn batch() -> impl Strategy<Value = Vec<Value>> {
    prop_oneof![
        4 => proptest::collection::vec(condition(), 2..12),
        1 => proptest::collection::vec(condition(), 40..65),
    ]
}
