//! Random Blnk histories sent in any order: the sums of rules equal the amounts the accounts moved.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Client, Service, audit, proof, sample};

use crate::blnk::truth::{check_no_conflict, payments};
use crate::blnk::{Chance, home, ok, tell_entry};

/// Number of accounts in a history.
const ACCOUNTS: usize = 3;
/// Number of histories sent concurrently.
const TELLERS: usize = 4;

/// A ledger that creates entries as Blnk does and tracks the amount each account paid.
struct Ledger<'c> {
    chance: &'c mut Chance,
    history: usize,
    n_ids: usize,
    entries: Vec<Value>,
    /// Maps each copy to its queued entry, which callers may name instead.
    queued: BTreeMap<String, String>,
    /// Net amounts posted, in cents, minus refunds.
    paid: BTreeMap<usize, i64>,
}

/// A posted payment: the entry that a refund names, and its accounts.
struct Posted {
    entry: String,
    from: usize,
    to: usize,
    cents: i64,
}

impl Ledger<'_> {
    fn id(&mut self, of: &str) -> String {
        self.n_ids += 1;
        format!("{of}{:08x}-0000-4000-8000-{:012x}", self.history, self.n_ids)
    }

    fn account(&self, number: usize) -> String {
        format!("bln_{}_{number}", self.history)
    }

    /// Creates an entry that is reported when it is posted, held, rejected or released.
    fn entry(&mut self, fields: &Value, from: usize, to: usize, cents: i64) -> String {
        let id = self.id("txn_");
        let (source, destination) = (self.account(from), self.account(to));
        let entry = json!({
            "transaction_id": id, "parent_transaction": "", "reference": "", "currency": "EUR",
            "source": source, "destination": destination, "amount": cents as f64 / 100.0,
            "precise_amount": cents, "precision": 100, "created_at": chrono::Utc::now().to_rfc3339(),
            "scheduled_for": "0001-01-01T00:00:00Z", "meta_data": {},
        });
        self.entries.push(sample::with(&entry, fields));
        id
    }

    /// Creates the first reported entry of a payment, which may be the copy of a queued one.
    fn first(&mut self, status: &str, from: usize, to: usize, cents: i64) -> String {
        let reference = self.id("ref-of-caller-");
        if self.chance.below(2) == 0 {
            return self.entry(&json!({"reference": reference, "status": status}), from, to, cents);
        }
        let queued = self.id("txn_");
        let fields = json!({
            "reference": format!("{reference}_q"), "status": status, "parent_transaction": queued,
            "meta_data": {"QUEUED_PARENT_TRANSACTION": queued, "queue_lane": "normal"},
        });
        let copy = self.entry(&fields, from, to, cents);
        self.queued.insert(copy.clone(), queued);
        copy
    }

    /// Returns the id by which a caller names an entry.
    fn named(&mut self, entry: &str) -> String {
        let is_by_queued = self.chance.below(2) == 0;
        self.queued.get(entry).filter(|_| is_by_queued).map_or(entry, |queued| queued).to_owned()
    }

    fn settle(&mut self, hold: &str, status: &str, from: usize, to: usize, cents: i64) -> String {
        let hold = self.named(hold);
        let reference = match self.chance.below(2) {
            0 => self.id("ref_"),
            _ => format!("{hold}_{}_act_{cents}", if status == "VOID" { "void" } else { "commit" }),
        };
        let fields = json!({"reference": reference, "status": status, "parent_transaction": hold});
        self.entry(&fields, from, to, cents)
    }

    fn pay(&mut self, from: usize, cents: i64) {
        *self.paid.entry(from).or_default() += cents;
    }

    /// Performs one operation. Returns the payments that can be refunded.
    fn operate(&mut self) -> Vec<Posted> {
        let from = self.chance.below(ACCOUNTS);
        let to = (from + 1 + self.chance.below(ACCOUNTS - 1)) % ACCOUNTS;
        let cents = 2 + i64::try_from(self.chance.below(100_000)).unwrap();
        match self.chance.below(6) {
            0 => {
                self.first("REJECTED", from, to, cents);
                Vec::new()
            }
            1 | 2 => {
                let entry = self.first("APPLIED", from, to, cents);
                self.pay(from, cents);
                vec![Posted { entry, from, to, cents }]
            }
            3 => self.split(from, to, cents),
            _ => {
                let hold = self.first("INFLIGHT", from, to, cents);
                self.end_of_hold(&hold, from, to, cents)
            }
        }
    }

    /// Creates two legs whose parent is never reported.
    fn split(&mut self, from: usize, to: usize, cents: i64) -> Vec<Posted> {
        let (parent, reference) = (self.id("txn_"), self.id("split-"));
        let legs = [cents / 2, cents - cents / 2].into_iter().filter(|leg| *leg > 0).enumerate();
        let mut posted = Vec::new();
        for (n, leg) in legs.collect::<Vec<_>>() {
            let fields = json!({
                "reference": format!("{reference}-{n}"), "status": "APPLIED", "parent_transaction": parent,
            });
            let entry = self.entry(&fields, from, to, leg);
            self.pay(from, leg);
            posted.push(Posted { entry, from, to, cents: leg });
        }
        posted
    }

    fn end_of_hold(&mut self, hold: &str, from: usize, to: usize, cents: i64) -> Vec<Posted> {
        let commit = |ledger: &mut Self, part: i64| {
            let entry = ledger.settle(hold, "APPLIED", from, to, part);
            ledger.pay(from, part);
            Posted { entry, from, to, cents: part }
        };
        let part = 1 + i64::try_from(self.chance.below(usize::try_from(cents - 1).unwrap())).unwrap();
        match self.chance.below(5) {
            // The hold is never settled.
            0 => Vec::new(),
            1 => {
                self.settle(hold, "VOID", from, to, cents);
                Vec::new()
            }
            2 => vec![commit(self, cents)],
            3 => vec![commit(self, part), commit(self, cents - part)],
            _ => {
                let posted = commit(self, part);
                self.settle(hold, "VOID", from, to, cents - part);
                vec![posted]
            }
        }
    }

    fn refund(&mut self, posted: &Posted) {
        let Posted { entry, from, to, cents } = posted;
        let entry = self.named(entry);
        let reference = format!("{entry}_refund");
        let fields = if self.chance.below(2) == 0 {
            json!({"reference": reference, "status": "APPLIED", "parent_transaction": entry})
        } else {
            let queued = self.id("txn_");
            json!({
                "reference": format!("{reference}_q"), "status": "APPLIED", "parent_transaction": queued,
                "meta_data": {"QUEUED_PARENT_TRANSACTION": queued, "queue_lane": "normal"},
            })
        };
        self.entry(&fields, *to, *from, *cents);
        self.pay(*to, *cents);
        self.pay(*from, -cents);
    }
}

