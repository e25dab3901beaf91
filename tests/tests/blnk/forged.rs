//! References and metadata that a client chooses: they never hide a payment, and never touch the payment of somebody else.

use serde_json::{Value, json};
use tollgate_tests::{Service, sample};

use crate::odd::{check_told, dead, entry, expected, id};
use crate::truth::check;
use crate::{home, ok, tell_entry};

/// Returns an entry between these accounts.
fn between(
    number: u32,
    status: &str,
    amount: u32,
    [source, destination]: [&str; 2],
    fields: &Value,
) -> Value {
    let accounts = json!({"source": source, "destination": destination});
    sample::with(&entry(number, status, amount, &accounts), fields)
}

/// Returns the metadata of a bookkeeping entry about a payment of this balance.
fn shadow_of(number: u32, main_balance: &str) -> Value {
    json!({"meta_data": {
        "_shadow_for": id(number), "_provider": "stripe", "_lineage_type": "credit", "_main_balance": main_balance,
    }})
}

const LINEAGE: [&str; 2] = ["bln_8", "bln_9"];

#[test]
fn a_bookkeeping_entry_is_no_payment() {
    let payment = || entry(1, "APPLIED", 100, &json!({}));
    let shadow = || between(2, "APPLIED", 100, LINEAGE, &shadow_of(1, "bln_2"));
    check_told(&[payment(), shadow()], &[(1, "applied", 100)], &[]);
    check_told(&[shadow(), payment()], &[(1, "applied", 100)], &[]);
    // The shadow of a hold is held, and committed with it.
    let held = between(2, "INFLIGHT", 100, LINEAGE, &shadow_of(1, "bln_1"));
    let committed =
        json!({"parent_transaction": id(2), "reference": "ref_00000000-0000-4000-8000-000000000003"});
    let committed = sample::with(&between(3, "APPLIED", 100, LINEAGE, &shadow_of(1, "bln_1")), &committed);
    let hold = entry(1, "INFLIGHT", 100, &json!({}));
    check_told(&[hold, held, committed], &[(1, "inflight", 100)], &[]);
}

#[test]
fn a_payment_that_claims_to_be_bookkeeping_is_a_payment() {
    let payment = || entry(1, "APPLIED", 100, &json!({}));
    let both = &[(1, "applied", 100), (2, "applied", 100)];
    let claim = json!({"meta_data": {"_shadow_for": id(1)}});
    check_told(&[payment(), between(2, "APPLIED", 100, LINEAGE, &claim)], both, &[]);
    for (accounts, main_balance) in [
        // An account of the payment itself, or of the balance that is shadowed.
        (["bln_1", "bln_9"], "bln_2"),
        (["bln_8", "bln_2"], "bln_1"),
        (["bln_3", "bln_9"], "bln_3"),
        // The payment is not one of the balance that is shadowed.
        (LINEAGE, "bln_3"),
        (["@customer", "@cash"], "bln_2"),
    ] {
        let forged = || between(2, "APPLIED", 100, accounts, &shadow_of(1, main_balance));
        check_told(&[payment(), forged()], both, &[]);
        check_told(&[forged(), payment()], both, &[]);
    }
    let more = between(2, "APPLIED", 101, LINEAGE, &shadow_of(1, "bln_2"));
    check_told(&[payment(), more], &[(1, "applied", 100), (2, "applied", 101)], &[]);
    // A hold that claims it, and its commit.
    let claim = || shadow_of(1, "bln_3");
    let hold = between(2, "INFLIGHT", 100, LINEAGE, &claim());
    let reference =
        json!({"parent_transaction": id(2), "reference": "ref_00000000-0000-4000-8000-000000000003"});
    let commit = sample::with(&between(3, "APPLIED", 100, LINEAGE, &claim()), &reference);
    check_told(&[payment(), hold, commit], both, &[]);
}

