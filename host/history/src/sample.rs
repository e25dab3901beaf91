//! Sample transactions for tests.

use std::sync::Arc;

use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{
    EventTime, Json, JsonNumber, LongTexts, LongestReads, Transaction, WideObjects,
};

/// The fields that tests choose; all others are empty.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) id: u64,
    pub(super) amount: &'static str,
    pub(super) source: Option<&'static str>,
    pub(super) destination: Option<&'static str>,
    pub(super) status: Option<&'static str>,
    pub(super) inflight: bool,
    /// Seconds after 2026-01-05T10:00:00Z, a Monday.
    pub(super) at: i64,
    pub(super) metadata: Vec<(&'static str, Json)>,
}

impl Default for Sample {
    fn default() -> Self {
        Self {
            id: 0,
            amount: "1",
            source: Some("alice"),
            destination: None,
            status: None,
            inflight: false,
            at: 0,
            metadata: Vec::new(),
        }
    }
}

impl Sample {
    pub(super) fn build(self) -> Transaction {
        let built = Transaction {
            transaction_id: self.id.to_string().into(),
            amount: number(self.amount),
            currency: "EUR".into(),
            source: self.source.map(Arc::from),
            destination: self.destination.map(Arc::from),
            reference: "2026-01-05T10:00:00Z".into(),
            description: None,
            status: self.status.map(Arc::from),
            hash: None,
            allow_overdraft: false,
            inflight: self.inflight,
            skip_queue: false,
            atomic: false,
            timestamp: time_at(self.at),
            effective_date: None,
            scheduled_for: None,
            inflight_expiry_date: None,
            metadata: Some(Json::Object(
                self.metadata.into_iter().map(|(key, value)| (key.into(), value)).collect(),
            )),
            unnamed: Vec::new(),
            left_out: None,
            longest_reads: LongestReads::default(),
            long_texts: LongTexts::default(),
            wide_objects: WideObjects::default(),
        };
        Transaction { longest_reads: built.measured(), ..built }
    }
}

pub(super) fn time_at(seconds: i64) -> EventTime {
    let start = EventTime::micros_of("2026-01-05T10:00:00Z").unwrap();
    EventTime::from_clock(chrono::DateTime::from_timestamp_micros(start + seconds * 1_000_000).unwrap())
}

pub(super) fn number(text: &str) -> JsonNumber {
    Decimal::from_json(text).unwrap().into()
}

pub(super) fn text(text: &str) -> Json {
    Json::Text(text.into())
}

pub(super) fn literal(text: &str) -> tollgate_guest_abi::Number {
    tollgate_guest_abi::Number::from_plain(text).unwrap()
}
