#![cfg(test)]
//! Blnk as it is: what it sent and stored, recorded, and histories as it makes them, in whatever order they are told.

#[path = "blnk/histories.rs"]
mod histories;
#[path = "blnk/identity.rs"]
mod identity;
#[path = "blnk/kinds.rs"]
mod kinds;
#[path = "blnk/odd.rs"]
mod odd;
#[path = "blnk/orders.rs"]
mod orders;
#[path = "blnk/recordings.rs"]
mod recordings;
#[path = "blnk/tables.rs"]
mod tables;
#[path = "blnk/truth.rs"]
mod truth;

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, Home};

/// A home that takes what Blnk tells.
pub(crate) fn home() -> Home {
    let mut home = Home::new();
    home.set("LEDGER_KIND", "blnk");
    home
}

/// Tells what Blnk sent, to the byte.
#[track_caller]
pub(crate) fn tell(client: &Client, body: &str) -> Answer {
    client.try_post("/blnkwebhook", body.as_bytes()).unwrap()
}

/// Tells an entry by the event that Blnk sends about it.
#[track_caller]
pub(crate) fn tell_entry(client: &Client, entry: &Value) -> Answer {
    let status = entry["status"].as_str().unwrap_or_default().to_lowercase();
    tell(client, &json!({"event": format!("transaction.{status}"), "data": entry}).to_string())
}

/// It was taken.
#[track_caller]
pub(crate) fn ok(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Numbers that look like chance, the same for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// One of 0 up to `n`, without `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((number ^ (number >> 31)) % n.max(1) as u64).unwrap()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            let other = self.below(place + 1);
            items.swap(place, other);
        }
    }
}
