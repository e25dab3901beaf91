//! A [`Transaction`] back to JSON, under the names of the wire.

use std::sync::Arc;

use crate::transaction::{EventTime, Json, Transaction};

/// Names that the evaluation uses beside the fields of a transaction it answers with.
pub const RESERVED: [&str; 7] =
    ["verdict", "score", "reason", "triggered", "failures", "rule_set_version", "evaluated_at"];

impl Transaction {
    /// As callers read it: every named field that is there, the defaults included, then the unnamed ones. An unnamed
    /// field whose name is [`RESERVED`] is left out, because the evaluation's own stands in its place.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let unnamed = self.unnamed.iter().filter(|(name, _)| !RESERVED.contains(&&**name));
        Json::Object(self.named().into_iter().chain(unnamed.cloned()).collect())
    }

    /// As the store keeps it: all there is. [`Transaction::from_stored`] reads it back.
    #[must_use]
    pub fn to_stored(&self) -> String {
        Json::Object(self.named().into_iter().chain(self.unnamed.iter().cloned()).collect()).to_string()
    }

    fn named(&self) -> Vec<(Box<str>, Json)> {
        let fields = [
            ("transaction_id", Some(text(&self.transaction_id))),
            ("amount", Some(Json::Number(self.amount.clone()))),
            ("currency", Some(text(&self.currency))),
            ("source", self.source.as_ref().map(text)),
            ("destination", self.destination.as_ref().map(text)),
            ("reference", Some(text(&self.reference))),
            ("description", self.description.as_ref().map(text)),
            ("status", self.status.as_ref().map(text)),
            ("hash", self.hash.as_ref().map(text)),
            ("allow_overdraft", Some(Json::Boolean(self.allow_overdraft))),
            ("inflight", Some(Json::Boolean(self.inflight))),
            ("skip_queue", Some(Json::Boolean(self.skip_queue))),
            ("atomic", Some(Json::Boolean(self.atomic))),
            ("created_at", Some(time(&self.timestamp))),
            ("effective_date", self.effective_date.as_ref().map(time)),
            ("scheduled_for", self.scheduled_for.as_ref().map(time)),
            ("inflight_expiry_date", self.inflight_expiry_date.as_ref().map(time)),
            ("meta_data", self.metadata.clone()),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.into(), value?))).collect()
    }
}

fn text(text: &Arc<str>) -> Json {
    Json::Text((**text).into())
}

