#![cfg(test)]
//! Bodies of as many rules as fit say, bit for bit, what the modules of their single rules say.
//!
//! The oracle's own comparison (`oracle.rs`) has fused bodies as well, of a batch's eight rules at most, and it says who is
//! right. Here they are wide: rules of many batches meet in one body, and share what they ask.

use anyhow::Context as _;
use serde_json::Value as Json;
use tollgate::sandbox::Sandbox;
use tollgate_compiler::emit::{EmitError, emit};
use tollgate_compiler::{CheckedRule, Options, compile};
use tollgate_guest_abi::RULES_PER_MODULE_MAX;
use tollgate_tests::generator::Batch;
use tollgate_tests::oracle::Subject;
use tollgate_tests::proof;
use tollgate_tests::subject::{Fused, Live};

/// Where the seeds of this proof begin: far from those of the oracle.
const FIRST_SEED: u64 = 1 << 32;

#[test]
fn wide_bodies_say_what_single_modules_say() -> anyhow::Result<()> {
    let sandbox = Sandbox::new()?;
    let (mut single, mut fused) = (Live::new(sandbox.clone()), Fused::new(sandbox));
    let n_cases_wanted = proof::rounds(20_000, 1_000_000);
    let mut seeds = FIRST_SEED..;
    let (mut n_cases, mut n_matches, mut n_bodies, mut n_rules) = (0, 0, 0, 0);
    while n_cases < n_cases_wanted {
        let (scripts, stream) = wide(&mut seeds);
        let rules = scripts.iter().map(|script| rule(script)).collect::<anyhow::Result<Vec<_>>>()?;
        let expected = single.judge(&rules, &stream)?;
        n_cases += rules.len() * stream.len();
        n_matches += expected.iter().flatten().filter(|matched| **matched).count();
        let mut first = 0;
        for body in bodies(&rules)? {
            let said = fused.judge(body, &stream)?;
            for (place, (said, expected)) in said.iter().zip(&expected).enumerate() {
                for (n, matched) in said.iter().enumerate() {
                    anyhow::ensure!(
                        expected.get(first + n) == Some(matched),
                        "before seed {}, transaction {place}: fused says {matched} of\n{}",
                        seeds.start,
                        scripts.get(first + n).context("no such rule")?
                    );
                }
            }
            first += body.len();
            n_bodies += 1;
        }
        anyhow::ensure!(first == rules.len(), "every rule is in a body");
        n_rules += rules.len();
    }
    println!("fused: {n_cases} cases, {n_matches} matches, {n_rules} rules in {n_bodies} bodies");
    assert!((n_cases / 10..n_cases * 9 / 10).contains(&n_matches), "{n_matches} matches");
    assert!(n_rules >= 8 * n_bodies, "{n_rules} rules in {n_bodies} bodies are not wide");
    Ok(())
}

/// As many rules as a module may answer for, and a stream.
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
    compile(script, &Options::default()).rule.with_context(|| format!("does not compile: {script}"))
}

/// The rules in slices that make a module each: what is too large is halved.
fn bodies(rules: &[CheckedRule]) -> anyhow::Result<Vec<&[CheckedRule]>> {
    match emit(rules) {
        Ok(_) => Ok(vec![rules]),
        Err(EmitError::TooLarge { .. } | EmitError::TooComplex { .. }) if rules.len() > 1 => {
            let (left, right) = rules.split_at(rules.len() / 2);
            Ok([bodies(left)?, bodies(right)?].concat())
        }
        Err(error) => Err(error.into()),
    }
}
