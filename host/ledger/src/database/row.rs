//! One row of a ledger and its conversion into a transaction.

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use tollgate_model::transaction::{
    CHANGED_FIELD, Fingerprint, InvalidTransaction, Json, JsonLimits, METADATA, Transaction, mark_left_out,
    metadata_paths,
};

use crate::database::table::{METADATA_CHARACTERS, NUMBER_CHARACTERS};

/// Maximum number of characters per value in a copy for display.
const COPIED_CHARACTERS: usize = 256;

/// A row as texts, each cut just beyond the maximum length in a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerRow {
    /// Time in the format of PostgreSQL, in UTC.
    pub created_at: String,
    /// Id in the format of PostgreSQL.
    pub id: String,
    pub(super) amount: Option<String>,
    pub(super) currency: Option<String>,
    pub(super) source: Option<String>,
    pub(super) destination: Option<String>,
    pub(super) reference: Option<String>,
    pub(super) description: Option<String>,
    pub(super) status: Option<String>,
    pub(super) metadata: Option<String>,
    pub(super) has_large_metadata: bool,
    /// The whole row as one object if the ledger has its own columns. The values above are `None` then.
    pub(super) row_text: Option<String>,
    /// Time of the last change or version of the row, if the ledger provides one.
    pub(super) changed: Option<String>,
}

/// A reason why a row is not a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// Error code, stable across versions: one of the codes of `POST /inject`, or `too_large`.
    pub reason: &'static str,
    /// Message for people.
    pub detail: String,
}

impl LedgerRow {
    /// Returns a row of which only the time and id could be read.
    #[must_use]
    pub fn unshowable(created_at: String, id: String) -> Self {
        Self { created_at, id, ..Self::default() }
    }

    fn values(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let values: [(&str, Option<&str>); 11] = [
            ("transaction_id", Some(&self.id)),
            ("created_at", Some(&self.created_at)),
            ("amount", self.amount.as_deref()),
            ("currency", self.currency.as_deref()),
            ("source", self.source.as_deref()),
            ("destination", self.destination.as_deref()),
            ("reference", self.reference.as_deref()),
            ("description", self.description.as_deref()),
            ("status", self.status.as_deref()),
            ("meta_data", self.metadata.as_deref()),
            ("row", self.row_text.as_deref()),
        ];
        // Without a change column, the digest is the same as in versions that did not read one.
        let changed = self.changed.as_deref().map(|changed| (CHANGED_FIELD, Some(changed)));
        values.into_iter().chain(changed)
    }

    /// Returns the digest of all values. A changed row has another digest.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for (_, value) in self.values() {
            digest.update([u8::from(value.is_some())]);
            let value = value.unwrap_or_default();
            digest.update(value.len().to_le_bytes());
            digest.update(value);
        }
        digest.update([u8::from(self.has_large_metadata)]);
        digest.finalize().into()
    }

    /// Converts the row into a transaction. `keys_max` limits the number of keys of an object.
    ///
    /// # Errors
    /// If the row is not a valid transaction.
    pub fn transaction(
        &self,
        keys_max: usize,
        arrival: DateTime<Utc>,
    ) -> Result<(Transaction, Fingerprint), RowError> {
        let mut entries = Vec::new();
        for (field, value) in self.values() {
            let Some(value) = value else { continue };
            let value = match field {
                // Not a field of the payment; the fingerprint equals that of a request without it.
                "row" | CHANGED_FIELD => continue,
                "amount" => number(value)?,
                "meta_data" => object(value, keys_max)?,
                "created_at" => Json::Text(rfc_3339(value).into()),
                _ => Json::Text(value.into()),
            };
            entries.push((field.into(), value));
        }
        if self.has_large_metadata {
            return Err(too_large("meta_data"));
        }
        let (mut transaction, fingerprint) =
            Transaction::from_json(Json::Object(entries), arrival).map_err(|error| RowError::from(&error))?;
        let changed = self.changed.as_deref().map(|changed| (CHANGED_FIELD.into(), change(changed)));
        transaction.unnamed.extend(changed);
        Ok((transaction, fingerprint))
    }

    /// Parses the row as one object if the ledger has its own columns. `keys_max` limits the number of keys of an
    /// object. Single values of the metadata that are beyond the limits are left out, and the row is marked.
    ///
    /// # Errors
    /// If the row cannot be parsed.
    pub fn to_json(&self, keys_max: usize) -> Result<Json, RowError> {
        if self.has_large_metadata {
            return Err(too_large("meta_data"));
        }
        let row_text = self.row_text.as_deref().unwrap_or_default();
        let limits = JsonLimits::transaction(keys_max).without_wide_numbers();
        let read = Json::parse_leaving_out(row_text.as_bytes(), limits, &[METADATA]);
        let (mut row, left_out) = read.map_err(|error| RowError {
            reason: error.code(),
            detail: error.to_string().replace("the body", "the row"),
        })?;
        mark_left_out(&mut row, metadata_paths(left_out));
        Ok(row)
    }

    /// Returns a copy for display, as JSON with truncated values.
    #[must_use]
    pub fn copy(&self) -> String {
        let cut = |value: &str| Json::Text(value.chars().take(COPIED_CHARACTERS).collect::<String>().into());
        let entries = self.values().filter_map(|(field, value)| Some((field.into(), cut(value?))));
        Json::Object(entries.collect()).to_string()
    }
}

