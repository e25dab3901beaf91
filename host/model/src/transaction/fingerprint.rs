//! Fingerprints, which determine whether two requests with the same id have the same content.

use std::fmt;

use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;

use crate::transaction::json::{ObjectText, Spelling};
use crate::transaction::left_out::is_left_out;
use crate::transaction::wire_fields::{WireKind, kind_of};
use crate::transaction::{EventTime, Json, JsonLimits, Transaction};

/// Number of entries sorted without a heap allocation.
const ENTRIES_INLINE: usize = 32;
/// Usual size of the canonical text, in bytes.
const USUAL_BYTES: usize = 512;

/// The SHA-256 digest of a request in canonical form.
///
/// Two requests with the same meaning have the same fingerprint. Numbers are compared by value, times by instant, and
/// the order of keys is ignored. A named optional field that is null, empty or at its default counts as absent.
/// Everything else counts exactly, including fields outside the interface. Values filled in by the service do not
/// count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of a status alone.
    pub fn of_status(status: &str) -> Self {
        Self::new(&[("status".into(), Json::Text(status.into()))])
    }

    /// Returns the fingerprint of the entries of a valid transaction, as sent.
    pub(super) fn new(sent: &[(Box<str>, Json)]) -> Self {
        let said = sent.iter().filter_map(|(name, value)| Some((&**name, CanonicalValue::new(name, value)?)));
        let mut said: SmallVec<[_; ENTRIES_INLINE]> = said.collect();
        said.sort_unstable_by_key(|(name, _)| *name);
        let mut object = ObjectText::with_capacity(USUAL_BYTES, Spelling::Canonical);
        for (name, meaning) in said {
            match meaning {
                CanonicalValue::AsGiven(value) => object.json(name, value),
                CanonicalValue::Instant(micros) => object.text(name, &micros.to_string()),
            }
        }
        Self(Sha256::digest(object.finish()).into())
    }
}

impl Transaction {
    /// Returns the fingerprint that the request would have with another status. `own` is the fingerprint of the request.
    /// Returns `None` if the request cannot be told from the transaction.
    #[must_use]
    pub fn fingerprint_with(&self, own: Fingerprint, status: Option<&str>) -> Option<Fingerprint> {
        let Ok(Json::Object(mut sent)) = Json::parse(self.to_stored().as_bytes(), JsonLimits::STORED) else {
            return None;
        };
        match self.timestamp.is_given() {
            // The stored form may have another instant.
            true => set(&mut sent, "created_at", Some(self.timestamp.as_str())),
            false => set(&mut sent, "created_at", None),
        }
        // The stored body lacks some of what the request said, so the whole is compared first.
        if Fingerprint::new(&sent) != own {
            return None;
        }
        set(&mut sent, "status", status);
        Some(Fingerprint::new(&sent))
    }
}

fn set(entries: &mut Vec<(Box<str>, Json)>, name: &str, text: Option<&str>) {
    entries.retain(|(entry, _)| **entry != *name);
    entries.extend(text.map(|text| (name.into(), Json::Text(text.into()))));
}

/// The canonical value of an entry.
#[derive(Debug, Clone, Copy)]
enum CanonicalValue<'a> {
    /// The value, independent of its spelling.
    AsGiven(&'a Json),
    /// An instant, in microseconds since 1970 UTC.
    Instant(i64),
}

