//! A confined process as the service uses it: started, given one question, read within bounds, and always reaped.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use super::{Confinement, WALLS_NEEDED};

/// Starts processes of one program. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ProcessLauncher {
    path: PathBuf,
    arguments: Vec<OsString>,
    /// Whether the confinement of this system was already logged.
    is_described: Arc<AtomicBool>,
}

const NOTES_BYTES_MAX: usize = 4096;
/// Maximum number of characters of a note to show.
const LAST_CHARACTERS_MAX: usize = 300;

const NO_PROC: &str = "there is no /proc, which this program needs to find its own executable: mount it";

/// Ids of child processes that have not been reaped yet.
static CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A running process. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct Process(Child);

/// Progress notes from the standard error of a process, one line for each step it began.
#[derive(Debug, Default)]
pub struct ProgressNotes(String);

/// Output of a process.
#[derive(Debug, PartialEq, Eq)]
pub enum ProcessOutput {
    /// Everything up to the end of the output.
    Whole(Vec<u8>),
    /// The output did not end before the deadline.
    TooLate,
    /// The output exceeds its maximum size.
    TooMuch,
}

/// End of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    /// It exceeded its processor time.
    ProcessorTime,
    /// It exceeded its maximum file size.
    FileSize,
    /// It exited, or was ended by another signal.
    Other(ExitStatus),
}

impl ProcessLauncher {
    /// Creates a launcher for the running program with this argument. With `needs_walls`, the process refuses to touch
    /// untrusted data while Landlock or seccomp is missing.
    #[must_use]
    pub fn this(argument: &str, needs_walls: bool) -> Self {
        // This path refers to the running program even if its file has been replaced.
        let by_number = PathBuf::from("/proc/self/exe");
        let path = if by_number.exists() { Ok(by_number) } else { std::env::current_exe() };
        let walls = needs_walls.then_some(WALLS_NEEDED);
        Self::at(path.unwrap_or_default(), [argument].into_iter().chain(walls).map(OsString::from).collect())
    }

    /// Creates a launcher for the program at `path`, with these arguments.
    #[must_use]
    pub fn at(path: PathBuf, arguments: Vec<OsString>) -> Self {
        Self { path, arguments, is_described: Arc::default() }
    }

    /// Starts a process that inherits nothing from the service except three pipes.
    ///
    /// # Errors
    /// Fails if the system cannot create the process or a pipe.
    pub fn start(&self) -> io::Result<Process> {
        if self.path.as_os_str().is_empty() {
            return Err(io::Error::other(NO_PROC));
        }
        let mut command = Command::new(&self.path);
        command.arg0("tollgate").args(&self.arguments).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A separate process group, so that signals to the group of the service, such as SIGHUP, do not end it.
        command.process_group(0);
        // Held until the id is inserted, so that `reap_orphans` does not take the new process for an orphan.
        let mut children = CHILDREN.lock();
        let child = command.spawn()?;
        children.insert(child.id());
        drop(children);
        Ok(Process(child))
    }

    /// Logs once how this system confines processes. Incomplete confinement is a warning, not an error.
    pub fn describe(&self, who: &str, walls: &Confinement) {
        if self.is_described.swap(true, Ordering::Relaxed) {
            return;
        }
        let Confinement { landlock, seccomp } = walls;
        if walls.are_whole() {
            tracing::info!(%landlock, %seccomp, "{who} runs in a separate process");
        } else {
            tracing::warn!(
                %landlock, %seccomp,
                "{who} runs in a separate process, but this system cannot confine it completely"
            );
        }
    }
}

impl Process {
    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Writes the question and reads the output up to its end. Writing and reading do not wait for each other: a
    /// process may reply without reading the question. The pipe of the question stays open afterwards.
    ///
    /// # Errors
    /// Fails if a pipe cannot be read or written.
    pub fn ask(&mut self, question: &[u8], bytes_max: usize, deadline: Instant) -> io::Result<ProcessOutput> {
        let (Some(questions), Some(answers)) = (&mut self.0.stdin, &mut self.0.stdout) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        rustix::io::ioctl_fionbio(&*questions, true)?;
        let mut unsaid = question;
        let mut said = Vec::new();
        let mut piece = [0; 8192];
        loop {
            let hearer = (!unsaid.is_empty()).then(|| questions.as_fd());
            let Some(Ready { says, hears }) = wait(answers.as_fd(), hearer, deadline)? else {
                return Ok(ProcessOutput::TooLate);
            };
            if hears {
                unsaid = tell(questions, unsaid)?;
            }
            if !says {
                continue;
            }
            let n_bytes = read(answers, &mut piece)?;
            if n_bytes == 0 {
                return Ok(ProcessOutput::Whole(said));
            }
            said.extend_from_slice(piece.get(..n_bytes).unwrap_or_default());
            if said.len() > bytes_max {
                return Ok(ProcessOutput::TooMuch);
            }
        }
    }

    /// Kills the process and reaps it. A process that has already ended keeps its own exit status.
    ///
    /// # Errors
    /// Fails if the system does not report how the process ended.
    pub fn end(&mut self) -> io::Result<ProcessExit> {
        self.0.kill().ok();
        let status = self.0.wait();
        CHILDREN.lock().remove(&self.0.id());
        Ok(ProcessExit::from_status(status?))
    }

