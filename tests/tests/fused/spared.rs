//! A body is skipped only if none of its rules would have matched.

use anyhow::ensure;
use tollgate_engine::sandbox::Sandbox;
use tollgate_tests::generator::Batch;
use tollgate_tests::oracle::Subject;
use tollgate_tests::proof;
use tollgate_tests::subject::{Fused, Live};

use crate::fused::rule;

/// First seed.
const FIRST_SEED: u64 = 1 << 33;
/// First seed with long numbers.
const FIRST_SEED_OF_LONG_NUMBERS: u64 = 1 << 35;

/// Each rule is alone in its body, which maximises skipping, because different rules have few required values in
/// common.
#[test]
fn a_body_that_is_spared_would_have_said_no() -> anyhow::Result<()> {
    check(Batch::of_seed, FIRST_SEED)
}

#[test]
fn a_body_is_spared_by_numbers_of_any_size_only_where_it_would_have_said_no() -> anyhow::Result<()> {
    check(Batch::with_long_numbers, FIRST_SEED_OF_LONG_NUMBERS)
}

fn check(batch_of: fn(u64) -> Batch, first_seed: u64) -> anyhow::Result<()> {
    let sandbox = Sandbox::new()?;
    let (mut single, mut fused) = (Live::new(sandbox.clone()), Fused::new(sandbox));
    let n_cases_wanted = proof::rounds(10_000, 1_000_000);
    let (mut n_cases, mut n_matches) = (0, 0);
    for seed in first_seed.. {
        if n_cases >= n_cases_wanted {
            break;
        }
        let Batch { scripts, transactions } = batch_of(seed);
        for script in scripts {
            let twins = vec![rule(&script)?; 2];
            let expected = single.judge(&twins, &transactions)?;
            let said = fused.judge(&twins, &transactions)?;
            let index = said.iter().zip(&expected).position(|(said, expected)| said != expected);
            ensure!(
                index.is_none(),
                "seed {seed}, transaction {index:?}: a body says something else of\n{script}"
            );
            n_cases += transactions.len();
            n_matches += expected.iter().flatten().filter(|matched| **matched).count() / 2;
        }
    }
    let n_spared = fused.fared.n_spared;
    println!("fused: {n_cases} cases, {n_matches} matches, {n_spared} spared");
    assert!(n_spared > n_cases / 20, "{n_spared} of {n_cases} were spared: that shows little");
    Ok(())
}
