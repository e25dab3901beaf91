//! The times that the store records.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::checker::Checker;
use super::stored::{Row, Stored};

/// The times of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Sequence number.
    pub sequence: u64,
    /// Time of acceptance.
    pub accepted: DateTime<Utc>,
    /// Event time.
    pub event: DateTime<Utc>,
    /// Time of evaluation.
    pub evaluated: DateTime<Utc>,
    /// Whether the sender stated the event time.
    pub is_given: bool,
}

impl Checker {
    /// Returns the times of every transaction, in sequence order.
    pub(super) fn stamps(&self, data: &Path) -> Vec<Stamp> {
        let stored = Stored::read(data).expect("the database can be read");
        stored.rows("transactions", 0).iter().map(|row| self.stamp(row)).collect()
    }

    fn stamp(&self, row: &Row) -> Stamp {
        let time = |micros| DateTime::from_timestamp_micros(micros).expect("a time of our days");
        let json = |text: &str| serde_json::from_str::<Value>(text).expect("what is stored is JSON");
        let sent = self.sent_as(&row.id, &json(&row.body)).expect("somebody sent what is stored");
        let evaluated = json(&row.assessment).get("evaluated_at").and_then(Value::as_str).map(str::parse);
        Stamp {
            sequence: row.sequence,
            accepted: time(row.accepted_micros),
            event: time(row.event_micros),
            evaluated: evaluated.and_then(Result::ok).expect("an assessment has its time"),
            is_given: sent.get("created_at").is_some(),
        }
    }
}