/// Sends one history in random order, one entry in ten twice.
fn tell_one(client: &Client, seed: u64, history: usize) -> usize {
    let mut chance = Chance(seed.wrapping_add(history as u64));
    let mut ledger = Ledger {
        chance: &mut chance,
        history,
        n_ids: 0,
        entries: Vec::new(),
        queued: BTreeMap::new(),
        paid: BTreeMap::new(),
    };
    for _ in 0..1 + ledger.chance.below(4) {
        let posted = ledger.operate();
        for posted in posted {
            if ledger.chance.below(4) == 0 {
                ledger.refund(&posted);
            }
        }
    }
    let Ledger { mut entries, paid, .. } = ledger;
    let n_payments = payments(&entries).len();
    let twice: Vec<_> = entries.iter().filter(|_| chance.below(10) == 0).cloned().collect();
    entries.extend(twice);
    chance.shuffle(&mut entries);
    for entry in &entries {
        let answer = tell_entry(client, entry);
        assert_eq!(answer.status, 200, "seed {seed}, history {history}: {}", answer.text());
    }
    for account in 0..ACCOUNTS {
        let paid = paid.get(&account).copied().unwrap_or_default();
        let probe = json!({
            "source": format!("bln_{history}_{account}"), "status": "probe",
            "meta_data": {"paid": format!("{}.{:02}", paid / 100, paid % 100)},
        });
        let answer =
            client.inject(&sample::with(&sample::transaction(&format!("probe-{history}-{account}")), &probe));
        ok(&answer);
        assert_eq!(
            answer.triggered(),
            [] as [String; 0],
            "seed {seed}, history {history}, account {account}, paid {paid} cents: {entries:#?}"
        );
    }
    n_payments
}

#[test]
fn the_sums_of_rules_equal_the_payments_of_accounts_in_generated_histories() {
    let seed = proof::seed("histories");
    let home = home();
    let differs = r#"sum(when source == $current.source and status == "APPLIED", "P30D") != metadata.paid"#;
    home.write_rule("differs.ws", sample::rule("differs", differs));
    let service = Service::start(&home);
    let histories = proof::share(proof::rounds(1_000, 100_000));
    let next = AtomicUsize::new(histories.start);
    thread::scope(|scope| {
        for _ in 0..TELLERS {
            let client = service.client();
            let (next, end) = (&next, histories.end);
            scope.spawn(move || {
                loop {
                    let history = next.fetch_add(1, Ordering::Relaxed);
                    if history >= end {
                        return;
                    }
                    tell_one(&client, seed, history);
                }
            });
        }
    });
    check_no_conflict(&service, 0, "histories");
    drop(service.stop());
    audit::replay(&home).all_follow();
}

#[test]
fn children_and_parents_at_once_lose_nothing_and_double_nothing() {
    let mut chance = Chance(proof::seed("at once"));
    let home = home();
    let service = Service::start(&home);
    let mut entries = Vec::new();
    let mut ledger = Ledger {
        chance: &mut chance,
        history: 0,
        n_ids: 0,
        entries: Vec::new(),
        queued: BTreeMap::new(),
        paid: BTreeMap::new(),
    };
    for _ in 0..100 {
        let hold = ledger.first("INFLIGHT", 0, 1, 1_000);
        ledger.settle(&hold, "APPLIED", 0, 1, 1_000);
    }
    let (parents, children): (Vec<_>, Vec<_>) =
        ledger.entries.iter().cloned().partition(|entry| entry["status"] == "INFLIGHT");
    entries.extend(children);
    entries.extend(parents);
    let twice: Vec<_> = entries.iter().step_by(10).cloned().collect();
    let reported = [entries.clone(), twice].concat();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..20 {
            let client = service.client();
            let (next, reported) = (&next, &reported);
            scope.spawn(move || {
                while let Some(entry) = reported.get(next.fetch_add(1, Ordering::Relaxed)) {
                    ok(&tell_entry(&client, entry));
                }
            });
        }
    });
    crate::blnk::truth::check(&service, &payments(&entries), "at once");
    check_no_conflict(&service, 0, "at once");
}
