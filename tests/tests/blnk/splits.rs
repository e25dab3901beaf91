//! Split payments that were judged as a whole: their legs move it, count once, and never move more than was judged.

use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Service, needs, sample};

use crate::blnk::identity::{ask, by_reference, entry, id, is_paid, status_of};
use crate::blnk::odd::dead;
use crate::blnk::tables::{Tables, caught_up};
use crate::blnk::truth::{check_no_conflict, number};
use crate::blnk::unjudged::{DEAD_LETTER_BYTES_MAX, add_dead_bytes, change, ledger_check};
use crate::blnk::{ok, tell_entry};

/// Returns a leg of the split payment `order-1`, which has the id 90.
fn leg(number: u32, n: u32, amount: u32, fields: &Value) -> Value {
    let fields = sample::with(
        &json!({
            "parent_transaction": id(90), "reference": format!("order-1-{n}"), "amount": amount,
            "precise_amount": amount * 100, "destination": format!("bln_leg_{n}"),
        }),
        fields,
    );
    entry(number, &fields)
}

/// Returns a commit or void of a part of the leg with this number.
fn settled(number: u32, leg: u32, n: u32, amount: u32, status: &str) -> Value {
    let reference = format!("ref_00000000-0000-4000-8000-{number:012}");
    let fields = json!({"parent_transaction": id(leg), "reference": reference, "status": status});
    self::leg(number, n, amount, &fields)
}

fn held(number: u32, n: u32, amount: u32) -> Value {
    leg(number, n, amount, &json!({"status": "INFLIGHT"}))
}

fn rejected(number: u32, n: u32, amount: u32) -> Value {
    leg(number, n, amount, &json!({"status": "REJECTED"}))
}

/// The whole as it was judged.
fn asked() -> Value {
    ask("order-1", &json!({"source": "bln_1", "destination": "bln_2"}))
}

/// Checks the status of the whole after these entries, and the payments that are their own, by webhook and by the database.
#[track_caller]
fn check(tables: &Tables, reported: &[Value], status: &str, own: &[(&str, &str)], reasons: &[&str]) {
    tables.empty();
    for is_fed in [false, true] {
        let mut home = by_reference("100");
        if is_fed {
            tables.feeds(&mut home);
            home.set("LEDGER_EVALUATE", "true");
        }
        let service = Service::start(&home);
        ok(&service.inject(&asked()));
        if is_fed {
            for entry in reported {
                tables.insert(entry);
                // Within a page, an entry of the whole counts as the earlier one.
                if !reasons.is_empty() {
                    caught_up(&service);
                }
            }
            caught_up(&service);
        } else {
            reported.iter().chain(reported).for_each(|entry| ok(&tell_entry(&service, entry)));
        }
        assert_eq!(status_of(&service, "order-1"), status, "{reported:#?}, fed: {is_fed}");
        for (id, status) in own {
            let found = service.transaction(id).expect(200);
            assert_eq!(found["status"], *status, "{id}, fed: {is_fed}");
            assert!(found["verdict"].is_string(), "{id}, fed: {is_fed}");
        }
        assert_eq!(number(&service, "tollgate_history_transactions"), 1 + own.len() as u64);
        assert_eq!(dead(&service), reasons, "fed: {is_fed}");
        if own.is_empty() && reasons.is_empty() {
            check_no_conflict(&service, 0, "split");
            assert_eq!(is_paid(&service, 0), status == "APPLIED");
            let found = service.transaction(reported[0]["transaction_id"].as_str().unwrap()).expect(200);
            assert_eq!(found["transaction_id"], "order-1");
        }
    }
}

#[test]
fn a_split_payment_that_was_asked_about_first_is_its_legs() {
    needs!(PostgreSql);
    let tables = Tables::open();
    check(&tables, &[leg(1, 1, 25, &json!({})), leg(2, 2, 75, &json!({}))], "APPLIED", &[], &[]);
    check(&tables, &[rejected(1, 1, 25), leg(2, 2, 75, &json!({}))], "APPLIED", &[], &[]);
    check(&tables, &[held(1, 1, 25), settled(3, 1, 1, 25, "APPLIED")], "APPLIED", &[], &[]);
    check(&tables, &[settled(3, 1, 1, 25, "APPLIED"), held(1, 1, 25)], "APPLIED", &[], &[]);
}

