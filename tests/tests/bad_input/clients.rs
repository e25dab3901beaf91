//! Requests of well-meaning but imprecise clients: unset fields, other spellings, other encodings, ids in a header.

use serde_json::{Value, json};
use tollgate_tests::wire;

use super::transactions::{id, inject, with};
use super::{check_refused, check_unharmed, service};

#[test]
fn a_field_in_another_spelling_is_refused_with_the_one_that_is_meant() {
    let service = service();
    let mut n = 0;
    for (given, meant, value) in [
        ("transactionId", "transaction_id", "\"x\""),
        ("TransactionID", "transaction_id", "\"x\""),
        ("createdAt", "created_at", "\"2026-01-01T00:00:00Z\""),
        ("created-at", "created_at", "\"2026-01-01T00:00:00Z\""),
        ("metaData", "meta_data", "{}"),
        ("meta-data", "meta_data", "{}"),
        ("Source", "source", "\"x\""),
        ("allowOverdraft", "allow_overdraft", "true"),
        ("Amount", "amount", "1"),
    ] {
        n += 1;
        let answer = inject(&service, n, &with(given, value));
        check_refused(given, &answer, 400, "misspelled_field");
        assert_eq!(answer.at("/field"), Value::from(given));
        let error = answer.at("/error");
        assert!(error.as_str().unwrap().contains(&format!("did you mean `{meant}`?")), "{error}");
        assert_eq!(service.transaction(&id(n)).status, 404);
    }
    let pascal = r#"{"TransactionId":"@","Amount":1,"Currency":"EUR","Reference":"r"}"#;
    let answer = inject(&service, 50, pascal);
    check_refused(pascal, &answer, 400, "missing_field");
    assert!(
        answer.at("/error").as_str().unwrap().contains("`Amount` is not a field, did you mean `amount`?")
    );
    let data = r#"{"event":"transaction.created","data":{"transactionId":"hook","amount":1,"currency":"EUR","reference":"r"}}"#;
    let answer = service.try_post("/ledgerwebhook", data.as_bytes()).unwrap();
    check_refused(data, &answer, 400, "misspelled_field");
    assert!(answer.at("/error").as_str().unwrap().contains("did you mean `transaction_id`?"));
    check_unharmed(&service);
    for (n, name) in ["channel", "id", "amounts", "amount_usd", "transaction"].iter().enumerate() {
        assert_eq!(
            inject(&service, 100 + n, &with(name, "1")).status,
            200,
            "{name} is no field and no spelling of one"
        );
    }
}

#[test]
fn the_refusal_of_an_invalid_body_names_the_cause() {
    let service = service();
    let plain = with("source", "\"a\"").replace('@', "cause");
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (body, code, cause) in [
        (
            format!("\u{feff}{plain}").into_bytes(),
            "malformed_json",
            "byte order mark (U+FEFF); send it without",
        ),
        (plain.replace(":1,", ":NaN,").into_bytes(), "malformed_json", "the value of `amount` is `NaN`"),
        (plain.replace("\"a\"", "\"\\ud83d\"").into_bytes(), "malformed_json", "half of a surrogate pair"),
        (
            plain.replace('}', ",\"source\":1}").into_bytes(),
            "duplicate_key",
            "the key `source` twice; send it once",
        ),
        (utf_16(&plain), "malformed_json", "UTF-16"),
        (utf_16(&format!("\u{feff}{plain}")), "invalid_utf8", "UTF-16; send it in UTF-8"),
    ] {
        let answer = service.try_post("/inject", &body).unwrap();
        check_refused(cause, &answer, 400, code);
        assert!(answer.at("/error").as_str().unwrap().contains(cause), "{}", answer.text());
    }
    let cut = r#"{"transaction_id":"cut","amount":1,"currency":"EUR","reference":"a\ud83d","description":"\ude00",
        "meta_data":{"source":"x\ud83dy"}}"#;
    assert_eq!(service.try_post("/inject", cut.as_bytes()).unwrap().status, 200);
    let stored = service.transaction("cut").expect(200);
    assert_eq!(stored["reference"], "a\u{fffd}");
    assert_eq!(stored["description"], "\u{fffd}");
    assert_eq!(stored["meta_data"]["source"], "x\u{fffd}y");
}