impl<'a> CanonicalValue<'a> {
    /// Returns `None` if the entry is equivalent to its absence.
    fn new(name: &str, value: &'a Json) -> Option<Self> {
        match (kind_of(name), value) {
            _ if is_left_out(name, value) => None,
            (Some(WireKind::Boolean), Json::Boolean(false)) => None,
            (Some(WireKind::Time), Json::Text(text)) => {
                Some(EventTime::micros_of(text).map_or(Self::AsGiven(value), Self::Instant))
            }
            _ => Some(Self::AsGiven(value)),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;

    const BODY: &str = r#"{"amount": 10.5, "currency": "EUR", "reference": "r"}"#;

    fn at(body: &str, seconds: i64) -> Fingerprint {
        Transaction::parse(body.as_bytes(), DateTime::<Utc>::from_timestamp(seconds, 0).unwrap()).unwrap().1
    }

    fn with(entries: &str) -> String {
        BODY.replace('}', &format!(", {entries}}}"))
    }

    #[track_caller]
    fn check_same(left: &str, right: &str) {
        assert_eq!(at(left, 0), at(right, 1_000), "{left}\n{right}");
    }

    #[track_caller]
    fn check_different(left: &str, right: &str) {
        assert_ne!(at(left, 0), at(right, 0), "{left}\n{right}");
    }

    #[test]
    fn the_fingerprint_ignores_fields_that_the_service_fills_in() {
        check_same(BODY, BODY);
        let id = with(r#""transaction_id": "t", "created_at": "2026-01-01T00:00:00Z""#);
        check_same(&id, &id);
    }

    #[test]
    fn the_spelling_does_not_count() {
        check_same(BODY, &BODY.replace("10.5", "\"10.50\""));
        check_same(BODY, "{\"reference\":\"\\u0072\",\n\"currency\":\"EUR\",\"amount\":1.050e1}");
        check_same(
            &with(r#""created_at": "2026-01-01T01:00:00+01:00""#),
            &with(r#""created_at": "2026-01-01T00:00:00.000Z""#),
        );
        check_same(
            &with(r#""meta_data": {"a": 1.0, "b": {"x": 1, "y": [2]}}"#),
            &with(r#""meta_data": {"b": {"y": [2.0], "x": 1}, "a": 1}"#),
        );
    }

    #[test]
    fn a_default_said_aloud_is_the_same_as_silence() {
        for field in ["allow_overdraft", "inflight", "skip_queue", "atomic"] {
            check_same(BODY, &with(&format!("\"{field}\": false")));
            check_same(BODY, &with(&format!("\"{field}\": null")));
            check_different(BODY, &with(&format!("\"{field}\": true")));
        }
        for field in ["transaction_id", "source", "description", "created_at", "scheduled_for", "meta_data"] {
            check_same(BODY, &with(&format!("\"{field}\": null")));
        }
        for field in ["transaction_id", "source", "destination", "status", "hash"] {
            check_same(BODY, &with(&format!("\"{field}\": \"\"")));
        }
        for field in ["created_at", "effective_date", "scheduled_for", "inflight_expiry_date"] {
            check_same(BODY, &with(&format!("\"{field}\": \"0001-01-01T00:00:00Z\"")));
            check_same(BODY, &with(&format!("\"{field}\": \"0001-01-01T00:00:00.0000000\"")));
        }
    }

    #[test]
    fn everything_else_counts_to_the_letter() {
        let variants = [
            BODY.to_owned(),
            BODY.replace("10.5", "10.50001"),
            BODY.replace("EUR", "eur"),
            BODY.replace("\"r\"", "\"r \""),
            with(r#""source": "a""#),
            with(r#""destination": "a""#),
            with(r#""description": """#),
            with(r#""created_at": "2026-01-01T00:00:00Z""#),
            with(r#""created_at": "2026-01-01T00:00:00.000001Z""#),
            with(r#""effective_date": "2026-01-01T00:00:00Z""#),
            with(r#""meta_data": {}"#),
            with(r#""meta_data": {"a": null}"#),
            with(r#""meta_data": {"a": false}"#),
            with(r#""meta_data": {"a": 1}"#),
            with(r#""meta_data": {"a": "1"}"#),
            with(r#""meta_data": {"a": [1, 2]}"#),
            with(r#""meta_data": {"a": [2, 1]}"#),
            with(r#""meta_data": {"a": "2026-01-01T00:00:00Z"}"#),
            with(r#""meta_data": {"a": "2026-01-01T01:00:00+01:00"}"#),
            with(r#""other": null"#),
            with(r#""other": false"#),
            with(r#""verdict": "approve""#),
            with(r#""other": "é""#),
            with("\"other\": \"e\u{301}\""),
        ];
        for (index, left) in variants.iter().enumerate() {
            for right in variants.iter().skip(index + 1) {
                check_different(left, right);
            }
        }
    }

    #[test]
    fn it_is_that_of_one_spelling() {
        let sent = concat!(
            r#"{"reference": "r", "description": "r\u0022\\\n\u0001\/\u00e9", "unknown": {"b": null, "a": ""}, "currency": "EUR", "inflight": false,"#,
            r#" "amount": -1.0500e-3, "created_at": "2026-01-02T03:04:05.123456+01:00", "status": null,"#,
            r#" "meta_data": {"z": [1e2, true, {}], "é": 123456789012345678901234567890.5, "Z": "2026-01-02T03:04:05Z"}}"#
        );
        let spelled = concat!(
            r#"{"amount":-0.00105,"created_at":"1767319445123456","currency":"EUR","#,
            r#""description":"r\"\\\n\u0001/é","meta_data":{"Z":"2026-01-02T03:04:05Z","z":[100,true,{}],"é":123456789012345678901234567890.5},"#,
            r#""reference":"r","unknown":{"a":"","b":null}}"#
        );
        assert_eq!(at(sent, 0), Fingerprint(Sha256::digest(spelled).into()));
    }

    #[test]
    fn another_status_gives_the_fingerprint_of_a_request_with_it() {
        let of = |body: &str| Transaction::parse(body.as_bytes(), DateTime::<Utc>::UNIX_EPOCH).unwrap();
        let rest = r#""transaction_id": "t", "created_at": "2026-01-01T01:00:00+01:00", "inflight": true, "meta_data": {"a": [1.0]}, "x": null"#;
        for (rest, is_found) in
            [(rest, true), (r#""transaction_id": "t""#, true), (r#""description": """#, false)]
        {
            let (applied, without) = (with(&format!(r#"{rest}, "status": "applied""#)), with(rest));
            for (body, status, expected) in [
                (&applied, None, &without),
                (&without, Some("applied"), &applied),
                (&applied, Some("applied"), &applied),
            ] {
                let (transaction, own) = of(body);
                let found = transaction.fingerprint_with(own, status);
                assert_eq!(found, is_found.then_some(of(expected).1), "{body}");
            }
        }
    }

    #[test]
    fn its_value_never_changes() {
        // Stored fingerprints are compared with new ones, so a change here requires a migration. The input is
        // `{"amount":10.5,"currency":"EUR","reference":"r"}`.
        assert_eq!(
            at(BODY, 0).to_string(),
            "156d9456b610971b322666c52580315bba75a8e2d498b9c1192731085913fd05"
        );
    }
}
