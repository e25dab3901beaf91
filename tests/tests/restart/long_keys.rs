//! A key takes the same memory whatever the length of its text, and equality stays exact, over a restart too.

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, sample};

use super::snapshots::check_restored;

/// Payments of each length.
const N_PAYMENTS: usize = 60;
const LENGTHS: [usize; 2] = [100, 60_000];

fn device(n: usize, length: usize) -> Value {
    json!(format!("{}{n:08}", "d".repeat(length - 8)))
}

/// Returns a text of many zeros that is the number 42.
fn zeros() -> Value {
    json!(format!("{}42", "0".repeat(5_000)))
}

fn resident_bytes(service: &Service) -> f64 {
    let page = service.get("/metrics").text();
    let number = page.lines().find_map(|line| line.strip_prefix("tollgate_history_resident_bytes "));
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{page}"))
}

/// Sends a payment of this device. Checks whether one of the same device was there before.
#[track_caller]
fn check(service: &Service, id: &str, device: &Value, is_known: bool) {
    let fields = json!({"created_at": "2026-03-01T00:00:00Z", "meta_data": {"device_id": device}});
    let answer = service.inject(&sample::with(&sample::transaction(id), &fields));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.triggered().len(), usize::from(is_known), "{id}");
}

#[test]
fn long_texts_in_keys_take_no_more_memory_than_short_ones_and_are_told_apart() {
    let condition = r#"count(when meta_data.device_id == $current.meta_data.device_id, "P1D") >= 1"#;
    let home = Home::with_rules(&[("seen.ws", sample::rule("seen", condition))]);
    let service = Service::start(&home);
    let taken = LENGTHS.map(|length| {
        for n in 0..N_PAYMENTS {
            check(&service, &format!("p-{length}-{n}"), &device(n, length), false);
        }
        resident_bytes(&service)
    });
    assert!(taken[1] < 3.0 * taken[0], "{taken:?}");
    check(&service, "zeros", &zeros(), false);
    check(&service, "text", &json!("42"), false);
    check(&service, "number", &json!(42), true);
    assert!(service.stop().0.success());
    let service = Service::start(&home);
    check_restored(&service, 2 * N_PAYMENTS + 3, 0);
    for length in LENGTHS {
        check(&service, &format!("again-{length}"), &device(7, length), true);
        check(&service, &format!("new-{length}"), &device(N_PAYMENTS, length), false);
        check(&service, &format!("longer-{length}"), &device(7, length + 1), false);
    }
    for (n, device) in [zeros(), json!("42"), json!(42)].iter().enumerate() {
        check(&service, &format!("last-{n}"), device, true);
    }
    check(&service, "other number", &json!(format!("{}43", "0".repeat(5_000))), false);
}
