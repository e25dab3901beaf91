//! Transactions to start from.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use serde_json::{Map, Value, json};

/// The least a transaction needs, under this id.
#[must_use]
pub fn transaction(id: &str) -> Value {
    json!({"transaction_id": id, "amount": 10, "currency": "EUR", "reference": id})
}

/// The same transaction with these fields set over it.
///
/// # Panics
/// When either is no object.
#[must_use]
pub fn with(transaction: &Value, fields: &Value) -> Value {
    let mut merged: Map<String, Value> = transaction.as_object().expect("a transaction is an object").clone();
    merged.extend(fields.as_object().expect("fields are an object").clone());
    Value::Object(merged)
}

/// A rule that matches when its condition does, named, severe, and easy to see in an answer.
#[must_use]
pub fn rule(name: &str, condition: &str) -> String {
    format!(
        "rule {name} {{\n  description \"{name}\"\n  when {condition}\n  then block score 0.9 reason \"{name} matched\"\n}}\n"
    )
}