#[test]
fn bookkeeping_about_a_payment_that_is_never_reported_is_a_payment() {
    let mut home = home();
    home.set("LEDGER_PARENT_WAIT", "1s");
    let service = Service::start(&home);
    let answer = tell_entry(&service, &between(2, "APPLIED", 100, LINEAGE, &shadow_of(1, "bln_2")));
    assert!(answer.text().contains("is held until"), "{}", answer.text());
    service.until("it is taken", || service.transaction(&id(2)).status == 200);
    check(&service, &expected(&[(2, "applied", 100)]), "taken");
    ok(&tell_entry(&service, &entry(1, "APPLIED", 100, &json!({}))));
    check(&service, &expected(&[(1, "applied", 100), (2, "void", 100)]), "reported after all");
    assert_eq!(dead(&service), [] as [String; 0]);
}

#[test]
fn the_reference_of_a_refund_reverses_only_what_is_moved_back() {
    let payment = || entry(1, "APPLIED", 100, &json!({}));
    let refund =
        |parent: &str| json!({"parent_transaction": parent, "reference": format!("{}_refund", id(1))});
    for (accounts, amount, parent) in [
        (["bln_3", "bln_4"], 100, ""),
        (["bln_3", "bln_4"], 100, &*id(1)),
        (["bln_1", "bln_2"], 100, &*id(1)),
        (["bln_2", "bln_1"], 100, ""),
        (["bln_2", "bln_1"], 100, &*id(9)),
        (["bln_2", "bln_1"], 1, &*id(1)),
    ] {
        let forged = || between(2, "APPLIED", amount, accounts, &refund(parent));
        let both = [(1, "applied", 100), (2, "applied", amount)];
        check_told(&[payment(), forged()], &both, &[]);
        check_told(&[forged(), payment()], &both, &[]);
    }
    // A queued refund is told by its copy, whose parent is the queued refund.
    let copy = json!({
        "parent_transaction": id(8), "reference": format!("{}_refund_q", id(1)),
        "meta_data": {"QUEUED_PARENT_TRANSACTION": id(8), "queue_lane": "normal"},
    });
    for (accounts, status) in [(["bln_2", "bln_1"], "reversed"), (["bln_3", "bln_4"], "applied")] {
        let service = Service::start(&home());
        ok(&tell_entry(&service, &payment()));
        ok(&tell_entry(&service, &between(2, "APPLIED", 100, accounts, &copy)));
        check(&service, &expected(&[(1, status, 100), (8, "applied", 100)]), status);
    }
}

#[test]
fn a_refund_by_an_older_blnk_is_no_commit() {
    let reference = "ref_00000000-0000-4000-8000-000000000003";
    let refund = |parent: u32| {
        let fields = json!({"parent_transaction": id(parent), "reference": reference});
        between(3, "APPLIED", 100, ["bln_2", "bln_1"], &fields)
    };
    let payment = || entry(1, "APPLIED", 100, &json!({}));
    let refunded = [(1, "reversed", 100), (3, "applied", 100)];
    check_told(&[payment(), refund(1)], &refunded, &[]);
    check_told(&[refund(1), payment()], &refunded, &[]);
    // A hold is committed, and the commit is refunded.
    let hold = || entry(1, "INFLIGHT", 100, &json!({}));
    let commit = || {
        let reference = "ref_00000000-0000-4000-8000-000000000002";
        entry(2, "APPLIED", 100, &json!({"parent_transaction": id(1), "reference": reference}))
    };
    check_told(&[hold(), commit(), refund(2)], &refunded, &[]);
    check_told(&[refund(2), commit(), hold()], &refunded, &[]);
    // An entry between other accounts neither commits nor refunds.
    let fields = json!({"parent_transaction": id(1), "reference": reference});
    let other = between(3, "APPLIED", 100, ["bln_1", "bln_5"], &fields);
    check_told(&[hold(), other], &[(1, "inflight", 100), (3, "applied", 100)], &[]);
}
