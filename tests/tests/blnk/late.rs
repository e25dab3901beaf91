//! Entries that the database reports before the webhooks do: each payment gets its verdict, with the exact amount.

use std::fs;

use serde_json::{Value, json};
use tollgate_tests::programs::sqlite;
use tollgate_tests::{Client, Home, Service, audit, needs, sample};

use crate::blnk::identity::{entry, id};
use crate::blnk::odd::dead;
use crate::blnk::tables::{Tables, caught_up};
use crate::blnk::truth::number;
use crate::blnk::unjudged::change;
use crate::blnk::{home, ok, tell_entry};

/// A report of an entry.
#[derive(Debug, Clone)]
enum Report {
    /// The feed reads it.
    Row(Value),
    /// Blnk sends it.
    Event(Value),
    /// A back end requests a verdict with these fields.
    Request(Value),
    /// The wait for a parent ends.
    Timeout,
}

use Report::{Event, Request, Row, Timeout};

fn made_up(number: u32) -> String {
    format!("ref_00000000-0000-4000-8000-{number:012}")
}

fn held(number: u32) -> Value {
    entry(number, &json!({"status": "INFLIGHT"}))
}

/// Returns the commit of 40 of a hold.
fn part(number: u32, hold: u32) -> Value {
    let fields = json!({"parent_transaction": id(hold), "reference": made_up(number), "amount": 40, "precise_amount": 4000});
    entry(number, &fields)
}

fn queued(number: u32) -> Value {
    entry(number, &json!({"status": "QUEUED"}))
}

/// Returns the copy of a queued entry, under the next id.
fn copy(number: u32, fields: &Value) -> Value {
    let copied = json!({
        "transaction_id": id(number + 1), "parent_transaction": id(number), "reference": format!("order-{number}_q"),
        "meta_data": {"QUEUED_PARENT_TRANSACTION": id(number), "queue_lane": "normal"},
    });
    sample::with(&entry(number, &copied), fields)
}

/// Sends the reports one after the other.
#[track_caller]
fn send(tables: &Tables, service: &Service, reports: &[Report]) {
    for report in reports {
        match report {
            Row(entry) => {
                tables.insert(entry);
                caught_up(service);
            }
            Event(entry) => ok(&tell_entry(service, entry)),
            Request(fields) => ok(&service.inject(fields)),
            Timeout => {
                service.until("nothing waits", || number(service, "tollgate_ledger_waiting_entries") == 0);
            }
        }
    }
}

/// A home that reads the tables, with a rule that matches payments of the exact amount.
fn home_with(tables: &Tables, identity: &str, wait: &str) -> Home {
    tables.empty();
    let mut home = home();
    tables.feeds(&mut home);
    home.set("LEDGER_IDENTITY", identity);
    home.set("LEDGER_PARENT_WAIT", wait);
    home.write_rule("exact.ws", sample::rule("exact", &format!("amount == {EXACT}")));
    home
}

/// Checks that each of these entries has a verdict after the reports, under both identities and after a restart.
#[track_caller]
fn check_judged(tables: &Tables, reports: &[Report], entries: &[u32], n_payments: u64) {
    let wait = if reports.iter().any(|report| matches!(report, Timeout)) { "1s" } else { "15m" };
    for identity in ["id", "reference"] {
        let home = home_with(tables, identity, wait);
        let service = Service::start(&home);
        send(tables, &service, reports);
        for number in entries {
            let found = service.transaction(&id(*number)).expect(200);
            assert!(found["verdict"].is_string(), "{number}, by {identity}: {found:#}, {reports:#?}");
        }
        assert_eq!(number(&service, "tollgate_history_transactions"), n_payments, "{identity}: {reports:#?}");
        assert_eq!(number(&service, "tollgate_ledger_waiting_entries"), 0, "{identity}: {reports:#?}");
        assert_eq!(dead(&service), [] as [String; 0], "{identity}: {reports:#?}");
        drop(service.stop());
        audit::replay(&home).all_follow();
    }
}

