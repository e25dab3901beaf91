//! Concurrent transactions: each sees exactly those accepted before it.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, audit, client, sample};

use crate::seeded_bugs::Build;

const N_PARALLEL: usize = 16;
const N_ROUNDS: usize = 300;
const N_ROUNDS_OF_UPDATES: usize = 60;
/// Number of clients that inject, each followed by one that updates the status.
const N_PAIRS: usize = 4;
const N_PER_PAIR: usize = 25;

/// Returns a rule for every count, so that a response shows how many transactions its own one saw.
fn counting(filter: &str, n_rules: usize) -> Vec<(String, String)> {
    let rule = |n| {
        let name = format!("at_least_{n}");
        let script = sample::rule(&name, &format!(r#"count(when {filter}, "PT1H") >= {n}"#));
        (format!("{name}.ws"), script)
    };
    (1..=n_rules).map(rule).collect()
}

fn of_source(id: &str, source: &str) -> Value {
    sample::with(&sample::transaction(id), &json!({"source": source, "created_at": "2026-01-01T00:00:00Z"}))
}

pub(crate) fn parallel(build: &Build) {
    let rules = counting("source == $current.source", N_PARALLEL);
    let service = Service::start(&build.at(Home::with_rules(&rules)));
    let clients: Vec<Client> = (0..N_PARALLEL).map(|_| service.client()).collect();
    for round in 0..N_ROUNDS {
        let (source, alone) = (format!("source-{round}"), format!("alone-{round}"));
        let answers = client::at_once(&clients, |i| of_source(&format!("r{round}-{i}"), &source));
        let mut seen: Vec<usize> = answers.iter().map(|answer| answer.triggered().len()).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..N_PARALLEL).collect::<Vec<_>>(), "in round {round} they saw so many");

        let answers = client::at_once(&clients, |_| of_source(&alone, &alone));
        let bodies: BTreeSet<String> = answers.iter().map(|answer| answer.text()).collect();
        assert_eq!(bodies.len(), 1, "answers to one transaction sent at once differ: {bodies:?}");
        let probe = service.inject(&of_source(&format!("probe-{round}"), &alone));
        assert_eq!(probe.triggered(), ["at_least_1"], "one record, counted once");
    }
}

pub(crate) fn updates(build: &Build) {
    // The filter scans each row, which lengthens the time between the sequence number and the response.
    let filter = r#"source == $current.source and status == "applied" and amount <= $current.amount"#;
    let rules = counting(filter, 60);
    let home = build.at(Home::with_rules(&rules));
    let service = Service::start(&home);
    for round in 0..N_ROUNDS_OF_UPDATES {
        run(&service, round);
    }
    assert_eq!(service.stop().0.code(), Some(0));
    // Replayed by the build without bugs.
    let replayed = audit::replay_in(&Home::new(), &home.data());
    replayed.all_follow();
}

fn run(service: &Service, round: usize) {
    let source = format!("source-{round}");
    thread::scope(|scope| {
        for pair in 0..N_PAIRS {
            let (knows, known) = channel::<String>();
            let (injecting, updating, source) = (service.client(), service.client(), &source);
            scope.spawn(move || {
                for turn in 0..N_PER_PAIR {
                    let id = format!("{round}/{pair}/{turn}");
                    assert_eq!(injecting.inject(&of_source(&id, source)).status, 200);
                    knows.send(id).unwrap();
                }
            });
            scope.spawn(move || {
                for id in known {
                    let event = json!({"event": "transaction.applied", "data": of_source(&id, source)});
                    assert_eq!(updating.post("/ledgerwebhook", &event).status, 200);
                }
            });
        }
    });
}
