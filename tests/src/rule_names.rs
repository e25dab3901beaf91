//! The names of the rules of a service. An answer names only the first rules that matched or failed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Answer, Client};

/// Names of rules by their ids.
#[derive(Debug, Default)]
pub struct RuleNames(BTreeMap<i64, String>);

impl RuleNames {
    /// Reads the names of the rules that the service has.
    ///
    /// # Panics
    /// Panics if the service does not answer as expected.
    #[must_use]
    #[track_caller]
    pub fn fetch(client: &Client) -> Self {
        let instructions = client.get("/instructions").expect(200);
        let name_of = |one: &Value| Some((id_of(one, "id")?, one.get("name")?.as_str()?.to_owned()));
        Self(instructions.as_array().into_iter().flatten().filter_map(name_of).collect())
    }

    /// Returns the names of the rules in a member of an assessment, `triggered` or `failures`, in order.
    ///
    /// # Panics
    /// Panics if the response is not an evaluation.
    #[must_use]
    #[track_caller]
    pub fn in_member(&self, answer: &Answer, member: &str) -> Vec<String> {
        let body = answer.expect(200);
        let rules = body.get(member).and_then(Value::as_array);
        let name_of = |rule: &Value| {
            let named = rule.get("name").and_then(Value::as_str).map(str::to_owned);
            named.or_else(|| self.0.get(&id_of(rule, "instruction_id")?).cloned())
        };
        let named = rules.into_iter().flatten();
        named.map(|rule| name_of(rule).unwrap_or_else(|| rule.to_string())).collect()
    }
}

/// Returns an id, which the list of instructions writes as a text and an assessment as a number.
fn id_of(object: &Value, member: &str) -> Option<i64> {
    let id = object.get(member)?;
    id.as_i64().or_else(|| id.as_str()?.parse().ok())
}
