//! Rules of an author who is not trusted, each made to take as long as it can, beside rules of files and a client who
//! has nothing to do with them. No rule of a file fails, no transaction is refused, and what the hostile rules may use
//! is bounded: they are refused, fail, or cost no more than the ceiling of their owner. No quarantine helps so soon.
//!
//! The latency of that client is compared with and without the hostile rules, in blocks that alternate. The full mode
//! needs a release build, which `TOLLGATE_BINARY` may name.

mod attacks;
mod bystander;

use std::env;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::bystander::Latencies;
use tollgate_tests::{Client, Home, Service, audit, process, proof, sample};

use attacks::{Attack, attacks};
use bystander::Block;

/// Batches that store the past.
const N_FILLING: usize = 4;
/// Memory for the history, in bytes.
const MEMORY_LIMIT: u64 = 256 << 20;
/// The longest that a save and a removal by another author take while the history is read for a rule.
const SAVE_PATIENCE: Duration = Duration::from_secs(1);
/// Answers to stored payments that are in memory at once.
const ANSWERS_AT_ONCE: usize = 1_000;
/// The longest that the history is read for a rule.
const FILL_PATIENCE: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Times that an attack is measured at most.
const N_TRIES: usize = 2;
/// Held by the test that measures: one at a time.
static MEASURING: Mutex<()> = Mutex::new(());
const REMOVAL_PATIENCE: Duration = Duration::from_millis(100);

/// The extent of a run.
struct Extent {
    /// Rules of files.
    n_good: usize,
    /// Stored payments; half of them are of the account that the hostile rules ask about.
    n_stored: usize,
    /// Pairs of blocks for each attack.
    n_pairs: usize,
}

const EXTENT: Extent = Extent { n_good: 30, n_stored: 4_000, n_pairs: 1 };
const EXTENT_FULL: Extent = Extent { n_good: 250, n_stored: 1_000_000, n_pairs: 3 };

fn extent() -> Extent {
    if proof::is_full() { EXTENT_FULL } else { EXTENT }
}

const UNTRUSTED: &str = r#"{ "grants": [
    { "source": "file" },
    { "source": "api", "profile": "untrusted" },
    { "source": "upload", "profile": "untrusted" }
] }"#;

