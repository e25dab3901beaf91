//! Payments of every kind through the API of Blnk: the service counts each once, and its sums are the balances of Blnk.

use std::path::Path;

use tollgate_tests::{Service, audit};

use crate::real_blnk::comparison::Comparison;
use crate::real_blnk::kinds::KINDS;
use crate::real_blnk::round::Round;
use crate::real_blnk::server::{Blnk, create_ledger};
use crate::real_blnk::{Intake, check_each, home, recommended, rules, webhook};

/// A kind with its payments.
struct Sent {
    name: &'static str,
    n_sent: usize,
    accounts: Vec<String>,
}

#[test]
fn sums_and_counts_of_every_kind_of_payment_are_those_of_blnk() {
    check_each(faults);
}

fn faults(binary: &Path) -> Vec<String> {
    let mut blnk = Blnk::create(binary);
    let homes = [recommended(&blnk), Intake::Database].map(|intake| home(&blnk, intake));
    let [recommended, database] = homes.each_ref().map(Service::start);
    let webhook = webhook(&blnk, &recommended);
    blnk.serve(&webhook);
    let sent = send(&blnk);
    let intakes = [("webhooks and the database", recommended), ("the database alone", database)];
    // An old version is read by the database alone.
    let intakes = intakes.into_iter().zip(homes).skip(usize::from(!blnk.repeats_webhooks()));
    let mut faults = Vec::new();
    for ((intake, service), home) in intakes {
        println!("\n{}, {intake}", blnk.name());
        let comparison = Comparison::new(&blnk, &service, intake);
        faults.extend(report(&sent, &comparison).into_iter().map(|fault| format!("{intake}: {fault}")));
        drop(service.stop());
        let wrong = rules::faults(&home, &comparison);
        println!(
            "{} rules about accounts, {} right",
            comparison.accounts().len(),
            comparison.accounts().len() - wrong.len()
        );
        faults.extend(wrong);
        audit::replay(&home).all_follow();
    }
    faults.into_iter().map(|fault| format!("{}, {fault}", blnk.name())).collect()
}

/// Sends every kind, and waits until Blnk has nothing left to do.
fn send(blnk: &Blnk) -> Vec<Sent> {
    let ledger = create_ledger(blnk);
    let mut references = Vec::new();
    let mut sent = Vec::new();
    for kind in KINDS {
        let round = Round::new(blnk, kind.name, &ledger);
        (kind.send)(&round);
        references.extend(round.references());
        sent.push(Sent { name: kind.name, n_sent: round.n_sent(), accounts: round.accounts() });
    }
    blnk.settle(&references);
    sent
}

/// Prints a table, and returns what differs from Blnk.
fn report(sent: &[Sent], comparison: &Comparison) -> Vec<String> {
    let mut faults = Vec::new();
    println!("| kind | requested | payments counted | accounts | sums and counts equal |");
    println!("|---|---|---|---|---|");
    for Sent { name, n_sent, accounts } in sent {
        let wrong: Vec<String> = accounts.iter().filter_map(|account| comparison.fault_of(account)).collect();
        let (n_payments, n_right) = (comparison.n_payments_of(accounts), accounts.len() - wrong.len());
        println!("| {name} | {n_sent} | {n_payments} | {} | {n_right} |", accounts.len());
        faults.extend(wrong.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    let accounts = comparison.accounts();
    let wrong: Vec<String> = accounts.iter().filter_map(|account| comparison.fault_of(account)).collect();
    let (n_sent, n_payments) = (sent.iter().map(|sent| sent.n_sent).sum::<usize>(), comparison.n_payments());
    println!("| all | {n_sent} | {n_payments} | {} | {} |", accounts.len(), accounts.len() - wrong.len());
    faults.extend(wrong.into_iter().map(|fault| format!("all: {fault}")));
    faults.extend(comparison.faults_of_payments());
    faults
}
