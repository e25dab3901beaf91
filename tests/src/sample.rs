//! Sample transactions and rules.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use serde_json::{Map, Value, json};

/// Returns a transaction of this id with only the required fields.
#[must_use]
pub fn transaction(id: &str) -> Value {
    json!({"transaction_id": id, "amount": 10, "currency": "EUR", "reference": id})
}

/// Returns the transaction with these fields added or replaced.
///
/// # Panics
/// Panics if either is not an object.
#[must_use]
pub fn with(transaction: &Value, fields: &Value) -> Value {
    let mut merged: Map<String, Value> = transaction.as_object().expect("a transaction is an object").clone();
    merged.extend(fields.as_object().expect("fields are an object").clone());
    Value::Object(merged)
}

/// Returns a blocking rule with this name and condition.
#[must_use]
pub fn rule(name: &str, condition: &str) -> String {
    format!(
        "rule {name} {{\n  description \"{name}\"\n  when {condition}\n  then block score 0.9 reason \"{name} matched\"\n}}\n"
    )
}