fn home(policy: Option<&str>) -> Home {
    let good = (0..extent().n_good).map(|n| {
        let condition = format!(
            r#"amount > {} and count(when source == $current.source, "PT{}H") > {}"#,
            n % 7,
            1 + n % 24,
            100_000 + n
        );
        (format!("good_{n}.ws"), sample::rule(&format!("good_{n}"), &condition))
    });
    let mut home = Home::with_rules(&good.collect::<Vec<_>>());
    home.set("SERVICE_MEMORY_LIMIT", &MEMORY_LIMIT.to_string());
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
fn fill(service: &Service, n_stored: usize) {
    let n_each = n_stored / N_FILLING;
    thread::scope(|scope| {
        for filling in 0..N_FILLING {
            let client = service.client();
            scope.spawn(move || {
                let mut payments = (0..n_each).map(|n| {
                    let id = format!("past-{filling}-{n}");
                    let source = if n % 2 == 0 { "hub".to_owned() } else { format!("acc-{}", n % 5_000) };
                    let fields =
                        json!({"source": source, "amount": n % 1_000, "meta_data": {"card": format!("{n}")}});
                    sample::with(&sample::transaction(&id), &fields)
                });
                // Each answer names all rules that match, so few are kept at once.
                while payments.len() > 0 {
                    let answers = client.inject_all(payments.by_ref().take(ANSWERS_AT_ONCE));
                    assert!(answers.iter().all(|answer| answer["verdict"].is_string()));
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
        note_saved(&mut fate, &client.save_without_waiting(script));
    }
    if !attack.is_filling {
        let n_saved = fate.ids.len();
        fate.ids.retain(|id| comes_into_force(service, id));
        fate.n_refused += n_saved - fate.ids.len();
    }
    for module in &attack.modules {
        note_saved(&mut fate, &client.upload("", module));
    }
    fate
}

/// Waits until a rule judges, for which the history may have to be read. Returns `false` when that does not fit into memory, so
/// that the service removed the rule.
fn comes_into_force(service: &Service, id: &Value) -> bool {
    let begun = Instant::now();
    loop {
        let shown = service.get(&format!("/instructions/{id}"));
        if shown.status == 404 {
            return false;
        }
        if shown.expect(200)["status"] != "activating" {
            return true;
        }
        assert!(begun.elapsed() < FILL_PATIENCE, "rule {id} is not in force after {FILL_PATIENCE:?}");
        thread::sleep(LOOK_EVERY);
    }
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
        let shown = client.get(&path);
        if shown.status == 404 {
            // The service removed the rule, because its history did not fit into memory.
            fate.n_refused += 1;
            continue;
        }
        let shown = shown.expect(200);
        fate.n_quarantined += usize::from(shown["status"] == "quarantined");
        assert_eq!(client.delete(&path).status, 204);
    }
}

/// Saves and removes a rule of another author while the history is read for a rule.
fn save_meanwhile(service: &Service) {
    let client = service.client();
    let begun = Instant::now();
    let saved = client.upload("", &attacks::trivial_module()).expect(201);
    let save = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(client.delete(&format!("/instructions/{}", saved["id"])).status, 204);
    let removal = begun.elapsed();
    if proof::is_full() {
        assert!(save < SAVE_PATIENCE && removal < REMOVAL_PATIENCE, "{save:?} {removal:?}");
    }
}

/// Runs an attack and returns the latencies without and with it, and the fate of its rules.
fn run(service: &Service, attack: &Attack, n_pairs: usize, round: &str) -> (Latencies, Latencies, Fate) {
    let (mut without, mut with) = (Latencies::default(), Latencies::default());
    let mut fate = Fate::default();
    for pair in 0..n_pairs {
        let block = |name: &str| Block { service, attack, name: format!("{round}-{pair}-{name}") };
        without.extend(block("without").run());
        let mut saved = save(service, attack);
        with.extend(thread::scope(|scope| {
            let other_author = attack.is_filling.then(|| scope.spawn(|| save_meanwhile(service)));
            let seen = block("with").run();
            other_author.into_iter().for_each(|author| author.join().unwrap());
            seen
        }));
        remove(&service.client(), &mut saved);
        fate.n_saved += saved.n_saved;
        fate.n_refused += saved.n_refused;
        fate.n_quarantined += saved.n_quarantined;
    }
    (without, with, fate)
}

/// Runs the attacks, alone and all at once; every fourth one in the sample mode. `judge` returns what is wrong.
fn check(policy: Option<&str>, judge: fn(&Latencies, &Latencies) -> Vec<String>) {
    let all: Vec<Attack> = attacks().into_iter().step_by(proof::rounds(4, 1)).collect();
    let _measuring = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let home = home(policy);
    let service = Service::start(&home);
    let (empty_kib, _) = process::resident_kib(service.pid());
    let Extent { n_stored, n_pairs, .. } = extent();
    fill(&service, n_stored);
    let together = Attack {
        name: "all at once",
        is_filling: true,
        scripts: all.iter().flat_map(|attack| attack.scripts.iter().take(16).cloned()).collect(),
        modules: all.iter().flat_map(|attack| attack.modules.iter().take(16).cloned()).collect(),
        sends: attacks::long_descriptions,
    };
    let mut wrong = Vec::new();
    println!("{:<52} without: {header} | with: {header} | rules", "attack", header = Latencies::HEADER);
    for (n, attack) in all.iter().chain([&together]).enumerate() {
        let faults = (0..N_TRIES).find_map(|attempt| {
            let (without, with, fate) = run(&service, attack, n_pairs, &format!("r{n}-{attempt}"));
            println!("{:<52} {} | {} | {fate}", attack.name, without.shown(), with.shown());
            assert!(fate.n_saved > 0 || fate.n_refused > 0);
            let faults = judge(&with, &without);
            // Once more: somebody else may have used the machine.
            (faults.is_empty() || attempt + 1 == N_TRIES).then_some(faults)
        });
        wrong.extend(faults.into_iter().flatten().map(|fault| format!("{}: {fault}", attack.name)));
        let (_, most_kib) = process::resident_kib(service.pid());
        if most_kib > (MEMORY_LIMIT + MEMORY_LIMIT / 4) / 1024 + empty_kib {
            wrong.push(format!("{}: the process takes {most_kib} KiB", attack.name));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    service.stop();
    // Many more transactions would take minutes.
    if policy.is_none() && !proof::is_full() {
        audit::replay(&home).all_follow();
    }
}

#[test]
fn hostile_rules_take_nothing_from_others() {
    check(Some(UNTRUSTED), bystander::faults);
}

#[test]
fn hostile_rules_of_a_trusted_author_are_bounded_too() {
    check(None, |with, _| with.faults_of_service());
}

impl std::fmt::Display for Fate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} saved, {} refused, {} quarantined", self.n_saved, self.n_refused, self.n_quarantined)
    }
}