#[test]
fn a_leg_that_fails_ends_its_payment_only_with_all_others() {
    needs!(PostgreSql);
    let tables = Tables::open();
    check(&tables, &[rejected(1, 1, 25)], "pending", &[], &[]);
    check(&tables, &[rejected(1, 1, 25), rejected(2, 2, 75)], "REJECTED", &[], &[]);
    let holds = [held(1, 1, 25), held(2, 2, 75), settled(3, 1, 1, 25, "VOID")];
    check(&tables, &holds, "INFLIGHT", &[], &[]);
    check(&tables, &[&holds[..], &[settled(4, 2, 2, 75, "VOID")]].concat(), "VOID", &[], &[]);
    check(&tables, &[rejected(1, 1, 25), held(2, 2, 75), settled(4, 2, 2, 75, "VOID")], "VOID", &[], &[]);
}

#[test]
fn legs_of_a_queue_are_counted_once_with_their_copies() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let copy = |number: u32, n: u32, amount: u32, status: &str| {
        let fields = json!({
            "transaction_id": id(number + 10), "parent_transaction": id(number), "reference": format!("order-1_{n}_q"),
            "status": status, "meta_data": {"QUEUED_PARENT_TRANSACTION": id(90), "queue_lane": "normal"},
        });
        leg(number, n, amount, &fields)
    };
    let queued = |number: u32, n: u32, amount: u32| {
        let fields = json!({"reference": format!("order-1_{n}"), "status": "QUEUED"});
        leg(number, n, amount, &fields)
    };
    let copies = [copy(1, 1, 25, "APPLIED"), copy(2, 2, 75, "APPLIED")];
    check(&tables, &copies, "APPLIED", &[], &[]);
    let all = [&[queued(1, 1, 25), queued(2, 2, 75)], &copies[..]].concat();
    check(&tables, &all, "APPLIED", &[], &[]);
    let one_more = [&all[..], &[queued(3, 3, 1), copy(3, 3, 1, "APPLIED")]].concat();
    check(&tables, &one_more, "APPLIED", &[("order-1_3", "APPLIED")], &[]);
}

#[test]
fn the_expiry_of_a_queued_leg_releases_only_what_is_left_of_it() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let copy = |number: u32, n: u32, amount: u32| {
        let fields = json!({
            "transaction_id": id(number + 10), "parent_transaction": id(number), "reference": format!("order-1_{n}_q"),
            "status": "INFLIGHT", "meta_data": {"QUEUED_PARENT_TRANSACTION": id(90), "queue_lane": "normal"},
        });
        leg(number, n, amount, &fields)
    };
    let holds = [copy(1, 1, 25), copy(2, 2, 75)];
    let commits = [settled(3, 11, 1, 25, "APPLIED"), settled(4, 12, 2, 75, "APPLIED")];
    let expiries = [settled(5, 1, 1, 25, "VOID"), settled(6, 2, 2, 75, "VOID")];
    let reported = |parts: &[&[Value]]| parts.concat();
    check(&tables, &reported(&[&holds, &commits, &expiries]), "APPLIED", &[], &[]);
    check(&tables, &reported(&[&holds, &expiries]), "VOID", &[], &[]);
    check(&tables, &reported(&[&holds, &commits[..1], &expiries]), "APPLIED", &[], &[]);
    let voids = [settled(7, 11, 1, 25, "VOID"), settled(8, 12, 2, 75, "VOID")];
    check(&tables, &reported(&[&holds, &voids, &expiries]), "VOID", &[], &[]);
    // The same leg twice.
    let committed_by_root = [settled(3, 1, 1, 25, "APPLIED")];
    check(&tables, &reported(&[&holds, &committed_by_root, &expiries]), "APPLIED", &[], &[]);
}

#[test]
fn a_leg_that_exceeds_or_does_not_match_its_payment_is_its_own_payment() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let both = [leg(1, 1, 25, &json!({})), leg(2, 2, 75, &json!({}))];
    check(
        &tables,
        &[&both[..], &[leg(3, 3, 1, &json!({}))]].concat(),
        "APPLIED",
        &[("order-1-3", "APPLIED")],
        &[],
    );
    check(
        &tables,
        &[rejected(1, 1, 25), leg(2, 2, 76, &json!({}))],
        "pending",
        &[("order-1-2", "APPLIED")],
        &[],
    );
    for other in [json!({"currency": "USD"}), json!({"source": "bln_7"})] {
        check(&tables, &[leg(1, 1, 25, &other)], "pending", &[("order-1-1", "APPLIED")], &[]);
    }
    // A commit or void of more than the leg holds, and one between other accounts.
    let reference = |number: u32| format!("ref_00000000-0000-4000-8000-{number:012}");
    let more = [held(1, 1, 25), settled(3, 1, 1, 20, "APPLIED"), settled(4, 1, 1, 6, "APPLIED")];
    check(&tables, &more, "APPLIED", &[(&reference(4), "APPLIED")], &[]);
    let other = sample::with(&settled(3, 1, 1, 25, "APPLIED"), &json!({"source": "bln_7"}));
    check(&tables, &[held(1, 1, 25), other], "INFLIGHT", &[(&reference(3), "APPLIED")], &[]);
    // The refund of a leg.
    let back = json!({
        "parent_transaction": id(1), "reference": format!("{}_refund", id(1)), "source": "bln_leg_1", "destination": "bln_1",
    });
    let refunded = [leg(1, 1, 25, &json!({})), leg(3, 3, 25, &back)];
    check(&tables, &refunded, "APPLIED", &[(&format!("{}_refund", id(1)), "APPLIED")], &[]);
}

