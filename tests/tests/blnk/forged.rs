//! References and metadata that a client chooses: they never hide a payment, and never touch the payment of somebody else.

use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Service, sample};

use crate::blnk::odd::{check_reports, dead, entry, expected, id};
use crate::blnk::truth::{check, number};
use crate::blnk::{home, ok, tell_entry};

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
    check_reports(&[payment(), shadow()], &[(1, "applied", 100)], &[]);
    check_reports(&[shadow(), payment()], &[(1, "applied", 100)], &[]);
    // The shadow of a hold is held, and committed with it.
    let held = between(2, "INFLIGHT", 100, LINEAGE, &shadow_of(1, "bln_1"));
    let committed =
        json!({"parent_transaction": id(2), "reference": "ref_00000000-0000-4000-8000-000000000003"});
    let committed = sample::with(&between(3, "APPLIED", 100, LINEAGE, &shadow_of(1, "bln_1")), &committed);
    let hold = entry(1, "INFLIGHT", 100, &json!({}));
    check_reports(&[hold, held, committed], &[(1, "inflight", 100)], &[]);
}

#[test]
fn a_payment_that_claims_to_be_bookkeeping_is_a_payment() {
    let payment = || entry(1, "APPLIED", 100, &json!({}));
    let both = &[(1, "applied", 100), (2, "applied", 100)];
    let claim = json!({"meta_data": {"_shadow_for": id(1)}});
    check_reports(&[payment(), between(2, "APPLIED", 100, LINEAGE, &claim)], both, &[]);
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
        check_reports(&[payment(), forged()], both, &[]);
        check_reports(&[forged(), payment()], both, &[]);
    }
    let more = between(2, "APPLIED", 101, LINEAGE, &shadow_of(1, "bln_2"));
    check_reports(&[payment(), more], &[(1, "applied", 100), (2, "applied", 101)], &[]);
    // A hold that claims it, and its commit.
    let claim = || shadow_of(1, "bln_3");
    let hold = between(2, "INFLIGHT", 100, LINEAGE, &claim());
    let reference =
        json!({"parent_transaction": id(2), "reference": "ref_00000000-0000-4000-8000-000000000003"});
    let commit = sample::with(&between(3, "APPLIED", 100, LINEAGE, &claim()), &reference);
    check_reports(&[payment(), hold, commit], both, &[]);
}

#[test]
fn bookkeeping_moves_together_at_most_three_times_the_amount_of_its_payment() {
    let payment = || entry(1, "APPLIED", 100, &json!({}));
    let shadow = |number, amount| between(number, "APPLIED", amount, LINEAGE, &shadow_of(1, "bln_2"));
    // The credit, the release and the receipt of lineage.
    let all = || [payment(), shadow(2, 100), shadow(3, 100), shadow(4, 99)];
    check_reports(&all(), &[(1, "applied", 100)], &[]);
    let more = [&all()[..], &[shadow(5, 2), shadow(6, 1), shadow(7, 1)]].concat();
    check_reports(&more, &[(1, "applied", 100), (5, "applied", 2), (7, "applied", 1)], &[]);
    // Those that waited for the payment.
    let waiting = [shadow(2, 100), shadow(3, 100), shadow(4, 100), shadow(5, 100)];
    let service = Service::start(&home());
    waiting.iter().chain([&payment()]).chain(&waiting).for_each(|entry| ok(&tell_entry(&service, entry)));
    assert_eq!(number(&service, "tollgate_history_transactions"), 2);
    // A held entry and its commit count once, whichever comes first.
    let held = |number, amount| between(number, "INFLIGHT", amount, LINEAGE, &shadow_of(1, "bln_2"));
    let settled = |number, status, amount, hold| {
        let reference = format!("ref_00000000-0000-4000-8000-{number:012}");
        let parent = json!({"parent_transaction": id(hold), "reference": reference});
        sample::with(&between(number, status, amount, LINEAGE, &shadow_of(1, "bln_2")), &parent)
    };
    let holds = || {
        [
            entry(1, "INFLIGHT", 100, &json!({})),
            held(2, 100),
            settled(3, "APPLIED", 100, 2),
            settled(5, "VOID", 100, 4),
            held(4, 100),
            held(6, 100),
            settled(7, "APPLIED", 40, 6),
            settled(8, "VOID", 60, 6),
        ]
    };
    check_reports(&holds(), &[(1, "inflight", 100)], &[]);
    // A hold beyond the bound is a payment, and so is its commit; a commit of more than the hold counts too.
    let beyond = [&holds()[..], &[held(9, 50), settled(10, "APPLIED", 50, 9), settled(11, "APPLIED", 1, 2)]];
    let payments = [(1, "inflight", 100), (9, "applied", 50), (11, "applied", 1)];
    check_reports(&beyond.concat(), &payments, &[]);
}

