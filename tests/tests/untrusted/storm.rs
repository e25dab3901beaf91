//! The cost of a rule that traps on every transaction, compared with one that does not.

use rustix::time::{ClockId, clock_gettime};
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_tests::proof;

use super::bench::Bench;
use super::generated::of_scripts;
use super::guest;

/// Number of other rules.
const N_GOOD: usize = 60;
/// The least share of the throughput. With debug assertions the engine that handles traps is optimised less than what
/// evaluates: the share is 0.43 on a quiet machine, and 0.38 beside other tests, which take its caches.
const SHARE_MIN: f64 = if cfg!(debug_assertions) { 0.3 } else { 0.5 };
/// Measurements at most.
const N_MEASURED: usize = 3;
/// Evaluations between two switches of the rule set, so that both run under equal conditions.
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
        // A single rule that does not trap does almost nothing, which isolates the cost of the trap.
        let _ = measure(trapping, calm, &[], n_each);
        // The best of some: other tests take the caches from one of the two.
        let shares = (0..N_MEASURED).map(|_| {
            let (storm, quiet) = measure(trapping, calm, &good, n_each);
            println!("{trapping}: {storm:.0} of {quiet:.0} evaluations a second");
            storm / quiet
        });
        assert!(shares.into_iter().any(|share| share >= SHARE_MIN), "{trapping}");
    }
}

/// Returns the processor time of this thread, which others on the machine do not take from it.
fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the evaluations per second of processor time of a rule set with a trapping rule and of one without.
fn measure(trapping: &str, calm: &str, good: &[Vec<u8>], n_each: usize) -> (f64, f64) {
    let mut bench = Bench::new();
    let rule_sets = [trapping, calm].map(|name| {
        let guest = guest::of_files().into_iter().find(|guest| guest.name == name).unwrap();
        bench.rule_set(&[[guest.bytes].as_slice(), good].concat()).unwrap()
    });
    // The fastest block of each counts. All evaluations cost the same, so slower blocks show noise of the machine.
    let mut seconds = [f64::INFINITY; 2];
    for _ in 0..n_each / BLOCK {
        for (rule_set, seconds) in rule_sets.iter().zip(&mut seconds) {
            // Instances are created when a rule set is first used.
            bench.outcomes(rule_set);
            let start = thread_seconds();
            for _ in 0..BLOCK {
                bench.outcomes(rule_set);
            }
            *seconds = seconds.min(thread_seconds() - start);
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
