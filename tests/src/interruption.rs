//! Evaluations in process, on machines that are busy.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tollgate_model::assessment::{RuleFailure, RuleOutcome};

/// CPU time of all evaluations in which a rule was interrupted.
const CPU_MAX: Duration = Duration::from_secs(2);

/// Evaluates until no rule was interrupted. On a busy machine a thread can be suspended, any number of times, for longer than a rule
/// may run, which is not a difference. A rule that runs for as long as it may uses the processor: the result is then `None`.
pub fn uninterrupted(mut evaluate: impl FnMut() -> Vec<RuleOutcome>) -> Option<Vec<RuleOutcome>> {
    let begun = thread_cpu_time();
    loop {
        let outcomes = evaluate();
        if !outcomes.contains(&RuleOutcome::Failed(RuleFailure::Timeout)) {
            return Some(outcomes);
        }
        if thread_cpu_time().saturating_sub(begun) > CPU_MAX {
            return None;
        }
    }
}

fn thread_cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().expect("a thread has a CPU time")
}