#[test]
fn bookkeeping_about_a_payment_that_never_moved_is_a_payment() {
    let payment = || entry(1, "REJECTED", 100, &json!({}));
    let shadow = || between(2, "APPLIED", 100, LINEAGE, &shadow_of(1, "bln_2"));
    let both = &[(1, "rejected", 100), (2, "applied", 100)];
    check_reports(&[payment(), shadow()], both, &[]);
    check_reports(&[shadow(), payment()], both, &[]);
    // A hold, and the bookkeeping that begins before it fails. What settles that belongs to it.
    let hold = || entry(1, "INFLIGHT", 100, &json!({}));
    let held = || between(2, "INFLIGHT", 100, LINEAGE, &shadow_of(1, "bln_1"));
    let reference =
        json!({"parent_transaction": id(2), "reference": "ref_00000000-0000-4000-8000-000000000003"});
    let released = || sample::with(&between(3, "VOID", 100, LINEAGE, &shadow_of(1, "bln_1")), &reference);
    check_reports(&[hold(), held(), payment(), released()], &[(1, "rejected", 100)], &[]);
}

#[test]
fn the_bound_of_bookkeeping_is_exact_in_parallel_and_after_a_restart() {
    let home = home();
    let mut service = Service::start(&home);
    let copy = json!({
        "transaction_id": id(2), "parent_transaction": id(1), "reference": "order-1_q",
        "meta_data": {"QUEUED_PARENT_TRANSACTION": id(1), "queue_lane": "normal"},
    });
    ok(&tell_entry(&service, &entry(1, "APPLIED", 100, &copy)));
    // Each names one of two entries of the payment, and is told twice.
    for half in [100..120, 120..150] {
        thread::scope(|scope| {
            for first in 0..10 {
                let (client, half) = (service.client(), half.clone());
                scope.spawn(move || {
                    for number in half.skip(first / 2).step_by(5) {
                        let fields = shadow_of(1 + number % 2, "bln_1");
                        ok(&tell_entry(&client, &between(number, "APPLIED", 10, LINEAGE, &fields)));
                    }
                });
            }
        });
        service.kill();
        service = Service::start(&home);
    }
    assert_eq!(number(&service, "tollgate_history_transactions"), 1 + 50 - 30);
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
        check_reports(&[payment(), forged()], &both, &[]);
        check_reports(&[forged(), payment()], &both, &[]);
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
    check_reports(&[payment(), refund(1)], &refunded, &[]);
    check_reports(&[refund(1), payment()], &refunded, &[]);
    // A hold is committed, and the commit is refunded.
    let hold = || entry(1, "INFLIGHT", 100, &json!({}));
    let commit = || {
        let reference = "ref_00000000-0000-4000-8000-000000000002";
        entry(2, "APPLIED", 100, &json!({"parent_transaction": id(1), "reference": reference}))
    };
    check_reports(&[hold(), commit(), refund(2)], &refunded, &[]);
    check_reports(&[refund(2), commit(), hold()], &refunded, &[]);
    // An entry between other accounts neither commits nor refunds.
    let fields = json!({"parent_transaction": id(1), "reference": reference});
    let other = between(3, "APPLIED", 100, ["bln_1", "bln_5"], &fields);
    check_reports(&[hold(), other], &[(1, "inflight", 100), (3, "applied", 100)], &[]);
}
