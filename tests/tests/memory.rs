//! The service keeps to its memory and to its answers, and says how far its start is.

use serde_json::json;
use tollgate_tests::{Home, Service};

const COUNTS: &str = r#"rule often { when count(when source == $current.source, "P1D") >= 200 then review score 0.5 reason "often" }"#;

#[test]
fn with_the_least_memory_every_count_is_exact_before_and_after_a_restart() {
    let mut home = Home::with_rules(&[("often.ws", COUNTS)]);
    home.set("SERVICE_MEMORY_LIMIT", "1MiB");
    let spill_dir = home.current().display().to_string();
    home.set("SERVICE_SPILL_DIR", &spill_dir);
    let verdict_of = |service: &Service, number: usize| {
        let body = json!({
            "transaction_id": format!("t-{number}"), "amount": 1.5, "currency": "EUR", "reference": "r",
            "source": "acc-anna", "created_at": format!("2026-03-02T10:{:02}:{:02}Z", number / 60, number % 60),
        });
        service.inject(&body).expect(200)["verdict"].clone()
    };
    let service = Service::start(&home);
    for number in 0..200 {
        assert_eq!(verdict_of(&service, number), "approve", "{number}");
    }
    assert_eq!(verdict_of(&service, 200), "review");
    let (status, _) = service.stop();
    assert!(status.success());
    let service = Service::start(&home);
    assert_eq!(verdict_of(&service, 201), "review");
    let readiness = service.get("/readyz").expect(200);
    assert_eq!(readiness["checks"]["history"], "ok");
}
