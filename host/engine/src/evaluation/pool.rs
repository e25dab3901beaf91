//! A fixed number of evaluators, each with a thread.
//!
//! To wake a thread, and be woken by it, costs more than to run a thousand fused rules. So while evaluations are quick, and can
//! only be quick, whoever brings a job does it at once with an evaluator that nobody uses at the moment.

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

use crate::evaluation::{Evaluator, RuleOutcomes};
use crate::registry::RuleSet;
use crate::sandbox::Sandbox;

/// An evaluation that takes no longer on average is done where it is asked for: about what two wake-ups take.
const QUICK: Duration = Duration::from_micros(50);

/// A transaction to evaluate and who wants to know.
pub struct EvaluationJob {
    /// By which rules.
    pub rule_set: Arc<RuleSet>,
    /// What.
    pub transaction: Arc<Transaction>,
    /// How much history it sees: what has a lower number.
    pub as_of: Sequence,
    /// Called with what came out, on the thread that evaluated.
    pub done: Box<dyn FnOnce(Evaluated) + Send>,
}

/// What came out of an [`EvaluationJob`].
#[derive(Debug)]
pub struct Evaluated {
    /// What each rule said.
    pub outcomes: RuleOutcomes,
    /// How many bodies failed, so that their rules were run one by one.
    pub n_bodies_failed: usize,
    /// How long it took.
    pub duration: Duration,
}

/// The evaluators. Their threads stop when the pool is dropped, after the jobs they were given.
#[derive(Debug)]
pub struct EvaluatorPool {
    seats: Vec<Arc<EvaluatorSlot>>,
    queues: Vec<Sender<EvaluationJob>>,
    turn: AtomicUsize,
    pace: Arc<MeanDuration>,
}

/// An evaluator, for its thread and whoever is quick.
#[derive(Debug)]
struct EvaluatorSlot {
    evaluator: Mutex<Evaluator>,
}

/// How long evaluations have taken lately: a moving average, in nanoseconds.
#[derive(Debug, Default)]
struct MeanDuration {
    nanos: AtomicU64,
}

impl EvaluatorPool {
    /// Starts the threads. Whoever hands out jobs bounds how many are under way.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(n_threads: NonZeroUsize, sandbox: &Sandbox) -> std::io::Result<Self> {
        let (mut seats, mut queues) = (Vec::new(), Vec::new());
        let pace = Arc::<MeanDuration>::default();
        for number in 0..n_threads.get() {
            let (queue, jobs) = channel();
            let seat = Arc::new(EvaluatorSlot { evaluator: Mutex::new(Evaluator::new(sandbox.clone())) });
            let (own, pace) = (Arc::clone(&seat), Arc::clone(&pace));
            thread::Builder::new()
                .name(format!("evaluate-{number}"))
                .spawn(move || work(&own, &pace, &jobs))?;
            seats.push(seat);
            queues.push(queue);
        }
        Ok(Self { seats, queues, turn: AtomicUsize::new(0), pace })
    }

    /// Does a job that will be quick at once, and hands any other to the next thread in turn.
    pub fn submit(&self, job: EvaluationJob) {
        if let Some(evaluator) = self.at_hand(&job.rule_set) {
            return perform(evaluator, &self.pace, job);
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.queues.len().max(1);
        if let Some(queue) = self.queues.get(turn) {
            // A thread ends only after its queue is dropped, so somebody is there to take the job.
            drop(queue.send(job));
        }
    }

    /// An evaluator that nobody uses and that has these rules loaded, if they will be quick. None while another one has
    /// other rules: then the threads take turns until none of them holds on to what is in force no more.
    fn at_hand(&self, rule_set: &Arc<RuleSet>) -> Option<MutexGuard<'_, Evaluator>> {
        if !rule_set.is_of_scripts || !self.pace.is_quick() {
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

    /// An eighth of each new one. That of two at once one may be lost does not matter.
    fn note(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let before = self.nanos.load(Ordering::Relaxed);
        self.nanos.store(before - before / 8 + nanos / 8, Ordering::Relaxed);
    }
}

fn work(seat: &EvaluatorSlot, pace: &MeanDuration, jobs: &Receiver<EvaluationJob>) {
    while let Ok(job) = jobs.recv() {
        perform(seat.evaluator.lock(), pace, job);
    }
}

fn perform(mut evaluator: MutexGuard<'_, Evaluator>, pace: &MeanDuration, job: EvaluationJob) {
    let started = Instant::now();
    let outcomes = evaluator.evaluate(&job.rule_set, &job.transaction, job.as_of);
    let n_bodies_failed = evaluator.n_bodies_failed();
    // What is left is not the evaluator's business.
    drop(evaluator);
    let duration = started.elapsed();
    pace.note(duration);
    let evaluated = Evaluated { outcomes, n_bodies_failed, duration };
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
