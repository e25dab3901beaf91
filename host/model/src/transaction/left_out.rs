//! Values that are equivalent to the absence of their field.
//!
//! Serializers without optional fields write a value for an unset field. It is `null`, an empty text, or the first
//! instant of year 1, which is the zero time in Go and .NET. None of these is a valid id, status or time of a
//! transaction. Such a field counts as absent in requests, events and ledger rows, in the fingerprint and in storage.

use crate::transaction::wire_fields::{WireKind, kind_of};
use crate::transaction::{EventTime, Json};

/// The instant 0001-01-01T00:00:00Z, in microseconds since 1970 UTC.
const ZERO_MICROS: i64 = -62_135_596_800_000_000;
/// Maximum error of a zero time in local mean time, whose offset is written without seconds.
const MINUTE_MICROS: i64 = 60_000_000;

/// Returns whether a field with this value counts as absent. A field outside the interface never does.
pub(in crate::transaction) fn is_left_out(name: &str, value: &Json) -> bool {
    match (kind_of(name), value) {
        (None, _) => false,
        (Some(_), Json::Null) => true,
        (Some(WireKind::Time), Json::Text(text)) => is_zero_time(text),
        (Some(WireKind::Id | WireKind::Code), Json::Text(text)) => text.is_empty() && name != "currency",
        (Some(_), _) => false,
    }
}

/// Returns whether a field is absent from these members or counts as absent.
pub(in crate::transaction) fn leaves_out(members: &[(Box<str>, Json)], name: &str) -> bool {
    !members.iter().any(|(member, value)| **member == *name && !is_left_out(name, value))
}

/// Sets a field that counts as absent to a text.
pub(in crate::transaction) fn fill_in(members: &mut Vec<(Box<str>, Json)>, name: &str, text: &str) {
    members.retain(|(member, _)| **member != *name);
    members.push((name.into(), Json::Text(text.into())));
}

/// Returns whether a text is the first instant of year 1: in local time with any or no offset, or in UTC.
pub(in crate::transaction) fn is_zero_time(text: &str) -> bool {
    // Excludes nearly every time cheaply.
    if !text.starts_with("000") {
        return false;
    }
    is_zero_on_its_clock(text)
        || EventTime::micros_of(text)
            .is_some_and(|micros| micros.abs_diff(ZERO_MICROS) < MINUTE_MICROS.unsigned_abs())
}

/// Returns whether a text is `0001-01-01T00:00:00` with an optional fraction of zeros and an optional offset.
fn is_zero_on_its_clock(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("0001-01-01") else { return false };
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else { return false };
    let Some(rest) = rest.strip_prefix("00:00:00") else { return false };
    let offset = match rest.strip_prefix('.') {
        Some(fraction) if fraction.starts_with('0') => fraction.trim_start_matches('0'),
        Some(_) => return false,
        None => rest,
    };
    // The time parser decides whether the rest is an offset.
    offset.is_empty() || EventTime::micros_of(&format!("0001-01-01T00:00:00{offset}")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, text: &str, expected: bool) {
        assert_eq!(is_left_out(name, &Json::Text(text.into())), expected, "{name}: {text}");
    }

    #[test]
    fn the_first_instant_of_the_year_1_is_no_time_in_every_spelling() {
        for text in [
            "0001-01-01T00:00:00Z",
            "0001-01-01t00:00:00z",
            "0001-01-01 00:00:00Z",
            "0001-01-01T00:00:00",
            "0001-01-01T00:00:00.0000000",
            "0001-01-01T00:00:00.000Z",
            "0001-01-01T00:00:00+00:00",
            "0001-01-01T00:00:00+05:30",
            "0001-01-01T00:00:00-08:00",
            "0001-01-01T02:00:00+02:00",
            "0000-12-31T16:00:00-08:00",
            "0001-01-01T00:53:28+00:53",
            "0000-12-31T19:03:58-04:56",
        ] {
            for name in ["created_at", "effective_date", "scheduled_for", "inflight_expiry_date"] {
                check(name, text, true);
            }
            check("source", text, false);
        }
        for text in [
            "",
            "0001-01-01",
            "0001-01-01T00:00:00.",
            "0001-01-01T00:01:00Z",
            "0001-01-01T00:00:00+99:00",
            "0001-01-01T00:00:00 x",
            "0001-01-01T12:00:00Z",
            "0001-01-02T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "1970-01-01T00:00:00Z",
        ] {
            check("created_at", text, false);
        }
    }

    #[test]
    fn an_empty_text_is_left_out_where_the_field_is_optional_and_names_something() {
        for name in ["transaction_id", "source", "destination", "status", "hash"] {
            check(name, "", true);
            check(name, " ", false);
        }
        for name in ["currency", "reference", "description", "amount", "inflight", "meta_data", "other"] {
            check(name, "", false);
        }
    }
}
