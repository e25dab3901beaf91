//! Attacks of authors and clients who are not trusted. Each is compared with a harmless author or client who sends as many
//! requests of the same size, in blocks that alternate. Somebody who has nothing to do with either is served as fast, and the
//! service takes no more memory.
//!
//! The full mode needs a release build, which `TOLLGATE_BINARY` may name.

mod authors;
mod clients;

use std::env;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tollgate_tests::bystander::{Bystander, Latencies};
use tollgate_tests::{Answer, Client, Home, Service, process, proof, sample};

/// Payments a second of the bystander, and its connections.
const RATE: u32 = 50;
const N_CONNECTIONS: u32 = 2;
/// How much its p99 may grow besides doubling, on a machine that does nothing else.
const SLACK: Duration = Duration::from_millis(2);
/// Memory that the process may take in an attack beyond that beside the harmless one, in KiB.
const GROWTH_KIB_MAX: u64 = 150 * 1024;
/// Connections on which rules are saved.
const N_SAVERS: usize = 8;
/// Times that an attack is measured at most.
const N_TRIES: usize = 2;

const UNTRUSTED: &str = r#"{ "grants": [
    { "source": "file" },
    { "source": "api", "profile": "untrusted", "set_lists": ["*"] },
    { "source": "upload", "profile": "untrusted" }
] }"#;

/// Which of the two is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Harmless,
    Hostile,
}

/// Scripts and modules that an author saves at the beginning of a block, and removes at its end.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) scripts: Vec<String>,
    pub(crate) modules: Vec<Vec<u8>>,
}

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Settings and files of the service, besides those of every attack.
    pub(crate) configure: fn(&mut Home),
    /// Makes what both sides find.
    pub(crate) prepare: fn(&Client),
    pub(crate) rules: fn(Side) -> Rules,
    /// Clients that act at the same time.
    pub(crate) n_clients: usize,
    pub(crate) act: fn(&Actor<'_>),
    /// Returns what is wrong in the end.
    pub(crate) judge: fn(&Client) -> Vec<String>,
}

/// One of the clients of a block.
pub(crate) struct Actor<'s> {
    pub(crate) service: &'s Service,
    pub(crate) side: Side,
    /// Prefix of ids, which is different for every client of every block.
    pub(crate) name: String,
    pub(crate) number: usize,
    is_over: &'s AtomicBool,
}

impl Actor<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Calls the function with 0, 1, 2 … until the block is over, so many times a second.
    pub(crate) fn each(&self, per_second: u32, mut act: impl FnMut(usize)) {
        for n in 0.. {
            if self.is_over() {
                break;
            }
            let next = Instant::now() + Duration::from_secs(1) / per_second;
            act(n);
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }

    /// Sends payments with these fields, so many a second.
    pub(crate) fn pay(&self, per_second: u32, fields: impl Fn(usize) -> Value) {
        let client = self.service.client();
        self.each(per_second, |n| {
            let id = format!("{}-{n}", self.name);
            let answer = client.inject(&sample::with(&sample::transaction(&id), &fields(n)));
            assert_eq!(answer.status, 200, "{}", answer.text());
        });
    }
}

fn home(attack: &Attack, policy: Option<&str>) -> Home {
    let good = (0..50).map(|n| {
        let condition = format!(
            r#"amount > {} and count(when source == $current.source, "PT{}H") > {}"#,
            n % 7,
            1 + n % 24,
            100_000 + n
        );
        (format!("good_{n}.ws"), sample::rule(&format!("good_{n}"), &condition))
    });
    let mut home = Home::with_rules(&good.collect::<Vec<_>>());
    home.set("LEDGER_KIND", "blnk");
    if let Some(policy) = policy {
        let path = home.at("policy.json");
        std::fs::write(&path, policy).unwrap();
        home.set("SERVICE_RULE_POLICY", path.to_str().unwrap());
    }
    (attack.configure)(&mut home);
    home
}

/// Saves the rules; some may be refused. Returns the ids of the others once they are in force.
fn save(service: &Service, rules: &Rules) -> Vec<Value> {
    let next = AtomicUsize::new(0);
    let saved = thread::scope(|scope| {
        let savers = (0..N_SAVERS).map(|_| scope.spawn(|| save_some(&service.client(), rules, &next)));
        let savers: Vec<_> = savers.collect();
        savers.into_iter().flat_map(|saver| saver.join().unwrap()).collect()
    });
    service.until("the rules are in force", || {
        let all = service.get("/instructions/summaries").json();
        all.as_array().unwrap().iter().all(|rule| rule["status"] != "activating")
    });
    saved
}

