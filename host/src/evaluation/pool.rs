//! A fixed number of threads that evaluate.

use std::num::NonZeroUsize;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::evaluation::{Evaluator, Outcomes};
use crate::registry::RuleSet;
use crate::sandbox::Sandbox;
use crate::sequence::Sequence;
use crate::transaction::Transaction;

/// A transaction to evaluate and who wants to know.
pub struct Job {
    /// By which rules.
    pub rule_set: Arc<RuleSet>,
    /// What.
    pub transaction: Arc<Transaction>,
    /// How much history it sees: what has a lower number.
    pub as_of: Sequence,
    /// Called on the evaluating thread with what came out.
    pub done: Box<dyn FnOnce(Evaluated) + Send>,
}

/// What came out of a [`Job`].
#[derive(Debug)]
pub struct Evaluated {
    /// What each rule said.
    pub outcomes: Outcomes,
    /// How many bodies failed, so that their rules were run one by one.
    pub n_bodies_failed: usize,
    /// How long it took.
    pub duration: Duration,
}

/// The threads. They stop when the pool is dropped, after the jobs they were given.
#[derive(Debug)]
pub struct Pool {
    queues: Vec<Sender<Job>>,
    turn: AtomicUsize,
}

impl Pool {
    /// Starts the threads. Whoever hands out jobs bounds how many are under way.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(n_threads: NonZeroUsize, sandbox: &Sandbox) -> std::io::Result<Self> {
        let mut queues = Vec::with_capacity(n_threads.get());
        for number in 0..n_threads.get() {
            let (queue, jobs) = channel();
            let evaluator = Evaluator::new(sandbox.clone());
            thread::Builder::new()
                .name(format!("evaluate-{number}"))
                .spawn(move || work(evaluator, &jobs))?;
            queues.push(queue);
        }
        Ok(Self { queues, turn: AtomicUsize::new(0) })
    }

    /// Hands a job to the next thread in turn.
    pub fn submit(&self, job: Job) {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.queues.len().max(1);
        if let Some(queue) = self.queues.get(turn) {
            // A thread ends only after its queue is dropped, so somebody is there to take the job.
            drop(queue.send(job));
        }
    }
}

fn work(mut evaluator: Evaluator, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        let started = Instant::now();
        let outcomes = evaluator.evaluate(&job.rule_set, &job.transaction, job.as_of);
        let n_bodies_failed = evaluator.n_bodies_failed();
        let evaluated = Evaluated { outcomes, n_bodies_failed, duration: started.elapsed() };
        if panic::catch_unwind(AssertUnwindSafe(|| (job.done)(evaluated))).is_err() {
            tracing::error!(sequence = job.as_of.0, "an assessment panicked");
        }
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("as_of", &self.as_of).finish_non_exhaustive()
    }
}
