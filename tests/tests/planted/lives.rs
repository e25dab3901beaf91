//! What a history knows: of before a rule, of before a restart, of what had to leave memory.

use std::fs;
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::links::metric;
use tollgate_tests::{Answer, Home, Service, sample};

use crate::Build;

/// Places of a snapshot that are damaged, one after the other.
const N_DAMAGES: usize = 12;
/// Transactions of one source that do not fit into memory, and how many sources there are.
const N_LARGE: usize = 260;
const N_SOURCES: usize = 4;
/// Of what each of them holds.
const TEXT_BYTES: usize = 3_000;

fn of_source(source: &str, id: &str) -> Value {
    sample::with(&sample::transaction(id), &json!({"source": source, "created_at": "2026-01-01T00:00:00Z"}))
}

fn at_least(what: &str, n: usize) -> (String, String) {
    let name = format!("at_least_{n}_{what}");
    let filter = match what {
        "applied" => r#"source == $current.source and status == "applied""#,
        _ => "source == $current.source",
    };
    (format!("{name}.ws"), sample::rule(&name, &format!(r#"count(when {filter}, "PT1H") >= {n}"#)))
}

/// Injects so many of a source.
fn inject(service: &Service, source: &str, life: &str, n: usize) {
    for turn in 0..n {
        let answer = service.inject(&of_source(source, &format!("{source}-{life}-{turn}")));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

fn probe(service: &Service, source: &str, name: &str) -> Answer {
    service.inject(&of_source(source, &format!("probe-{name}")))
}

/// A home whose snapshots are written at the stop and at no other time.
fn home(build: &Build, rules: &[(String, String)]) -> Home {
    let mut home = build.at(Home::with_rules(rules));
    home.set("SERVICE_SNAPSHOT_INTERVAL", "0");
    home
}

pub(crate) fn new_rules(build: &Build) {
    let service = Service::start(&build.at(Home::new()));
    inject(&service, "a", "first", 6);
    for n in [6, 7] {
        assert_eq!(service.save(&at_least("of_all", n).1).status, 201);
    }
    assert_eq!(probe(&service, "a", "a").triggered(), ["at_least_6_of_all"], "what a new rule knows");
}

pub(crate) fn tails(build: &Build) {
    let home = home(
        build,
        &[("of_all", 10), ("of_all", 11), ("applied", 5), ("applied", 6)].map(|(what, n)| at_least(what, n)),
    );
    let service = Service::start(&home);
    inject(&service, "a", "first", 5);
    assert_eq!(service.stop().0.code(), Some(0));
    let service = Service::start(&home);
    inject(&service, "a", "second", 5);
    for turn in 0..5 {
        let data = of_source("a", &format!("a-first-{turn}"));
        let event = json!({"event": "transaction.applied", "data": data});
        assert_eq!(service.post("/ledgerwebhook", &event).status, 200);
    }
    service.kill();
    let service = Service::start(&home);
    let triggered = probe(&service, "a", "a").triggered();
    assert_eq!(triggered, ["at_least_10_of_all", "at_least_5_applied"], "triggered behind a snapshot");
}

pub(crate) fn snapshots(build: &Build) {
    another_past(build);
    damaged(build);
}

fn another_past(build: &Build) {
    let home = home(build, &[3, 4].map(|n| at_least("of_all", n)));
    let (database, snapshot) = (home.data().join("tollgate.db"), home.data().join("history.snapshot"));
    let live = |source: &str, life: &str, n: usize| {
        let service = Service::start(&home);
        inject(&service, source, life, n);
        assert_eq!(service.stop().0.code(), Some(0));
    };
    live("a", "first", 3);
    fs::copy(&database, home.at("database")).unwrap();
    live("a", "second", 10);
    fs::rename(&snapshot, home.at("snapshot")).unwrap();
    fs::copy(home.at("database"), &database).unwrap();
    live("b", "third", 20);
    fs::copy(home.at("snapshot"), &snapshot).unwrap();
    let service = Service::start(&home);
    let triggered = probe(&service, "a", "a").triggered();
    assert_eq!(triggered, ["at_least_3_of_all"], "with the snapshot of another past");
}

fn damaged(build: &Build) {
    let sum = r#"sum(amount when source == $current.source, "PT1H")"#;
    // 100.00 to 100.39, come to 4,007.80.
    let rules = [("right", format!("{sum} == 4007.8")), ("wrong", format!("{sum} != 4007.8"))];
    let home = home(build, &rules.map(|(name, when)| (format!("{name}.ws"), sample::rule(name, &when))));
    let service = Service::start(&home);
    for n in 0..40 {
        let transaction = of_source("a", &format!("t-{n}"));
        let amount = json!({"amount": 100.0 + f64::from(n) / 100.0});
        assert_eq!(service.inject(&sample::with(&transaction, &amount)).status, 200);
    }
    assert_eq!(service.stop().0.code(), Some(0));
    let files = ["tollgate.db", "history.snapshot"].map(|name| home.data().join(name));
    let whole = files.each_ref().map(|file| fs::read(file).unwrap());
    for n in 0..N_DAMAGES {
        let mut content = whole.clone();
        let snapshot = &mut content[1];
        let place = snapshot.len() * (n + 1) / (N_DAMAGES + 2);
        snapshot[place] ^= 4;
        files.iter().zip(content).for_each(|(file, content)| fs::write(file, content).unwrap());
        let service = Service::start(&home);
        let triggered = probe(&service, "a", "a").triggered();
        assert_eq!(triggered, ["right"], "with a snapshot that is damaged at {place}");
        service.kill();
        fs::remove_file(home.data().join("tollgate.db-wal")).ok();
    }
}

pub(crate) fn little_memory(build: &Build) {
    let filter = "source == $current.source and meta_data.kind != $current.meta_data.kind \
                  and meta_data.text != $current.meta_data.text";
    let half = N_LARGE / 2;
    let rules = [half, half + 1].map(|n| {
        let name = format!("at_least_{n}");
        (format!("{name}.ws"), sample::rule(&name, &format!(r#"count(when {filter}, "PT1H") >= {n}"#)))
    });
    let mut home = build.at(Home::with_rules(&rules));
    home.set("SERVICE_MEMORY_LIMIT", "1MiB");
    let service = Service::start(&home);
    let large = |source: usize, n: usize| {
        // The kinds of a source lie apart, so that one page has other ones than the next.
        let kind = if n < half { "early" } else { "late" };
        let text = format!("{source}/{n}/").repeat(TEXT_BYTES / 8);
        let meta_data = json!({"meta_data": {"kind": format!("{kind} {source}"), "text": text}});
        sample::with(&of_source(&format!("source-{source}"), &format!("{source}-{n}")), &meta_data)
    };
    thread::scope(|scope| {
        for source in 0..N_SOURCES {
            let (client, large) = (service.client(), &large);
            scope.spawn(move || {
                for n in 0..N_LARGE {
                    let answer = client.inject(&large(source, n));
                    assert_eq!(answer.status, 200, "{}", answer.text());
                }
            });
        }
    });
    assert!(metric(&service, "tollgate_history_spilled_bytes") > 0, "everything fits into memory");
    for source in 0..N_SOURCES {
        for kind in ["early", "late"] {
            let id = format!("probe-{source}-{kind}");
            let meta_data = json!({"meta_data": {"kind": format!("{kind} {source}"), "text": "another"}});
            let probe =
                service.inject(&sample::with(&of_source(&format!("source-{source}"), &id), &meta_data));
            assert_eq!(probe.triggered(), [format!("at_least_{half}")], "{id}: {}", probe.text());
        }
    }
}
