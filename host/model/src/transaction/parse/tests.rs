//! Valid and invalid bodies, with the expected errors.

use super::*;
use crate::transaction::Identifiers;
use crate::transaction::wire_fields::{FIELDS, WireKind};

const ARRIVAL: DateTime<Utc> = DateTime::from_timestamp_nanos(1_767_323_045_123_456_789);

fn parse(body: impl AsRef<[u8]>) -> Result<Transaction, InvalidTransaction> {
    Transaction::parse(body.as_ref(), ARRIVAL).map(|(transaction, _)| transaction)
}

/// Returns a valid body with this field set.
fn body_with(field: &str, json: &str) -> String {
    let mut fields = vec![("amount", "1"), ("currency", "\"EUR\""), ("reference", "\"r\"")];
    fields.retain(|(name, _)| *name != field);
    fields.push((field, json));
    let entries: Vec<String> = fields.iter().map(|(name, json)| format!("\"{name}\": {json}")).collect();
    format!("{{{}}}", entries.join(", "))
}

#[track_caller]
fn check_refused(body: impl AsRef<[u8]>, code: &str, field: Option<&str>) {
    let error = parse(&body).unwrap_err();
    assert_eq!((error.code(), error.field()), (code, field), "{}", String::from_utf8_lossy(body.as_ref()));
    let message = error.to_string();
    assert!(message.len() < 400 && !message.contains(char::is_control), "{message:?}");
}

#[test]
fn the_three_required_fields_are_enough() {
    let transaction = parse(r#"{"amount": 12.50, "currency": "EUR", "reference": "r-1"}"#).unwrap();
    assert_eq!(transaction.amount.as_str(), "12.50");
    assert_eq!(transaction.timestamp.as_str(), "2026-01-02T03:04:05.123456Z");
    assert_eq!(Uuid::parse_str(&transaction.transaction_id).unwrap().get_version_num(), 7);
    assert!(!transaction.inflight && transaction.source.is_none() && transaction.unnamed.is_empty());
}

#[test]
fn a_field_spelled_as_rules_spell_it_is_not_taken_for_another() {
    check_refused(body_with("metadata", "{}"), "invalid_field", Some("metadata"));
    check_refused(body_with("timestamp", "\"2026-01-02T03:04:05Z\""), "invalid_field", Some("timestamp"));
}

#[test]
fn every_field_of_the_interface_is_read() {
    let transaction = parse(
        r#"{"transaction_id": "t", "amount": -0, "currency": "EUR", "source": "a", "destination": "b",
            "reference": "r", "description": "two\nlines", "status": "applied", "hash": "h", "allow_overdraft": true,
            "inflight": true, "skip_queue": true, "atomic": true, "created_at": "2026-01-02T05:04:05+02:00",
            "effective_date": "1970-01-01T00:00:00Z", "scheduled_for": "9999-12-31T23:59:59.999999999Z",
            "inflight_expiry_date": "2024-02-29T00:00:00Z", "meta_data": {"verdict": "approve", "a": {"b": [1.10]}},
            "evaluation_status": "approved", "timestamp": null}"#,
    )
    .unwrap();
    assert_eq!(&*transaction.transaction_id, "t");
    assert_eq!(transaction.timestamp.as_str(), "2026-01-02T05:04:05+02:00");
    assert_eq!(transaction.description.as_deref(), Some("two\nlines"));
    assert!(
        transaction.allow_overdraft && transaction.inflight && transaction.skip_queue && transaction.atomic
    );
    assert_eq!(transaction.metadata.unwrap().to_string(), r#"{"verdict":"approve","a":{"b":[1.10]}}"#);
    let unnamed: Vec<_> =
        transaction.unnamed.iter().map(|(name, value)| (&**name, value.to_string())).collect();
    assert_eq!(unnamed, [("evaluation_status", "\"approved\"".into()), ("timestamp", "null".into())]);
}

#[test]
fn null_in_an_optional_field_is_the_same_as_leaving_it_out() {
    for field in [
        "source",
        "destination",
        "description",
        "status",
        "hash",
        "allow_overdraft",
        "inflight",
        "skip_queue",
        "atomic",
        "effective_date",
        "scheduled_for",
        "inflight_expiry_date",
        "meta_data",
    ] {
        let id = r#""transaction_id": "t""#;
        let with = parse(body_with(field, &format!("null, {id}"))).unwrap();
        assert_eq!(with, parse(body_with("transaction_id", "\"t\"")).unwrap(), "{field}");
    }
    assert!(parse(body_with("transaction_id", "null")).is_ok());
    assert!(parse(body_with("created_at", "null")).is_ok());
}

#[test]
fn an_empty_value_of_a_serializer_counts_as_absent() {
    let empty = r#"{"transaction_id": "", "amount": 1, "currency": "EUR", "source": "", "destination": "", "reference": "r",
        "description": "", "status": "", "hash": "", "allow_overdraft": false, "created_at": "0001-01-01T00:00:00Z",
        "effective_date": "0001-01-01T00:00:00", "scheduled_for": "0001-01-01T00:00:00.0000000+01:00",
        "inflight_expiry_date": "0001-01-01T00:00:00Z", "meta_data": {"a": "", "b": "0001-01-01T00:00:00Z"}, "other": ""}"#;
    let transaction = parse(empty).unwrap();
    assert!(!transaction.timestamp.is_given());
    assert_eq!(Uuid::parse_str(&transaction.transaction_id).unwrap().get_version_num(), 7);
    let transaction = Transaction { transaction_id: "t".into(), ..transaction };
    assert_eq!(
        transaction.to_stored(),
        concat!(
            r#"{"transaction_id":"t","amount":1,"currency":"EUR","reference":"r","description":"","allow_overdraft":false,"#,
            r#""inflight":false,"skip_queue":false,"atomic":false,"created_at":"2026-01-02T03:04:05.123456Z","#,
            r#""meta_data":{"a":"","b":"0001-01-01T00:00:00Z"},"other":""}"#
        )
    );
    check_refused(body_with("currency", "\"\""), "invalid_field", Some("currency"));
    check_refused(body_with("reference", "\"\""), "invalid_field", Some("reference"));
}

