//! A rule that traps on every transaction: what it costs beside one that does not.

use std::time::Instant;

use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_tests::proof;

use super::bench::Bench;
use super::generated::of_scripts;
use super::guest;

/// Rules beside the one that traps.
const N_GOOD: usize = 60;
/// Evaluations between two changes from one rule to the other, so that both see the same machine.
const BLOCK: usize = 100;

#[test]
fn a_storm_of_traps_leaves_at_least_half_the_throughput() {
    let n_each = proof::rounds(2_000, 100_000);
    let good: Vec<Vec<u8>> = of_scripts().take(N_GOOD).collect();
    for (trapping, calm) in [
        ("a9_unreachable", "features_sign_extension"),
        ("a2_load_out_of_bounds", "a2_last_byte_of_memory"),
        ("a18_slot_minus_one_of_number", "a6_the_same_import_twice"),
    ] {
        // A rule alone does next to nothing when it does not trap, so that only its death is seen.
        let _ = measure(trapping, calm, &[], n_each);
        let (storm, quiet) = measure(trapping, calm, &good, n_each);
        assert!(storm * 2.0 >= quiet, "{trapping}: {storm:.0} of {quiet:.0} evaluations a second");
    }
}

/// Evaluations a second of a rule set with a rule that dies, and of one with a rule that does not.
fn measure(trapping: &str, calm: &str, good: &[Vec<u8>], n_each: usize) -> (f64, f64) {
    let mut bench = Bench::new();
    let rule_sets = [trapping, calm].map(|name| {
        let guest = guest::of_files().into_iter().find(|guest| guest.name == name).unwrap();
        bench.rule_set(&[[guest.bytes].as_slice(), good].concat()).unwrap()
    });
    // Of the quickest block of each: every evaluation costs the same, and what else the machine does is in the others.
    let mut seconds = [f64::INFINITY; 2];
    for _ in 0..n_each / BLOCK {
        for (rule_set, seconds) in rule_sets.iter().zip(&mut seconds) {
            // Instances are made when a rule set is first used.
            bench.outcomes(rule_set);
            let start = Instant::now();
            for _ in 0..BLOCK {
                bench.outcomes(rule_set);
            }
            *seconds = seconds.min(start.elapsed().as_secs_f64());
        }
    }
    let died = bench.outcomes(&rule_sets[0]);
    let is_own = |failure: RuleFailure| failure != RuleFailure::Internal;
    assert!(matches!(died.first(), Some(RuleOutcome::Failed(failure)) if is_own(*failure)), "{died:?}");
    assert_eq!(bench.outcomes(&rule_sets[1]).first(), Some(&RuleOutcome::NotMatched));
    let [storm, quiet] = seconds.map(|seconds| BLOCK as f64 / seconds);
    println!(
        "{n_each} evaluations each beside {} rules: {trapping} {storm:.0}/s, {calm} {quiet:.0}/s, {:.0} %",
        good.len(),
        100.0 * storm / quiet
    );
    (storm, quiet)
}
