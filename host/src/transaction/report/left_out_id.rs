//! The id of a transaction that an event reports without one.
//!
//! A ledger tells an event again until it is answered, so the id has to follow from what it tells: a random one would make a
//! new transaction each time.

use uuid::Uuid;

use crate::transaction::Json;
use crate::transaction::left_out::is_left_out;

/// The namespace of these ids (RFC 9562, version 5).
const NAMESPACE: Uuid = Uuid::from_u128(0x6fa1_9c34_52d7_4e08_9b1e_c07d_24f8_a35b);

const ID: &str = "transaction_id";

/// Puts an id where it is left out: that of the message (its `webhook-id`) or, where it has none, of what the event tells in
/// its canonical spelling. The status is not part of that, so that later news of the transaction finds it.
pub(super) fn fill_in(told: &mut Vec<(Box<str>, Json)>, message: Option<&str>) {
    let is_id = |(name, value): &(Box<str>, Json)| **name == *ID && !is_left_out(ID, value);
    if told.iter().any(is_id) {
        return;
    }
    told.retain(|(name, _)| **name != *ID);
    let name = message.map_or_else(|| canonical(told), str::to_owned);
    let id = Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string();
    told.push((ID.into(), Json::Text(id.into())));
}

fn canonical(told: &[(Box<str>, Json)]) -> String {
    Json::Object(told.iter().filter(|(name, _)| **name != *"status").cloned().collect()).canonical()
}
