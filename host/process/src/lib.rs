//! Confined processes for untrusted data, and a bounded exchange with them.
//!
//! ```text
//!  service:  ProcessLauncher ─start─▶ Process ─ask─▶ ProcessOutput, bounded in bytes and time; then killed and reaped
//!                                        │ ▲
//!                               question ▼ │ reply
//!  process:  limit ─▶ read the question ─▶ raise ─▶ work ─▶ write the reply
//! ```
//!
//! The process is the same program, started with an internal argument. It has an empty environment and no secrets among
//! its arguments; its input arrives through a pipe. It gives up rights irrevocably ([`limit`], [`raise`]) before it
//! touches untrusted data. The modules that use it define the question and the reply.

mod limits;
mod memory;
#[cfg(target_os = "linux")]
mod paths;
mod process;
#[cfg(target_os = "linux")]
mod syscalls;
pub mod tls;

use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use limits::{
    LimitError, ProcessLimits, keep_files_private, limit, limit_processor, open_files, too_little_memory,
};
pub use memory::{BoundSource, HistoryMemory, MemoryBound};
pub use process::{
    Process, ProcessExit, ProcessLauncher, ProcessOutput, ProgressNotes, ended_by, reap_orphans,
};

/// Argument that makes a process refuse to touch untrusted data while Landlock or seccomp is missing. It follows the
/// argument that selects the process's task.
pub(crate) const WALLS_NEEDED: &str = "--walls-needed";

/// Access to the system that a process still needs once it is confined.
#[derive(Debug)]
pub enum ProcessNeeds<'a> {
    /// Its memory and its existing pipes: it only computes.
    Nothing,
    /// Threads, these files and folders, and connections to this TCP port.
    Paths {
        /// Paths to open, each with its access. Paths that do not exist are skipped.
        paths: &'a [(&'a Path, PathAccess)],
        /// The only TCP port to connect to.
        port: Option<u16>,
    },
}

/// Access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// Reading.
    Read,
    /// Reading, writing, creating and removing.
    Write,
}

/// Confinement by the kernel, beyond resource limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Files and ports.
    pub landlock: ConfinementLevel,
    /// System calls.
    pub seccomp: ConfinementLevel,
}

/// Degree to which a kind of confinement is enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfinementLevel {
    /// Enforced completely.
    Whole,
    /// Enforced in part: the kernel is too old for some of it.
    Partial,
    /// Not enforced, with the reason.
    Missing(String),
}

impl Confinement {
    /// Returns whether both are enforced completely.
    #[must_use]
    pub(crate) const fn are_whole(&self) -> bool {
        self.landlock.is_whole() && self.seccomp.is_whole()
    }

    /// Returns the message for refusing to touch untrusted data while Landlock or seccomp is missing.
    #[must_use]
    pub fn needed(&self) -> String {
        format!("SERVICE_CONFINEMENT is `required`, and Landlock or seccomp is missing: {self}")
    }

    /// Returns whether one of them is missing altogether.
    #[must_use]
    pub const fn is_one_missing(&self) -> bool {
        matches!(self.landlock, ConfinementLevel::Missing(_))
            || matches!(self.seccomp, ConfinementLevel::Missing(_))
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Landlock {}, seccomp {}", self.landlock, self.seccomp)
    }
}

impl ConfinementLevel {
    const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }
}

impl fmt::Display for ConfinementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("whole"),
            Self::Partial => f.write_str("partial (the kernel does not support all of it)"),
            Self::Missing(why) => write!(f, "missing ({why})"),
        }
    }
}

/// Writes a progress note to standard error. If the process dies, the last note says what it was doing.
pub fn note(doing: &str) {
    writeln!(io::stderr(), "{doing}").ok();
}

/// Confines this thread irrevocably, to the extent that this kernel supports. A process calls it before it starts a
/// second thread.
#[must_use]
pub fn raise(reach: &ProcessNeeds<'_>) -> Confinement {
    #[cfg(target_os = "linux")]
    return Confinement { landlock: paths::confine(reach), seccomp: syscalls::confine(reach) };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = reach;
        let missing = || ConfinementLevel::Missing("this system is not Linux".to_owned());
        Confinement { landlock: missing(), seccomp: missing() }
    }
}

#[cfg(test)]
mod tests;