/// Converts the change column: a version number or a time.
fn change(written: &str) -> Json {
    match Json::parse(written.as_bytes(), JsonLimits::REQUEST) {
        Ok(version @ Json::Number(_)) => version,
        _ => Json::Text(rfc_3339(written).into()),
    }
}

/// Converts a PostgreSQL time to RFC 3339. A time without such a form stays unchanged.
fn rfc_3339(written: &str) -> String {
    match written.strip_suffix("+00").unwrap_or(written).split_once(' ') {
        Some((day, time)) if !time.contains(' ') => format!("{day}T{time}Z"),
        _ => written.to_owned(),
    }
}

fn number(text: &str) -> Result<Json, RowError> {
    if text.chars().count() >= NUMBER_CHARACTERS {
        return Err(too_large("amount"));
    }
    match Json::parse(text.as_bytes(), JsonLimits::REQUEST) {
        Ok(number @ Json::Number(_)) => Ok(number),
        _ => Err(RowError {
            reason: "invalid_field",
            detail: format!("`amount` must be a number of at most 38 digits, it is {}", text.escape_debug()),
        }),
    }
}

fn object(text: &str, keys_max: usize) -> Result<Json, RowError> {
    if text.chars().count() > METADATA_CHARACTERS {
        return Err(too_large("meta_data"));
    }
    Json::parse(text.as_bytes(), JsonLimits::metadata(keys_max)).map_err(|error| RowError {
        reason: error.code(),
        detail: format!("`meta_data`: {error}").replace("the body", "it"),
    })
}

fn too_large(field: &'static str) -> RowError {
    RowError { reason: "too_large", detail: format!("`{field}` is larger than a transaction allows") }
}

