//! Fused bodies of as many rules as possible give exactly the results of the single modules.
//!
//! The oracle's comparison (`oracle.rs`) includes fused bodies too, with at most eight rules of a batch, and shows
//! which result is right. Here bodies are wide: rules of many batches share a body and its lookups.

mod ceilings;
mod groups;
mod spared;

use anyhow::Context as _;
use serde_json::Value as Json;
use tollgate_compiler::{CheckedRule, CompileOptions, compile};
use tollgate_engine::sandbox::Sandbox;
use tollgate_guest_abi::RULES_PER_MODULE_MAX;
use tollgate_tests::generator::Batch;
use tollgate_tests::oracle::Subject;
use tollgate_tests::proof;
use tollgate_tests::subject::{Fared, Fused, Live};

/// First seed, far from those of the oracle.
const FIRST_SEED: u64 = 1 << 32;

#[test]
fn wide_bodies_say_what_single_modules_say() -> anyhow::Result<()> {
    let sandbox = Sandbox::new()?;
    let (mut single, mut fused) = (Live::new(sandbox.clone()), Fused::new(sandbox));
    let n_cases_wanted = proof::rounds(20_000, 1_000_000);
    let mut seeds = FIRST_SEED..;
    let (mut n_cases, mut n_matches) = (0, 0);
    while n_cases < n_cases_wanted {
        let (scripts, stream) = wide(&mut seeds);
        let rules = scripts.iter().map(|script| rule(script)).collect::<anyhow::Result<Vec<_>>>()?;
        let expected = single.judge(&rules, &stream)?;
        n_cases += rules.len() * stream.len();
        n_matches += expected.iter().flatten().filter(|matched| **matched).count();
        let said = fused.judge(&rules, &stream)?;
        for (index, (said, expected)) in said.iter().zip(&expected).enumerate() {
            for (script, (matched, expected)) in scripts.iter().zip(said.iter().zip(expected)) {
                anyhow::ensure!(
                    matched == expected,
                    "before seed {}, transaction {index}: fused says {matched} of\n{script}",
                    seeds.start
                );
            }
        }
    }
    let Fared { n_bodies, n_rules, n_joint_searches, n_failed, n_spared: _ } = fused.fared;
    println!(
        "fused: {n_cases} cases, {n_matches} matches, {n_rules} rules in {n_bodies} bodies, which searched \
         {n_joint_searches} fields for several patterns at once and failed {n_failed} times"
    );
    assert!((n_cases / 10..n_cases * 9 / 10).contains(&n_matches), "{n_matches} matches");
    assert!(n_rules >= 8 * n_bodies, "{n_rules} rules in {n_bodies} bodies are not wide");
    assert!(n_joint_searches >= n_bodies, "{n_joint_searches} joint searches of {n_bodies} bodies");
    // On a busy machine a body may time out; its rules then run one by one.
    assert!(n_failed < 10, "bodies failed {n_failed} times");
    Ok(())
}

/// Returns the maximum number of rules per module, and a stream.
fn wide(seeds: &mut impl Iterator<Item = u64>) -> (Vec<String>, Vec<Json>) {
    let (mut scripts, mut stream) = (Vec::new(), Vec::new());
    while scripts.len() < RULES_PER_MODULE_MAX {
        let batch = Batch::of_seed(seeds.next().unwrap_or_default());
        scripts.extend(batch.scripts);
        stream = batch.transactions;
    }
    scripts.truncate(RULES_PER_MODULE_MAX);
    (scripts, stream)
}

fn rule(script: &str) -> anyhow::Result<CheckedRule> {
    compile(script, &CompileOptions::default()).rule.with_context(|| format!("does not compile: {script}"))
}
