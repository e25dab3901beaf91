//! A restarted service evaluates the next transaction like one that was not restarted.
//!
//! The same probes are evaluated three times: by the loaded service, after SIGTERM and a restart, and after SIGKILL and
//! a restart. A probe changes the history, so each round is one microsecond earlier than the previous one and does not
//! see its probes. All other transactions lie on whole seconds, so no window edge passes one.

mod limits;
mod long_keys;
mod lost_store;
mod snapshots;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use tollgate_tests::{Answer, Home, Service, proof, sample};

const N_THREADS: usize = 32;
const N_SOURCES: usize = 400;
const N_PROBES: usize = 400;
/// Average interval between two transactions of the load, in seconds. A larger load lasts longer and is not denser.
const SPACING_SECONDS: usize = 30;

const RULES: [(&str, &str); 12] = [
    ("count_by_source", r#"count(when source == $current.source, "P1D") >= 9"#),
    (
        "count_by_pair",
        r#"count(when source == $current.source and destination == $current.destination, "P7D") > 1"#,
    ),
    ("count_of_failed", r#"count(when source == $current.source and status == "failed", "P7D") >= 12"#),
    ("count_by_card", r#"count(when meta_data.card == $current.meta_data.card, "P1D") >= 4"#),
    ("sum_by_source", r#"sum(amount when source == $current.source, "P1D") > 480.25"#),
    ("sum_of_large", r#"sum(amount when source == $current.source and amount > 90, "P7D") > 500"#),
    ("average", r#"avg(amount when destination == $current.destination, "P7D") > 50"#),
    ("largest", r#"max(amount when source == $current.source, "PT24H") > 97"#),
    ("smallest", r#"min(amount when source == $current.source, "PT24H") < 3"#),
    ("spread", r#"stddev(amount when source == $current.source, "P7D") > 29"#),
    ("destinations", r#"distinct(destination when source == $current.source, "P3D") >= 14"#),
    (
        "seen_before",
        r#"previous_transaction(within: "PT12H", match: { source: "$current.source", destination: "$current.destination" })"#,
    ),
];

#[test]
fn a_restart_changes_no_verdict() {
    let n_stored = proof::rounds(20_000, 100_000);
    let rules: Vec<(String, String)> =
        RULES.iter().map(|(name, condition)| (format!("{name}.ws"), sample::rule(name, condition))).collect();
    let home = Home::with_rules(&rules);

    let service = Service::start(&home);
    let started = Instant::now();
    load(&service, n_stored);
    let took = started.elapsed();
    let before = judge(&service, n_stored, 0);
    let (status, _) = service.stop();
    assert_eq!(status.code(), Some(0));

    let started = Instant::now();
    let service = Service::start(&home);
    let restart_took = started.elapsed();
    // Everything is restored from the snapshot of the stop; after the kill, all but the last probes.
    snapshots::check_restored(&service, n_stored + N_PROBES, 0);
    let after_stop = judge(&service, n_stored, 1);
    service.kill();

    let service = Service::start(&home);
    snapshots::check_restored(&service, n_stored + N_PROBES, N_PROBES);
    let after_kill = judge(&service, n_stored, 2);

    check_equal(&before, &after_stop, "after a stop");
    check_equal(&before, &after_kill, "after a kill");
    check_sharp(&before);
    println!(
        "{n_stored} stored in {took:?}, ready again in {restart_took:?}, {N_PROBES} probes judged alike"
    );
}

/// Sends from many clients; each transaction has a fixed event time.
fn load(service: &Service, n_stored: usize) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..N_THREADS {
            scope.spawn(|| {
                let client = service.client();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= n_stored {
                        break;
                    }
                    let answer = client.inject(&transaction(n, n_stored));
                    assert_eq!(answer.status, 200, "{}", answer.text());
                }
            });
        }
    });
}

/// Returns the nth transaction: out of order in time, and unevenly distributed over sources and destinations.
fn transaction(n: usize, n_stored: usize) -> Value {
    let mixed = mix(n);
    let statuses = ["applied", "applied", "pending", "failed"];
    // The square makes the first sources frequent and the last ones rare.
    let draw = mixed % 1_000;
    let source = draw * draw * N_SOURCES / 1_000_000;
    let second = (n * SPACING_SECONDS + mixed % 600) % (n_stored * SPACING_SECONDS);
    sample::with(
        &sample::transaction(&format!("load-{n}")),
        &json!({
            "source": format!("source-{source}"),
            "destination": format!("destination-{}", mixed / 7 % 40),
            "amount": (mixed / 11 % 10_000) as f64 / 100.0,
            "status": statuses[mixed / 13 % 4],
            "created_at": text(start() + TimeDelta::seconds(second as i64)),
            "meta_data": {"card": format!("card-{}", mixed / 17 % 900)},
        }),
    )
}

fn judge(service: &Service, n_stored: usize, round: i64) -> Vec<Answer> {
    let end = start() + TimeDelta::seconds((n_stored * SPACING_SECONDS) as i64);
    let at = end + TimeDelta::milliseconds(500);
    let at = text(at - TimeDelta::microseconds(round));
    let probe = |n: usize| {
        let mixed = mix(n);
        let fields = json!({
            "source": format!("source-{}", n * N_SOURCES / N_PROBES),
            "destination": format!("destination-{}", mixed % 40),
            "amount": (mixed % 5_000) as f64 / 100.0,
            "created_at": at,
            "meta_data": {"card": format!("card-{}", mixed % 900)},
        });
        sample::with(&sample::transaction(&format!("probe-{round}-{n}")), &fields)
    };
    (0..N_PROBES).map(|n| service.inject(&probe(n))).collect()
}

#[track_caller]
fn check_equal(before: &[Answer], after: &[Answer], when: &str) {
    let judgement = |answer: &Answer| {
        let body = answer.expect(200);
        ["verdict", "score", "reason", "triggered", "failures"].map(|name| body[name].clone())
    };
    for (n, (before, after)) in before.iter().zip(after).enumerate() {
        assert_eq!(judgement(before), judgement(after), "probe {n}, {when}");
    }
}

/// Checks that every rule matches some probes and not others; otherwise their agreement would prove little.
#[track_caller]
fn check_sharp(answers: &[Answer]) {
    let mut matches: BTreeMap<String, usize> = BTreeMap::new();
    for name in answers.iter().flat_map(Answer::triggered) {
        *matches.entry(name).or_default() += 1;
    }
    println!("{matches:?}");
    for (name, _) in RULES {
        let n_matched = matches.get(name).copied().unwrap_or_default();
        assert!((1..N_PROBES).contains(&n_matched), "{name} matched {n_matched} of {N_PROBES} probes");
    }
}

fn start() -> DateTime<Utc> {
    "2026-03-01T00:00:00Z".parse().unwrap()
}

fn text(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Distributes numbers evenly and deterministically.
fn mix(n: usize) -> usize {
    let mut x = (n as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 8) as usize
}