#[test]
fn a_payment_is_moved_by_its_legs_or_by_one_entry_and_not_by_both() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let whole = || entry(5, &json!({"reference": "order-1"}));
    check(&tables, &[leg(1, 1, 25, &json!({})), whole()], "APPLIED", &[], &["already_split"]);
    check(&tables, &[whole(), leg(1, 1, 25, &json!({}))], "APPLIED", &[("order-1-1", "APPLIED")], &[]);
    // All of it failed.
    let failed = [rejected(1, 1, 25), rejected(2, 2, 75), whole()];
    check(&tables, &failed, "REJECTED", &[], &["already_split"]);
}

/// Checks that an entry is a payment of its own, and that nothing was lost.
#[track_caller]
fn check_own(service: &Service, leg: &Value, n_payments: u64) {
    ok(&tell_entry(service, leg));
    let id = leg["reference"].as_str().unwrap();
    assert!(service.transaction(id).expect(200)["verdict"].is_string(), "{leg:#?}");
    assert_eq!(number(service, "tollgate_history_transactions"), n_payments, "{leg:#?}");
    assert_eq!(dead(service), [] as [String; 0]);
}

#[test]
fn legs_that_failed_do_not_keep_the_whole_from_moving_as_one_entry() {
    let service = Service::start(&by_reference("100"));
    ok(&service.inject(&asked()));
    let whole = entry(5, &json!({"reference": "order-1"}));
    for reported in [rejected(1, 1, 25), held(3, 3, 10), settled(4, 3, 3, 10, "VOID"), whole.clone()] {
        ok(&tell_entry(&service, &reported));
    }
    assert_eq!(status_of(&service, "order-1"), "APPLIED");
    check_own(&service, &leg(2, 2, 75, &json!({})), 2);
    [rejected(1, 1, 25), whole].iter().for_each(|reported| ok(&tell_entry(&service, reported)));
    assert_eq!(status_of(&service, "order-1"), "APPLIED");
    assert!(is_paid(&service, 0));
    assert_eq!(dead(&service), [] as [String; 0]);
}

#[test]
fn a_payment_of_which_an_entry_is_only_queued_has_no_legs() {
    needs!(PostgreSql);
    let tables = Tables::open();
    for (asked_before, asked_after) in [(false, false), (true, false), (false, true)] {
        tables.empty();
        let mut home = by_reference("100");
        tables.feeds(&mut home);
        let service = Service::start(&home);
        let ask = |is_asked| (0..usize::from(is_asked)).for_each(|_| ok(&service.inject(&asked())));
        ask(asked_before);
        tables.insert(&entry(5, &json!({"reference": "order-1", "status": "QUEUED"})));
        caught_up(&service);
        ask(asked_after);
        check_own(&service, &leg(1, 1, 100, &json!({"destination": "bln_mule"})), 2);
    }
}

#[test]
fn a_payment_that_a_ledger_reported_first_or_that_failed_has_no_legs() {
    needs!(Sqlite);
    let home = by_reference("100");
    let service = Service::start(&home);
    ok(&tell_entry(&service, &entry(5, &json!({"reference": "order-1"}))));
    drop(service.stop());
    // As if the service had ended before it noted the entry.
    change(&home, "DELETE FROM ledger_entries; DELETE FROM ledger_payments;");
    let service = Service::start(&home);
    check_own(&service, &leg(1, 1, 100, &json!({})), 2);
    for status in ["rejected", "void"] {
        let service = Service::start(&by_reference("100"));
        ok(&service.inject(&sample::with(&asked(), &json!({"status": status}))));
        check_own(&service, &leg(1, 1, 100, &json!({})), 2);
    }
}