#[test]
fn a_partial_commit_that_the_feed_reads_first_is_judged_when_its_event_arrives() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let both = [held(1), part(2, 1)];
    let [hold, commit] = &both;
    let rows = || both.iter().cloned().map(Row).collect::<Vec<_>>();
    let events = || both.iter().cloned().map(Event).collect::<Vec<_>>();
    check_judged(&tables, &[rows(), events()].concat(), &[1, 2], 2);
    check_judged(&tables, &[rows(), events(), events()].concat(), &[1, 2], 2);
    check_judged(&tables, &[rows(), vec![Event(commit.clone()), Event(hold.clone())]].concat(), &[1, 2], 2);
    let entries = [queued(1), copy(1, &json!({"status": "INFLIGHT"})), part(3, 2)];
    let mut reported: Vec<_> = entries.iter().cloned().map(Row).collect();
    reported.extend(entries[1..].iter().cloned().map(Event));
    check_judged(&tables, &reported, &[1, 2, 3], 2);
}

#[test]
fn other_children_that_are_payments_are_judged_like_a_partial_commit() {
    needs!(PostgreSql);
    let tables = Tables::open();
    // A refund by an old version, and an entry between other accounts.
    for accounts in [["bln_2", "bln_1"], ["bln_3", "bln_4"]] {
        let [source, destination] = accounts;
        let child = json!({
            "parent_transaction": id(1), "reference": made_up(2), "source": source, "destination": destination,
        });
        let both = [entry(1, &json!({})), entry(2, &child)];
        let rows = both.iter().cloned().map(Row);
        let reported: Vec<_> = rows.chain(both.iter().cloned().map(Event)).collect();
        check_judged(&tables, &reported, &[1, 2], 2);
    }
}

#[test]
fn a_report_that_waits_hides_no_later_one_of_the_same_entry() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let (hold, commit) = (held(1), part(2, 1));
    let claim = json!({"meta_data": {
        "_shadow_for": id(1), "_provider": "stripe", "_lineage_type": "credit", "_main_balance": "bln_3",
    }});
    for child in [commit.clone(), entry(2, &claim), sample::with(&commit, &claim)] {
        let (row, event) = (Row(child.clone()), Event(child));
        let hold = Event(hold.clone());
        let reported = [row.clone(), hold.clone(), event.clone()];
        check_judged(&tables, &reported, &[1, 2], 2);
        check_judged(&tables, &[row.clone(), event.clone(), hold.clone()], &[1, 2], 2);
        check_judged(&tables, &[event.clone(), row.clone(), hold], &[1, 2], 2);
        check_judged(&tables, &[row.clone(), event.clone(), Timeout], &[2], 1);
        check_judged(&tables, &[row, Timeout, event], &[2], 1);
    }
}

const EXACT: &str = "1.234567890123456789";

/// Returns the fields of an amount, as a row has them, or rounded as in an event.
fn amount(is_exact: bool) -> Value {
    json!({
        "amount": 1.234_567_890_123_456_7, "amount_string": "1.2345678901234568",
        "precise_amount": if is_exact { 1_234_567_890_123_456_789_u64 } else { 1_234_567_890_123_456_800 },
        "precision": 1_000_000_000_000_000_000_u64,
    })
}

fn exact(entry: &Value) -> Value {
    sample::with(entry, &amount(true))
}

fn rounded(entry: &Value) -> Value {
    sample::with(entry, &amount(false))
}

