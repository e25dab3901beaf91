//! Nanoseconds per unit of fuel of everything that the host does for a rule, beside a loop of WebAssembly in the same
//! run. Fails when an operation takes longer than its price allows.
//!
//! `cargo bench -p tollgate-benches --bench prices [-- [ROWS] [OPERATION…]]`
//!
//! `.ci/run` runs it in the build of the tests (`cargo test` in place of `cargo bench`), where an operation may take three
//! times as long: that build checks arithmetic, and its libraries are optimised less.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

#[path = "prices/operations.rs"]
mod operations;
#[path = "prices/stage.rs"]
mod stage;

use anyhow::bail;
use tollgate_benches::report::machine;

use operations::{MEMORY_WRITES, operations};
use stage::{Measured, Stage};

/// The most nanoseconds per unit of fuel on the reference machine.
const NS_PER_UNIT_MAX: f64 = 2.0;
/// Time of one unit of the loop there, in nanoseconds. A slower machine may take longer for both.
const NS_PER_UNIT_OF_LOOP: f64 = 0.15;
/// How much longer an operation may take in a build with debug assertions.
const UNOPTIMISED: f64 = if cfg!(debug_assertions) { 3.0 } else { 1.0 };
/// Number of past transactions.
const N_ROWS: usize = 200_000;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let n_rows = words.iter().find_map(|word| word.parse().ok()).unwrap_or(N_ROWS);
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<usize>().is_err()).collect();
    let stage = Stage::new(n_rows)?;
    println!("machine: {}; {n_rows} past transactions", machine());
    println!("{:<52} {:>12} {:>12} {:>9} {:>9}", "operation", "fuel", "ns", "ns/unit", "x loop");
    let of_loop = stage.measure_loop()?;
    show("a loop of WebAssembly", &of_loop, 1.0);
    let unit = of_loop.ns_per_unit();
    let ratio_max = UNOPTIMISED * NS_PER_UNIT_MAX / NS_PER_UNIT_OF_LOOP;
    let mut too_cheap = Vec::new();
    for operation in operations() {
        if !names.is_empty() && !names.iter().any(|name| operation.name.contains(name.as_str())) {
            continue;
        }
        let mut measured = stage.measure(&operation)?;
        if measured.ns_per_unit() > ratio_max * unit {
            // Once more: somebody else may have used the machine.
            measured = stage.measure(&operation)?;
        }
        let ratio = measured.ns_per_unit() / unit;
        show(operation.name, &measured, ratio);
        if ratio > ratio_max {
            too_cheap.push(operation.name);
        }
    }
    for memory in &MEMORY_WRITES {
        if !names.is_empty() && !names.iter().any(|name| memory.name.contains(name.as_str())) {
            continue;
        }
        let measured = stage.measure_memory(memory)?;
        let ratio = measured.ns_per_unit() / unit;
        show(memory.name, &measured, ratio);
        if ratio > ratio_max {
            too_cheap.push(memory.name);
        }
    }
    if !too_cheap.is_empty() {
        bail!("more than {ratio_max:.1} times the loop a unit: {}", too_cheap.join("; "));
    }
    Ok(())
}

fn show(name: &str, measured: &Measured, ratio: f64) {
    println!(
        "{name:<52} {:>12.0} {:>12.0} {:>9.2} {ratio:>9.1}",
        measured.fuel,
        measured.ns,
        measured.ns_per_unit()
    );
}