#[test]
fn a_required_field_left_out_is_named() {
    check_refused("{}", "missing_field", Some("amount"));
    check_refused(r#"{"amount": 1, "reference": "r"}"#, "missing_field", Some("currency"));
    check_refused(r#"{"amount": 1, "currency": "EUR"}"#, "missing_field", Some("reference"));
    for field in ["amount", "currency", "reference"] {
        check_refused(body_with(field, "null"), "missing_field", Some(field));
    }
}

#[test]
fn a_field_of_the_wrong_type_is_named() {
    let wrong = |kind| match kind {
        WireKind::Id | WireKind::Code | WireKind::Prose => ["1", "true", "[]", "{}"],
        WireKind::Number => ["\"1e3\"", "true", "[1]", "{}"],
        WireKind::Boolean => ["\"true\"", "1", "[]", "{}"],
        WireKind::Time => ["\"soon\"", "1767323045", "[]", "{}"],
        WireKind::Object => ["\"x\"", "1", "[]", "false"],
    };
    for field in FIELDS {
        for json in wrong(kind_of(field).unwrap()) {
            check_refused(body_with(field, json), "invalid_field", Some(field));
        }
    }
    assert_eq!(
        parse(body_with("amount", "\" 1\"")).unwrap_err().to_string(),
        "`amount` must be a number, or a text such as `10.50`"
    );
}

#[test]
fn an_amount_is_a_number_that_can_be_kept() {
    for json in ["NaN", "Infinity", "-Infinity", "01", "+1", ".5", "5.", "1e", "0x10", "1_000", "1,5"] {
        assert_eq!(parse(body_with("amount", json)).unwrap_err().code(), "malformed_json", "{json}");
    }
    let digits = "9".repeat(100_000);
    for json in ["1e400", "-1e400", "1e308", "1e-400", "100000000000000000000000000000000000001e1", &digits] {
        check_refused(body_with("amount", json), "number_out_of_range", Some("amount"));
    }
    check_refused(body_with("amount", &format!("\"{digits}\"")), "number_out_of_range", Some("amount"));
    assert_eq!(parse(body_with("amount", "\"10.50\"")).unwrap().amount.as_str(), "10.50");
    let wide = parse(body_with("meta_data", "{\"a\": [0, 1e400]}")).unwrap();
    assert!(wide.to_stored().contains("{\"a\":[0,1e400]}"));
    assert_eq!(Transaction::from_stored(&wide.to_stored()).unwrap(), wide);
    for json in ["-0", "0", "-12.50", "1E+3", "9007199254740993", "99999999999999999999999999999999999999"] {
        assert_eq!(parse(body_with("amount", json)).unwrap().amount.as_str(), json);
    }
}

#[test]
fn ids_and_codes_are_short_and_without_control_characters() {
    let fields = ["transaction_id", "currency", "source", "destination", "status", "hash"];
    let long = format!("\"{}\"", "é".repeat(128));
    for field in fields {
        for json in [
            "\"a\\nb\"",
            "\"a\\u001b[31m\"",
            "\"\\u007f\"",
            "\"\\u0085\"",
            "\"\u{202e}abc\"",
            "\"a\\u2066\"",
            "\"\\u200f\"",
            &long,
        ] {
            check_refused(body_with(field, json), "invalid_field", Some(field));
        }
        check_refused(body_with(field, "\"a\\u0000b\""), "nul_character", Some(field));
        for text in ["É", "e\u{301}", "Кирилл", "a b", "'; DROP TABLE transactions; --", &"x".repeat(255)]
        {
            assert!(parse(body_with(field, &format!("\"{text}\""))).is_ok(), "{text}");
        }
    }
}

#[test]
fn a_reference_is_any_text_that_is_short_and_not_empty() {
    for json in
        ["\"\u{5d0}\u{200f}\\n\"", "\" a\\u001b\"", "\"\\u202e\"", &format!("\"{}\"", "😀".repeat(350))]
    {
        assert!(parse(body_with("reference", json)).is_ok(), "{json}");
    }
    for json in ["\"\"", &format!("\"{}\"", "x".repeat(351))] {
        check_refused(body_with("reference", json), "invalid_field", Some("reference"));
    }
    check_refused(body_with("reference", "\"a\\u0000\""), "nul_character", Some("reference"));
}

#[test]
fn only_a_new_identifier_is_objected_to_and_only_where_somebody_wants_it() {
    let read = |id: &str, identifiers| {
        let terms = RequestOptions {
            settings: RequestSettings { identifiers, ..RequestSettings::default() },
            ..RequestOptions::default()
        };
        InjectRequest::read(body_with("source", &format!("\"{id}\"")).as_bytes(), &terms, ARRIVAL).unwrap()
    };
    for (id, is_clear, is_taken_as_sent) in [
        ("acc-1", true, true),
        ("acc\u{200b}-1", false, true),
        ("acc-1 ", false, true),
        ("acc\\n", false, false),
    ] {
        assert_eq!(read(id, Identifiers::Clear).objection.is_none(), is_clear, "{id:?}");
        assert_eq!(read(id, Identifiers::AsSent).objection.is_none(), is_taken_as_sent, "{id:?}");
        assert_eq!(read(id, Identifiers::AsSent).transaction.has_unclear_identifier(), !is_clear, "{id:?}");
    }
    let message = read("acc\u{200b}-1", Identifiers::Clear).objection.unwrap().to_string();
    assert!(
        message.contains("`source`") && message.contains("U+200B (zero width space) as character 4 of 6"),
        "{message}"
    );
}

#[test]
fn a_description_is_free_but_bounded() {
    assert!(parse(body_with("description", "\"\"")).is_ok());
    assert!(parse(body_with("description", &format!("\"{}\"", "x".repeat(4_096)))).is_ok());
    check_refused(
        body_with("description", &format!("\"{}\"", "x".repeat(4_097))),
        "invalid_field",
        Some("description"),
    );
}

#[test]
fn dates_that_are_none_are_refused() {
    let endless = format!("2026-01-02T03:04:05.{}Z", "1".repeat(100));
    for field in ["created_at", "effective_date", "scheduled_for", "inflight_expiry_date"] {
        for text in [
            "",
            "2026-01-02",
            "2026-02-30T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T03:04:05",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "10000-01-01T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "1767323045",
            &endless,
        ] {
            check_refused(body_with(field, &format!("\"{text}\"")), "invalid_field", Some(field));
        }
    }
}

#[test]
fn a_body_that_is_no_object_is_no_transaction() {
    for body in ["[]", "null", "1", "\"x\"", "[{\"amount\": 1}]"] {
        check_refused(body, "not_an_object", None);
    }
    check_refused("", "malformed_json", None);
    check_refused(b"{\"amount\": \xff}", "invalid_utf8", None);
}

#[test]
fn a_key_given_twice_is_refused_in_every_spelling() {
    check_refused(body_with("amount", "1, \"am\\u006funt\": 2"), "duplicate_key", None);
    check_refused(
        body_with("meta_data", r#"{"a": {"b": 1, "\u0062": 2}}"#),
        "duplicate_key",
        Some("meta_data.a"),
    );
    check_refused(body_with("Amount", "\"x\""), "misspelled_field", Some("Amount"));
    check_refused(body_with("meta_data", "{}, \"metadata\": {}"), "misspelled_field", Some("metadata"));
    check_refused(r#"{"Amount": 1, "currency": "EUR", "reference": "r"}"#, "missing_field", Some("amount"));
    assert!(parse(body_with("amounts", "\"x\"")).is_ok(), "no field is spelled like that");
}

#[test]
fn a_transaction_in_an_envelope_brings_its_own_id() {
    let from_json = |body: &str| {
        Transaction::from_json(Json::parse(body.as_bytes(), JsonLimits::ENVELOPE).unwrap(), ARRIVAL)
    };
    let error = from_json(&body_with("source", "\"a\"")).unwrap_err();
    assert_eq!((error.code(), error.field()), ("missing_field", Some("transaction_id")));
    let error = from_json(&body_with("transaction_id", "\"\"")).unwrap_err();
    assert_eq!((error.code(), error.field()), ("invalid_field", Some("transaction_id")));
    let body = body_with("transaction_id", "\"t\"");
    assert_eq!(from_json(&body), Transaction::parse(body.as_bytes(), ARRIVAL));
}
