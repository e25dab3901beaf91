//! The tunnel to a real dashboard: messages arrive, and evaluation never waits for it.

mod bad_peers;
mod trust;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::links::{BLOCK_ALL, Dashboard, Manner, link_status, metric};
use tollgate_tests::{Home, Service, log, sample};

const TOKEN: &str = "canary-tunnel-token";

/// A home that blocks every transaction and alerts this dashboard, with short reconnect intervals.
fn home(url: &str) -> Home {
    let mut home = Home::with_rules(&[("all.ws", BLOCK_ALL)]);
    for (name, value) in [
        ("TUNNEL_URL", url),
        ("TUNNEL_TOKEN", TOKEN),
        ("TUNNEL_RECONNECT_MIN", "10ms"),
        ("TUNNEL_RECONNECT_MAX", "80ms"),
    ] {
        home.set(name, value);
    }
    home
}

#[track_caller]
fn block(service: &Service, id: &str) -> Value {
    let answer = service.inject(&sample::transaction(id)).expect(200);
    assert_eq!(answer["verdict"], "block");
    answer
}

/// Blocks a transaction while there is no connection, and waits until the lost notification is counted. The verdict
/// does not wait for the notification, which might otherwise use the next connection.
#[track_caller]
fn block_unheard(service: &Service, id: &str) {
    let n_before = notifications(service, "down");
    block(service, id);
    service.until("it is not sent", || notifications(service, "down") > n_before);
}

fn until_up(service: &Service) {
    service.until("the tunnel is up", || link_status(service, "tunnel") == "ok");
}

fn until_down(service: &Service, why: &str) {
    service.until("the tunnel is down", || {
        let link_status = link_status(service, "tunnel");
        link_status.starts_with("down") && link_status.contains(why)
    });
}

fn notifications(service: &Service, result: &str) -> u64 {
    metric(service, &format!("tollgate_tunnel_notifications_total{{result=\"{result}\"}}"))
}

