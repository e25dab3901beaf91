//! Rules on a Kubernetes volume: a swap is one change, even during evaluation.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::{Answer, Home, Service, Volume, proof, sample};

use super::in_force_within;

/// Interval between two swaps, short enough for some to occur during the previous one.
const BETWEEN_SWAPS: Duration = Duration::from_millis(60);
const CLIENTS: usize = 4;

/// Returns two rules and a list that contain their version.
fn version(n: usize) -> [(String, String); 3] {
    let rule =
        |name: &str| sample::rule(name, "currency in $stopped").replace("matched", &format!("version {n}"));
    [
        ("left.ws".to_owned(), rule("left")),
        ("right.ws".to_owned(), rule("right")),
        ("lists/stopped.txt".to_owned(), format!("EUR\nversion-{n}\n")),
    ]
}

fn reasons(answer: &Answer) -> Vec<String> {
    let body = answer.expect(200);
    let triggered = body["triggered"].as_array().cloned().unwrap_or_default();
    triggered.iter().filter_map(|rule| rule["reason"].as_str()).map(str::to_owned).collect()
}

fn payment() -> serde_json::Value {
    json!({"amount": 10, "currency": "EUR", "reference": "r"})
}

#[test]
fn a_rule_changed_as_the_kubelet_does_is_in_force_within_a_second() {
    let home = Home::new();
    let volume = Volume::at(&home.rules(), &home.at("source"), &version(1));
    let service = Service::start(&home);
    assert_eq!(reasons(&service.inject(&payment())), ["left version 1", "right version 1"]);
    for n in 2..6 {
        volume.swap(&version(n));
        let swapped = Instant::now();
        service.until("the new version is in force", || {
            reasons(&service.inject(&payment()))
                == [format!("left version {n}"), format!("right version {n}")]
        });
        assert!(swapped.elapsed() < in_force_within(), "{:?}", swapped.elapsed());
    }
    assert_eq!(service.get("/readyz").at("/checks/rules"), "ok");
    let one_less = version(6);
    volume.swap(one_less.get(1..).unwrap());
    service.until("a key is gone", || reasons(&service.inject(&payment())) == ["right version 6"]);
    assert!(service.stop().0.success());
    let service = Service::start(&home);
    assert_eq!(reasons(&service.inject(&payment())), ["right version 6"]);
}

#[test]
fn every_payment_is_judged_by_one_version_while_they_are_swapped() {
    let home = Home::new();
    let volume = Volume::at(&home.rules(), &home.at("source"), &version(0));
    let service = Service::start(&home);
    let n_swaps = proof::rounds(20, 200);
    let (is_over, n_judged) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let client = service.client();
            let (is_over, n_judged) = (&is_over, &n_judged);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let said = reasons(&client.inject(&payment()));
                    let versions: Vec<&str> =
                        said.iter().filter_map(|reason| reason.split(' ').next_back()).collect();
                    assert!(
                        matches!(*versions, [left, right] if left == right),
                        "judged by none or by a mixture: {said:?}"
                    );
                    n_judged.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for n in 1..=n_swaps {
                let begun = Instant::now();
                volume.swap(&version(n));
                thread::sleep(BETWEEN_SWAPS.saturating_sub(begun.elapsed()));
            }
            service.until("the last version is in force", || {
                reasons(&service.inject(&payment()))
                    .first()
                    .is_some_and(|said| *said == format!("left version {n_swaps}"))
            });
        }));
        is_over.store(true, Ordering::Relaxed);
        ended.unwrap();
    });
    println!("{n_swaps} swaps, {} payments", n_judged.load(Ordering::Relaxed));
    assert!(n_judged.load(Ordering::Relaxed) > n_swaps, "there was load");
    assert_eq!(service.get("/readyz").at("/checks/rules"), "ok");
}
