//! Conversion of a [`Transaction`] to JSON with wire names.

use crate::transaction::json::{ObjectText, Spelling};
use crate::transaction::{EventTime, JsonNumber, Transaction};

/// Names that the service adds to the fields of a transaction in its responses.
const RESERVED: [&str; 8] = [
    "verdict",
    "score",
    "reason",
    "triggered",
    "failures",
    "rule_set_version",
    "evaluated_at",
    "latest_description",
];

/// How an answer writes amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AmountForm {
    /// As numbers, with the digits as they were sent.
    #[default]
    Number,
    /// As texts without an exponent.
    Text,
}

impl AmountForm {
    /// Returns a number that the service stored as JSON in this form.
    #[must_use]
    pub fn json_of(self, number: &str) -> String {
        match (self, JsonNumber::from_stored(number)) {
            (Self::Text, Some(number)) => format!("\"{}\"", number.plain()),
            _ => number.to_owned(),
        }
    }
}

/// Usual size of a transaction, in bytes.
const USUAL_BYTES: usize = 512;

impl Transaction {
    /// Returns the JSON object for callers: what was left out, all present named fields including defaults, then the
    /// unnamed ones. An unnamed field with a reserved name is omitted, because the evaluation uses that name.
    #[must_use]
    pub fn to_wire(&self) -> String {
        self.to_wire_with(AmountForm::Number)
    }

    /// As [`Transaction::to_wire`], with the amount in this form.
    #[must_use]
    pub fn to_wire_with(&self, amounts: AmountForm) -> String {
        let mut object = ObjectText::with_capacity(USUAL_BYTES, Spelling::AsGiven);
        if let Some(left_out) = &self.left_out {
            left_out.write(&mut object);
        }
        self.written(object, amounts, self.timestamp.as_str(), |name| !RESERVED.contains(&name))
    }

    /// Returns the complete form for storage. [`Transaction::from_stored`] parses it.
    #[must_use]
    pub fn to_stored(&self) -> String {
        let mut object = ObjectText::with_capacity(USUAL_BYTES, Spelling::AsGiven);
        if let Some(left_out) = &self.left_out {
            left_out.write_stored(&mut object);
        }
        self.written(object, AmountForm::Number, &self.timestamp.to_stored(), |_| true)
    }

    fn written(
        &self,
        mut object: ObjectText,
        amounts: AmountForm,
        created_at: &str,
        is_shown: impl Fn(&str) -> bool,
    ) -> String {
        self.write_named(&mut object, amounts, created_at);
        for (name, value) in self.unnamed.iter().filter(|(name, _)| is_shown(name)) {
            object.json(name, value);
        }
        object.finish()
    }

    fn write_named(&self, object: &mut ObjectText, amounts: AmountForm, created_at: &str) {
        object.text("transaction_id", &self.transaction_id);
        match amounts {
            AmountForm::Number => object.number("amount", &self.amount),
            AmountForm::Text => object.text("amount", &self.amount.plain()),
        }
        object.text("currency", &self.currency);
        let texts = [
            ("source", self.source.as_deref()),
            ("destination", self.destination.as_deref()),
            ("reference", Some(&*self.reference)),
            ("description", self.description.as_deref()),
            ("status", self.status.as_deref()),
            ("hash", self.hash.as_deref()),
        ];
        write_texts(object, texts);
        object.boolean("allow_overdraft", self.allow_overdraft);
        object.boolean("inflight", self.inflight);
        object.boolean("skip_queue", self.skip_queue);
        object.boolean("atomic", self.atomic);
        object.text("created_at", created_at);
        let times = [
            ("effective_date", self.effective_date.as_ref()),
            ("scheduled_for", self.scheduled_for.as_ref()),
            ("inflight_expiry_date", self.inflight_expiry_date.as_ref()),
        ];
        write_texts(object, times.map(|(name, time)| (name, time.map(EventTime::as_str))));
        if let Some(metadata) = &self.metadata {
            object.json("meta_data", metadata);
        }
    }
}

fn write_texts<const N: usize>(object: &mut ObjectText, texts: [(&str, Option<&str>); N]) {
    for (name, text) in texts {
        if let Some(text) = text {
            object.text(name, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::transaction::{InjectRequest, Json, JsonLimits, RequestOptions};

    const ARRIVAL: DateTime<Utc> = DateTime::from_timestamp_nanos(1_767_323_045_123_456_789);

    /// Reads a body with the default options, ignoring its objection.
    fn read(body: &str) -> InjectRequest {
        InjectRequest::read(body.as_bytes(), &RequestOptions::default(), ARRIVAL).unwrap()
    }

    fn parse(body: &str) -> Transaction {
        read(body).transaction
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
            transaction.to_wire(),
            concat!(
                r#"{"transaction_id":"t","amount":1.10,"currency":"EUR","reference":"r","allow_overdraft":false,"#,
                r#""inflight":false,"skip_queue":false,"atomic":false,"created_at":"2026-01-02T03:04:05.123456Z","#,
                r#""meta_data":{"b":2E1,"a":null},"note":1.0}"#
            )
        );
        check_stored(&transaction);
    }

    #[test]
    fn an_amount_is_written_as_a_text_without_an_exponent_where_asked() {
        for (sent, expected) in [
            ("1.10", "1.10"),
            ("\"1.10\"", "1.10"),
            ("2E1", "20"),
            ("1e-3", "0.001"),
            ("-0", "-0"),
            ("9007199254740993", "9007199254740993"),
        ] {
            let body = format!(
                r#"{{"transaction_id": "t", "amount": {sent}, "currency": "EUR", "reference": "r"}}"#
            );
            let written = parse(&body).to_wire_with(AmountForm::Text);
            assert!(written.contains(&format!(r#""amount":"{expected}","#)), "{sent}: {written}");
            assert_eq!(parse(&written), parse(&parse(&body).to_wire()), "{sent}");
            let number = sent.trim_matches('"');
            assert_eq!(AmountForm::Text.json_of(number), format!("\"{expected}\""), "{sent}");
            assert_eq!(AmountForm::Number.json_of(number), number, "{sent}");
        }
    }

    #[test]
    fn names_the_evaluation_uses_are_stored_but_not_shown() {
        let reserved: Vec<String> = RESERVED.iter().map(|name| format!("\"{name}\": \"mine\"")).collect();
        let transaction = parse(&format!(
            r#"{{"amount": 1, "currency": "EUR", "reference": "r", "meta_data": {{"verdict": "mine"}}, {}}}"#,
            reserved.join(",")
        ));
        assert_eq!(transaction.unnamed.len(), RESERVED.len());
        let view = Json::parse(transaction.to_wire().as_bytes(), JsonLimits::REQUEST).unwrap();
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
    fn a_stored_transaction_with_a_lost_field_is_not_read() {
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
            let echoed = transaction.to_wire();
            let InjectRequest { transaction: again, fingerprint, .. } = read(&echoed);
            prop_assert_eq!(&again, &transaction);
            prop_assert_eq!(again.amount.as_str(), transaction.amount.as_str());
            prop_assert_eq!(again.timestamp.as_str(), transaction.timestamp.as_str());
            prop_assert_eq!(read(&again.to_wire()).fingerprint, fingerprint);
        }
    }
}
