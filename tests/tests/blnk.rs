//! Blnk as a ledger: recorded requests and rows, and generated histories, in any order.

mod expiry;
mod forged;
mod histories;
mod identity;
mod kinds;
mod late;
mod odd;
mod orders;
mod recordings;
mod refunds;
mod splits;
mod tables;
pub(crate) mod truth;
mod unjudged;

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, Home};

/// Creates a home with Blnk as its ledger.
pub(crate) fn home() -> Home {
    let mut home = Home::new();
    home.set("LEDGER_KIND", "blnk");
    home
}

/// Sends a recorded Blnk request, byte for byte.
#[track_caller]
pub(crate) fn tell(client: &Client, body: &str) -> Answer {
    client.try_post("/blnkwebhook", body.as_bytes()).unwrap()
}

/// Sends an entry in the event that Blnk uses for it.
#[track_caller]
pub(crate) fn tell_entry(client: &Client, entry: &Value) -> Answer {
    let status = entry["status"].as_str().unwrap_or_default().to_lowercase();
    tell(client, &json!({"event": format!("transaction.{status}"), "data": entry}).to_string())
}

/// Checks for success.
#[track_caller]
pub(crate) fn ok(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Pseudo-random numbers that depend only on the seed.
#[derive(Debug, Clone)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// Returns a number from 0 to `n - 1`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((number ^ (number >> 31)) % n.max(1) as u64).unwrap()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            let other = self.below(index + 1);
            items.swap(index, other);
        }
    }
}
