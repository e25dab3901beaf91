//! Queued holds of Blnk 0.15: when they expire, Blnk voids the queued entry once more, whatever was committed before.

use serde_json::{Value, json};
use tollgate_tests::{Service, audit, needs, sample};

use crate::blnk::identity::{entry, id, status_of};
use crate::blnk::odd::{check_reports, dead};
use crate::blnk::tables::{Tables, caught_up};
use crate::blnk::truth::number;
use crate::blnk::{home, ok, tell_entry};

/// The queued hold 1.
fn queued() -> Value {
    entry(1, &json!({"status": "QUEUED"}))
}

/// The copy 2 of the queued hold.
fn held() -> Value {
    entry(
        1,
        &json!({
            "transaction_id": id(2), "parent_transaction": id(1), "reference": "order-1_q", "status": "INFLIGHT",
            "meta_data": {"QUEUED_PARENT_TRANSACTION": id(1), "queue_lane": "normal"},
        }),
    )
}

/// Returns a commit or void of a hold.
fn settled(number: u32, status: &str, amount: u32, hold: u32) -> Value {
    entry(
        number,
        &json!({
            "parent_transaction": id(hold), "reference": format!("ref_00000000-0000-4000-8000-{number:012}"), "status": status,
            "amount": amount, "precise_amount": amount * 100,
        }),
    )
}

/// The void at the expiry: it names the queued entry, and the whole amount.
fn expired() -> Value {
    settled(9, "VOID", 100, 1)
}

/// How a service hears of the entries.
#[derive(Debug, Clone, Copy)]
enum Intake {
    Events,
    Rows,
    JudgedRows,
    Both,
}

/// Checks the status of the hold, the separate payments and the reasons of dead letters, for each intake.
#[track_caller]
fn check(tables: &Tables, settling: &[Value], status: &str, own: &[(u32, &str)], reasons: &[&str]) {
    let entries = [&[queued(), held()], settling].concat();
    for (intake, identity) in [
        (Intake::Events, "id"),
        (Intake::Rows, "reference"),
        (Intake::JudgedRows, "id"),
        (Intake::Both, "reference"),
    ] {
        tables.empty();
        let mut home = home();
        home.set("LEDGER_IDENTITY", identity);
        if !matches!(intake, Intake::Events) {
            tables.feeds(&mut home);
        }
        if matches!(intake, Intake::JudgedRows) {
            home.set("LEDGER_EVALUATE", "true");
        }
        let service = Service::start(&home);
        if !matches!(intake, Intake::Rows | Intake::JudgedRows) {
            // Blnk reports no queued entry.
            entries[1..].iter().chain(&entries[1..]).for_each(|entry| ok(&tell_entry(&service, entry)));
        }
        if !matches!(intake, Intake::Events) {
            entries.iter().for_each(|entry| tables.insert(entry));
            caught_up(&service);
        }
        let when = format!("{intake:?}, {identity}: {settling:#?}");
        assert_eq!(status_of(&service, &id(2)), status, "{when}");
        for (number, status) in own {
            assert_eq!(status_of(&service, &id(*number)), *status, "{number}, {when}");
        }
        assert_eq!(number(&service, "tollgate_history_transactions"), 1 + own.len() as u64, "{when}");
        let n_intakes = if matches!(intake, Intake::Both) { 2 } else { 1 };
        assert_eq!(dead(&service), reasons.repeat(n_intakes), "{when}");
        drop(service.stop());
        audit::replay(&home).all_follow();
    }
}

#[test]
fn the_expiry_of_a_queued_hold_that_was_committed_changes_nothing() {
    needs!(PostgreSql);
    let tables = Tables::open();
    check(&tables, &[settled(3, "APPLIED", 100, 2), expired()], "APPLIED", &[], &[]);
    check(
        &tables,
        &[settled(3, "APPLIED", 100, 2), expired(), settled(8, "VOID", 100, 1)],
        "APPLIED",
        &[],
        &[],
    );
}

#[test]
fn the_expiry_of_a_queued_hold_releases_what_is_left_of_it() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let part = || settled(3, "APPLIED", 40, 2);
    let own = &[(3, "APPLIED")];
    check(&tables, &[expired()], "VOID", &[], &[]);
    check(&tables, &[part(), expired()], "VOID", own, &[]);
    check(&tables, &[part(), settled(4, "VOID", 60, 2), expired()], "VOID", own, &[]);
    check(&tables, &[settled(4, "VOID", 100, 2), expired()], "VOID", &[], &[]);
    let both = [part(), settled(4, "APPLIED", 60, 2), expired()];
    check(&tables, &both, "VOID", &[(3, "APPLIED"), (4, "APPLIED")], &[]);
}

#[test]
fn an_entry_that_exceeds_a_queued_hold_is_a_dead_letter() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let commit = || settled(3, "APPLIED", 100, 2);
    check(&tables, &[commit(), expired(), settled(4, "APPLIED", 1, 2)], "APPLIED", &[], &["exceeds_hold"]);
    check(&tables, &[expired(), commit()], "VOID", &[], &["exceeds_hold"]);
    check(&tables, &[commit(), settled(9, "VOID", 101, 1)], "APPLIED", &[], &["exceeds_hold"]);
    check(&tables, &[settled(9, "VOID", 101, 1)], "INFLIGHT", &[], &["exceeds_hold"]);
    let other = json!({"source": "bln_3", "reference": "ref_00000000-0000-4000-8000-000000000009"});
    check(&tables, &[commit(), sample::with(&expired(), &other)], "APPLIED", &[(9, "VOID")], &[]);
}

#[test]
fn an_expiry_that_waits_for_its_hold_counts_after_the_commits() {
    let applied = &[(1, "applied", 100)];
    check_reports(&[settled(3, "APPLIED", 100, 2), expired(), held()], applied, &[]);
    check_reports(&[expired(), settled(3, "APPLIED", 100, 2), held()], applied, &[]);
    check_reports(&[expired(), settled(3, "APPLIED", 100, 1), held()], applied, &[]);
}

#[test]
fn the_row_of_a_hold_joins_the_commits_that_wait_before_the_expiry() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let mut home = home();
    tables.feeds(&mut home);
    let service = Service::start(&home);
    [expired(), settled(3, "APPLIED", 100, 2)].iter().for_each(|entry| ok(&tell_entry(&service, entry)));
    [queued(), held()].iter().for_each(|entry| tables.insert(entry));
    caught_up(&service);
    assert_eq!(status_of(&service, &id(1)), "APPLIED");
    assert_eq!(dead(&service), [] as [String; 0]);
}
