#![cfg(test)]
//! Compiled modules, single and fused, with the real history, say what the oracle says.

use tollgate::sandbox::Sandbox;
use tollgate_tests::generator::{self, Batch};
use tollgate_tests::oracle::{self, Oracle, Subject};
use tollgate_tests::proof;
use tollgate_tests::subject::{Fused, Late, Live};

/// Where the seeds of this proof begin.
const FIRST_SEED: u64 = 1;
/// And of the one about long numbers.
const FIRST_SEED_OF_LONG_NUMBERS: u64 = 1 << 34;

#[test]
fn compiled_rules_say_what_the_oracle_says() -> anyhow::Result<()> {
    check(Batch::of_seed, FIRST_SEED)
}

#[test]
fn numbers_of_any_size_compare_as_the_oracle_compares_them() -> anyhow::Result<()> {
    check(Batch::with_long_numbers, FIRST_SEED_OF_LONG_NUMBERS)
}

fn check(batch_of: fn(u64) -> Batch, first_seed: u64) -> anyhow::Result<()> {
    let sandbox = Sandbox::new()?;
    let (mut live, mut late, mut fused) =
        (Live::new(sandbox.clone()), Late::new(sandbox.clone()), Fused::new(sandbox));
    let mut subjects: [(&str, &mut dyn Subject); 3] =
        [("live", &mut live), ("late", &mut late), ("fused", &mut fused)];
    let n_cases = proof::rounds(20_000, 1_000_000);
    let report =
        oracle::run(&mut Oracle::new(generator::lists()), &mut subjects, batch_of, first_seed, n_cases)?;
    println!("oracle: {} cases, {} differences", report.n_cases, report.n_differences);
    assert!(report.described.is_empty(), "{}", report.described.join("\n"));
    assert_eq!(report.n_differences, 0);
    // A generator whose rules match always or never would prove nothing.
    let n_matches = report.n_matches;
    assert!((n_cases / 10..n_cases * 9 / 10).contains(&n_matches), "{n_matches} matches");
    Ok(())
}
