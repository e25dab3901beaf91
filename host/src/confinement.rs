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

#[cfg(target_os = "linux")]
mod calls;
mod limits;
#[cfg(target_os = "linux")]
mod places;
mod process;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use limits::{Limits, limit, limit_processor, open_files};
pub use process::{Ending, Heard, Process, Program};

/// What a process still needs of the system once its walls stand.
#[derive(Debug)]
pub enum Reach<'a> {
    /// Its memory, and the pipes it has: it computes.
    Nothing,
    /// Threads, these files and folders, and connections to this TCP port.
    Places {
        /// What is opened, and for what. Places that are not there are left out.
        places: &'a [(&'a Path, Access)],
        /// The one port connected to.
        port: Option<u16>,
    },
}

/// What a place is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading, writing, making and removing.
    Write,
}

/// What the system keeps a process from, beyond plain limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// Files and ports.
    pub landlock: Wall,
    /// Calls of the system.
    pub seccomp: Wall,
}

/// How well a wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wall {
    /// As asked for.
    Whole,
    /// The kernel is older than some of it.
    Partial,
    /// The system has none.
    Missing,
}

impl Wall {
    const fn is_whole(self) -> bool {
        matches!(self, Self::Whole)
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Partial => "partial: the kernel is older than some of it",
            Self::Missing => "missing",
        }
    }
}

/// Raises what Linux has of walls around this thread, as far as this kernel has it, for good. A process does so before it
/// starts a second thread.
#[must_use]
pub fn raise(reach: &Reach<'_>) -> Walls {
    #[cfg(target_os = "linux")]
    return Walls { landlock: places::confine(reach), seccomp: calls::confine(reach) };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = reach;
        Walls { landlock: Wall::Missing, seccomp: Wall::Missing }
    }
}

#[cfg(test)]
mod tests;
