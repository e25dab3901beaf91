//! Reports of a ledger about a transaction and its status.

mod event_name;
mod left_out_id;

use std::borrow::Cow;

use chrono::{DateTime, Utc};

use crate::transaction::parse::why_no_code;
use crate::transaction::status::meant;
use crate::transaction::{
    CHANGED_FIELD, Fingerprint, InvalidTransaction, Json, LeftOutFields, StatusWords, Transaction,
};

/// The expected form of an event name.
const EVENT_EXPECTED: &str =
    "`transaction.` followed by a word of at most 255 bytes without control characters";

/// Event words that do not imply a status.
const WORDS_WITHOUT_STATUS: [&str; 2] = ["created", "updated"];

/// A transaction with the status that an event implies.
#[derive(Debug, Clone)]
pub struct TransactionReport {
    transaction: Transaction,
    fingerprint: Fingerprint,
    sent: Vec<(Box<str>, Json)>,
    has_exact_amount: bool,
}

impl TransactionReport {
    /// Returns the word of an event, such as `applied` in `transaction.applied` or `TransactionApplied`. Returns `None`
    /// for other events.
    #[must_use]
    pub fn word_of<'e>(event: &'e str, words: &StatusWords) -> Option<Cow<'e, str>> {
        event_name::word_of(event, words)
    }

    /// Reads the data of an event with this word. A missing `transaction_id` is derived from the message id or, if
    /// there is none, from the data. A repeated event is then about the same transaction.
    ///
    /// The event implies the status in its data. The word applies instead if there is no status, or if the word is a
    /// known status of a later stage. The record sent along may be older than the event. `created` and `updated` are
    /// not statuses.
    ///
    /// # Errors
    /// If the data is not a valid transaction, or the word cannot be a status; the error names the field.
    pub fn read(
        word: &str,
        data: Json,
        message: Option<&str>,
        arrival: DateTime<Utc>,
        words: &StatusWords,
    ) -> Result<TransactionReport, InvalidTransaction> {
        if why_no_code(word).is_some() {
            return Err(InvalidTransaction::InvalidField { field: "event", expected: EVENT_EXPECTED });
        }
        let Json::Object(mut sent) = data else { return Err(InvalidTransaction::NotAnObject) };
        left_out_id::fill_in(&mut sent, message);
        let (transaction, fingerprint) = Transaction::from_json(Json::Object(sent.clone()), arrival)?;
        let word = (!WORDS_WITHOUT_STATUS.contains(&word)).then_some(word);
        let status = meant(transaction.status.as_deref(), word, words);
        if status == transaction.status.as_deref() {
            return Ok(Self { transaction, fingerprint, sent, has_exact_amount: false });
        }
        let fingerprint = fingerprint_with(&sent, status);
        let mut meant = transaction.with_status(status);
        if transaction.status.is_some() {
            // The word is newer than the record in the event, so the change time of that record does not apply.
            meant.unnamed.retain(|(name, _)| **name != *CHANGED_FIELD);
        }
        Ok(Self { transaction: meant, fingerprint, sent, has_exact_amount: false })
    }

    /// Moves the time of the transaction to its schedule, if that is later than the reported time.
    #[must_use]
    pub fn at_its_schedule(mut self) -> Self {
        if let Some(scheduled) = self.transaction.scheduled_for.clone()
            && scheduled.micros() > self.transaction.timestamp.micros()
        {
            self.transaction.timestamp = self.transaction.timestamp.happening_at(&scheduled);
        }
        self
    }

    /// Notes whether the amount has all digits of the ledger.
    #[must_use]
    pub const fn with_exact_amount(mut self, is_exact: bool) -> Self {
        self.has_exact_amount = is_exact;
        self
    }

    /// Returns whether the amount has all digits of the ledger, so that it may replace a rounded one.
    #[must_use]
    pub const fn has_exact_amount(&self) -> bool {
        self.has_exact_amount
    }

    /// Marks what was left out of the transaction.
    #[must_use]
    pub fn with_left_out(self, names: Vec<Box<str>>) -> Self {
        Self { transaction: self.transaction.with_left_out(LeftOutFields::new(names)), ..self }
    }

    /// Has the transaction judged as if nothing had been left out.
    #[must_use]
    pub fn judged_without_what_is_left_out(mut self) -> Self {
        self.transaction.left_out = self.transaction.left_out.map(|left_out| Box::new(left_out.judged()));
        self
    }

    /// Replaces the status.
    #[must_use]
    pub fn with_status(self, status: &str) -> Self {
        let fingerprint = fingerprint_with(&self.sent, Some(status));
        Self { transaction: self.transaction.with_status(Some(status)), fingerprint, ..self }
    }

    /// Returns the transaction with the implied status.
    #[must_use]
    pub const fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// Returns the transaction alone.
    #[must_use]
    pub fn into_transaction(self) -> Transaction {
        self.transaction
    }

    /// Returns the fingerprint that the transaction would have if it had been sent with the implied status.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns whether the report is about a transaction first sent with this status and fingerprint. Only the status
    /// may differ.
    #[must_use]
    pub fn is_of(&self, first_status: Option<&str>, first: Fingerprint) -> bool {
        self.fingerprint == first || fingerprint_with(&self.sent, first_status) == first
    }
}

