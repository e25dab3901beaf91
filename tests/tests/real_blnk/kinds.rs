//! The kinds of payments that clients send to Blnk.

use std::thread;

use serde_json::{Map, Value, json};

use crate::real_blnk::round::{Round, in_seconds};
use crate::real_blnk::{batches, claims, holds};

/// Number of payments of a kind, or of groups of them.
pub(crate) const N: usize = 3;

/// A kind of payment, and the function that sends some.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) send: fn(&Round<'_>),
}

pub(crate) const KINDS: [Kind; 40] = [
    Kind { name: "plain, skip_queue", send: plain_at_once },
    Kind { name: "plain, queued", send: plain_queued },
    Kind { name: "burst", send: burst },
    Kind { name: "overdraft", send: overdraft },
    Kind { name: "indicator of a balance", send: indicator },
    Kind { name: "bulk, skip_queue", send: batches::bulk_at_once },
    Kind { name: "bulk, queued", send: batches::bulk_queued },
    Kind { name: "bulk of holds, committed", send: batches::bulk_of_holds },
    Kind { name: "hold and commit, skip_queue", send: holds::committed_at_once },
    Kind { name: "hold and commit, queued", send: holds::committed_queued },
    Kind { name: "hold and automatic commit", send: holds::committed_by_date },
    Kind { name: "hold and partial commits", send: holds::committed_in_parts },
    Kind { name: "hold, partial commit, void", send: holds::committed_in_part_and_void },
    Kind { name: "queued hold, partial commit, void", send: holds::queued_and_committed_in_part },
    Kind { name: "hold and void", send: holds::void },
    Kind { name: "hold and expiry", send: holds::expired },
    Kind { name: "hold, left open", send: holds::open },
    Kind { name: "refund, skip_queue", send: refund_at_once },
    Kind { name: "refund, queued", send: refund_queued },
    Kind { name: "refund of a refund", send: refund_twice },
    Kind { name: "refund of a commit", send: holds::refunded },
    Kind { name: "rejected", send: rejected },
    Kind { name: "refused at once", send: refused },
    Kind { name: "split to destinations, skip_queue", send: batches::split_at_once },
    Kind { name: "split to destinations, queued", send: batches::split_queued },
    Kind { name: "split from sources", send: batches::split_from_sources },
    Kind { name: "split hold and commit", send: batches::split_hold_committed },
    Kind { name: "split hold and void", send: batches::split_hold_void },
    Kind { name: "atomic split that fails", send: batches::atomic_split_that_fails },
    Kind { name: "atomic bulk that fails", send: batches::atomic_bulk_that_fails },
    Kind { name: "atomic bulk of holds that fails", send: batches::atomic_bulk_of_holds_that_fails },
    Kind { name: "scheduled", send: scheduled },
    Kind { name: "precision of 18 digits", send: precise },
    Kind { name: "much metadata", send: much_metadata },
    Kind { name: "lineage", send: batches::lineage },
    Kind { name: "lineage of holds", send: batches::lineage_of_holds },
    Kind { name: "claims to be bookkeeping", send: claims::bookkeeping },
    Kind { name: "claims to be a refund", send: claims::refund },
    Kind { name: "claims to be a commit", send: claims::commit },
    Kind { name: "claims to be a copy", send: claims::copy },
];

/// Pays at once, without the queue.
pub(crate) fn at_once() -> Value {
    json!({"skip_queue": true})
}

fn plain_at_once(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    (0..N).for_each(|_| drop(round.pay(&source, &destination, &at_once())));
}

fn plain_queued(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    (0..N).for_each(|n| drop(round.pay(&source, &destination, &json!({"amount": 10.25 + n as f64}))));
}

/// Sends twenty payments between the same accounts from four connections. Half of them pass through the queue.
fn burst(round: &Round<'_>) {
    let (source, destination) = (round.funded(10_000), round.account());
    let request =
        |n: usize| round.request(&source, &destination, &json!({"skip_queue": n.is_multiple_of(2)}));
    let requests: Vec<Value> = (0..20).map(request).collect();
    thread::scope(|scope| {
        for part in requests.chunks(5) {
            let blnk = round.blnk;
            scope.spawn(move || {
                part.iter().for_each(|request| drop(blnk.call("POST", "/transactions", request)));
            });
        }
    });
    round.expect(requests.iter().map(|request| request["reference"].as_str().unwrap().to_owned()));
}

fn overdraft(round: &Round<'_>) {
    let (source, destination) = (round.account(), round.account());
    for is_at_once in [true, false, false] {
        round.pay(&source, &destination, &json!({"allow_overdraft": true, "skip_queue": is_at_once}));
    }
}

fn indicator(round: &Round<'_>) {
    let destination = round.account();
    for is_at_once in [true, false, false] {
        let fields = json!({"allow_overdraft": true, "skip_queue": is_at_once});
        round.pay("@cash", &destination, &fields);
    }
}

fn refund_at_once(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, false, false] {
        let payment = round.pay(&source, &destination, &json!({"skip_queue": is_at_once}));
        round.refund(&payment, &at_once());
    }
}

fn refund_queued(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, false, false] {
        let payment = round.pay(&source, &destination, &json!({"skip_queue": is_at_once}));
        round.refund(&payment, &json!({}));
    }
}

/// Refunds a payment twice. The second time, Blnk refunds the refund.
fn refund_twice(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for _ in 0..N {
        let payment = round.pay(&source, &destination, &at_once());
        (0..2).for_each(|_| round.refund(&payment, &at_once()));
    }
}

fn rejected(round: &Round<'_>) {
    let (source, destination) = (round.funded(50), round.account());
    (0..N).for_each(|_| drop(round.pay(&source, &destination, &json!({}))));
}

/// Requests payments that Blnk refuses in its answer, so that nothing is stored.
fn refused(round: &Round<'_>) {
    let (source, destination) = (round.funded(50), round.account());
    for _ in 0..N {
        let answer = round.pay_in_vain(&source, &destination, &at_once());
        assert!(answer.text().contains("insufficient funds"), "{}", answer.text());
    }
}

fn scheduled(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for _ in 0..N {
        round.pay(&source, &destination, &json!({"scheduled_for": in_seconds(3)}));
    }
}

/// Pays amounts with more digits than a double has.
fn precise(round: &Round<'_>) {
    let (source, destination) = (round.account(), round.account());
    for (units, is_at_once) in [
        (1_234_567_890_123_456_789_u64, true),
        (9_007_199_254_740_993, false),
        (10_000_000_000_000_000_001, false),
    ] {
        let fields = json!({
            "precise_amount": units, "precision": 1_000_000_000_000_000_000_u64, "allow_overdraft": true,
            "skip_queue": is_at_once,
        });
        round.pay(&source, &destination, &fields);
    }
}

/// Sends metadata just below the size that Blnk refuses.
fn much_metadata(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    let many: Map<String, Value> =
        (0..200).map(|n| (format!("key-{n}"), json!("a value of a key"))).collect();
    for meta_data in [json!(many), json!({"text": "x".repeat(6_500)}), json!({"list": vec![1; 1_500]})] {
        round.pay(&source, &destination, &json!({"meta_data": meta_data}));
    }
}
