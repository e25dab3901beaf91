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

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(super) use message::{Failure, Login, Outcome, Request, Task};
use message::{Reply, Walls};
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
    program: PathBuf,
    arguments: Vec<OsString>,
    pub(super) time_max: Duration,
    /// Whether it was said which walls this system has.
    is_described: Arc<AtomicBool>,
    /// The program of these tests is no worker: what one does is done in place, without walls.
    #[cfg(test)]
    is_in_place: bool,
}

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum End {
    /// Time was up.
    TooSlow,
    /// It wrote a larger file, or worked longer, than it may.
    OverLimit,
    /// Something else; in words.
    Other(String),
}

impl Worker {
    /// Workers out of the running program.
    #[must_use]
    pub fn of_this_program(time_max: Duration) -> Self {
        // By this path it is the very program that runs, also when its file was replaced meanwhile.
        let by_number = PathBuf::from("/proc/self/exe");
        let program = if by_number.exists() { Ok(by_number) } else { std::env::current_exe() };
        Self {
            #[cfg(test)]
            is_in_place: true,
            ..Self::started_as(program.unwrap_or_default(), vec![WORKER_ARGUMENT.into()], time_max)
        }
    }

    fn started_as(program: PathBuf, arguments: Vec<OsString>, time_max: Duration) -> Self {
        Self {
            program,
            arguments,
            time_max,
            is_described: Arc::default(),
            #[cfg(test)]
            is_in_place: false,
        }
    }

    /// Has a request done. `begun` hears the process's id before the process hears the request.
    pub(super) fn run(&self, request: &Request, begun: impl FnOnce(u32)) -> Result<Outcome, End> {
        #[cfg(test)]
        if self.is_in_place {
            begun(std::process::id());
            return Ok(task::carry_out(request).unwrap_or_else(Outcome::Failed));
        }
        let deadline = Instant::now() + Duration::from_millis(request.time_max_ms) + GRACE;
        let mut process = Process(self.start().map_err(|error| cannot("be started", &error))?);
        begun(process.0.id());
        let said = process.ask(request).and_then(|answers| read(answers, deadline));
        let status = process.end().map_err(|error| cannot("be waited for", &error))?;
        let said = match said {
            Ok(Some(said)) => said,
            Ok(None) => return Err(End::TooSlow),
            // Who is dead does not read on: how it died says more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Vec::new(),
            Err(error) => return Err(cannot("be heard", &error)),
        };
        match serde_json::from_slice::<Reply>(&said) {
            Ok(reply) => {
                self.describe(&reply.walls);
                Ok(reply.outcome)
            }
            Err(_) => Err(end_of(status)),
        }
    }

    fn start(&self) -> io::Result<Child> {
        Command::new(&self.program)
            .arg0("tollgate")
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }

    /// Once: a system without one of the walls is no reason to stop, and one to know.
    fn describe(&self, walls: &Walls) {
        if self.is_described.swap(true, Ordering::Relaxed) {
            return;
        }
        let Walls { landlock, seccomp } = walls;
        if landlock.is_whole() && seccomp.is_whole() {
            tracing::info!(
                landlock = landlock.as_str(),
                seccomp = seccomp.as_str(),
                "git has its own process"
            );
        } else {
            tracing::warn!(
                landlock = landlock.as_str(),
                seccomp = seccomp.as_str(),
                "git has its own process, but this system does not keep it in its place by all means"
            );
        }
    }
}

/// A running worker. Never left behind: killed and waited for when dropped.
struct Process(Child);

impl Process {
    fn ask(&mut self, request: &Request) -> io::Result<&mut ChildStdout> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        // Kept open: its end is the worker's end.
        let questions = self.0.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        questions.write_all(&line)?;
        self.0.stdout.as_mut().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Whoever has ended already keeps the end that was its own.
    fn end(&mut self) -> io::Result<ExitStatus> {
        self.0.kill().ok();
        self.0.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end().ok();
    }
}

/// Everything it says to its end; `None` when that does not come in time.
fn read(answers: &mut ChildStdout, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        let ready =
            match poll(&mut [PollFd::from_borrowed_fd(answers.as_fd(), PollFlags::IN)], Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => continue,
                ready => ready?,
            };
        if ready == 0 {
            return Ok(None);
        }
        let n_bytes = answers.read(&mut piece)?;
        if n_bytes == 0 {
            return Ok(Some(said));
        }
        said.extend_from_slice(piece.get(..n_bytes).unwrap_or_default());
        if said.len() > REPLY_BYTES_MAX {
            return Err(io::Error::other("it says too much"));
        }
    }
}

fn cannot(what: &str, error: &io::Error) -> End {
    End::Other(format!("it cannot {what}: {error}"))
}

/// How it ended without a word.
fn end_of(status: ExitStatus) -> End {
    let is_signal = |signal: rustix::process::Signal| status.signal() == Some(signal.as_raw());
    if is_signal(rustix::process::Signal::XCPU) {
        End::TooSlow
    } else if is_signal(rustix::process::Signal::XFSZ) {
        End::OverLimit
    } else {
        End::Other(status.to_string())
    }
}

#[cfg(test)]
mod tests;
