//! Prepared requests: writing one costs the generator a copy and a few digits.

use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use serde_json::json;

use super::{COUNTRIES, CURRENCIES, N_ACCOUNTS, PHRASES, RARE_COUNTRIES, SEED, STATUSES, WORDS, pick};
use crate::wire;

/// Distinct bodies, apart from transaction IDs and source accounts.
const N_BODIES: usize = 4_096;
/// Placeholders for the digits of a transaction ID and of a source account.
const ID: &str = "iiiiiiiiiiii";
const SOURCE: &str = "ssssss";
const AMOUNT_MAX: f64 = 250_000.0;

/// `POST /inject` requests as bytes, each with its own transaction ID and source account.
#[derive(Debug)]
pub(crate) struct Requests {
    prepared: Vec<PreparedRequest>,
    next: AtomicU64,
}

#[derive(Debug)]
struct PreparedRequest {
    bytes: Vec<u8>,
    id_at: usize,
    source_at: usize,
}

impl Requests {
    /// Prepares requests for this host; transaction IDs are unique to the run.
    pub(crate) fn to(host: &str) -> Self {
        let mut random = Rng::with_seed(SEED + 1);
        let run = fastrand::u32(..);
        let prepared =
            (0..N_BODIES).filter_map(|_| PreparedRequest::new(host, &body(&mut random, run))).collect();
        Self { prepared, next: AtomicU64::new(0) }
    }

    /// Replaces the contents of `buffer` with the next request.
    pub(crate) fn write(&self, buffer: &mut Vec<u8>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        buffer.clear();
        let index = usize::try_from(number).unwrap_or_default() % self.prepared.len().max(1);
        let Some(prepared) = self.prepared.get(index) else { return };
        buffer.extend_from_slice(&prepared.bytes);
        put_digits(buffer, prepared.id_at, ID.len(), number);
        // Fibonacci hashing spreads the accounts.
        let account = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % N_ACCOUNTS;
        put_digits(buffer, prepared.source_at, SOURCE.len(), account);
    }
}

impl PreparedRequest {
    fn new(host: &str, body: &str) -> Option<Self> {
        let head = format!(
            "POST /inject HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let bytes = [head.as_bytes(), body.as_bytes()].concat();
        let id_at = wire::position(&bytes, ID.as_bytes())?;
        let source_at = wire::position(&bytes, SOURCE.as_bytes())?;
        Some(Self { bytes, id_at, source_at })
    }
}

fn put_digits(buffer: &mut [u8], at: usize, n_digits: usize, number: u64) {
    let mut rest = number;
    for index in (at..at + n_digits).rev() {
        if let Some(byte) = buffer.get_mut(index) {
            *byte = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        }
        rest /= 10;
    }
}

/// One transaction without a timestamp; the service uses its arrival time.
fn body(random: &mut Rng, run: u32) -> String {
    // Pareto distribution: half are below 8.20, one in a thousand is over about 700.
    let amount = (5.0 / (1.0 - random.f64()).powf(1.0 / 1.4)).min(AMOUNT_MAX);
    let phrase = pick(random, &PHRASES);
    let description = if random.u32(..1_000) == 0 {
        format!("{phrase}, {}", pick(random, &WORDS))
    } else {
        phrase.to_owned()
    };
    let country =
        if random.u32(..500) == 0 { pick(random, &RARE_COUNTRIES) } else { pick(random, &COUNTRIES) };
    json!({
        "transaction_id": format!("bench-{run:08x}-{ID}"),
        "amount": (amount * 100.0).round() / 100.0,
        "currency": pick(random, &CURRENCIES),
        "source": format!("acc-{SOURCE}"),
        "destination": format!("acc-{:06}", random.u64(..N_ACCOUNTS)),
        "reference": "measured",
        "description": description,
        "status": pick(random, &STATUSES),
        "meta_data": {
            "country": country,
            "home": pick(random, &COUNTRIES),
            "risk": random.u32(..100),
            "card": format!("card-{}", random.u32(..10_000)),
            "device": format!("device-{}", random.u32(..10_000)),
            "merchant": format!("merchant-{}", random.u32(..2_000)),
        },
    })
    .to_string()
}