fn time(time: &EventTime) -> Json {
    Json::Text(time.as_str().into())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use proptest::prelude::*;

    use super::*;

    const ARRIVAL: DateTime<Utc> = DateTime::from_timestamp_nanos(1_767_323_045_123_456_789);

    fn parse(body: &str) -> Transaction {
        Transaction::parse(body.as_bytes(), ARRIVAL).unwrap().0
    }

    #[track_caller]
    fn check_stored(transaction: &Transaction) {
        let stored = transaction.to_stored();
        let read = Transaction::from_stored(&stored).unwrap();
        assert_eq!(read, *transaction);
        assert_eq!(read.to_stored(), stored);
    }

    #[test]
    fn callers_read_defaults_and_their_own_digits() {
        let transaction = parse(
            r#"{"note": 1.0, "reference": "r", "currency": "EUR", "amount": 1.10, "transaction_id": "t",
                "status": null, "meta_data": {"b": 2E1, "a": null}}"#,
        );
        assert_eq!(
            transaction.to_json().to_string(),
            concat!(
                r#"{"transaction_id":"t","amount":1.10,"currency":"EUR","reference":"r","allow_overdraft":false,"#,
                r#""inflight":false,"skip_queue":false,"atomic":false,"created_at":"2026-01-02T03:04:05.123456Z","#,
                r#""meta_data":{"b":2E1,"a":null},"note":1.0}"#
            )
        );
        check_stored(&transaction);
    }

    #[test]
    fn names_the_evaluation_uses_are_stored_but_not_shown() {
        let reserved: Vec<String> = RESERVED.iter().map(|name| format!("\"{name}\": \"mine\"")).collect();
        let transaction = parse(&format!(
            r#"{{"amount": 1, "currency": "EUR", "reference": "r", "meta_data": {{"verdict": "mine"}}, {}}}"#,
            reserved.join(",")
        ));
        assert_eq!(transaction.unnamed.len(), RESERVED.len());
        let view = transaction.to_json();
        for name in RESERVED {
            assert_eq!(view.at(&[name]), None);
        }
        assert_eq!(view.at(&["meta_data", "verdict"]), Some(&Json::Text("mine".into())));
        check_stored(&transaction);
    }

    #[test]
    fn the_largest_request_reads_back_with_the_fields_the_service_added() {
        let deep = format!("{}1{}", "[".repeat(31), "]".repeat(31));
        let entries: Vec<String> = (0..253).map(|key| format!("\"k{key}\": {deep}")).collect();
        let body = format!(r#"{{"amount": 1, "currency": "EUR", "reference": "r", {}}}"#, entries.join(","));
        check_stored(&parse(&body));
    }

    #[test]
    fn what_the_store_lost_a_field_of_is_not_read() {
        let stored = parse(r#"{"amount": 1, "currency": "EUR", "reference": "r"}"#).to_stored();
        for field in ["transaction_id", "created_at", "amount"] {
            let damaged = stored.replace(&format!("\"{field}\""), "\"x\"");
            let error = Transaction::from_stored(&damaged).unwrap_err();
            assert_eq!((error.code(), error.field()), ("missing_field", Some(field)));
        }
    }

    fn quoted(text: &str) -> String {
        serde_json::to_string(text).unwrap()
    }

    fn body() -> impl Strategy<Value = String> {
        let id = || prop::option::of(r"[^\p{C}]{1,20}");
        let time = prop::option::of((0_i64..253_402_300_800, -23_i32..24).prop_map(|(seconds, hours)| {
            let zone = chrono::FixedOffset::east_opt(hours * 3_600).unwrap();
            DateTime::from_timestamp(seconds, 0).unwrap().with_timezone(&zone).to_rfc3339()
        }));
        let amount =
            (any::<i64>(), 0_usize..9).prop_map(|(units, zeros)| format!("{units}.5{}", "0".repeat(zeros)));
        let texts = (id(), id(), id(), id(), prop::option::of("[^\u{0}]{0,40}"));
        let flags = prop::collection::vec(any::<bool>(), 4);
        let other = prop::collection::btree_map("x[a-z]{1,6}", "[^\u{0}]{0,9}", 0..4);
        (amount, texts, flags, time, other).prop_map(|(amount, texts, flags, time, other)| {
            let mut entries = vec![format!("\"amount\": {amount}")];
            let mut put = |name: &str, value: Option<String>| {
                entries.extend(value.map(|value| format!("\"{name}\": {}", quoted(&value))));
            };
            put("currency", Some("EUR".into()));
            put("reference", Some(texts.0.unwrap_or_else(|| "r".into())));
            put("source", texts.1);
            put("status", texts.2);
            put("transaction_id", texts.3);
            put("description", texts.4);
            put("created_at", time.filter(|time| time.len() == 25));
            for (name, value) in &other {
                put(name, Some(value.clone()));
            }
            for (name, flag) in ["inflight", "atomic", "skip_queue", "allow_overdraft"].iter().zip(flags) {
                entries.push(format!("\"{name}\": {flag}"));
            }
            entries.push(format!("\"meta_data\": {}", serde_json::to_string(&other).unwrap()));
            format!("{{{}}}", entries.join(","))
        })
    }

    proptest! {
        #[test]
        fn a_transaction_survives_the_wire_and_the_store(body in body()) {
            let transaction = parse(&body);
            check_stored(&transaction);
            let echoed = transaction.to_json().to_string();
            let (again, fingerprint) = Transaction::parse(echoed.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
            prop_assert_eq!(&again, &transaction);
            prop_assert_eq!(again.amount.as_str(), transaction.amount.as_str());
            prop_assert_eq!(again.timestamp.as_str(), transaction.timestamp.as_str());
            let twice = Transaction::parse(again.to_json().to_string().as_bytes(), ARRIVAL).unwrap().1;
            prop_assert_eq!(twice, fingerprint);
        }
    }
}
