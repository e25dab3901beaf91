//! Kinds of payments with several entries: batches, split payments and lineage.

use serde_json::{Value, json};
use tollgate_tests::sample;

use crate::real_blnk::kinds::{N, at_once};
use crate::real_blnk::round::Round;

/// Requests a batch. Returns the answer's status and the batch's id.
fn bulk(round: &Round<'_>, payments: &[Value], fields: &Value) -> (u16, String) {
    let request = sample::with(&json!({"transactions": payments}), fields);
    let answer = round.blnk.send("POST", "/transactions/bulk", &request);
    (answer.status, answer.at("/batch_id").as_str().unwrap_or_default().to_owned())
}

fn bulk_that_passes(round: &Round<'_>, fields: &Value) -> String {
    let (source, destination) = (round.funded(1_000), round.account());
    let payments: Vec<Value> = (0..4).map(|_| round.request(&source, &destination, &json!({}))).collect();
    let (status, batch) = bulk(round, &payments, fields);
    assert_eq!(status, 201);
    round.expect(payments.iter().map(|payment| payment["reference"].as_str().unwrap().to_owned()));
    batch
}

/// Requests a batch whose last payment has no funds, so that Blnk reverts the others.
fn bulk_that_fails(round: &Round<'_>, fields: &Value) {
    let (source, empty, destination) = (round.funded(1_000), round.account(), round.account());
    let mut payments: Vec<Value> = (0..2).map(|_| round.request(&source, &destination, &json!({}))).collect();
    payments.push(round.request(&empty, &destination, &json!({})));
    let fields = sample::with(&json!({"atomic": true, "skip_queue": true}), fields);
    let (status, _) = bulk(round, &payments, &fields);
    assert_eq!(status, 400);
    round.expect(payments.iter().take(2).map(|payment| payment["reference"].as_str().unwrap().to_owned()));
}

pub(crate) fn bulk_at_once(round: &Round<'_>) {
    bulk_that_passes(round, &at_once());
    bulk_that_passes(round, &json!({"skip_queue": true, "atomic": true}));
}

pub(crate) fn bulk_queued(round: &Round<'_>) {
    (0..2).for_each(|_| drop(bulk_that_passes(round, &json!({}))));
}

/// Commits one batch of holds, and voids another.
pub(crate) fn bulk_of_holds(round: &Round<'_>) {
    for status in ["commit", "void"] {
        let batch = bulk_that_passes(round, &json!({"skip_queue": true, "inflight": true}));
        let path = format!("/transactions/inflight/{batch}");
        round.blnk.call("PUT", &path, &json!({"status": status, "skip_queue": true}));
    }
}

pub(crate) fn atomic_bulk_that_fails(round: &Round<'_>) {
    (0..2).for_each(|_| bulk_that_fails(round, &json!({})));
}

pub(crate) fn atomic_bulk_of_holds_that_fails(round: &Round<'_>) {
    (0..2).for_each(|_| bulk_that_fails(round, &json!({"inflight": true})));
}

/// Returns the legs of a payment to three accounts.
fn to_three(round: &Round<'_>) -> Value {
    json!([
        {"identifier": round.account(), "distribution": "20%"},
        {"identifier": round.account(), "distribution": "33.33"},
        {"identifier": round.account(), "distribution": "left"},
    ])
}

fn split(round: &Round<'_>, fields: &Value) -> String {
    let (source, legs) = (round.funded(1_000), to_three(round));
    round.pay(&source, "", &sample::with(&json!({"destinations": legs}), fields))
}

pub(crate) fn split_at_once(round: &Round<'_>) {
    (0..N).for_each(|_| drop(split(round, &at_once())));
}

pub(crate) fn split_queued(round: &Round<'_>) {
    (0..N).for_each(|_| drop(split(round, &json!({}))));
}

pub(crate) fn split_from_sources(round: &Round<'_>) {
    for is_at_once in [true, false, false] {
        let legs = json!([
            {"identifier": round.funded(500), "distribution": "70%"},
            {"identifier": round.funded(500), "distribution": "left"},
        ]);
        round.pay("", &round.account(), &json!({"sources": legs, "skip_queue": is_at_once}));
    }
}

/// Requests a split hold, and settles all legs by the id that Blnk gave to the client.
fn split_hold(round: &Round<'_>, is_at_once: bool, status: &str) {
    let hold = split(round, &json!({"inflight": true, "skip_queue": is_at_once}));
    round.wait_for_entry(&hold, "'INFLIGHT'", 3);
    let path = format!("/transactions/inflight/{hold}");
    round.blnk.call("PUT", &path, &json!({"status": status, "skip_queue": true}));
}

pub(crate) fn split_hold_committed(round: &Round<'_>) {
    [true, true, false].into_iter().for_each(|is_at_once| split_hold(round, is_at_once, "commit"));
}

pub(crate) fn split_hold_void(round: &Round<'_>) {
    [true, true, false].into_iter().for_each(|is_at_once| split_hold(round, is_at_once, "void"));
}

/// Requests a payment from two sources, of which the second has no funds, so that Blnk reverts the first leg.
pub(crate) fn atomic_split_that_fails(round: &Round<'_>) {
    for is_inflight in [false, true] {
        let legs = json!([
            {"identifier": round.funded(500), "distribution": "50%"},
            {"identifier": round.account(), "distribution": "left"},
        ]);
        let fields = json!({"sources": legs, "skip_queue": true, "atomic": true, "inflight": is_inflight});
        round.pay_in_vain("", &round.account(), &fields);
    }
}

/// Creates an account whose funds Blnk tracks by their provider, and funds it from two.
fn tracked(round: &Round<'_>) -> String {
    let person = json!({"identity_type": "individual", "first_name": "Ada", "last_name": "Example", "category": "customer"});
    let identity = round.blnk.call("POST", "/identities", &person)["identity_id"].clone();
    let account = round.account_with(&json!({"track_fund_lineage": true, "identity_id": identity}));
    for provider in ["stripe", "bank"] {
        let fields = json!({"meta_data": {"BLNK_LINEAGE_PROVIDER": provider}});
        round.fund(&account, 500, &fields);
    }
    // Payments that spend the funds before the lineage is recorded have none.
    round.blnk.settle(&round.references());
    account
}

pub(crate) fn lineage(round: &Round<'_>) {
    let (source, tracked_too, destination) = (tracked(round), tracked(round), round.account());
    for destination in [&destination, &tracked_too] {
        round.pay(&source, destination, &json!({"amount": 300, "skip_queue": true}));
        round.pay(&source, destination, &json!({"amount": 10}));
    }
}

pub(crate) fn lineage_of_holds(round: &Round<'_>) {
    let (source, destination) = (tracked(round), round.account());
    for status in ["commit", "void"] {
        let hold = round.hold(&source, &destination, &at_once());
        round.blnk.settle(&[]);
        round.settle(&hold, status, &at_once());
    }
}
