//! Such a process seen from the service: started, asked once, heard within bounds, never left behind.

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

/// How processes are started. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ProcessLauncher {
    path: PathBuf,
    arguments: Vec<OsString>,
    /// Whether it was said which walls this system has.
    is_described: Arc<AtomicBool>,
}

/// Most bytes of notes that are read.
const NOTES_BYTES_MAX: usize = 4096;
/// Longest note that is shown.
const LAST_CHARACTERS_MAX: usize = 300;

const NO_PROC: &str = "there is no /proc, by which this program finds itself: mount it";

/// The processes of this one that nobody has waited for yet.
static CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A running process. Never left behind: killed and waited for when dropped.
#[derive(Debug)]
pub struct Process(Child);

/// What a process noted on its standard error: a line for each thing that it began.
#[derive(Debug, Default)]
pub struct ProgressNotes(String);

/// What a process said.
#[derive(Debug, PartialEq, Eq)]
pub enum ProcessOutput {
    /// Everything up to the end.
    Whole(Vec<u8>),
    /// The end did not come in time.
    TooLate,
    /// More than anybody wants to hear.
    TooMuch,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    /// It has worked longer than it may.
    ProcessorTime,
    /// It has written a larger file than it may.
    FileSize,
    /// By itself or by another signal.
    Other(ExitStatus),
}

impl ProcessLauncher {
    /// The running program, started with this word, which is to touch nothing of a stranger's without its walls if these are needed.
    #[must_use]
    pub fn this(argument: &str, needs_walls: bool) -> Self {
        // By this path it is the very program that runs, also when its file was replaced meanwhile.
        let by_number = PathBuf::from("/proc/self/exe");
        let path = if by_number.exists() { Ok(by_number) } else { std::env::current_exe() };
        let walls = needs_walls.then_some(WALLS_NEEDED);
        Self::at(path.unwrap_or_default(), [argument].into_iter().chain(walls).map(OsString::from).collect())
    }

    /// The program of this file, with these arguments.
    #[must_use]
    pub fn at(path: PathBuf, arguments: Vec<OsString>) -> Self {
        Self { path, arguments, is_described: Arc::default() }
    }

    /// Starts one, with nothing of the service's but three pipes.
    ///
    /// # Errors
    /// When the system gives no process or no pipe.
    pub fn start(&self) -> io::Result<Process> {
        if self.path.as_os_str().is_empty() {
            return Err(io::Error::other(NO_PROC));
        }
        let mut command = Command::new(&self.path);
        command.arg0("tollgate").args(&self.arguments).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In a group of its own: a signal for the service's, such as SIGHUP, is not for it, and would end it.
        command.process_group(0);
        // Held meanwhile: nobody takes the new one for an orphan.
        let mut children = CHILDREN.lock();
        let child = command.spawn()?;
        children.insert(child.id());
        drop(children);
        Ok(Process(child))
    }

    /// Says once which walls there are: a system without one of them is no reason to stop, and one to know.
    pub fn describe(&self, who: &str, walls: &Confinement) {
        if self.is_described.swap(true, Ordering::Relaxed) {
            return;
        }
        let Confinement { landlock, seccomp } = walls;
        if walls.are_whole() {
            tracing::info!(%landlock, %seccomp, "{who} has its own process");
        } else {
            tracing::warn!(
                %landlock, %seccomp,
                "{who} has its own process, but this system does not keep it in its place by all means"
            );
        }
    }
}

impl Process {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Tells it the question and hears what it says, up to its end. Neither side waits for the other: who does not hear
    /// may still say something. The pipe of questions stays open afterwards.
    ///
    /// # Errors
    /// When the system does not let them talk.
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

    /// Ends it. Whoever has ended already keeps the end that was its own.
    ///
    /// # Errors
    /// When the system does not say how it ended.
    pub fn end(&mut self) -> io::Result<ProcessExit> {
        self.0.kill().ok();
        let status = self.0.wait();
        CHILDREN.lock().remove(&self.0.id());
        Ok(ProcessExit::of(status?))
    }

    /// What it noted on its standard error, once it has ended. A stranger may have had a say in it: there is nothing in it that a terminal
    /// or a log would obey.
    pub fn notes(&mut self) -> ProgressNotes {
        let Some(errors) = &mut self.0.stderr else { return ProgressNotes::default() };
        // Whoever it started, and is alive, may still hold the pipe.
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

/// Waits for every process that has ended and that nobody here started: the first process of a container is given those whose own
/// parents are gone.
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

/// Does nothing: containers are of Linux.
#[cfg(not(target_os = "linux"))]
pub fn reap_orphans() {}

impl Drop for Process {
    fn drop(&mut self) {
        self.end().ok();
    }
}

impl ProcessExit {
    fn of(status: ExitStatus) -> Self {
        let is_signal = |signal: Signal| status.signal() == Some(signal.as_raw());
        if is_signal(Signal::XCPU) {
            Self::ProcessorTime
        } else if is_signal(Signal::XFSZ) {
            Self::FileSize
        } else {
            Self::Other(status)
        }
    }

    /// The name of the signal that ended it, such as `SIGSYS`; `None` when it ended by itself.
    #[must_use]
    pub fn signal(self) -> Option<String> {
        let Self::Other(status) = self else { return None };
        let number = status.signal()?;
        let known = nix::sys::signal::Signal::try_from(number).ok();
        Some(known.map_or_else(|| format!("signal {number}"), |signal| signal.as_str().to_owned()))
    }

    /// Whether it ended by itself, and says that all went well.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Other(status) if status.success())
    }
}

impl ProgressNotes {
    /// What it was doing when it ended.
    #[must_use]
    pub fn last(&self) -> String {
        self.0.lines().last().unwrap_or("starting").chars().take(LAST_CHARACTERS_MAX).collect()
    }

    /// Whether one of these stands in them.
    #[must_use]
    pub fn tell_of(&self, words: &[&str]) -> bool {
        words.iter().any(|words| self.0.contains(words))
    }
}

/// What a signal did that a process did not bring upon itself by its limits, and what helps; `doing` is its last note.
#[must_use]
pub fn ended_by(signal: &str, doing: &str) -> String {
    let cure = match signal {
        "SIGSYS" => {
            "a filter of system calls ended it: allow what docs/deploy.md lists (in a systemd unit SystemCallFilter=@system-service \
             seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self)"
        }
        "SIGKILL" => "most often the memory of its control group or of the machine was used up: give it more",
        _ => "the log of the kernel may say more",
    };
    format!("was ended by {signal} while {doing}; {cure}")
}

struct Ready {
    says: bool,
    hears: bool,
}

/// Until one of them can go on; `None` when time is up.
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
    let is_ready = |place: usize| ends.get(place).is_some_and(|end| !end.revents().is_empty());
    Ok(Some(Ready { says: is_ready(0), hears: is_ready(1) }))
}

/// Says as much as the pipe takes; what is left of it.
fn tell<'q>(questions: &mut ChildStdin, unsaid: &'q [u8]) -> io::Result<&'q [u8]> {
    match questions.write(unsaid) {
        Ok(n_bytes) => Ok(unsaid.get(n_bytes..).unwrap_or_default()),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(unsaid),
            // Who is dead does not hear: how it died says more.
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