#[test]
fn an_idempotency_key_stands_for_an_id_that_is_left_out() {
    let service = service();
    let body = br#"{"amount":1,"currency":"EUR","reference":"r"}"#;
    let send = |headers: &[(&str, &str)], body: &[u8]| {
        let headers: Vec<_> = headers.iter().copied().chain([("Content-Type", "application/json")]).collect();
        wire::exchange(service.address(), &wire::request(service.address(), "POST /inject", &headers, body))
            .unwrap()
    };
    let first = send(&[("Idempotency-Key", "key-1")], body);
    assert_eq!((first.status, first.at("/transaction_id")), (200, json!("key-1")), "{}", first.text());
    assert_eq!(send(&[("idempotency-key", "\"key-1\"")], body), first, "the same key in quotation marks");
    let with_id = br#"{"transaction_id":"key-1","amount":1,"currency":"EUR","reference":"r"}"#;
    assert_eq!(send(&[], with_id), first, "the same id in the body");
    assert_eq!(send(&[("Idempotency-Key", "key-2")], with_id), first, "the body counts");
    let other = send(&[("Idempotency-Key", "key-1")], br#"{"amount":2,"currency":"EUR","reference":"r"}"#);
    check_refused("another body", &other, 409, "transaction_conflict");
    for headers in [&[("Idempotency-Key", "a"), ("Idempotency-Key", "b")][..], &[("Idempotency-Key", "\"a")]]
    {
        let answer = send(headers, body);
        check_refused("a key that is none", &answer, 400, "invalid_field");
        assert_eq!(answer.at("/field"), "Idempotency-Key");
    }
}

#[test]
fn a_payment_without_an_id_is_answered_with_a_warning_and_counted() {
    let service = service();
    let send = |key: Option<&str>, id: &str| {
        let body = format!(r#"{{"amount":1,"currency":"EUR","reference":"r"{id}}}"#);
        let key = key.map(|key| ("Idempotency-Key", key));
        let headers: Vec<_> = key.into_iter().chain([("Content-Type", "application/json")]).collect();
        let request = wire::request(service.address(), "POST /inject", &headers, body.as_bytes());
        wire::exchange(service.address(), &request).unwrap()
    };
    for (key, id, warning) in [
        (None, "", Some("no-id")),
        (None, r#","transaction_id":null"#, Some("no-id")),
        (None, r#","transaction_id":"""#, Some("no-id")),
        (Some(""), "", Some("no-id")),
        (Some("key"), "", None),
        (Some(""), r#","transaction_id":"a""#, None),
        (None, r#","transaction_id":"b""#, None),
    ] {
        let answer = send(key, id);
        assert_eq!((answer.status, answer.header("x-tollgate-warning")), (200, warning), "{key:?} {id}");
        let mut members: Vec<String> = answer.json().as_object().unwrap().keys().cloned().collect();
        members.sort();
        let mut expected: Vec<String> =
            send(Some("key"), "").json().as_object().unwrap().keys().cloned().collect();
        expected.sort();
        assert_eq!(members, expected, "the body has the same members");
    }
    let metrics = service.get("/metrics").text();
    assert!(metrics.contains("tollgate_transactions_without_id_total 4\n"), "{metrics}");
    let document = service.get("/openapi.json").expect(200);
    let parameters = document["paths"]["/inject"]["post"]["parameters"].as_array().unwrap();
    assert_eq!((&parameters[0]["name"], &parameters[0]["in"]), (&json!("Idempotency-Key"), &json!("header")));
}

#[test]
fn a_conflict_names_the_first_field_that_differs() {
    let service = service();
    let plain = r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","meta_data":{"a":{"b":1},"c":2}}"#;
    assert_eq!(inject(&service, 1, plain).status, 200);
    for (other, field) in [
        (plain.replace(":1,", ":2,"), "amount"),
        (plain.replace("EUR", "USD"), "currency"),
        (plain.replace("\"r\"", "\"r\",\"source\":\"s\""), "source"),
        (plain.replace("\"b\":1", "\"b\":2"), "meta_data.a"),
        (plain.replace("\"c\":2", "\"c\":2,\"d\":3"), "meta_data.d"),
        (plain.replace("\"r\"", "\"r\",\"x\":1"), "x"),
        (plain.replace("\"r\"", "\"r\",\"created_at\":\"2026-01-01T00:00:00Z\""), "created_at"),
    ] {
        let answer = inject(&service, 1, &other);
        check_refused(&other, &answer, 409, "transaction_conflict");
        assert_eq!(answer.at("/field"), field, "{other}: {}", answer.text());
        assert!(
            answer.at("/error").as_str().unwrap().contains(&format!("another `{field}`")),
            "{}",
            answer.text()
        );
    }
    let report = format!(
        r#"{{"event":"transaction.applied","data":{}}}"#,
        plain.replace(":1,", ":7,").replace('@', &id(1))
    );
    let answer = service.try_post("/ledgerwebhook", report.as_bytes()).unwrap();
    check_refused(&report, &answer, 409, "transaction_conflict");
    assert_eq!(answer.at("/field"), "amount");
}

#[test]
fn empty_values_of_a_serializer_are_left_out_wherever_a_transaction_comes_in() {
    let service = service();
    let unset = r#""source":"","destination":"","status":"","hash":"","created_at":"0001-01-01T00:00:00Z",
        "effective_date":"0001-01-01T00:00:00","scheduled_for":"0001-01-01T00:00:00.000+02:00",
        "inflight_expiry_date":"0001-01-01T00:00:00.0000000Z""#;
    let plain = r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r"}"#;
    let padded = plain.replace('}', &format!(",{unset}}}"));
    let first = inject(&service, 0, &padded);
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(inject(&service, 0, plain), first, "the same transaction, said otherwise, is a conflict");
    let reported = format!(r#"{{"event":"transaction.applied","data":{}}}"#, padded.replace('@', "event"));
    assert_eq!(service.try_post("/ledgerwebhook", reported.as_bytes()).unwrap().status, 200);
    for (id, status) in [(id(0), None), ("event".to_owned(), Some("applied"))] {
        let stored = service.transaction(&id).expect(200);
        for field in
            ["source", "destination", "hash", "effective_date", "scheduled_for", "inflight_expiry_date"]
        {
            assert_eq!(stored.get(field), None, "{id}: `{field}` is echoed");
        }
        assert_eq!(stored.get("status").and_then(Value::as_str), status, "{id}");
        assert!(!stored["created_at"].as_str().unwrap().starts_with("0001"), "{id}");
    }
    let generated = service.try_post("/inject", padded.replace("\"@\"", "\"\"").as_bytes()).unwrap();
    assert_eq!(generated.at("/transaction_id").as_str().map(str::len), Some(36), "{}", generated.text());
}

#[test]
fn an_event_without_an_id_is_known_when_it_is_sent_again_in_any_spelling_of_its_name() {
    let service = service();
    let event = |name: &str, amount: &str, message: &[(&str, &str)]| {
        let data = format!(r#"{{"amount":{amount},"currency":"EUR","reference":"r"}}"#);
        let body = format!(r#"{{"event":"{name}","data":{data}}}"#);
        let headers: Vec<_> = [("Content-Type", "application/json")].iter().chain(message).copied().collect();
        let request = wire::request(service.address(), "POST /ledgerwebhook", &headers, body.as_bytes());
        let answer = wire::exchange(service.address(), &request).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let said = answer.at("").as_str().unwrap().to_owned();
        let id = said.split(' ').nth(1).unwrap().to_owned();
        assert_eq!(said, format!("transaction {id} from event {name} processed"));
        id
    };
    let status = |id: &str| service.transaction(id).expect(200)["status"].clone();
    let first = event("transaction.created", "1.50", &[]);
    for (name, expected) in [
        ("Transaction.Inflight", "inflight"),
        ("TransactionApplied", "applied"),
        ("transaction_void", "void"),
        ("TRANSACTION.REFUNDED", "refunded"),
    ] {
        assert_eq!(event(name, "1.5", &[]), first, "{name}");
        assert_eq!(status(&first), expected, "{name}");
    }
    let sent = event("transaction.created", "1.50", &[("webhook-id", "msg_1")]);
    assert_eq!(event("transaction_void", "1.50", &[("webhook-id", "msg_1")]), sent);
    assert_eq!(status(&sent), "void");
    for other in [
        event("transaction.created", "2", &[]),
        event("transaction.created", "1.50", &[("webhook-id", "msg_2")]),
    ] {
        assert!(other != first && other != sent, "{other}");
    }
}
