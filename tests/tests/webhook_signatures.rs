//! Authentication of events: signed ones are accepted; altered, expired or unsigned ones are rejected.

use chrono::Utc;
use serde_json::{Value, json};
use tollgate_tests::links::signed;
use tollgate_tests::{Answer, Home, Service, proof, sample, wire};

const ENCODED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const TEXT: &str = "the-ledgers-own-secret";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";

fn service() -> Service {
    let mut home = Home::new();
    home.set("LEDGER_WEBHOOK_SECRET", &format!("{TEXT} {ENCODED}"));
    Service::start(&home)
}

fn event(transaction_id: &str) -> Vec<u8> {
    json!({"event": "transaction.created", "data": sample::transaction(transaction_id)}).to_string().into()
}

/// Sends raw bytes. Returns the response; `None` if the service closed the connection.
fn send(service: &Service, headers: &[(&str, &str)], body: &[u8]) -> Option<Answer> {
    let headers = [&[("Content-Type", "application/json"), ("Connection", "close")], headers].concat();
    let line = "POST /ledgerwebhook";
    wire::exchange(service.address(), &wire::request(service.address(), line, &headers, body))
}

fn now(offset: i64) -> String {
    (Utc::now().timestamp() + offset).to_string()
}

fn standard(timestamp: &str, body: &[u8]) -> Vec<(&'static str, String)> {
    let signature = signed::standard(ENCODED, ID, timestamp, body);
    vec![
        ("webhook-id", ID.to_owned()),
        ("webhook-timestamp", timestamp.to_owned()),
        ("webhook-signature", signature),
    ]
}

fn stamped(timestamp: &str, body: &[u8]) -> Vec<(&'static str, String)> {
    let signature = signed::stamped(TEXT, timestamp, body);
    vec![("X-Blnk-Timestamp", timestamp.to_owned()), ("X-Blnk-Signature", signature)]
}

fn borrowed<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

#[track_caller]
fn check(answer: Option<Answer>, code: &str) {
    let answer = answer.expect("the service answers");
    assert_eq!((answer.status, answer.code().as_str()), (401, code), "{}", answer.text());
    assert!(answer.header("www-authenticate").is_some());
    assert!(!answer.text().contains(TEXT) && !answer.text().contains("MfKQ9"));
}

#[test]
fn events_signed_in_either_manner_are_taken_and_again_when_they_are_repeated() {
    let service = service();
    for (id, manner) in [("a", standard as fn(&str, &[u8]) -> Vec<_>), ("b", stamped)] {
        let body = event(id);
        for offset in [0, -290, 290] {
            let headers = manner(&now(offset), &body);
            let answer = send(&service, &borrowed(&headers), &body).unwrap();
            let said = format!("transaction {id} from event transaction.created processed");
            assert_eq!((answer.status, answer.json()), (200, Value::from(said)));
        }
        assert_eq!(service.transaction(id).status, 200);
    }
    // During a rotation of secrets, a sender signs with both.
    let (body, timestamp) = (event("c"), now(0));
    let both = format!("v1,bm90IHRoaXMgb25l v1a,bm9y {}", signed::standard(ENCODED, ID, &timestamp, &body));
    let headers = [("webhook-id", ID), ("webhook-timestamp", &timestamp), ("webhook-signature", &both)];
    assert_eq!(send(&service, &headers, &body).unwrap().status, 200);
}

