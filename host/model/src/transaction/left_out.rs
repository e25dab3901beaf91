//! Values that say no more than leaving their field out.
//!
//! Serialisers without optional fields write something for a field that nobody set: `null`, an empty text, or the first
//! instant of the year 1, which is the zero of a time in Go and .NET. None of them is an id, a status or a time of a
//! transaction, so each is read as if the field were not there: in requests, events and ledger rows, in the fingerprint
//! and in what is stored.

use crate::transaction::parse::{WireKind, kind_of};
use crate::transaction::{EventTime, Json};

/// The instant 0001-01-01T00:00:00Z, in microseconds since 1970 UTC.
const ZERO_MICROS: i64 = -62_135_596_800_000_000;
/// Offsets are written without their seconds: a zero time of local mean time misses the instant by less than this.
const MINUTE_MICROS: i64 = 60_000_000;

/// Whether the field of this name, holding this value, is left out. Of a field that the interface does not name, nothing
/// is.
pub(in crate::transaction) fn is_left_out(name: &str, value: &Json) -> bool {
    match (kind_of(name), value) {
        (None, _) => false,
        (Some(_), Json::Null) => true,
        (Some(WireKind::Time), Json::Text(text)) => is_zero_time(text),
        (Some(WireKind::Id | WireKind::Code), Json::Text(text)) => text.is_empty() && name != "currency",
        (Some(_), _) => false,
    }
}

/// Whether these members leave out the field of this name.
pub(in crate::transaction) fn leaves_out(members: &[(Box<str>, Json)], name: &str) -> bool {
    !members.iter().any(|(member, value)| **member == *name && !is_left_out(name, value))
}

/// Puts a text where these members leave out the field of this name.
pub(in crate::transaction) fn fill_in(members: &mut Vec<(Box<str>, Json)>, name: &str, text: &str) {
    members.retain(|(member, _)| **member != *name);
    members.push((name.into(), Json::Text(text.into())));
}

/// Whether a text is the first instant of the year 1: on its own clock, with any offset or none, or in UTC.
pub(in crate::transaction) fn is_zero_time(text: &str) -> bool {
    // Nearly every time is of this age.
    if !text.starts_with("000") {
        return false;
    }
    is_zero_on_its_clock(text)
        || EventTime::micros_of(text)
            .is_some_and(|micros| micros.abs_diff(ZERO_MICROS) < MINUTE_MICROS.unsigned_abs())
}

/// `0001-01-01T00:00:00`, with zeros as a fraction, and any offset or none.
fn is_zero_on_its_clock(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("0001-01-01") else { return false };
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else { return false };
    let Some(rest) = rest.strip_prefix("00:00:00") else { return false };
    let offset = match rest.strip_prefix('.') {
        Some(fraction) if fraction.starts_with('0') => fraction.trim_start_matches('0'),
        Some(_) => return false,
        None => rest,
    };
    // Whether it is an offset is for the reader of times to say.
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
