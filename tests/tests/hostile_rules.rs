#![cfg(test)]
//! Rules of an author who is not trusted, each made to take as long as it can, beside rules of files and a client who
//! has nothing to do with them. No rule of a file fails, no transaction is refused, and what the hostile rules may use
//! is bounded: they fail, are quarantined, or cost little.
//!
//! The full mode stores 1,000,000 transactions, and compares the latency of that client with and without the hostile
//! rules, in blocks that alternate. `TOLLGATE_BINARY` names another program to serve, such as a release build.

#[path = "hostile_rules/attacks.rs"]
mod attacks;
#[path = "hostile_rules/bystander.rs"]
mod bystander;

use std::env;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, audit, proof, sample};

use attacks::{Attack, attacks};
use bystander::{Block, Latencies};

/// Rules of files, and clients that store the past.
const N_GOOD: usize = 50;
const N_GOOD_FULL: usize = 250;
const N_FILLING: usize = 16;
/// Payments of the account that the hostile rules ask about.
const N_STORED: usize = 24_000;
const N_STORED_FULL: usize = 1_000_000;
/// Pairs of blocks for each attack.
const N_PAIRS: usize = 1;
const N_PAIRS_FULL: usize = 3;

const UNTRUSTED: &str = r#"{ "grants": [
    { "source": "file" },
    { "source": "api", "profile": "untrusted" },
    { "source": "upload", "profile": "untrusted" }
] }"#;

fn home(policy: Option<&str>) -> Home {
    let good = (0..proof::rounds(N_GOOD, N_GOOD_FULL)).map(|n| {
        let condition = format!(
            r#"amount > {} and count(when source == $current.source, "PT{}H") > {}"#,
            n % 7,
            1 + n % 24,
            100_000 + n
        );
        (format!("good_{n}.ws"), sample::rule(&format!("good_{n}"), &condition))
    });
    let mut home = Home::with_rules(&good.collect::<Vec<_>>());
    if let Some(policy) = policy {
        let path = home.at("policy.json");
        std::fs::write(&path, policy).unwrap();
        home.set("SERVICE_RULE_POLICY", path.to_str().unwrap());
    }
    if let Ok(binary) = env::var("TOLLGATE_BINARY") {
        home.serve_by(Path::new(&binary));
    }
    home
}

/// Stores payments, every tenth with large metadata when `is_large`.
fn fill(service: &Service) {
    let n_each = proof::rounds(N_STORED, N_STORED_FULL) / N_FILLING;
    thread::scope(|scope| {
        for filling in 0..N_FILLING {
            let client = service.client();
            scope.spawn(move || {
                for n in 0..n_each {
                    let id = format!("past-{filling}-{n}");
                    let source = if n % 2 == 0 { "hub".to_owned() } else { format!("acc-{}", n % 5_000) };
                    let fields =
                        json!({"source": source, "amount": n % 1_000, "meta_data": {"card": format!("{n}")}});
                    assert_eq!(client.inject(&sample::with(&sample::transaction(&id), &fields)).status, 200);
                }
            });
        }
    });
    let client = service.client();
    for n in 0..200 {
        let order: Vec<String> = (0..60).map(|part| format!("{n}-{part}-{}", "x".repeat(900))).collect();
        let fields = json!({"source": "hub", "meta_data": {"o": order}});
        let sent = sample::with(&sample::transaction(&format!("large-{n}")), &fields);
        assert_eq!(client.inject(&sent).status, 200);
    }
}

/// Fate of the rules of an attack: how many were saved, refused and quarantined.
#[derive(Debug, Default)]
struct Fate {
    n_saved: usize,
    n_refused: usize,
    n_quarantined: usize,
    ids: Vec<Value>,
}

fn save(service: &Service, attack: &Attack) -> Fate {
    let mut fate = Fate::default();
    let client = service.client();
    for script in &attack.scripts {
        note_saved(&mut fate, &client.save(script));
    }
    for module in &attack.modules {
        note_saved(&mut fate, &client.upload("", module));
    }
    fate
}

fn note_saved(fate: &mut Fate, answer: &tollgate_tests::Answer) {
    if answer.status == 201 {
        fate.n_saved += 1;
        fate.ids.push(answer.json()["id"].clone());
    } else {
        assert!(answer.status < 500, "{}", answer.text());
        fate.n_refused += 1;
    }
}

fn remove(client: &Client, fate: &mut Fate) {
    for id in &fate.ids {
        let path = format!("/instructions/{id}");
        let shown = client.get(&path).expect(200);
        fate.n_quarantined += usize::from(shown["status"] == "quarantined");
        assert_eq!(client.delete(&path).status, 204);
    }
}

/// Runs an attack and returns the latencies without and with it, and the fate of its rules.
fn run(service: &Service, attack: &Attack, round: &str) -> (Latencies, Latencies, Fate) {
    let (mut without, mut with) = (Latencies::default(), Latencies::default());
    let mut fate = Fate::default();
    for pair in 0..proof::rounds(N_PAIRS, N_PAIRS_FULL) {
        let block = |name: &str| Block { service, attack, name: format!("{round}-{pair}-{name}") };
        without.extend(block("without").run());
        let mut saved = save(service, attack);
        with.extend(block("with").run());
        remove(&service.client(), &mut saved);
        fate.n_saved += saved.n_saved;
        fate.n_refused += saved.n_refused;
        fate.n_quarantined += saved.n_quarantined;
    }
    (without, with, fate)
}

/// Runs the attacks, alone and all at once. `judge` returns what is wrong.
fn check(policy: Option<&str>, all: &[Attack], judge: fn(&Latencies, &Latencies) -> Vec<String>) {
    let home = home(policy);
    let service = Service::start(&home);
    fill(&service);
    let together = Attack {
        name: "all at once",
        scripts: all.iter().flat_map(|attack| attack.scripts.iter().take(16).cloned()).collect(),
        modules: all.iter().flat_map(|attack| attack.modules.iter().take(16).cloned()).collect(),
        sends: attacks::long_descriptions,
    };
    let mut wrong = Vec::new();
    println!("{:<40} {}", "attack", Latencies::HEADER);
    for (n, attack) in all.iter().chain([&together]).enumerate() {
        let (without, with, fate) = run(&service, attack, &format!("r{n}"));
        println!("{:<40} {} | {} | {fate}", attack.name, without.shown(), with.shown());
        wrong.extend(judge(&with, &without).into_iter().map(|fault| format!("{}: {fault}", attack.name)));
        assert!(fate.n_saved > 0 || fate.n_refused > 0);
    }
    assert_eq!(wrong, Vec::<String>::new());
    service.stop();
    if env::var("TOLLGATE_BINARY").is_err() {
        audit::replay(&home).all_follow();
    }
}

#[test]
fn hostile_rules_take_nothing_from_others() {
    check(Some(UNTRUSTED), &attacks(), Latencies::faults);
}

#[test]
fn hostile_rules_of_a_trusted_author_are_bounded_too() {
    let attacks: Vec<Attack> = attacks().into_iter().step_by(proof::rounds(4, 1)).collect();
    check(None, &attacks, |with, _| with.faults_of_service());
}

impl std::fmt::Display for Fate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} saved, {} refused, {} quarantined", self.n_saved, self.n_refused, self.n_quarantined)
    }
}
