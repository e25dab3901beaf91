//! The id of a transaction that an event reports without one.
//!
//! A ledger tells an event again until it is answered, so the id has to follow from what it tells: a random one would make a
//! new transaction each time.

use uuid::Uuid;

use crate::transaction::left_out::{self, is_left_out, leaves_out};
use crate::transaction::{CHANGED_FIELD, Json};

/// The namespace of these ids (RFC 9562, version 5).
const NAMESPACE: Uuid = Uuid::from_u128(0x6fa1_9c34_52d7_4e08_9b1e_c07d_24f8_a35b);

const FIELD: &str = "transaction_id";

/// Puts an id where it is left out. It follows from the id of the message (its `webhook-id`) or, where there is none, from the
/// members in their canonical spelling. The status and its change are no part of them, so that later news is about the same transaction.
pub(super) fn fill_in(told: &mut Vec<(Box<str>, Json)>, message: Option<&str>) {
    if leaves_out(told, FIELD) {
        let name = message.map_or_else(|| canonical(told), str::to_owned);
        left_out::fill_in(told, FIELD, &Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string());
    }
}

fn canonical(told: &[(Box<str>, Json)]) -> String {
    let is_part = |(name, value): &&(Box<str>, Json)| {
        !["status", CHANGED_FIELD].contains(&&**name) && !is_left_out(name, value)
    };
    Json::Object(told.iter().filter(is_part).cloned().collect()).canonical()
}