/// Checks that the payment of an entry shows the exact amount and was judged on it, and that rules count it.
#[track_caller]
fn check_exact(tables: &Tables, reports: &[Report], number: u32, is_judged_on_it: bool) {
    for identity in ["id", "reference"] {
        let home = home_with(tables, identity, "15m");
        let sum = format!(r#"sum(amount when source == "bln_1" and status == "applied", "P30D") == {EXACT}"#);
        home.write_rule("sum.ws", sample::rule("sum", &sum));
        let service = Service::start(&home);
        send(tables, &service, reports);
        check_shown(&service, number, EXACT);
        let found = service.transaction(&id(number)).expect(200);
        assert_eq!(found["triggered"][0]["name"] == "exact", is_judged_on_it, "{identity}: {found:#}");
        let probe =
            sample::with(&sample::transaction("probe"), &json!({"created_at": "2026-11-25T11:00:00Z"}));
        assert_eq!(service.inject(&probe).triggered(), ["sum"], "{identity}: {reports:#?}");
        assert_eq!(number_of_conflicts(&service), 0, "{identity}: {reports:#?}");
        drop(service.stop());
        audit::replay(&home).all_follow();
    }
}

fn number_of_conflicts(service: &Service) -> u64 {
    number(service, "tollgate_transaction_conflicts_total")
}

#[track_caller]
fn check_shown(client: &Client, number: u32, amount: &str) {
    let text = client.transaction(&id(number)).text();
    assert!(text.contains(&format!(r#""amount":{amount},"#)), "{text}");
}

#[test]
fn the_exact_amount_of_a_row_stays_when_its_event_arrives() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let payment = entry(1, &json!({}));
    let (row, event) = (Row(exact(&payment)), Event(rounded(&payment)));
    check_exact(&tables, &[row.clone(), event.clone()], 1, true);
    check_exact(&tables, &[row.clone(), event.clone(), event.clone()], 1, true);
    check_exact(&tables, &[event, row], 1, false);
    let copy = copy(1, &json!({}));
    let rows = [Row(exact(&queued(1))), Row(exact(&copy))];
    check_exact(&tables, &[&rows[..], &[Event(rounded(&copy))]].concat(), 1, true);
    check_exact(&tables, &[rows[0].clone(), Event(rounded(&copy)), rows[1].clone()], 1, true);
}

#[test]
fn the_exact_amount_of_a_partial_commit_stays_in_every_order() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let hold = json!({"amount": 3, "precise_amount": 3_000_000_000_000_000_000_u64, "precision": 1_000_000_000_000_000_000_u64});
    let hold = sample::with(&held(1), &hold);
    let part = part(2, 1);
    let [hold_row, hold] = [Row(hold.clone()), Event(hold)];
    let [row, event] = [Row(exact(&part)), Event(rounded(&part))];
    check_exact(&tables, &[hold_row.clone(), row.clone(), hold.clone(), event.clone()], 2, true);
    check_exact(&tables, &[hold_row.clone(), hold.clone(), event.clone(), row.clone()], 2, false);
    check_exact(&tables, &[row.clone(), event.clone(), hold.clone()], 2, true);
    check_exact(&tables, &[event, row, hold], 2, false);
}

#[test]
fn the_exact_amount_of_a_row_stays_when_a_verdict_is_requested() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let home = home_with(&tables, "reference", "15m");
    let service = Service::start(&home);
    let request = json!({
        "transaction_id": "order-1", "amount": 1.234_567_890_123_456_7, "currency": "EUR", "reference": "mine",
        "source": "bln_1", "destination": "bln_2", "meta_data": {"k": 1},
    });
    send(&tables, &service, &[Row(exact(&entry(1, &json!({})))), Request(request.clone()), Request(request)]);
    check_shown(&service, 1, EXACT);
    let found = service.transaction(&id(1)).expect(200);
    assert_eq!((&found["triggered"][0]["name"], &found["meta_data"]["k"]), (&json!("exact"), &json!(1)));
    drop(service.stop());
    audit::replay(&home).all_follow();
}

#[test]
fn a_verdict_that_an_earlier_version_gave_on_the_rounded_amount_still_follows() {
    needs!(PostgreSql, Sqlite);
    let tables = Tables::open();
    let home = home_with(&tables, "id", "15m");
    fs::remove_file(home.at("rules/exact.ws")).unwrap();
    home.write_rule("never.ws", sample::rule("never", "amount > 1000"));
    let service = Service::start(&home);
    let payment = entry(1, &json!({}));
    send(&tables, &service, &[Row(exact(&payment)), Event(rounded(&payment))]);
    drop(service.stop());
    change(&home, &format!("UPDATE late_verdicts SET body = replace(body, '{EXACT}', '1.2345678901234568')"));
    audit::replay(&home).all_follow();
    assert_eq!(stored(&home, "SELECT body LIKE '%1.2345678901234568%' FROM late_verdicts"), "1\n");
    let service = Service::start(&home);
    check_shown(&service, 1, EXACT);
    ok(&tell_entry(&service, &rounded(&payment)));
    check_shown(&service, 1, EXACT);
    drop(service.stop());
    audit::replay(&home).all_follow();
}

/// Returns the result of a query of the store.
fn stored(home: &Home, query: &str) -> String {
    let output = sqlite(&home.data().join("tollgate.db")).arg(query).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