fn save_some(client: &Client, rules: &Rules, next: &AtomicUsize) -> Vec<Value> {
    let mut ids = Vec::new();
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let saved = match (rules.scripts.get(n), rules.modules.get(n.saturating_sub(rules.scripts.len()))) {
            (Some(script), _) => unless_too_often(|| client.save_without_waiting(script)),
            (None, Some(module)) => unless_too_often(|| client.upload("", module)),
            (None, None) => return ids,
        };
        assert!(saved.status < 500, "{}", saved.text());
        if saved.status == 201 {
            ids.push(saved.at("/id"));
        }
    }
}

/// Asks again while the service says that rules are saved too often.
fn unless_too_often(save: impl Fn() -> Answer) -> Answer {
    loop {
        let saved = save();
        if saved.status != 429 {
            return saved;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Measurements of one side.
#[derive(Debug, Default)]
struct Seen {
    latencies: Latencies,
    most_kib: u64,
    n_saved: usize,
}

impl Seen {
    fn note_block(&mut self, service: &Service, attack: &Attack, side: Side, name: &str) {
        let client = service.client();
        let rules = (attack.rules)(side);
        let ids = save(service, &rules);
        // Hostile rules may be refused for what they cost.
        let has_rules = rules.scripts.len() + rules.modules.len() > 0;
        assert!(side == Side::Hostile || !has_rules || !ids.is_empty(), "{}", attack.name);
        process::reset_peak(service.pid());
        let seconds = u32::try_from(proof::rounds(1, 4)).unwrap();
        let named = format!("{name}-neutral");
        let bystander =
            Bystander { service, name: &named, rate: RATE, n_connections: N_CONNECTIONS, seconds };
        let latencies = bystander.run(attack.n_clients, |number, is_over| {
            (attack.act)(&Actor { service, side, name: format!("{name}-{number}"), number, is_over });
        });
        self.latencies.extend(latencies);
        self.most_kib = self.most_kib.max(process::resident_kib(service.pid()).1);
        self.n_saved = ids.len();
        for id in &ids {
            assert_eq!(client.delete(&format!("/instructions/{id}")).status, 204);
        }
    }

    fn shown(&self) -> String {
        format!("{} {:5} MiB {:3} rules", self.latencies.shown(), self.most_kib / 1024, self.n_saved)
    }
}

/// Returns what is wrong beside the attack.
fn faults(attack: &Attack, policy: Option<&str>) -> Vec<String> {
    let home = home(attack, policy);
    let service = Service::start(&home);
    (attack.prepare)(&service.client());
    let (mut harmless, mut hostile) = (Seen::default(), Seen::default());
    for pair in 0..proof::rounds(1, 3) {
        harmless.note_block(&service, attack, Side::Harmless, &format!("{pair}-harmless"));
        hostile.note_block(&service, attack, Side::Hostile, &format!("{pair}-hostile"));
    }
    println!("{:<44} {:<9} | {} | {}", attack.name, named(policy), harmless.shown(), hostile.shown());
    let mut faults = hostile.latencies.faults_of_service();
    let (p99, allowed) = (hostile.latencies.quantile(0.99), 2 * harmless.latencies.quantile(0.99) + SLACK);
    // The sample mode runs beside other tests.
    faults.extend((proof::is_full() && p99 > allowed).then(|| format!("p99 is {p99:?} of {allowed:?}")));
    let growth = hostile.most_kib.saturating_sub(harmless.most_kib);
    faults
        .extend((growth > GROWTH_KIB_MAX).then(|| format!("{growth} KiB more than beside the harmless one")));
    faults.extend((attack.judge)(&service.client()));
    assert!(service.stop().0.success());
    faults
}

fn named(policy: Option<&str>) -> &'static str {
    if policy.is_some() { "untrusted" } else { "default" }
}

/// Runs attacks under both policies. In the CI mode, every fifth one runs.
fn check(attacks: &[Attack]) {
    println!(
        "{:<44} {:<9} | harmless: {header}, memory | hostile",
        "attack",
        "policy",
        header = Latencies::HEADER
    );
    let wanted = env::var("TOLLGATE_ATTACK").ok();
    let is_wanted = |attack: &&Attack| wanted.as_ref().is_none_or(|wanted| attack.name.contains(wanted));
    let mut wrong = Vec::new();
    for attack in attacks.iter().step_by(proof::rounds(5, 1)).filter(is_wanted) {
        for policy in [None, Some(UNTRUSTED)] {
            // Once more: somebody else may have used the machine.
            let faults = (0..N_TRIES).map(|_| faults(attack, policy)).find(Vec::is_empty);
            if faults.is_none() {
                wrong.push(format!("{} ({})", attack.name, named(policy)));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn hostile_authors_take_no_more_from_others_than_harmless_ones() {
    check(&authors::attacks());
}

#[test]
fn hostile_clients_take_no_more_from_others_than_harmless_ones() {
    check(&clients::attacks());
}