fn fingerprint_with(sent: &[(Box<str>, Json)], status: Option<&str>) -> Fingerprint {
    let mut entries: Vec<_> = sent.iter().filter(|(name, _)| **name != *"status").cloned().collect();
    entries.extend(status.map(|status| ("status".into(), Json::Text(status.into()))));
    Fingerprint::new(&entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::JsonLimits;

    fn report(word: &str, fields: &str) -> Result<TransactionReport, InvalidTransaction> {
        let data = format!(
            r#"{{"transaction_id": "t", "amount": 1.10, "currency": "EUR", "reference": "r"{fields}}}"#
        );
        TransactionReport::read(
            word,
            Json::parse(data.as_bytes(), JsonLimits::ENVELOPE)?,
            None,
            DateTime::UNIX_EPOCH,
            &StatusWords::built_in(),
        )
    }

    #[track_caller]
    fn check_meant(word: &str, fields: &str, expected: Option<&str>) {
        let report = report(word, fields).unwrap();
        assert_eq!(report.transaction().status.as_deref(), expected);
        let stored = report.transaction().to_stored();
        assert_eq!(Transaction::from_stored(&stored).unwrap(), *report.transaction());
    }

    #[test]
    fn the_status_is_the_later_of_the_word_and_what_is_brought() {
        check_meant("created", "", None);
        check_meant("created", r#", "status": "pending""#, Some("pending"));
        check_meant("updated", r#", "status": "QUEUED""#, Some("QUEUED"));
        check_meant("applied", "", Some("applied"));
        check_meant("applied", r#", "status": null"#, Some("applied"));
        check_meant("applied", r#", "status": "", "source": """#, Some("applied"));
        check_meant("created", r#", "status": """#, None);
        check_meant("applied", r#", "status": "PENDING""#, Some("applied"));
        check_meant("inflight", r#", "status": "VOID""#, Some("VOID"));
        check_meant("shelved.again", "", Some("shelved.again"));
        check_meant("shelved.again", r#", "status": "pending""#, Some("pending"));
    }

    #[track_caller]
    fn check_changed(word: &str, fields: &str, expected: Option<i64>) {
        let fields = format!(r#", "updated_at": "1970-01-01T00:00:07Z"{fields}"#);
        assert_eq!(report(word, &fields).unwrap().transaction().changed(), expected);
    }

    #[test]
    fn a_word_that_is_later_than_the_record_it_carries_has_no_change() {
        check_changed("applied", r#", "status": "applied""#, Some(7_000_000));
        check_changed("updated", r#", "status": "pending""#, Some(7_000_000));
        check_changed("applied", "", Some(7_000_000));
        check_changed("void", r#", "status": "pending""#, None);
    }

    #[test]
    fn a_word_that_could_be_no_status_is_refused() {
        let long = "x".repeat(256);
        for word in ["", "a\u{1b}[31m", "a\nb", "\u{202e}x", &long] {
            let error = report(word, "").unwrap_err();
            assert_eq!((error.code(), error.field()), ("invalid_field", Some("event")), "{word:?}");
        }
        let error = report("applied", r#", "status": "a\u0009b""#).unwrap_err();
        assert_eq!((error.code(), error.field()), ("invalid_field", Some("status")));
    }

    #[track_caller]
    fn check_is_of(word: &str, fields: &str, first: &str, expected: bool) {
        let body = format!(
            r#"{{"transaction_id": "t", "amount": 1.1, "currency": "EUR", "reference": "r"{first}}}"#
        );
        let (first, fingerprint) = Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
        let report = report(word, fields).unwrap();
        assert_eq!(report.is_of(first.status.as_deref(), fingerprint), expected, "{word} {fields}");
    }

    #[test]
    fn the_content_is_compared_without_the_status() {
        let pending = r#", "status": "pending""#;
        check_is_of("applied", "", "", true);
        check_is_of("applied", "", pending, true);
        check_is_of("void", r#", "status": "applied""#, pending, true);
        check_is_of("created", pending, pending, true);
        check_is_of("applied", r#", "source": "a""#, pending, false);
        check_is_of("applied", "", r#", "created_at": "2026-01-01T00:00:00Z""#, false);
        check_is_of("applied", r#", "inflight": true"#, pending, false);
        check_is_of("applied", r#", "source": "", "created_at": "0001-01-01T00:00:00Z""#, pending, true);
    }

    fn id_of(word: &str, data: &str, message: Option<&str>) -> String {
        let json = Json::parse(data.as_bytes(), JsonLimits::ENVELOPE).unwrap();
        let words = StatusWords::built_in();
        let report = TransactionReport::read(word, json, message, DateTime::UNIX_EPOCH, &words).unwrap();
        report.into_transaction().transaction_id.to_string()
    }

    #[test]
    fn an_id_that_is_left_out_follows_from_the_message_or_from_the_report() {
        let data = r#"{"amount": 1.10, "currency": "EUR", "reference": "r", "meta_data": {"a": 1, "b": 2}}"#;
        let first = id_of("applied", data, None);
        assert_eq!(
            first, "cc9848e5-5a58-5a25-9e10-fdcbd5b58bd9",
            "an id that was given stays the same in every version"
        );
        for again in [
            r#"{"reference": "r", "meta_data": {"b": 2.0, "a": 1}, "currency": "EUR", "amount": 1.1}"#
                .to_owned(),
            data.replacen('{', r#"{"transaction_id": "", "status": "void", "#, 1),
            data.replacen('{', r#"{"transaction_id": null, "source": "", "hash": null, "#, 1),
        ] {
            assert_eq!(id_of("void", &again, None), first, "{again}");
        }
        let by_message = id_of("applied", data, Some("msg_1"));
        assert_eq!(id_of("applied", &data.replace("1.10", "2"), Some("msg_1")), by_message);
        for other in
            [id_of("applied", &data.replace("1.10", "2"), None), id_of("applied", data, Some("msg_2"))]
        {
            assert!(other != first && other != by_message, "{other}");
        }
        let with_id = data.replacen('{', r#"{"transaction_id": "t", "#, 1);
        assert_eq!(id_of("applied", &with_id, Some("msg_1")), "t");
    }

    #[test]
    fn a_transaction_first_reported_by_an_event_is_known_by_every_other() {
        let first = report("applied", r#", "status": "pending""#).unwrap();
        for (word, fields) in [("applied", ""), ("void", ""), ("created", r#", "status": "pending""#)] {
            let again = report(word, fields).unwrap();
            assert!(again.is_of(first.transaction().status.as_deref(), first.fingerprint()), "{word}");
        }
    }
}