#[test]
fn the_dashboard_hears_of_every_verdict_that_is_an_alert_and_of_no_other() {
    let dashboard = Dashboard::start(Manner::Fine);
    let mut home = home(&dashboard.url());
    home.write_rule("all.ws", sample::rule("large", "amount >= 100"));
    home.write_rule("risky.ws", r#"rule risky { when amount == 7 then approve score 0.6 reason "seven" }"#);
    home.set("ALERT_RISK_THRESHOLD", "0.6");
    let service = Service::start(&home);
    until_up(&service);
    let sent = json!({"amount": 100.10, "source": "s", "created_at": "2026-01-02T03:04:05Z"});
    let answer = service.inject(&sample::with(&sample::transaction("t1"), &sent));
    assert_eq!(service.inject(&sample::transaction("t2")).expect(200)["verdict"], "approve");
    let seven = sample::with(&sample::transaction("t3"), &json!({"amount": 7}));
    assert_eq!(service.inject(&seven).expect(200)["verdict"], "approve");
    // A repeated transaction already has its verdict.
    assert_eq!(service.inject(&seven).status, 200);
    let received = dashboard.wait_for("t3").unwrap();
    assert_eq!((&received["verdict"], &received["risk_level"]), (&json!("approve"), &json!("high")));
    assert_eq!(dashboard.received_ids(), ["t1", "t3"]);

    let answer = answer.expect(200);
    let expected = json!({
        "type": "anomaly", "transaction_id": "t1", "verdict": "block", "score": 0.9, "risk_level": "critical",
        "reason": "large matched", "triggered_rules": answer["triggered"], "amount": 100.10, "currency": "EUR",
        "source": "s", "reference": "t1", "created_at": "2026-01-02T03:04:05Z",
        "timestamp": answer["evaluated_at"],
    });
    assert_eq!(dashboard.wait_for("t1").unwrap(), expected);
    assert_eq!(dashboard.authorizations(), [format!("Bearer {TOKEN}")]);
    // The dashboard may receive a message before the service counts it.
    service.until("both are counted", || notifications(&service, "sent") >= 2);
    assert_eq!((notifications(&service, "sent"), metric(&service, "tollgate_tunnel_up")), (2, 1));
}

#[test]
fn through_200_flaps_exactly_the_notifications_of_the_connected_times_arrive() {
    const N_FLAPS: usize = 200;
    let dashboard = Dashboard::start(Manner::Fine);
    let service = Service::start(&home(&dashboard.url()));
    let mut gaps = Vec::new();
    for flap in 0..N_FLAPS {
        let begun = Instant::now();
        dashboard.set_manner(Manner::Fine);
        assert!(dashboard.wait_for_connections(flap + 1));
        until_up(&service);
        gaps.push(begun.elapsed());
        block(&service, &format!("up-{flap}"));
        assert!(dashboard.wait_for(&format!("up-{flap}")).is_some(), "flap {flap}");
        dashboard.set_manner(Manner::Down);
        dashboard.hang_up();
        until_down(&service, "");
        block_unheard(&service, &format!("down-{flap}"));
    }
    let expected: Vec<String> = (0..N_FLAPS).map(|flap| format!("up-{flap}")).collect();
    assert_eq!(dashboard.received_ids(), expected, "those of the connected times, in order, and no other");
    let counted = ["sent", "down", "lost", "full"].map(|result| notifications(&service, result));
    assert_eq!(counted, [N_FLAPS as u64, N_FLAPS as u64, 0, 0]);

    gaps.sort();
    println!(
        "{N_FLAPS} flaps: {} notifications arrived, {} were counted and logged; back after {:?} (median), {:?} (longest)",
        expected.len(),
        counted[1],
        gaps[N_FLAPS / 2],
        gaps[N_FLAPS - 1]
    );
    check_waits(&service, 10, 80);
    let (_, lines) = service.stop();
    let logged = lines.iter().filter(|line| log::message(line) == "a notification was not sent");
    assert_eq!(logged.filter(|line| line.contains("\"block\"")).count(), N_FLAPS);
}

/// Checks that every logged wait is below its ceiling, and that the ceiling doubles from `min` to `max`, in ms.
fn check_waits(service: &Service, min: u64, max: u64) {
    let lines = service.log().lines();
    let waits: Vec<[u64; 3]> = lines
        .iter()
        .filter(|line| log::message(line) == "the tunnel is down")
        .map(|line| {
            let fields = log::fields(line).unwrap();
            ["attempt", "ceiling_ms", "wait_ms"].map(|name| {
                // 128-bit numbers are logged as text.
                let number = &fields[name];
                number.as_u64().or_else(|| number.as_str()?.parse().ok()).unwrap()
            })
        })
        .collect();
    for [attempt, ceiling, wait] in &waits {
        let expected = min.saturating_mul(1 << (attempt - 1).min(20)).min(max);
        assert_eq!(*ceiling, expected, "attempt {attempt}");
        assert!(wait <= ceiling, "attempt {attempt} waits {wait} ms of {ceiling}");
    }
    let at_ceiling: Vec<u64> = waits.iter().filter(|wait| wait[1] == max).map(|wait| wait[2]).collect();
    let mean = at_ceiling.iter().sum::<u64>() as f64 / at_ceiling.len() as f64;
    println!("{} waits, all below their ceilings; {mean:.1} ms on average of {max}", waits.len());
    let expected = max as f64 / 2.0;
    assert!(at_ceiling.len() < 100 || (expected * 0.7..expected * 1.3).contains(&mean), "{mean}");
}

#[test]
fn a_service_without_a_dashboard_says_nothing_of_one() {
    let service = Service::start(&Home::with_rules(&[("all.ws", BLOCK_ALL)]));
    block(&service, "t");
    assert_eq!(link_status(&service, "tunnel"), "");
    assert_eq!(notifications(&service, "down"), 0);
}

#[test]
fn a_dashboard_that_appears_late_is_found_within_the_longest_wait() {
    /// A margin for the maximum wait of 80 ms; the default settings wait longer.
    const ON_A_BUSY_MACHINE: Duration = Duration::from_secs(5);
    let dashboard = Dashboard::start(Manner::Down);
    let service = Service::start(&home(&dashboard.url()));
    until_down(&service, "");
    block_unheard(&service, "before");
    dashboard.set_manner(Manner::Fine);
    let waited = service.until("it is up", || link_status(&service, "tunnel") == "ok");
    println!("up {waited:?} after the dashboard was there");
    assert!(waited < ON_A_BUSY_MACHINE, "{waited:?}");
    block(&service, "after");
    assert!(dashboard.wait_for("after").is_some());
    assert_eq!(dashboard.received_ids(), ["after"]);
    let attempts = dashboard.attempts();
    for pair in attempts.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap < ON_A_BUSY_MACHINE, "{gap:?} between two attempts");
    }
}
