//! A key takes the same memory whatever the length of its text, and equality stays exact, over a restart too.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::links::metric;
use tollgate_tests::{Home, Service, proof, sample};

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

fn resident_bytes(service: &Service) -> u64 {
    metric(service, "tollgate_history_resident_bytes")
}

fn home() -> Home {
    let condition = r#"count(when meta_data.device_id == $current.meta_data.device_id, "P1D") >= 1"#;
    Home::with_rules(&[("seen.ws", sample::rule("seen", condition))])
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
fn long_texts_in_keys_take_no_more_memory_than_short_ones_and_stay_different() {
    let home = home();
    let service = Service::start(&home);
    let taken = LENGTHS.map(|length| {
        for n in 0..N_PAYMENTS {
            check(&service, &format!("p-{length}-{n}"), &device(n, length), false);
        }
        resident_bytes(&service)
    });
    assert!(taken[0] > 0 && taken[1] < 3 * taken[0], "{taken:?}");
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

/// Lengths of keys in bytes, from 1 byte to 64 KB, and the number of payments with keys of each range.
const RANGES: [(usize, usize); 4] = [(1, 64), (65, 1_000), (1_001, 8_000), (8_001, 64_000)];
const N_OF_RANGE: usize = 25_000;
/// Characters of the distinct ends of keys.
const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Returns the `n`th text of a length, or a longer one if there are not so many.
fn text_of(n: usize, length: usize) -> String {
    let mut end = Vec::new();
    let mut left = n;
    while left > 0 {
        end.push(DIGITS[left % DIGITS.len()]);
        left /= DIGITS.len();
    }
    let filler = "-".repeat(length.saturating_sub(end.len()));
    filler + &String::from_utf8(end).unwrap()
}

/// Returns the lengths of the keys of a range: the logarithm of the length is evenly distributed.
fn lengths((from, to): (usize, usize)) -> impl Iterator<Item = usize> {
    let (from, to) = (from as f64, to as f64);
    (0..N_OF_RANGE).map(move |n| {
        let share = (n * 7_919 % N_OF_RANGE) as f64 / N_OF_RANGE as f64;
        (from * (to / from).powf(share)).round() as usize
    })
}

/// Returns how many bytes of the history a new key of a range takes.
fn bytes_of_key(range: (usize, usize)) -> f64 {
    let home = home();
    let service = Service::start(&home);
    let empty = resident_bytes(&service);
    let lengths: Vec<usize> = lengths(range).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let client = service.client();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(length) = lengths.get(n) else { break };
                    let fields = json!({"meta_data": {"device_id": text_of(n + 1, *length)}});
                    let sent = sample::with(&sample::transaction(&format!("p-{n}")), &fields);
                    let answer = client.inject(&sent);
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    assert_eq!(answer.triggered().len(), 0, "key {n} was there before");
                }
            });
        }
    });
    (resident_bytes(&service) - empty) as f64 / N_OF_RANGE as f64
}

#[test]
fn keys_of_any_length_take_the_same_memory() {
    if !proof::is_full() {
        return;
    }
    let taken = RANGES.map(bytes_of_key);
    println!("bytes of a key, by the range {RANGES:?} of its length: {taken:?}");
    let (least, most) =
        taken.iter().fold((f64::MAX, 0.0_f64), |(least, most), bytes| (least.min(*bytes), most.max(*bytes)));
    assert!(least > 0.0 && most <= 1.1 * least, "{taken:?}");
}
