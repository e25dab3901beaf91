//! Concurrent injects and status updates: every verdict equals that of a sequential replay in the order of the logged
//! sequence numbers.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, log, proof, sample};

const N_CLIENTS: usize = 6;
const N_PER_CLIENT: usize = 9;
/// Maximum number of transactions in a round, and number of rules. A response shows how many applied transactions its
/// own one saw.
const N_PER_ROUND: usize = N_CLIENTS * N_PER_CLIENT;

/// The event at a sequence number.
enum Step {
    Judged { id: String, n_seen: usize },
    Updated { target: u64, status: String },
}

#[test]
fn every_verdict_saw_exactly_the_updates_with_lower_numbers() {
    let rules: Vec<(String, String)> = (1..=N_PER_ROUND)
        .map(|k| {
            let filter = r#"source == $current.source and status == "applied""#;
            let rule = sample::rule(&format!("r{k}"), &format!(r#"count(when {filter}, "PT1H") >= {k}"#));
            (format!("r{k}.ws"), rule)
        })
        .collect();
    let mut home = Home::with_rules(&rules);
    home.set("SERVICE_LOG", "tollgate=debug");
    let service = Service::start(&home);
    let rounds = proof::rounds(4, 60);
    for round in 0..rounds {
        run(&service, round);
    }
    let (status, lines) = service.stop();
    assert!(status.success());
    check_replay(&steps(&lines), rounds);
}

/// Runs clients that inject, each followed by one that applies known transactions and voids one in three.
fn run(service: &Service, round: usize) {
    let transaction = |id: &str| {
        let fields = json!({"source": format!("s{round}"), "created_at": "2026-01-01T00:00:00Z"});
        sample::with(&sample::transaction(id), &fields)
    };
    let inject = |client: &Client, number: usize, known: Sender<String>| {
        for turn in 0..N_PER_CLIENT {
            let id = format!("{round}/{number}/{turn}");
            let answer = client.inject(&transaction(&id));
            assert_eq!(answer.status, 200, "{}", answer.text());
            known.send(id).unwrap();
        }
    };
    let update = |client: &Client, known: Receiver<String>| {
        for (turn, id) in known.into_iter().enumerate() {
            let words: &[&str] = if turn.is_multiple_of(3) { &["applied", "void"] } else { &["applied"] };
            for word in words {
                let event = json!({"event": format!("transaction.{word}"), "data": transaction(&id)});
                let answer = client.post("/ledgerwebhook", &event);
                assert_eq!(answer.status, 200, "{}", answer.text());
            }
        }
    };
    thread::scope(|scope| {
        for number in 0..N_CLIENTS {
            let (knows, known) = channel();
            let (client, inject) = (service.client(), &inject);
            scope.spawn(move || inject(&client, number, knows));
            let (client, update) = (service.client(), &update);
            scope.spawn(move || update(&client, known));
        }
    });
}

/// Reads the steps from the log, by sequence number.
fn steps(lines: &[String]) -> BTreeMap<u64, Step> {
    let mut steps = BTreeMap::new();
    for fields in lines.iter().filter_map(|line| log::fields(line)) {
        let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
        let step = match fields["message"].as_str() {
            Some("transaction judged") => {
                let assessment: Value = serde_json::from_str(&text("assessment")).unwrap();
                let n_seen = assessment["triggered"].as_array().unwrap().len();
                Step::Judged { id: text("transaction.id"), n_seen }
            }
            Some("status updated") => Step::Updated {
                target: fields["transaction.sequence"].as_u64().unwrap(),
                status: text("status"),
            },
            _ => continue,
        };
        assert!(steps.insert(fields["sequence"].as_u64().unwrap(), step).is_none(), "a number given twice");
    }
    steps
}

#[track_caller]
fn check_replay(steps: &BTreeMap<u64, Step>, rounds: usize) {
    let mut sources: HashMap<u64, &str> = HashMap::new();
    let mut n_applied: HashMap<&str, usize> = HashMap::new();
    let (mut n_judged, mut n_updated, mut n_saw_some, mut deviations) = (0, 0, 0, Vec::new());
    for (sequence, step) in steps {
        match step {
            Step::Judged { id, n_seen } => {
                let source = id.split('/').next().unwrap();
                let expected = n_applied.get(source).copied().unwrap_or_default();
                if *n_seen != expected {
                    deviations.push((*sequence, *n_seen, expected));
                }
                sources.insert(*sequence, source);
                n_judged += 1;
                n_saw_some += usize::from(*n_seen > 0);
            }
            Step::Updated { target, status } => {
                let n_applied = n_applied.entry(sources[target]).or_default();
                match status.as_str() {
                    "applied" => *n_applied += 1,
                    _ => *n_applied -= 1,
                }
                n_updated += 1;
            }
        }
    }
    assert_eq!(deviations, [], "(number, seen, expected)");
    assert_eq!((n_judged, n_updated), (rounds * N_PER_ROUND, rounds * N_PER_ROUND * 4 / 3));
    assert!(n_saw_some > n_judged / 3, "only {n_saw_some} of {n_judged} saw an update");
    println!("{n_judged} verdicts among {n_updated} updates, {n_saw_some} saw some, 0 deviations");
}
