//! The content of a history: from before a rule, from before a restart, and spilled from memory.

use std::num::NonZeroUsize;
use std::{fs, panic, thread};

use serde_json::{Value, json};
use tollgate_tests::links::metric;
use tollgate_tests::{Answer, Client, Home, Service, sample};

use crate::seeded_bugs::Build;

/// Number of damaged positions of a snapshot.
const N_DAMAGES: usize = 12;
/// Number of sources, whose rows exceed memory, and the size of a row.
const N_SOURCES: usize = 360;
/// More rows than recently read pages that are cached.
const N_BUSY: usize = 8;
const TEXT_BYTES: usize = 4_000;
const N_CLIENTS: usize = 4;

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

/// Injects this many transactions of a source.
fn inject(service: &Service, source: &str, life: &str, n: usize) {
    for turn in 0..n {
        let answer = service.inject(&of_source(source, &format!("{source}-{life}-{turn}")));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

fn probe(service: &Service, source: &str, name: &str) -> Answer {
    service.inject(&of_source(source, &format!("probe-{name}")))
}

/// A home that writes snapshots only at the stop.
fn home(build: &Build, rules: &[(String, String)]) -> Home {
    let mut home = build.at(Home::with_rules(rules));
    home.set("SERVICE_SNAPSHOT_INTERVAL", "0");
    home
}

pub(crate) fn new_rules(build: &Build) {
    let service = Service::start(&build.at(Home::new()));
    // At least one evaluator has the previous rules loaded.
    inject(&service, "a", "first", 6);
    for n in [6, 7] {
        assert_eq!(service.save(&at_least("of_all", n).1).status, 201);
    }
    assert_eq!(probe(&service, "a", "a").triggered(), ["at_least_6_of_all"], "what a new rule knows");
    // Gives every evaluator a turn.
    for turn in 0..thread::available_parallelism().map_or(1, NonZeroUsize::get) {
        let triggered = probe(&service, "a", &turn.to_string()).triggered();
        assert_eq!(triggered, ["at_least_6_of_all", "at_least_7_of_all"], "what a new rule knows");
    }
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
    fs::remove_file(home.data().join("tollgate.mark")).unwrap();
    live("b", "third", 20);
    fs::copy(home.at("snapshot"), &snapshot).unwrap();
    let service = Service::start(&home);
    let triggered = probe(&service, "a", "a").triggered();
    assert_eq!(triggered, ["at_least_3_of_all"], "with the snapshot of another past");
}

fn damaged(build: &Build) {
    let sum = r#"sum(amount when source == $current.source, "PT1H")"#;
    // 100.00 to 100.39, which sum to 4,007.80.
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
        let offset = snapshot.len() * (n + 1) / (N_DAMAGES + 2);
        snapshot[offset] ^= 4;
        files.iter().zip(content).for_each(|(file, content)| fs::write(file, content).unwrap());
        let service = Service::start(&home);
        let triggered = probe(&service, "a", "a").triggered();
        assert_eq!(triggered, ["right"], "with a snapshot that is damaged at {offset}");
        service.kill();
        for name in ["tollgate.db-wal", "tollgate.mark"] {
            fs::remove_file(home.data().join(name)).ok();
        }
    }
}

/// Many keys whose rows exceed memory: no row is attributed to another key.
pub(crate) fn little_memory(build: &Build) {
    let of_source = |more: &str| format!(r#"count(when source == $current.source and {more}, "PT1H")"#);
    let other_text = of_source("meta_data.text != $current.meta_data.text");
    let other_owner = of_source("meta_data.owner != $current.meta_data.owner");
    let rules = [
        ("one", format!("{other_text} >= 1")),
        ("two", format!("{other_text} >= 2")),
        ("strange", format!("{other_owner} >= 1")),
    ];
    let rules = rules.map(|(name, when)| (format!("{name}.ws"), sample::rule(name, &when)));
    let mut home = build.at(Home::with_rules(&rules));
    home.set("SERVICE_MEMORY_LIMIT", "1MiB");
    let service = Service::start(&home);
    in_parallel(&service, |client, source| {
        for turn in 0..n_of(source) {
            let answer = client.inject(&large(source, &format!("{source}-{turn}")));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    });
    assert!(metric(&service, "tollgate_history_spilled_bytes") > 0, "everything fits into memory");
    in_parallel(&service, |client, source| {
        let probe = client.inject(&large(source, &format!("probe-{source}")));
        let expected = if n_of(source) > 1 { &["one", "two"][..] } else { &["one"] };
        assert_eq!(probe.triggered(), expected, "with little memory, of source {source}: {}", probe.text());
    });
}

/// Returns the number of rows of a source; frequent sources fill a page.
const fn n_of(source: usize) -> usize {
    if source < N_BUSY { 130 } else { 1 + source % 2 }
}

fn large(source: usize, id: &str) -> Value {
    // Small pages that were read recently stay cached.
    let n_bytes = if source < N_BUSY { 40 } else { TEXT_BYTES };
    let meta_data = json!({"owner": source.to_string(), "text": format!("{id}/").repeat(n_bytes / 8)});
    let transaction = of_source(&format!("source-{source}"), id);
    sample::with(&transaction, &json!({ "meta_data": meta_data }))
}

/// Runs `act` for every source on several clients and propagates panics.
fn in_parallel(service: &Service, act: impl Fn(&Client, usize) + Sync) {
    thread::scope(|scope| {
        let of_client = |first: usize| {
            let (client, act) = (service.client(), &act);
            scope.spawn(move || (first..N_SOURCES).step_by(N_CLIENTS).for_each(|source| act(&client, source)))
        };
        let threads: Vec<_> = (0..N_CLIENTS).map(of_client).collect();
        for thread in threads {
            thread.join().unwrap_or_else(|found| panic::resume_unwind(found));
        }
    });
}
