//! A back end that calls `POST /inject` under its own reference before it calls Blnk: one payment, judged once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_tests::{Service, sample};

use crate::real_blnk::comparison::Comparison;
use crate::real_blnk::kinds::at_once;
use crate::real_blnk::round::Round;
use crate::real_blnk::server::{Blnk, create_ledger};
use crate::real_blnk::{check_each, home, recommended, until, webhook};

/// A back end, and the verdicts that it got, by reference.
struct BackEnd<'a> {
    service: &'a Service,
    round: Round<'a>,
    verdicts: RefCell<BTreeMap<String, Value>>,
}

impl BackEnd<'_> {
    /// Asks for a verdict under a new reference, with these accounts, and returns the reference.
    fn ask(&self, source: &str, destination: Option<&str>) -> String {
        let reference = self.round.reference();
        let mut payment = json!({
            "transaction_id": reference, "reference": "of the back end", "amount": 100, "currency": "EUR",
            "source": source, "status": "pending",
        });
        if let Some(destination) = destination {
            payment["destination"] = json!(destination);
        }
        let verdict = self.service.inject(&payment).expect(200)["verdict"].clone();
        self.verdicts.borrow_mut().insert(reference.clone(), verdict);
        reference
    }

    /// Asks, and then pays in Blnk under the same reference. Returns the id of Blnk.
    fn pay(&self, source: &str, destination: &str, fields: &Value) -> String {
        let reference = self.ask(source, Some(destination));
        self.round.pay(source, destination, &sample::with(fields, &json!({"reference": reference})))
    }

    /// Asks about a payment as a whole, and splits it in Blnk between two new accounts. Returns its reference and the id
    /// of Blnk.
    fn split(&self, source: &str, fields: &Value) -> [String; 2] {
        let reference = self.ask(source, None);
        let legs = json!([
            {"identifier": self.round.account(), "distribution": "30%"},
            {"identifier": self.round.account(), "distribution": "left"},
        ]);
        let split = json!({"reference": reference, "destinations": legs});
        let id = self.round.pay(source, "", &sample::with(fields, &split));
        [reference, id]
    }
}

#[test]
fn a_payment_that_was_judged_under_its_reference_is_counted_once() {
    check_each(faults);
}

fn faults(binary: &Path) -> Vec<String> {
    let mut blnk = Blnk::create(binary);
    let intake = recommended(&blnk);
    let mut home = home(&blnk, intake);
    home.set("LEDGER_IDENTITY", "reference");
    let service = Service::start(&home);
    let webhook = webhook(&blnk, &service);
    blnk.serve(&webhook);
    let ledger = create_ledger(&blnk);
    let round = Round::new(&blnk, "order", &ledger);
    let back_end = BackEnd { service: &service, round, verdicts: RefCell::default() };
    let accounts = [plain, settled, split, split_holds].map(|send| send(&back_end)).concat();
    blnk.settle(&back_end.round.references());
    let verdicts = back_end.verdicts.take();
    let judged = verdicts.keys().cloned().collect();
    let comparison = Comparison::by_reference(&blnk, &service, "judged first", &judged);
    let mut faults: Vec<String> =
        accounts.iter().filter_map(|account| comparison.fault_of(account)).collect();
    println!("\n{}, {intake:?}, LEDGER_IDENTITY=reference", blnk.name());
    println!("| judged first | payments counted | accounts | sums and counts equal |\n|---|---|---|---|");
    let (n_accounts, n_payments) = (accounts.len(), comparison.n_payments());
    println!("| {} | {n_payments} | {n_accounts} | {} |", verdicts.len(), n_accounts - faults.len());
    faults.extend(comparison.faults_of_payments());
    let changed = verdicts.iter().filter(|(id, verdict)| service.transaction(id).at("/verdict") != **verdict);
    faults
        .extend(changed.map(|(id, verdict)| format!("{id} had the verdict {verdict}, and has another one")));
    faults.into_iter().map(|fault| format!("{}, {fault}", blnk.name())).collect()
}

