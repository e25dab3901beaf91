//! A fixed number of evaluators with one thread each.
//!
//! A switch to another thread and back costs more than a thousand fused rules. Quick evaluations therefore run on the
//! submitting thread, with an idle evaluator.

use std::num::NonZeroUsize;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::evaluation::{Evaluator, OwnerCost, RuleOutcomes};
use crate::registry::RuleSet;
use crate::sandbox::{FailureDetail, Sandbox};

/// Mean duration up to which a job runs on the submitting thread: about two thread wake-ups.
const QUICK: Duration = Duration::from_micros(50);

/// A transaction to evaluate, and the callback for its result.
pub struct EvaluationJob {
    /// The rules to run.
    pub rule_set: Arc<RuleSet>,
    /// The transaction.
    pub transaction: Arc<Transaction>,
    /// Bound of the visible history: transactions with lower sequence numbers.
    pub as_of: Sequence,
    /// Called with the result on the evaluating thread.
    pub done: Box<dyn FnOnce(Evaluated) + Send>,
}

/// The result of an [`EvaluationJob`].
#[derive(Debug)]
pub struct Evaluated {
    /// The outcome of each rule.
    pub outcomes: RuleOutcomes,
    /// The number of bodies that failed; their rules were run one by one.
    pub n_bodies_failed: usize,
    /// Costs of the rules of some owners, see [`Evaluator::costs`].
    pub costs: Vec<(usize, OwnerCost)>,
    /// Where and why rules failed, by index in the set.
    pub failures: Vec<(usize, FailureDetail)>,
    /// Whether other transactions wait to be evaluated.
    pub others_wait: bool,
    /// Duration of the evaluation.
    pub duration: Duration,
}

/// A pool of evaluators. After it is dropped, its threads finish the queued jobs and exit.
#[derive(Debug)]
pub struct EvaluatorPool {
    seats: Vec<Arc<EvaluatorSlot>>,
    queues: Vec<Sender<EvaluationJob>>,
    turn: AtomicUsize,
    load: Arc<PoolLoad>,
}

/// An evaluator shared by its thread and submitting threads.
#[derive(Debug)]
struct EvaluatorSlot {
    evaluator: Mutex<Evaluator>,
}

/// How busy the evaluators are.
#[derive(Debug, Default)]
struct PoolLoad {
    pace: MeanDuration,
    /// Jobs in the queues.
    n_waiting: AtomicUsize,
}

/// Moving average of recent durations, in nanoseconds.
#[derive(Debug, Default)]
struct MeanDuration {
    nanos: AtomicU64,
}

impl EvaluatorPool {
    /// Starts the threads. The caller must bound the number of jobs in flight.
    ///
    /// # Errors
    /// When the system cannot create a thread.
    pub fn start(n_threads: NonZeroUsize, sandbox: &Sandbox) -> std::io::Result<Self> {
        let (mut seats, mut queues) = (Vec::new(), Vec::new());
        let load = Arc::<PoolLoad>::default();
        for number in 0..n_threads.get() {
            let (queue, jobs) = channel();
            let seat = Arc::new(EvaluatorSlot { evaluator: Mutex::new(Evaluator::new(sandbox.clone())) });
            let (own, load) = (Arc::clone(&seat), Arc::clone(&load));
            thread::Builder::new()
                .name(format!("evaluate-{number}"))
                .spawn(move || work(&own, &load, &jobs))?;
            seats.push(seat);
            queues.push(queue);
        }
        Ok(Self { seats, queues, turn: AtomicUsize::new(0), load })
    }

    /// Runs a quick job on this thread, or passes it to the next evaluator thread in turn.
    pub fn submit(&self, job: EvaluationJob) {
        if let Some(evaluator) = self.at_hand(&job.rule_set) {
            return perform(evaluator, &self.load, job);
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.queues.len().max(1);
        if let Some(queue) = self.queues.get(turn) {
            self.load.n_waiting.fetch_add(1, Ordering::Relaxed);
            // A thread exits only after its queue is dropped, so the send succeeds.
            drop(queue.send(job));
        }
    }

    /// Returns an idle evaluator with these rules loaded, if evaluations are quick. Returns `None` while an idle
    /// evaluator has other rules: the threads then take turns until all have released the old set.
    fn at_hand(&self, rule_set: &Arc<RuleSet>) -> Option<MutexGuard<'_, Evaluator>> {
        if !rule_set.is_of_scripts || !self.load.pace.is_quick() {
            return None;
        }
        let mut at_hand = None;
        for evaluator in self.seats.iter().filter_map(|seat| seat.evaluator.try_lock()) {
            if evaluator.has_loaded(rule_set) {
                at_hand.get_or_insert(evaluator);
            } else if evaluator.has_loaded_any() {
                return None;
            }
        }
        at_hand
    }
}

impl MeanDuration {
    fn is_quick(&self) -> bool {
        u128::from(self.nanos.load(Ordering::Relaxed)) <= QUICK.as_nanos()
    }

    /// Adds an eighth of each new duration. A concurrent update may be lost; the value is only a hint.
    fn note(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let before = self.nanos.load(Ordering::Relaxed);
        self.nanos.store(before - before / 8 + nanos / 8, Ordering::Relaxed);
    }
}

fn work(seat: &EvaluatorSlot, load: &PoolLoad, jobs: &Receiver<EvaluationJob>) {
    while let Ok(job) = jobs.recv() {
        load.n_waiting.fetch_sub(1, Ordering::Relaxed);
        perform(seat.evaluator.lock(), load, job);
    }
}

fn perform(mut evaluator: MutexGuard<'_, Evaluator>, load: &PoolLoad, job: EvaluationJob) {
    let started = Instant::now();
    let outcomes = evaluator.evaluate(&job.rule_set, &job.transaction, job.as_of);
    let (n_bodies_failed, costs) = (evaluator.n_bodies_failed(), evaluator.costs().to_vec());
    let failures = evaluator.take_failures();
    // Release the evaluator before the callback.
    drop(evaluator);
    let duration = started.elapsed();
    load.pace.note(duration);
    let others_wait = load.n_waiting.load(Ordering::Relaxed) > 0;
    let evaluated = Evaluated { outcomes, n_bodies_failed, costs, failures, others_wait, duration };
    if panic::catch_unwind(AssertUnwindSafe(|| (job.done)(evaluated))).is_err() {
        tracing::error!(sequence = job.as_of.0, "an assessment panicked");
    }
}

impl std::fmt::Debug for EvaluationJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("as_of", &self.as_of).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace_after(micros: &[u64]) -> MeanDuration {
        let pace = MeanDuration::default();
        micros.iter().for_each(|&micros| pace.note(Duration::from_micros(micros)));
        pace
    }

    #[test]
    fn a_slow_evaluation_sends_the_next_ones_to_the_threads_until_they_are_quick_again() {
        assert!(pace_after(&[]).is_quick());
        assert!(pace_after(&[40; 100]).is_quick());
        assert!(!pace_after(&[20_000]).is_quick());
        assert!(!pace_after(&[60; 100]).is_quick());
        let mut spike = vec![20_000];
        spike.extend([5; 20]);
        assert!(!pace_after(&spike).is_quick());
        spike.extend([5; 40]);
        assert!(pace_after(&spike).is_quick());
    }
}