#[test]
fn events_that_are_not_signed_or_old_or_signed_by_others_are_refused_and_leave_nothing() {
    let service = service();
    let body = event("x");
    check(send(&service, &[], &body), "signature_missing");
    let good = standard(&now(0), &body);
    for missing in 0..good.len() {
        let mut headers = borrowed(&good);
        headers.remove(missing);
        check(send(&service, &headers, &body), "signature_missing");
    }
    // One scheme does not replace the other, and headers must not repeat.
    let other = stamped(&now(0), &body);
    let mixed = [&borrowed(&good)[..2], &borrowed(&other)[..]].concat();
    check(send(&service, &mixed, &body), "signature_missing");
    check(
        send(&service, &[&borrowed(&good)[..], &borrowed(&good)[..1]].concat(), &body),
        "signature_missing",
    );
    for manner in [standard as fn(&str, &[u8]) -> Vec<_>, stamped] {
        for offset in [-302, 310, -1_000_000] {
            check(send(&service, &borrowed(&manner(&now(offset), &body)), &body), "signature_expired");
        }
        check(send(&service, &borrowed(&manner(&now(0), &event("y"))), &body), "signature_invalid");
        check(send(&service, &borrowed(&manner("0x5f", &body)), &body), "signature_invalid");
    }
    let dotted = format!("{ID}.1");
    let timestamp = now(0);
    let signature = signed::standard(ENCODED, &dotted, &timestamp, &body);
    let headers = [
        ("webhook-id", dotted.as_str()),
        ("webhook-timestamp", &timestamp),
        ("webhook-signature", &signature),
    ];
    check(send(&service, &headers, &body), "signature_invalid");
    assert_eq!(service.transaction("x").status, 404);
    // Events about other objects also require a signature.
    let other = br#"{"event": "balance.monitor", "data": {}}"#;
    check(send(&service, &[], other), "signature_missing");
    // `/inject` requires no signature: the secret belongs to the ledger.
    assert_eq!(service.inject(&sample::transaction("x")).status, 200);
}

#[test]
fn a_secret_that_is_none_stops_the_start() {
    let mut home = Home::new();
    home.set("LEDGER_WEBHOOK_SECRET", "whsec_canary!");
    let refusal = Service::try_start(&home).unwrap_err();
    let log = refusal.log.join("\n");
    assert!(log.contains("LEDGER_WEBHOOK_SECRET") && !log.contains("canary"), "{log}");
}

#[test]
fn an_event_in_which_any_bit_was_turned_is_refused() {
    let service = service();
    let mut n_refused = 0;
    for (id, manner) in [("a", standard as fn(&str, &[u8]) -> Vec<_>), ("b", stamped)] {
        let body = event(id);
        let good = manner(&now(0), &body);
        let (parts, step) = (good.len() + 1, proof::rounds(3, 1));
        for part in 0..parts {
            let n_bits = 8 * good.get(part).map_or(body.len(), |(_, value)| value.len());
            for bit in (0..n_bits).step_by(step) {
                n_refused += usize::from(is_refused(&service, &good, &body, part, bit));
            }
        }
        assert_eq!(service.transaction(id).status, 404);
        assert_eq!(send(&service, &borrowed(&good), &body).unwrap().status, 200, "the whole one is believed");
    }
    println!("{n_refused} events with one bit turned, all refused");
    assert!(n_refused > 500, "{n_refused}");
}

/// Flips one bit of a header value or the body. Returns false if the result is not a valid variant of the request.
fn is_refused(
    service: &Service,
    good: &[(&'static str, String)],
    body: &[u8],
    part: usize,
    bit: usize,
) -> bool {
    let mut body = body.to_vec();
    let mut turned: Vec<(&str, Vec<u8>)> =
        good.iter().map(|(name, value)| (*name, value.clone().into_bytes())).collect();
    let bytes = turned.get_mut(part).map_or(&mut body, |(_, value)| value);
    bytes[bit / 8] ^= 1 << (bit % 8);
    let Ok(headers) = turned
        .iter()
        .map(|(name, value)| Ok((*name, std::str::from_utf8(value)?)))
        .collect::<Result<Vec<_>, std::str::Utf8Error>>()
    else {
        return false;
    };
    // A line break creates other headers, and surrounding blanks are not part of the value.
    if headers.iter().any(|(_, value)| value.contains(['\r', '\n']) || value.trim() != *value) {
        return false;
    }
    match send(service, &headers, &body) {
        // Bytes that are invalid in a header end the request before authentication.
        Some(answer) if answer.status == 400 && part < good.len() => true,
        Some(answer) => {
            assert_eq!(answer.status, 401, "part {part}, bit {bit}: {}", answer.text());
            true
        }
        None => true,
    }
}