/// Pays between accounts and from an indicator, and refunds. Returns the accounts to compare.
fn plain(back_end: &BackEnd<'_>) -> Vec<String> {
    let round = &back_end.round;
    let (source, destination, poor) = (round.funded(1_000), round.account(), round.account());
    for is_at_once in [true, false] {
        let fields = json!({"skip_queue": is_at_once});
        back_end.pay(&source, &destination, &fields);
        let refunded = back_end.pay(&source, &destination, &fields);
        round.refund(&refunded, &fields);
        let overdraft = sample::with(&fields, &json!({"allow_overdraft": true}));
        back_end.pay("@bank", &destination, &overdraft);
    }
    back_end.pay(&poor, &destination, &json!({}));
    vec![source, destination, poor]
}

/// Holds between accounts and from an indicator: committed, committed in parts and void.
fn settled(back_end: &BackEnd<'_>) -> Vec<String> {
    let round = &back_end.round;
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, false] {
        for (from, parts) in [(&*source, vec![]), (&*source, vec![40, 60]), ("@bank", vec![])] {
            let fields =
                json!({"skip_queue": is_at_once, "inflight": true, "allow_overdraft": from == "@bank"});
            let hold = back_end.pay(from, &destination, &fields);
            round.wait_for_entry(&hold, "'INFLIGHT'", 1);
            if parts.is_empty() {
                round.settle(&hold, "commit", &json!({"skip_queue": is_at_once}));
            }
            for amount in parts {
                round.settle(&hold, "commit", &json!({"amount": amount, "skip_queue": true}));
            }
        }
        let hold = back_end.pay(&source, &destination, &json!({"skip_queue": is_at_once, "inflight": true}));
        round.wait_for_entry(&hold, "'INFLIGHT'", 1);
        round.settle(&hold, "void", &at_once());
    }
    vec![source, destination]
}

fn split(back_end: &BackEnd<'_>) -> Vec<String> {
    let round = &back_end.round;
    let (source, other, destination) = (round.funded(1_000), round.funded(1_000), round.account());
    for is_at_once in [true, false] {
        let [whole, _] = back_end.split(&source, &json!({"skip_queue": is_at_once}));
        // The reference of another client looks like that of a leg. It is a payment of its own.
        for (n, is_at_once) in [(7, true), (8, false)] {
            let fields = json!({"reference": format!("{whole}-{n}"), "skip_queue": is_at_once});
            round.pay(&other, &destination, &fields);
        }
    }
    vec![source, other, destination]
}

fn split_holds(back_end: &BackEnd<'_>) -> Vec<String> {
    let round = &back_end.round;
    let source = round.funded(1_000);
    for is_at_once in [true, false] {
        for status in ["commit", "void"] {
            let [_, hold] = back_end.split(&source, &json!({"skip_queue": is_at_once, "inflight": true}));
            round.wait_for_entry(&hold, "'INFLIGHT'", 2);
            let path = format!("/transactions/inflight/{hold}");
            round.blnk.call("PUT", &path, &json!({"status": status, "skip_queue": true}));
        }
    }
    vec![source]
}

#[test]
fn a_wrong_secret_is_reported_by_readyz() {
    check_each(|binary| {
        let mut blnk = Blnk::create(binary);
        let mut home = home(&blnk, recommended(&blnk));
        home.set("LEDGER_WEBHOOK_SECRET", "of-another-blnk");
        let service = Service::start(&home);
        blnk.serve(&format!("http://{}/blnkwebhook", service.address()));
        let ledger = create_ledger(&blnk);
        Round::new(&blnk, "unsigned", &ledger).funded(10);
        until("the refusal is told", || {
            let ledger = service.get("/readyz").at("/checks/ledger").to_string();
            (!ledger.contains("last refusal") || !ledger.contains("signature")).then_some(ledger)
        });
        Vec::new()
    });
}