impl From<&InvalidTransaction> for RowError {
    fn from(error: &InvalidTransaction) -> Self {
        Self { reason: error.code(), detail: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::transaction::OBJECT_KEYS_DEFAULT as KEYS_MAX;

    fn row() -> LedgerRow {
        let some = |text: &str| Some(text.to_owned());
        LedgerRow {
            created_at: "2026-01-02 03:04:05.000006+00".to_owned(),
            id: "t".to_owned(),
            amount: some("10.50"),
            currency: some("EUR"),
            source: some("a"),
            reference: some("r"),
            status: some("applied"),
            metadata: some(r#"{"k": [1, {"n": null}]}"#),
            ..LedgerRow::default()
        }
    }

    #[test]
    fn a_row_is_the_transaction_that_a_request_would_be() {
        let request = r#"{"transaction_id": "t", "amount": 10.5, "currency": "EUR", "source": "a", "reference": "r",
            "status": "applied", "created_at": "2026-01-02T03:04:05.000006Z", "meta_data": {"k": [1, {"n": null}]}}"#;
        let now = DateTime::UNIX_EPOCH;
        let (of_row, row_print) = row().transaction(KEYS_MAX, now).unwrap();
        let (of_request, request_print) = Transaction::parse(request.as_bytes(), now).unwrap();
        assert_eq!((of_row, row_print), (of_request, request_print));
    }

    #[test]
    fn a_row_tells_its_change_beside_what_it_says_of_the_payment() {
        let now = DateTime::UNIX_EPOCH;
        let (plain, print) = row().transaction(KEYS_MAX, now).unwrap();
        assert_eq!(plain.changed(), None);
        for (written, expected) in
            [("1970-01-01 00:00:01.5+00", 1_500_000), ("1970-01-01 00:00:01.5", 1_500_000), ("7", 7)]
        {
            let changed = LedgerRow { changed: Some(written.to_owned()), ..row() };
            let (transaction, with_change) = changed.transaction(KEYS_MAX, now).unwrap();
            assert_eq!((transaction.changed(), with_change), (Some(expected), print), "{written}");
            assert_ne!(changed.digest(), row().digest());
        }
    }

    #[test]
    fn an_empty_column_is_left_out_like_an_absent_one() {
        let mut empty = row();
        (empty.source, empty.destination, empty.status) = (Some(String::new()), Some(String::new()), None);
        let mut absent = row();
        (absent.source, absent.destination, absent.status) = (None, None, Some(String::new()));
        let now = DateTime::UNIX_EPOCH;
        assert_eq!(empty.transaction(KEYS_MAX, now).unwrap(), absent.transaction(KEYS_MAX, now).unwrap());
        assert_eq!(empty.transaction(KEYS_MAX, now).unwrap().0.status, None);
    }

    #[track_caller]
    fn check_refused(spoil: impl FnOnce(&mut LedgerRow), reason: &str, detail: &str) {
        let mut row = row();
        spoil(&mut row);
        let refusal = row.transaction(KEYS_MAX, DateTime::UNIX_EPOCH).unwrap_err();
        assert_eq!(refusal.reason, reason, "{refusal:?}");
        assert!(refusal.detail.contains(detail), "{refusal:?}");
        assert!(row.copy().len() < 32 * 1024 && row.digest() != self::row().digest());
    }

    #[test]
    fn a_row_that_is_no_transaction_says_why() {
        let set = |value: &str| Some(value.to_owned());
        for amount in ["NaN", "Infinity", "-Infinity", "1; DROP TABLE x", "", "\"1\"", "1e999999999"] {
            check_refused(|row| row.amount = set(amount), "invalid_field", "amount");
        }
        let fraction = format!("1.{}1", "0".repeat(200));
        check_refused(|row| row.amount = Some(fraction.chars().take(129).collect()), "too_large", "amount");
        check_refused(|row| row.amount = None, "missing_field", "amount");
        for time in
            ["infinity", "294276-12-31 23:59:59+00", "0044-03-15 00:00:00+00 BC", "1969-12-31 23:59:59+00"]
        {
            check_refused(|row| row.created_at = time.to_owned(), "invalid_field", "created_at");
        }
        for id in ["", &"x".repeat(256)] {
            check_refused(|row| row.id = id.to_owned(), "invalid_field", "transaction_id");
        }
        check_refused(|row| row.description = Some("d".repeat(4097)), "invalid_field", "description");
        check_refused(|row| row.currency = None, "missing_field", "currency");
        let deep = format!("{{\"d\": {}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
        check_refused(|row| row.metadata = Some(deep), "too_deep", "meta_data");
        check_refused(|row| row.metadata = set("[1]"), "invalid_field", "meta_data");
        check_refused(|row| row.metadata = set(r#"{}, "status": "x""#), "malformed_json", "meta_data");
        check_refused(|row| row.metadata = set(r#"{"a": 1, "a": 2}"#), "duplicate_key", "meta_data");
        check_refused(|row| row.metadata = Some("1".repeat(65_537)), "too_large", "meta_data");
        check_refused(|row| row.has_large_metadata = true, "too_large", "meta_data");
    }

    #[test]
    fn every_state_of_a_row_has_a_digest_of_its_own() {
        let mut moved = row();
        moved.status = Some("void".to_owned());
        let mut shifted = row();
        (shifted.source, shifted.destination) = (None, row().source);
        let digests = [row().digest(), moved.digest(), shifted.digest(), LedgerRow::default().digest()];
        for (index, digest) in digests.iter().enumerate() {
            assert!(!digests.iter().skip(index + 1).any(|other| other == digest));
        }
        assert_eq!(row().digest(), row().digest());
    }
}
