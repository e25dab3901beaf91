//! The id of a transaction reported by an event without one.
//!
//! A ledger repeats an event until it is acknowledged, so the id must be derived from the event. A random id would
//! create a new transaction each time.

use uuid::Uuid;

use crate::transaction::left_out::{self, is_left_out, leaves_out};
use crate::transaction::{CHANGED_FIELD, Json};

/// The namespace of these ids (RFC 9562, version 5).
const NAMESPACE: Uuid = Uuid::from_u128(0x6fa1_9c34_52d7_4e08_9b1e_c07d_24f8_a35b);

const FIELD: &str = "transaction_id";

/// Sets a missing id. It is derived from the message id (`webhook-id`), or from the canonical members if there is none.
/// Status and change time are excluded, so that later reports are about the same transaction.
pub(super) fn fill_in(members: &mut Vec<(Box<str>, Json)>, message: Option<&str>) {
    if leaves_out(members, FIELD) {
        let name = message.map_or_else(|| canonical(members), str::to_owned);
        left_out::fill_in(members, FIELD, &Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string());
    }
}

fn canonical(members: &[(Box<str>, Json)]) -> String {
    let is_part = |(name, value): &&(Box<str>, Json)| {
        !["status", CHANGED_FIELD].contains(&&**name) && !is_left_out(name, value)
    };
    Json::Object(members.iter().filter(is_part).cloned().collect()).canonical()
}
