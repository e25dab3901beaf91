//! Nanoseconds to parse a request body to a transaction, and to serialise it to its stored text. The baseline reads the
//! same bodies into a `serde_json` tree and writes them from it.
//!
//! `cargo bench -p tollgate-benches --bench requests`
//!
//! The baseline does less: it loses digits, accepts duplicate keys, and does no validation or fingerprint.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::hint::black_box;

use chrono::Utc;
use serde_json::{Value, json};
use tollgate_benches::random::Random;
use tollgate_benches::report::{Variant, interleave, machine};
use tollgate_model::transaction::Transaction;

/// Number of bodies per batch.
const N_BODIES: usize = 1_024;
const N_BATCHES: usize = 101;

fn main() -> anyhow::Result<()> {
    let mut random = Random::seeded(7);
    let bodies: Vec<String> = (0..N_BODIES).map(|number| body(number, &mut random)).collect();
    let arrival = Utc::now();
    let read = |body: &String| Transaction::parse(body.as_bytes(), arrival);
    let transactions = bodies.iter().map(|body| Ok(read(body)?.0)).collect::<anyhow::Result<Vec<_>>>()?;
    let trees = bodies.iter().map(|body| serde_json::from_str(body)).collect::<Result<Vec<Value>, _>>()?;
    let variants: Vec<Variant<'_>> = vec![
        each("a tree read", &bodies, |body| serde_json::from_str::<Value>(body)),
        each("a transaction read, with its fingerprint", &bodies, read),
        each("a tree written", &trees, Value::to_string),
        each("a transaction written for the store", &transactions, Transaction::to_stored),
    ];
    let n_bytes: usize = bodies.iter().map(String::len).sum();
    println!(
        "machine: {}; {N_BODIES} bodies a batch, {} bytes each, {N_BATCHES} batches",
        machine(),
        n_bytes / N_BODIES
    );
    println!("{:<44} {:>8} {:>8}", "what", "min ns", "median");
    for samples in interleave(N_BATCHES, variants) {
        let (minimum, median) = (samples.minimum_ns(N_BODIES), samples.median_ns(N_BODIES));
        println!("{:<44} {minimum:>8.0} {median:>8.0}", samples.name);
    }
    Ok(())
}

fn each<'a, T, R>(name: &'static str, of: &'a [T], make: impl Fn(&T) -> R + 'a) -> Variant<'a> {
    (name, Box::new(move || of.iter().for_each(|one| drop(black_box(make(black_box(one)))))))
}

/// Returns a typical body of a payment back end: a dozen fields, six of them metadata.
fn body(number: usize, random: &mut Random) -> String {
    let mut account = || format!("acc-{:06}", random.below(20_000));
    let (source, destination) = (account(), account());
    json!({
        "transaction_id": format!("bench-{number:012}"),
        "amount": f64::from(u32::try_from(random.below(1_000_000)).unwrap_or_default()) / 100.0,
        "currency": "EUR",
        "source": source,
        "destination": destination,
        "reference": "measured",
        "description": "Payment for goods",
        "status": "APPLIED",
        "meta_data": {
            "country": "NL",
            "home": "DE",
            "risk": random.below(100),
            "card": format!("card-{}", random.below(10_000)),
            "device": format!("device-{}", random.below(10_000)),
            "merchant": format!("merchant-{}", random.below(2_000)),
        },
    })
    .to_string()
}
