//! Alerts to webhooks: each is delivered at least once under one id or becomes a dead letter, whatever receivers and
//! crashes do.

mod crashes;
mod receivers;

use chrono::Utc;
use serde_json::json;
use tollgate_tests::links::{BLOCK_ALL, Delivered, Receiver, Reception, link_status, metric, signed};
use tollgate_tests::{Home, Service, sample};

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// A service that blocks every transaction and alerts these webhooks, with short retry intervals.
fn home(urls: &[String]) -> Home {
    let mut home = Home::with_rules(&[("all.ws", BLOCK_ALL)]);
    for (name, value) in [
        ("ALERT_WEBHOOK_URL", urls.join(", ").as_str()),
        ("ALERT_WEBHOOK_SECRET", SECRET),
        ("ALERT_WEBHOOK_RETRIES", "20ms,20ms,20ms"),
    ] {
        home.set(name, value);
    }
    home
}

/// A home with a short webhook timeout.
fn impatient(urls: &[String]) -> Home {
    let mut home = home(urls);
    home.set("ALERT_WEBHOOK_TIMEOUT", "300ms");
    home
}

#[track_caller]
fn block(service: &Service, id: &str) {
    assert_eq!(service.inject(&sample::transaction(id)).expect(200)["verdict"], "block");
}

/// Waits for this many dead letters and returns their ids.
#[track_caller]
fn dead_letters(service: &Service, n: usize) -> Vec<String> {
    let mut ids = Vec::new();
    service.until("there are so many dead letters", || {
        let page = service.get("/alerts/dead-letters").expect(200);
        let letters = page["dead_letters"].as_array().unwrap();
        ids = letters.iter().map(|letter| letter["id"].as_str().unwrap().to_owned()).collect();
        page["count"] == n && ids.len() == n
    });
    ids
}

/// Waits until no alert is pending.
fn until_settled(service: &Service) {
    service.until("no alert is on its way", || service.get("/alerts/dead-letters").at("/pending") == 0);
}

/// Checks that a request has a valid and recent Standard Webhooks signature.
#[track_caller]
fn check_signed(request: &Delivered) {
    let (id, timestamp) = (request.header("webhook-id"), request.header("webhook-timestamp"));
    let expected = signed::standard(SECRET, id, timestamp, &request.body);
    assert_eq!(request.header("webhook-signature"), expected);
    assert!(!id.is_empty() && !id.contains('.'), "{id}");
    let age = Utc::now().timestamp() - timestamp.parse::<i64>().unwrap();
    assert!((0..60).contains(&age), "{age} s");
}

#[test]
fn an_alert_is_what_the_dashboard_would_get_signed_and_under_an_id_of_its_own() {
    let receiver = Receiver::start(Reception::Status(204));
    let service = Service::start(&home(&[receiver.url()]));
    let fields = json!({
        "amount": 100.10, "destination": "d", "created_at": "2026-01-02T03:04:05Z", "meta_data": {"card": "c"},
    });
    let sent = sample::with(&sample::transaction("t1"), &fields);
    let answer = service.inject(&sent).expect(200);
    block(&service, "t2");
    // A repeated transaction already has its verdict and its alert.
    assert_eq!(service.inject(&sent).status, 200);
    let first = receiver.wait_for_taken("t1").unwrap();
    let second = receiver.wait_for_taken("t2").unwrap();
    let expected = json!({
        "type": "anomaly", "transaction_id": "t1", "verdict": "block", "score": 0.9, "risk_level": "critical",
        "reason": "all of them", "triggered_rules": answer["triggered"], "amount": 100.10, "currency": "EUR",
        "destination": "d", "reference": "t1", "created_at": "2026-01-02T03:04:05Z",
        "meta_data": {"card": "c"}, "timestamp": answer["evaluated_at"],
    });
    assert_eq!(first.json(), expected);
    assert_eq!(first.header("content-type"), "application/json");
    assert_eq!(first.header("request"), "POST /hooks/alerts HTTP/1.1");
    [&first, &second].into_iter().for_each(check_signed);
    assert_ne!(first.header("webhook-id"), second.header("webhook-id"));
    until_settled(&service);
    assert_eq!(receiver.requests().len(), 2);
    let delivered = metric(&service, "tollgate_alert_attempts_total{result=\"delivered\"}");
    assert_eq!((delivered, link_status(&service, "alerts")), (2, "ok".to_owned()));
}

#[test]
fn without_a_webhook_no_alert_is_kept_and_nobody_hears_of_a_milder_verdict() {
    let home = Home::with_rules(&[("all.ws", BLOCK_ALL)]);
    let service = Service::start(&home);
    block(&service, "t");
    let nothing = json!({"count": 0, "pending": 0, "dead_letters": []});
    assert_eq!(service.get("/alerts/dead-letters").expect(200), nothing);
    let refused = service.post("/alerts/dead-letters/alert_1/replay", &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (409, "alerts_not_configured"));
    drop(service);

    let receiver = Receiver::start(Reception::Status(200));
    let home = self::home(&[receiver.url()]);
    home.write_rule("all.ws", sample::rule("large", "amount >= 100"));
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("mild")).expect(200)["verdict"], "approve");
    let large = sample::with(&sample::transaction("large"), &json!({"amount": 100}));
    assert_eq!(service.inject(&large).status, 200);
    assert!(receiver.wait_for_taken("large").is_some());
    assert_eq!(receiver.requests().len(), 1);
    let refused = service.post("/alerts/dead-letters/alert_1/replay", &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (404, "dead_letter_not_found"));
}

#[test]
fn settings_that_cannot_be_used_stop_the_start() {
    for (name, value) in [
        ("ALERT_WEBHOOK_URL", "ftp://u:canary@127.0.0.1/"),
        ("ALERT_WEBHOOK_URL", "https://127.0.0.1/ canary"),
        ("ALERT_WEBHOOK_URL", "http://u:canary@hooks.example/"),
        ("ALERT_WEBHOOK_SECRET", "whsec_canary!"),
        ("ALERT_WEBHOOK_RETRIES", "soon"),
    ] {
        let mut home = home(&["http://127.0.0.1:9/".to_owned()]);
        home.set(name, value);
        let refusal = Service::try_start(&home).unwrap_err();
        let log = refusal.log.join("\n");
        assert!(log.contains(name) && !log.contains("canary"), "{log}");
    }
}
