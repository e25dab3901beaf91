//! The process that runs libgit2 where a remote has a say: one for each operation, gone with it.
//!
//! ```text
//!  service: relay ◀──loopback──▶ worker: walls, then libgit2: fetch or push, unpack, read once
//!           request ──pipe──▶            one folder within the clone is all it may write
//!           reply ◀──pipe──              bounded in memory, file size, processor time; killed when time is up
//! ```
//!
//! It is the same program, started with a word that is not for people. It has no environment and no secret among its
//! arguments; what it has to know comes through a pipe, and when that pipe ends it ends too. Whatever a remote makes of
//! it, the service lives on, and what it left half-done goes with its folder (see [`super::incoming`]).

mod message;
mod task;
mod walls;
mod work;

use std::io;
use std::time::{Duration, Instant};

use crate::confinement::{
    ProcessExit, ProcessLauncher, ProcessOutput, ProgressNotes, ended_by, too_little_memory,
};

use message::WorkerReply;
pub(super) use message::{Login, Task, TaskFailure, TaskOutcome, WorkerRequest};
pub use work::work;

/// What the program is started with to be a worker.
pub const WORKER_ARGUMENT: &str = "git-worker";
/// Longest reply, in bytes.
const REPLY_BYTES_MAX: usize = 64 * 1024;
/// How much later than the relay the end comes: so that whoever is merely cut off can still say so.
const GRACE: Duration = Duration::from_secs(1);

/// How workers are started, and how long they may take. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Worker {
    /// `None`: what a worker does is done in this process.
    program: Option<ProcessLauncher>,
    pub(super) time_max: Duration,
}

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum WorkerEnd {
    /// Time was up.
    TooSlow,
    /// It wrote a larger file, or worked longer, than it may.
    OverLimit,
    /// Something else; in words.
    Other(String),
}

impl Worker {
    /// Workers out of the running program, which work without walls only if these are not needed.
    #[must_use]
    pub fn of_this_program(time_max: Duration, needs_walls: bool) -> Self {
        Self { program: Some(ProcessLauncher::this(WORKER_ARGUMENT, needs_walls)), time_max }
    }

    /// Does what a worker does in this very process, without walls or limits: for tests, whose program is no worker.
    #[must_use]
    pub const fn in_this_process(time_max: Duration) -> Self {
        Self { program: None, time_max }
    }

    /// Has a request done. `begun` hears the process's id before the process hears the request.
    pub(super) fn run(
        &self,
        request: &WorkerRequest,
        begun: impl FnOnce(u32),
    ) -> Result<TaskOutcome, WorkerEnd> {
        let Some(program) = &self.program else {
            begun(std::process::id());
            return Ok(task::carry_out(request).unwrap_or_else(TaskOutcome::Failed));
        };
        let deadline = Instant::now() + Duration::from_millis(request.time_max_ms) + GRACE;
        let mut line = serde_json::to_vec(request).map_err(|error| cannot("be asked", &error.into()))?;
        line.push(b'\n');
        let mut process = program.start().map_err(|error| cannot("be started", &error))?;
        begun(process.id());
        let heard = process.ask(&line, REPLY_BYTES_MAX, deadline);
        let ending = process.end().map_err(|error| cannot("be waited for", &error))?;
        let said = match heard.map_err(|error| cannot("be heard", &error))? {
            ProcessOutput::Whole(said) => said,
            ProcessOutput::TooLate => return Err(WorkerEnd::TooSlow),
            ProcessOutput::TooMuch => return Err(WorkerEnd::Other("it says too much".to_owned())),
        };
        match serde_json::from_slice::<WorkerReply>(&said) {
            Ok(reply) => {
                program.describe("git", &reply.walls);
                Ok(reply.outcome).and_then(check_memory)
            }
            Err(_) => Err(end_of(ending, &process.notes())),
        }
    }
}

fn cannot(what: &str, error: &io::Error) -> WorkerEnd {
    WorkerEnd::Other(format!("it cannot {what}: {error}"))
}

/// What libgit2 takes for a damaged or too large repository where it has too little memory.
fn check_memory(outcome: TaskOutcome) -> Result<TaskOutcome, WorkerEnd> {
    match (&outcome, too_little_memory(&walls::LIMITS)) {
        (TaskOutcome::Failed(TaskFailure::Damaged(_) | TaskFailure::TooLarge), Some(words)) => {
            Err(WorkerEnd::Other(words))
        }
        _ => Ok(outcome),
    }
}

/// How it ended without a word.
fn end_of(ending: ProcessExit, notes: &ProgressNotes) -> WorkerEnd {
    let doing = notes.last();
    match ending {
        ProcessExit::ProcessorTime => WorkerEnd::TooSlow,
        ProcessExit::FileSize => WorkerEnd::OverLimit,
        ProcessExit::Other(status) => WorkerEnd::Other(match (ending.signal(), status.code()) {
            (Some(signal), _) => ended_by(&signal, &doing),
            (None, Some(code)) if code == i32::from(work::FAILED) => format!("cannot work: {doing}"),
            (None, _) => status.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests;
