//! Processes that work on what strangers send: walls around them, and a bounded conversation with them.
//!
//! ```text
//!  service: Program ──start──▶ Process ──ask──▶ Heard: a reply bounded in bytes and time; killed and waited for
//!                     │  question ▲│
//!  the process:     limit ──▶ hear │▼ raise ──▶ work ──▶ reply
//! ```
//!
//! It is the same program, started with a word that is not for people. It has no environment and no secret among its
//! arguments; what it has to know comes through a pipe. It takes rights away from itself, for good, before it touches
//! anything of a stranger's: [`limit`] and [`raise`]. What it is asked and what it replies is for the rooms that use it.

mod limits;
mod memory;
#[cfg(target_os = "linux")]
mod places;
mod process;
#[cfg(target_os = "linux")]
mod syscalls;

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

/// What a process is started with, behind the word that says what it does, when it is to touch nothing without its walls.
pub const WALLS_NEEDED: &str = "--walls-needed";

/// What a process still needs of the system once its walls stand.
#[derive(Debug)]
pub enum ProcessNeeds<'a> {
    /// Its memory, and the pipes it has: it computes.
    Nothing,
    /// Threads, these files and folders, and connections to this TCP port.
    Places {
        /// What is opened, and for what. Places that are not there are left out.
        places: &'a [(&'a Path, PathAccess)],
        /// The one port connected to.
        port: Option<u16>,
    },
}

/// What a place is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// Reading.
    Read,
    /// Reading, writing, making and removing.
    Write,
}

/// What the system keeps a process from, beyond plain limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Files and ports.
    pub landlock: ConfinementLevel,
    /// Calls of the system.
    pub seccomp: ConfinementLevel,
}

/// How well a wall stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfinementLevel {
    /// As asked for.
    Whole,
    /// The kernel is older than some of it.
    Partial,
    /// There is none; why.
    Missing(String),
}

impl Confinement {
    /// Whether both stand as asked for.
    #[must_use]
    pub const fn are_whole(&self) -> bool {
        self.landlock.is_whole() && self.seccomp.is_whole()
    }

    /// Why nothing of a stranger's is touched without them.
    #[must_use]
    pub fn needed(&self) -> String {
        format!("SERVICE_CONFINEMENT is `required`, and Landlock or seccomp is missing: {self}")
    }

    /// Whether one of them is not there at all.
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
            Self::Partial => f.write_str("partial (the kernel is older than some of it)"),
            Self::Missing(why) => write!(f, "missing ({why})"),
        }
    }
}

/// Notes, on the standard error of this process, what it begins to do. Whoever started it learns from the last note what a
/// process was doing that died.
pub fn note(doing: &str) {
    writeln!(io::stderr(), "{doing}").ok();
}

/// Raises what Linux has of walls around this thread, as far as this kernel has it, for good. A process does so before it
/// starts a second thread.
#[must_use]
pub fn raise(reach: &ProcessNeeds<'_>) -> Confinement {
    #[cfg(target_os = "linux")]
    return Confinement { landlock: places::confine(reach), seccomp: syscalls::confine(reach) };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = reach;
        let missing = || ConfinementLevel::Missing("this system is not Linux".to_owned());
        Confinement { landlock: missing(), seccomp: missing() }
    }
}

#[cfg(test)]
mod tests;
