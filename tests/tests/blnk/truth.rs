//! A model of the payments behind Blnk entries. It has all entries at once, so the status of the parent decides and
//! order does not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use tollgate_tests::Client;

/// Stages of a payment; the furthest one counts.
const STAGES: [&str; 7] = ["queued", "scheduled", "inflight", "applied", "rejected", "void", "reversed"];

/// The resulting payment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Payment {
    pub(crate) status: String,
    pub(crate) amount: f64,
}

struct Entries<'e>(HashMap<&'e str, &'e Value>);

/// Returns the payments of these entries by the id of each root.
pub(crate) fn payments<'e>(reported: impl IntoIterator<Item = &'e Value>) -> BTreeMap<String, Payment> {
    let is_own_book_keeping = |entry: &&Value| {
        ["_shadow_for", "_provider"].iter().all(|name| entry["meta_data"].get(name).is_some())
    };
    let reported: Vec<&Value> = reported.into_iter().filter(|entry| !is_own_book_keeping(entry)).collect();
    let entries = Entries(reported.iter().map(|entry| (text(entry, "transaction_id"), *entry)).collect());
    let mut stages: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut amounts = HashMap::new();
    let mut reach = |id: &'e str, status: &str| {
        let stage = STAGES.iter().position(|stage| *stage == status).unwrap();
        stages.entry(id).or_default().insert(stage);
    };
    for &entry in &reported {
        let (id, status) = (text(entry, "transaction_id"), text(entry, "status").to_lowercase());
        let amount = entry["amount"].as_f64().unwrap();
        match entries.hold_of(entry) {
            Some(hold) => {
                let whole = hold["amount"].as_f64().unwrap();
                let is_part = (whole - amount).abs() > whole * 1e-12;
                let root = entries.root(text(hold, "transaction_id"));
                if status == "applied" && is_part {
                    amounts.insert(id, amount);
                    reach(id, "applied");
                }
                reach(root, if status == "applied" && !is_part { "applied" } else { "void" });
            }
            None => {
                amounts.insert(entries.root(id), amount);
                reach(entries.root(id), &status);
            }
        }
        let reference = text(entry, "reference").trim_end_matches("_q");
        if let Some(original) = reference.strip_suffix("_refund").filter(|_| status == "applied")
            && let Some(payment) = entries.payment_of(original)
        {
            reach(payment, "reversed");
        }
    }
    let status = |stages: &BTreeSet<usize>| stages.last().map(|stage| STAGES[*stage].to_owned()).unwrap();
    let payment = |(id, stages): (&&str, &BTreeSet<usize>)| {
        (String::from(*id), Payment { status: status(stages), amount: amounts[id] })
    };
    stages.iter().map(payment).collect()
}

impl<'e> Entries<'e> {
    /// Returns the hold that this entry settles: its parent, or the parent's copy.
    fn hold_of(&self, entry: &Value) -> Option<&'e Value> {
        let parent = text(entry, "parent_transaction");
        if !["APPLIED", "VOID"].contains(&text(entry, "status")) || is_copy(entry) {
            return None;
        }
        let is_hold = |entry: &&&Value| entry["status"] == "INFLIGHT";
        let is_copied = |hold: &&&Value| is_copy(hold) && text(hold, "parent_transaction") == parent;
        let copy = || self.0.values().filter(is_hold).find(is_copied);
        self.0.get(parent).filter(is_hold).or_else(copy).copied()
    }

    /// Returns the first entry of the payment.
    fn root(&self, id: &'e str) -> &'e str {
        let Some(entry) = self.0.get(id) else { return id };
        let parent = text(entry, "parent_transaction");
        if is_copy(entry) && parent.starts_with("txn_") { self.root(parent) } else { id }
    }

    /// Returns the payment that a refund of this entry reverses; `None` if it is never reported.
    fn payment_of(&self, id: &'e str) -> Option<&'e str> {
        let Some(entry) = self.0.get(id) else {
            let is_of = |entry: &&&Value| is_copy(entry) && text(entry, "parent_transaction") == id;
            return self.0.values().find(is_of).map(|_| id);
        };
        Some(match self.hold_of(entry).filter(|hold| hold["amount"] == entry["amount"]) {
            Some(hold) => self.root(text(hold, "transaction_id")),
            None => self.root(id),
        })
    }
}

/// Whether it is the copy that Blnk creates when a queued entry advances.
fn is_copy(entry: &Value) -> bool {
    text(entry, "reference").ends_with("_q") && entry["meta_data"].get("queue_lane").is_some()
}

fn text<'e>(entry: &'e Value, name: &str) -> &'e str {
    entry[name].as_str().unwrap_or_default()
}

/// Checks that the service has exactly these payments.
#[track_caller]
pub(crate) fn check(client: &Client, expected: &BTreeMap<String, Payment>, when: &str) {
    let mut differ = Vec::new();
    for (id, payment) in expected {
        let found = client.transaction(id);
        let (status, amount) = match found.status {
            200 => (
                found.at("/status").as_str().unwrap_or_default().to_lowercase(),
                found.at("/amount").as_f64(),
            ),
            _ => (String::new(), None),
        };
        let is_same = amount.is_some_and(|amount| (amount - payment.amount).abs() <= payment.amount * 1e-14);
        if status != payment.status || !is_same {
            differ.push(format!("{id}: {status} {amount:?}, not {payment:?}"));
        }
    }
    assert!(differ.is_empty(), "{when}: {differ:#?}");
    assert_eq!(
        number(client, "tollgate_history_transactions"),
        expected.len() as u64,
        "{when}: no payment more"
    );
}

/// Returns a number of `/metrics`.
pub(crate) fn number(client: &Client, name: &str) -> u64 {
    let page = client.get("/metrics").text();
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse::<f64>().ok()).map_or(0, |value| value as u64)
}

/// Checks that no payment conflicted, and the number of dead letters.
#[track_caller]
pub(crate) fn check_no_conflict(client: &Client, n_dead: u64, when: &str) {
    assert_eq!(number(client, "tollgate_transaction_conflicts_total"), 0, "{when}");
    let dead = client.get("/ledger/dead-letters").expect(200);
    assert_eq!(dead["count"], n_dead, "{when}: {dead:#}");
}
