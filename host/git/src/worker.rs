//! The process that runs libgit2 for operations with a remote; each operation has a separate one.
//!
//! ```text
//!  service: relay ◀──loopback──▶ worker: confinement, then libgit2: fetch or push, unpack, read once
//!           request ──pipe──▶            may write to one folder within the clone only
//!           reply ◀──pipe──              bounded in memory, file size and processor time; killed at the deadline
//! ```
//!
//! The worker is the same program, started with an internal argument. It has an empty environment and no secrets among
//! its arguments; its request arrives through a pipe, and it exits when that pipe closes. A compromised worker does not
//! affect the service, and incomplete results are removed with its folder (see [`super::incoming`]).

mod message;
mod task;
mod walls;
mod work;

use std::io;
use std::time::{Duration, Instant};

use tollgate_process::{
    ProcessExit, ProcessLauncher, ProcessOutput, ProgressNotes, ended_by, too_little_memory,
};

use message::WorkerReply;
pub(super) use message::{Login, Task, TaskFailure, TaskOutcome, WorkerRequest};
pub use work::work;

/// Argument that starts the program as a worker.
pub const WORKER_ARGUMENT: &str = "git-worker";
const REPLY_BYTES_MAX: usize = 64 * 1024;
/// Time by which the worker's deadline exceeds the relay's, so that a worker whose connection was closed can still
/// reply.
const GRACE: Duration = Duration::from_secs(1);

/// Starts workers and limits their time. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Worker {
    /// With `None`, tasks run in this process.
    program: Option<ProcessLauncher>,
    pub(super) time_max: Duration,
}

#[derive(Debug)]
pub(super) enum WorkerEnd {
    /// The deadline passed, or the processor time was used up.
    TooSlow,
    /// It exceeded its maximum file size.
    OverLimit,
    Other(String),
}

impl Worker {
    /// Creates workers from the running program. With `needs_walls`, they refuse to work while Landlock or seccomp is
    /// missing.
    #[must_use]
    pub fn of_this_program(time_max: Duration, needs_walls: bool) -> Self {
        Self { program: Some(ProcessLauncher::this(WORKER_ARGUMENT, needs_walls)), time_max }
    }

    /// Runs tasks in this process, without confinement or limits; for tests, whose program is not a worker.
    #[must_use]
    pub const fn in_this_process(time_max: Duration) -> Self {
        Self { program: None, time_max }
    }

    /// Runs a request. It calls `begun` with the process id before the process receives the request.
    pub(super) fn run(
        &self,
        request: &WorkerRequest,
        begun: impl FnOnce(u32),
    ) -> Result<TaskOutcome, WorkerEnd> {
        let Some(program) = &self.program else {
            begun(std::process::id());
            return Ok(task::run_task(request).unwrap_or_else(TaskOutcome::Failed));
        };
        let deadline = Instant::now() + Duration::from_millis(request.time_max_ms) + GRACE;
        let mut line =
            serde_json::to_vec(request).map_err(|error| cannot("be sent a request", &error.into()))?;
        line.push(b'\n');
        let mut process = program.start().map_err(|error| cannot("be started", &error))?;
        begun(process.id());
        let reply = process.ask(&line, REPLY_BYTES_MAX, deadline);
        let ending = process.end().map_err(|error| cannot("be waited for", &error))?;
        let said = match reply.map_err(|error| cannot("be read from", &error))? {
            ProcessOutput::Whole(said) => said,
            ProcessOutput::TooLate => return Err(WorkerEnd::TooSlow),
            ProcessOutput::TooMuch => return Err(WorkerEnd::Other("its reply is too long".to_owned())),
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

/// libgit2 reports a lack of memory as a damaged or too large repository.
fn check_memory(outcome: TaskOutcome) -> Result<TaskOutcome, WorkerEnd> {
    match (&outcome, too_little_memory(&walls::LIMITS)) {
        (TaskOutcome::Failed(TaskFailure::Damaged(_) | TaskFailure::TooLarge), Some(words)) => {
            Err(WorkerEnd::Other(words))
        }
        _ => Ok(outcome),
    }
}

fn end_of(ending: ProcessExit, notes: &ProgressNotes) -> WorkerEnd {
    let doing = notes.last();
    match ending {
        ProcessExit::ProcessorTime => WorkerEnd::TooSlow,
        ProcessExit::FileSize => WorkerEnd::OverLimit,
        ProcessExit::Other(status) => WorkerEnd::Other(match (ending.signal(), status.code()) {
            (Some(signal), _) => ended_by(&signal, &doing),
            (None, Some(code)) if code == i32::from(work::FAILED) => format!("cannot run: {doing}"),
            (None, _) => status.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests;