    /// Returns the notes from standard error, once the process has ended. Untrusted data may have influenced them, so
    /// control characters are replaced by spaces.
    pub fn notes(&mut self) -> ProgressNotes {
        let Some(errors) = &mut self.0.stderr else { return ProgressNotes::default() };
        // A surviving child of the process may still hold the pipe open.
        if rustix::io::ioctl_fionbio(&*errors, true).is_err() {
            return ProgressNotes::default();
        }
        let mut notes = Vec::new();
        errors.take(NOTES_BYTES_MAX as u64).read_to_end(&mut notes).ok();
        let is_plain = |character: char| character == '\n' || !character.is_control();
        let text = String::from_utf8_lossy(&notes);
        ProgressNotes(
            text.chars().map(|character| if is_plain(character) { character } else { ' ' }).collect(),
        )
    }
}

/// Reaps every ended child that this program did not start. The first process of a container inherits such orphans.
#[cfg(target_os = "linux")]
pub fn reap_orphans() {
    let children = CHILDREN.lock();
    let Ok(processes) = procfs::process::all_processes() else { return };
    let own = std::process::id();
    let is_orphan = |stat: &procfs::process::Stat| {
        stat.state == 'Z' && stat.ppid.unsigned_abs() == own && !children.contains(&stat.pid.unsigned_abs())
    };
    let stats = processes.flatten().filter_map(|process| process.stat().ok());
    for orphan in stats.filter(is_orphan) {
        waitpid(Pid::from_raw(orphan.pid), WaitOptions::NOHANG).ok();
    }
}

/// Does nothing: only Linux has containers.
#[cfg(not(target_os = "linux"))]
pub fn reap_orphans() {}

impl Drop for Process {
    fn drop(&mut self) {
        self.end().ok();
    }
}

impl ProcessExit {
    fn from_status(status: ExitStatus) -> Self {
        let is_signal = |signal: Signal| status.signal() == Some(signal.as_raw());
        if is_signal(Signal::XCPU) {
            Self::ProcessorTime
        } else if is_signal(Signal::XFSZ) {
            Self::FileSize
        } else {
            Self::Other(status)
        }
    }

    /// Returns the name of the signal that ended the process, such as `SIGSYS`; `None` if it exited.
    #[must_use]
    pub fn signal(self) -> Option<String> {
        let Self::Other(status) = self else { return None };
        let number = status.signal()?;
        let known = nix::sys::signal::Signal::try_from(number).ok();
        Some(known.map_or_else(|| format!("signal {number}"), |signal| signal.as_str().to_owned()))
    }

    /// Returns whether the process exited with success.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Other(status) if status.success())
    }
}

impl ProgressNotes {
    /// Returns the last note: the step the process was in when it ended.
    #[must_use]
    pub fn last(&self) -> String {
        self.0.lines().last().unwrap_or("starting").chars().take(LAST_CHARACTERS_MAX).collect()
    }

    /// Returns whether the notes contain one of these texts.
    #[must_use]
    pub fn tell_of(&self, words: &[&str]) -> bool {
        words.iter().any(|words| self.0.contains(words))
    }
}

/// Describes an end by a signal that is no resource limit, with advice; `doing` is the last note.
#[must_use]
pub fn ended_by(signal: &str, doing: &str) -> String {
    let cure = match signal {
        "SIGSYS" => {
            "a system call filter ended it: allow the calls that docs/operations.md lists (in a systemd unit SystemCallFilter=@system-service \
             seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self)"
        }
        "SIGKILL" => "most often its control group or the machine ran out of memory: give it more",
        _ => "the kernel log may say more",
    };
    format!("was ended by {signal} while {doing}; {cure}")
}

struct Ready {
    says: bool,
    hears: bool,
}

/// Waits until a pipe is ready; `None` after the deadline.
fn wait(
    answers: BorrowedFd<'_>,
    questions: Option<BorrowedFd<'_>>,
    deadline: Instant,
) -> io::Result<Option<Ready>> {
    let mut ends = vec![PollFd::from_borrowed_fd(answers, PollFlags::IN)];
    ends.extend(questions.map(|questions| PollFd::from_borrowed_fd(questions, PollFlags::OUT)));
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut ends, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(0) => return Ok(None),
            Ok(_) => break,
        }
    }
    let is_ready = |path: usize| ends.get(path).is_some_and(|end| !end.revents().is_empty());
    Ok(Some(Ready { says: is_ready(0), hears: is_ready(1) }))
}

/// Writes what fits into the pipe and returns the rest.
fn tell<'q>(questions: &mut ChildStdin, unsaid: &'q [u8]) -> io::Result<&'q [u8]> {
    match questions.write(unsaid) {
        Ok(n_bytes) => Ok(unsaid.get(n_bytes..).unwrap_or_default()),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(unsaid),
            // The process has ended; its exit status says more than this error.
            io::ErrorKind::BrokenPipe => Ok(&[]),
            _ => Err(error),
        },
    }
}

fn read(answers: &mut ChildStdout, piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match answers.read(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