#[test]
fn an_indicator_in_the_whole_makes_no_entry_its_leg() {
    for (accounts, is_leg) in
        [(["bln_7", "bln_mule"], false), (["bln_7", "@payout"], true), (["bln_1", "bln_mule"], true)]
    {
        let service = Service::start(&by_reference("100"));
        ok(&service.inject(&ask("order-1", &json!({"source": "bln_1", "destination": "@payout"}))));
        let leg = leg(1, 1, 100, &json!({"source": accounts[0], "destination": accounts[1]}));
        match is_leg {
            true => ok(&tell_entry(&service, &leg)),
            false => check_own(&service, &leg, 2),
        }
        assert_eq!(status_of(&service, "order-1"), if is_leg { "APPLIED" } else { "pending" }, "{leg:#?}");
    }
}

#[test]
fn an_entry_of_the_whole_that_waited_too_long_is_no_payment_beside_its_legs() {
    let mut home = by_reference("100");
    home.set("LEDGER_PARENT_WAIT", "5s");
    let service = Service::start(&home);
    ok(&service.inject(&asked()));
    let claims = json!({"reference": "order-1", "meta_data": {
        "_shadow_for": id(80), "_provider": "stripe", "_main_balance": "bln_3",
    }});
    let waits = tell_entry(&service, &entry(5, &claims));
    assert!(waits.text().contains("is held until"), "{}", waits.text());
    ok(&tell_entry(&service, &held(1, 1, 25)));
    service.until("it is refused", || dead(&service) == ["already_split"]);
    assert_eq!(status_of(&service, "order-1"), "INFLIGHT");
    service.until("nothing waits", || number(&service, "tollgate_ledger_waiting_entries") == 0);
}

#[test]
fn a_row_whose_dead_letter_has_no_room_holds_back_no_other_row_of_its_page() {
    needs!(PostgreSql, Sqlite);
    let tables = Tables::open();
    let mut home = by_reference("100");
    home.set("LEDGER_EVALUATE", "true");
    let service = Service::start(&home);
    ok(&service.inject(&asked()));
    ok(&tell_entry(&service, &leg(1, 1, 25, &json!({}))));
    drop(service.stop());
    add_dead_bytes(&home, DEAD_LETTER_BYTES_MAX);
    tables.feeds(&mut home);
    let more = json!({"parent_transaction": id(6), "reference": "ref_00000000-0000-4000-8000-000000000007",
        "amount": 101, "precise_amount": 10100});
    for row in [
        entry(5, &json!({"reference": "order-1"})),
        entry(6, &json!({"status": "INFLIGHT"})),
        entry(7, &more),
        entry(8, &json!({"status": "INFLIGHT"})),
        entry(
            9,
            &json!({"parent_transaction": id(8), "reference": "ref_00000000-0000-4000-8000-000000000009"}),
        ),
    ] {
        tables.insert(&row);
    }
    let service = Service::start(&home);
    service.until("the feed waits", || {
        ledger_check(&service).contains("no room for the dead letter of a row")
            && service.transaction("order-8").status == 200
            && status_of(&service, "order-8") == "APPLIED"
    });
    assert_eq!(dead(&service), [] as [String; 0]);
    add_dead_bytes(&home, -DEAD_LETTER_BYTES_MAX);
    service.until("both are kept", || dead(&service).len() == 2);
    caught_up(&service);
    assert_eq!(dead(&service), ["already_split", "exceeds_hold"]);
}

#[test]
fn a_leg_that_was_reported_before_the_whole_was_asked_about_stays_a_payment() {
    let service = Service::start(&by_reference("100"));
    let first = leg(1, 1, 25, &json!({}));
    ok(&tell_entry(&service, &first));
    assert_eq!(status_of(&service, "order-1-1"), "APPLIED");
    ok(&service.inject(&asked()));
    ok(&tell_entry(&service, &first));
    assert_eq!(status_of(&service, "order-1"), "pending");
    ok(&tell_entry(&service, &leg(2, 2, 75, &json!({}))));
    assert_eq!(status_of(&service, "order-1"), "APPLIED");
    assert_eq!(number(&service, "tollgate_history_transactions"), 2);
}

#[test]
fn the_bound_of_legs_is_exact_in_parallel_and_after_a_restart() {
    let home = by_reference("100");
    let mut service = Service::start(&home);
    ok(&service.inject(&asked()));
    // 50 legs of 5, each told twice at about the same time.
    for half in [100..120, 120..150] {
        thread::scope(|scope| {
            for first in 0..10 {
                let (client, half) = (service.client(), half.clone());
                scope.spawn(move || {
                    for number in half.skip(first / 2).step_by(5) {
                        ok(&tell_entry(&client, &leg(number, number, 5, &json!({}))));
                    }
                });
            }
        });
        service.kill();
        service = Service::start(&home);
    }
    assert_eq!(number(&service, "tollgate_history_transactions"), 1 + 50 - 20);
    drop(service.stop());
    tollgate_tests::audit::replay(&home).all_follow();
}
