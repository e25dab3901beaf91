//! Payments whose reference or metadata claims what only Blnk says: each is a payment, and no other one changes.

use serde_json::{Value, json};
use tollgate_tests::sample;

use crate::real_blnk::kinds::at_once;
use crate::real_blnk::round::Round;

/// Pays once directly and once through the queue.
fn both_ways(round: &Round<'_>, source: &str, destination: &str, fields: &Value) {
    for is_at_once in [true, false] {
        round.pay(source, destination, &sample::with(fields, &json!({"skip_queue": is_at_once})));
    }
}

/// Pays under this reference with `1` added directly, and with `2` added through the queue.
fn both_ways_as(round: &Round<'_>, accounts: [&str; 2], reference: impl Fn(u8) -> String, fields: &Value) {
    for (number, is_at_once) in [(1, true), (2, false)] {
        let own = json!({"reference": reference(number), "skip_queue": is_at_once});
        round.pay(accounts[0], accounts[1], &sample::with(fields, &own));
    }
}

/// Claims to be bookkeeping about a payment, or about none.
pub(crate) fn bookkeeping(round: &Round<'_>) {
    let (source, other) = (round.funded(10_000), round.funded(10_000));
    let (destination, third) = (round.account(), round.account());
    let payment = round.pay(&source, &destination, &at_once());
    let rejected = round.pay(&third, &destination, &json!({"amount": 9_999}));
    round.wait_for_entry(&rejected, "'REJECTED'", 1);
    let claim = |about: &str, main: &str| json!({"meta_data": {"_shadow_for": about, "_provider": "stripe", "_main_balance": main}});
    both_ways(round, &other, &third, &json!({"meta_data": {"_shadow_for": payment}}));
    both_ways(round, &other, &third, &json!({"meta_data": {"_shadow_for": payment, "_provider": "stripe"}}));
    // About a balance that the payment does not touch, or with one that it does.
    both_ways(round, &other, &third, &claim(&payment, &third));
    both_ways(round, &other, &destination, &claim(&payment, &source));
    both_ways(round, &source, &third, &claim(&payment, &destination));
    // About a payment that failed, and with a larger amount.
    both_ways(round, &other, &source, &claim(&rejected, &destination));
    let more = json!({"amount": 100.01});
    both_ways(round, &other, &third, &sample::with(&claim(&payment, &source), &more));
}

/// Claims in its reference to be the refund of a payment.
pub(crate) fn refund(round: &Round<'_>) {
    let (source, other) = (round.funded(1_000), round.funded(1_000));
    let (destination, third) = (round.account(), round.account());
    round.fund(&destination, 1_000, &json!({}));
    let payments: Vec<String> = (0..5).map(|_| round.pay(&source, &destination, &at_once())).collect();
    let claim = |n: usize| json!({"reference": format!("{}_refund", payments[n])});
    let pay = |source: &str, destination: &str, fields: &Value, more: Value| {
        let fields = sample::with(fields, &more);
        round.pay(source, destination, &fields);
    };
    pay(&other, &third, &claim(0), at_once());
    pay(&other, &third, &claim(1), json!({}));
    pay(&destination, &source, &claim(2), json!({"amount": 1}));
    pay(&destination, &source, &claim(3), at_once());
    pay(&source, &destination, &claim(4), json!({}));
}

/// Claims in its reference to be a commit or void of a hold that stays open.
pub(crate) fn commit(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    let hold = round.hold(&source, &destination, &at_once());
    let accounts = [&*source, &*destination];
    both_ways_as(round, accounts, |n| format!("{hold}_commit_act_{n}"), &json!({}));
    both_ways_as(round, accounts, |n| format!("{hold}_void_act_{n}"), &json!({}));
    both_ways_as(round, accounts, |n| format!("ref_00000000-0000-4000-8000-00000000000{n}"), &json!({}));
}

/// Claims to be the copy of a queued payment.
pub(crate) fn copy(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    let queued = round.pay(&source, &destination, &json!({"reference": "copied-1"}));
    let meta_data = json!({"QUEUED_PARENT_TRANSACTION": queued, "queue_lane": "normal"});
    let (accounts, fields) = ([&*source, &*destination], json!({"meta_data": meta_data}));
    both_ways_as(round, accounts, |n| format!("copied-2{n}_q"), &fields);
    both_ways_as(round, accounts, |n| format!("copied-1-{n}"), &fields);
    both_ways_as(round, accounts, |n| format!("copied-1_{n}"), &fields);
}
