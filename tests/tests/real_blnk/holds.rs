//! Kinds of holds.

use serde_json::json;

use crate::real_blnk::kinds::{N, at_once};
use crate::real_blnk::round::{Round, in_seconds};

pub(crate) fn committed_at_once(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for _ in 0..N {
        let hold = round.hold(&source, &destination, &at_once());
        round.settle(&hold, "commit", &at_once());
    }
}

/// Queues the hold as well as its commit.
pub(crate) fn committed_queued(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for _ in 0..N {
        let hold = round.hold(&source, &destination, &json!({}));
        round.settle(&hold, "commit", &json!({}));
    }
}

pub(crate) fn committed_by_date(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, true, false] {
        let fields = json!({"skip_queue": is_at_once, "inflight_commit_date": in_seconds(4)});
        round.hold(&source, &destination, &fields);
    }
}

pub(crate) fn committed_in_parts(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, true, false] {
        let hold = round.hold(&source, &destination, &at_once());
        for amount in [40, 60] {
            round.settle(&hold, "commit", &json!({"amount": amount, "skip_queue": is_at_once}));
        }
    }
}

pub(crate) fn committed_in_part_and_void(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, true, false] {
        let hold = round.hold(&source, &destination, &at_once());
        round.settle(&hold, "commit", &json!({"amount": 40.5, "skip_queue": is_at_once}));
        round.settle(&hold, "void", &json!({"skip_queue": is_at_once}));
    }
}

pub(crate) fn queued_and_committed_in_part(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, false, false] {
        let hold = round.hold(&source, &destination, &json!({}));
        round.settle(&hold, "commit", &json!({"amount": 40, "skip_queue": is_at_once}));
        round.settle(&hold, "void", &json!({"skip_queue": is_at_once}));
    }
}

pub(crate) fn void(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, false, false] {
        let hold = round.hold(&source, &destination, &json!({"skip_queue": is_at_once}));
        round.settle(&hold, "void", &json!({"skip_queue": is_at_once}));
    }
}

pub(crate) fn expired(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, false, false] {
        let fields = json!({"skip_queue": is_at_once, "inflight_expiry_date": in_seconds(4)});
        round.hold(&source, &destination, &fields);
    }
}

/// Leaves holds as they are, and one after a partial commit.
pub(crate) fn open(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, false] {
        round.hold(&source, &destination, &json!({"skip_queue": is_at_once}));
    }
    let hold = round.hold(&source, &destination, &at_once());
    round.settle(&hold, "commit", &json!({"amount": 30, "skip_queue": true}));
}

/// Refunds holds that were committed.
pub(crate) fn refunded(round: &Round<'_>) {
    let (source, destination) = (round.funded(1_000), round.account());
    for is_at_once in [true, false, false] {
        let hold = round.hold(&source, &destination, &json!({"skip_queue": is_at_once}));
        round.settle(&hold, "commit", &at_once());
        let commit = round.blnk.sql(&format!(
            "SELECT c.transaction_id FROM blnk.transactions c JOIN blnk.transactions h ON h.transaction_id = c.parent_transaction
             WHERE '{hold}' IN (h.transaction_id, h.parent_transaction) AND c.status = 'APPLIED'"
        ));
        round.refund(&commit, &json!({"skip_queue": is_at_once}));
    }
}
