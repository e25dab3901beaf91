//! Checks that every stored row was sent, is complete and has the correct verdict.

use std::collections::BTreeSet;

use chrono::DateTime;
use serde_json::Value;

use super::rules_in_force::RulesInForce;
use super::{Checker, Kept};
use crate::durability::exchange::Exchange;
use crate::durability::replay::Past;
use crate::durability::stored::{Row, Update};

impl Checker {
    pub(super) fn take_row(&mut self, row: &Row, rules: &RulesInForce) -> Result<(), String> {
        let wrong = |what: String| format!("{} ({}): {what}", row.id, row.sequence);
        let body = json(&row.body).map_err(wrong)?;
        let sent = self
            .sent_as(&row.id, &body)
            .ok_or_else(|| wrong(format!("nobody sent what is stored, or it is not whole: {}", row.body)))?;
        let stated = sent.get("created_at").and_then(Value::as_str);
        if let Some(stated) = stated
            && DateTime::parse_from_rfc3339(stated).map(|at| at.timestamp_micros()) != Ok(row.event_micros)
        {
            return Err(wrong(format!("sent as of {stated}, stored as of {}", row.event_micros)));
        }
        let status = text(&body, "status");
        let source = text(&body, "source").unwrap_or_default();
        let past = Past { event_micros: row.event_micros, eighths: eighths(&body), status: status.clone() };
        let mut expected = self.replay.judge(row.sequence, &source, past);
        expected.extend(rules.markers_at(row.rule_set_version));
        let kept = Kept {
            sequence: row.sequence,
            eighths: eighths(&body),
            has_status: status.is_some(),
            assessment: row.assessment.clone(),
        };
        self.kept.insert(row.id.clone(), kept);
        self.check_assessment(row, &expected, rules).map_err(wrong)
    }

    /// Checks the stored assessment of a transaction.
    fn check_assessment(
        &self,
        row: &Row,
        expected: &BTreeSet<String>,
        rules: &RulesInForce,
    ) -> Result<(), String> {
        let said = json(&row.assessment)?;
        let (triggered, failed) = (names(&said, "triggered", rules), names(&said, "failures", rules));
        // A clock that fell far holds transactions; no rule failed then.
        if failed.iter().any(|name| name != "clock") && !self.is_starved {
            return Err(format!("rules failed: {failed:?}"));
        }
        let expected: BTreeSet<String> = expected.difference(&failed).cloned().collect();
        if triggered != expected {
            return Err(format!("judged {triggered:?}, and had to be {expected:?}"));
        }
        let (verdict, score) = verdict_of(&triggered, &failed);
        if text(&said, "verdict").as_deref() != Some(verdict)
            || said.get("score").and_then(Value::as_f64) != Some(score)
        {
            return Err(format!("the verdict should be {verdict} {score}: {}", row.assessment));
        }
        if said.get("rule_set_version").and_then(Value::as_u64) != Some(row.rule_set_version) {
            return Err(format!("stored under version {}: {}", row.rule_set_version, row.assessment));
        }
        if !rules.has_version(row.rule_set_version) {
            return Err(format!("there is no version {}", row.rule_set_version));
        }
        if text(&said, "transaction_id").as_deref() != Some(&*row.id) {
            return Err(format!("the verdict is another's: {}", row.assessment));
        }
        Ok(())
    }

    pub(super) fn take_update(&mut self, update: &Update) -> Result<(), String> {
        self.replay.update(update)
    }

    /// Returns the transaction sent under this id whose fields are all stored.
    pub(in crate::durability) fn sent_as(&self, id: &str, stored: &Value) -> Option<Value> {
        let numbers = self.by_id.get(id)?;
        let brought = numbers.iter().filter_map(|number| self.exchanges.get(number)?.transaction());
        brought.into_iter().find(|sent| holds(stored, sent))
    }
}

impl Exchange {
    /// Returns the transaction in the request, with the status that its event implies.
    pub(super) fn transaction(&self) -> Option<Value> {
        match self.path.as_str() {
            "/inject" => Some(self.json()),
            "/ledgerwebhook" => {
                let mut envelope = self.json();
                let word = self.event_word();
                let mut transaction = envelope.get_mut("data")?.take();
                transaction.as_object_mut()?.insert("status".to_owned(), word.into());
                Some(transaction)
            }
            _ => None,
        }
    }

    /// Returns `applied` for an event `transaction.applied`.
    pub(super) fn event_word(&self) -> Option<String> {
        let envelope = (self.path == "/ledgerwebhook").then(|| self.json())?;
        envelope.get("event")?.as_str()?.strip_prefix("transaction.").map(str::to_owned)
    }

    pub(super) fn transaction_id(&self) -> Option<String> {
        text(&self.transaction()?, "transaction_id")
    }
}

/// Whether every field that was sent is stored, and a status only if one was sent.
fn holds(stored: &Value, sent: &Value) -> bool {
    let Some(fields) = sent.as_object() else { return false };
    fields.iter().all(|(name, value)| stored.get(name) == Some(value))
        && stored.get("status").is_some_and(|status| !status.is_null()) == fields.contains_key("status")
}

/// Returns the rule names in one list of an assessment, which has only the ids of the last ones.
fn names(said: &Value, member: &str, rules: &RulesInForce) -> BTreeSet<String> {
    let list = said.get(member).and_then(Value::as_array);
    let by_id = |rule: &Value| rules.name_of(rule.get("instruction_id")?.as_i64()?);
    list.into_iter().flatten().filter_map(|rule| text(rule, "name").or_else(|| by_id(rule))).collect()
}

/// Returns the combined verdict of these rules. A failed rule never yields `approve`.
fn verdict_of(triggered: &BTreeSet<String>, failed: &BTreeSet<String>) -> (&'static str, f64) {
    let is_only_marked = triggered.iter().all(|name| crate::durability::rules::is_marker(name));
    match (triggered.is_empty(), is_only_marked) {
        (_, false) => ("block", 0.9),
        (is_empty, _) if !failed.is_empty() => ("review", if is_empty { 0.0 } else { 0.3 }),
        (true, _) => ("approve", 0.0),
        (false, true) => ("alert", 0.3),
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))
}

pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

/// Returns the amount in eighths; the traffic uses only multiples of one eighth.
#[expect(clippy::cast_possible_truncation, reason = "amounts of the traffic are small")]
pub(super) fn eighths(transaction: &Value) -> i64 {
    (transaction.get("amount").and_then(Value::as_f64).unwrap_or(f64::NAN) * 8.0) as i64
}
