//! Verdicts that are derived at the same time.
//!
//! Each counts the transactions before its own, also when the history has later ones. Status changes have no such order: none may be
//! fed to the history before the verdicts that come before it are derived.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tollgate_engine::evaluation::{Evaluator, RuleOutcomes};
use tollgate_engine::registry::RuleSet;
use tollgate_engine::sandbox::Sandbox;
use tollgate_model::assessment::RuleOutcome;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::replay::AuditRemark;
use crate::replay::comparison::{compare, is_of_the_moment};

/// Maximum number of runs when a rule fails because of the machine.
const ATTEMPTS_MAX: usize = 3;
/// Verdicts for each thread at least: fewer take less time than a thread takes to start.
const JOBS_PER_THREAD: usize = 8;

/// A verdict to derive and to compare with the stored answer.
#[derive(Debug)]
pub(super) struct VerdictJob {
    pub(super) rule_set: Arc<RuleSet>,
    pub(super) transaction: Arc<Transaction>,
    /// The evaluation counts transactions with lower numbers.
    pub(super) as_of: Sequence,
    pub(super) stored: String,
}

/// The evaluators of a pass, one for each thread.
#[derive(Debug)]
pub(super) struct VerdictEvaluators(Vec<Evaluator>);

impl VerdictEvaluators {
    pub(super) fn new(sandbox: &Sandbox, n_threads: NonZeroUsize) -> Self {
        Self((0..n_threads.get()).map(|_| Evaluator::new(sandbox.clone())).collect())
    }

    /// Returns the remark on each verdict.
    pub(super) fn remarks(&mut self, jobs: &[&VerdictJob]) -> Vec<Option<AuditRemark>> {
        let next = AtomicUsize::new(0);
        let work = |evaluator: &mut Evaluator| {
            let mut remarks = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(number) else { return remarks };
                remarks.push((number, remark(evaluator, job)));
            }
        };
        let mut remarks = thread::scope(|scope| {
            let mut evaluators = self.0.iter_mut().take(jobs.len().div_ceil(JOBS_PER_THREAD));
            let Some(own) = evaluators.next() else { return Vec::new() };
            // Where the system refuses a thread, the others do its work.
            let others: Vec<_> = evaluators
                .filter_map(|evaluator| thread::Builder::new().spawn_scoped(scope, || work(evaluator)).ok())
                .collect();
            let mut remarks = work(own);
            for other in others {
                remarks.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            remarks
        });
        remarks.sort_unstable_by_key(|(number, _)| *number);
        remarks.into_iter().map(|(_, remark)| remark).collect()
    }
}

fn remark(evaluator: &mut Evaluator, job: &VerdictJob) -> Option<AuditRemark> {
    compare(&job.rule_set, &job.transaction, &outcomes(evaluator, job), &job.stored)
}

/// Returns the outcomes of the rules. A busy machine may interrupt a rule; then all rules run again.
fn outcomes(evaluator: &mut Evaluator, job: &VerdictJob) -> RuleOutcomes {
    let mut outcomes = evaluator.evaluate(&job.rule_set, &job.transaction, job.as_of);
    for _ in 1..ATTEMPTS_MAX {
        let died =
            |outcome: &RuleOutcome| matches!(outcome, RuleOutcome::Failed(how) if is_of_the_moment(*how));
        if !outcomes.noted().any(|(_, outcome)| died(outcome)) {
            break;
        }
        outcomes = evaluator.evaluate(&job.rule_set, &job.transaction, job.as_of);
    }
    outcomes
}
