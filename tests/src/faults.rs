//! Faults of the environment of a service. They cover storage (a kill at a certain call, a torn or short write, an
//! error, a power cut), exhausted files and memory, and the wall clock.
//!
//! A small C library (`faults/shim.c`) is preloaded and intercepts the calls of the service. It numbers the calls of
//! all threads together, so that a sweep over the numbers reaches every call of a run. A tracer counts per thread and
//! would miss most.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

mod disk;
mod record;
mod wall_clock;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::binary::target_directory;
use crate::generator::dice::Dice;
use crate::home::Home;
use crate::repository;
use crate::service::Service;

pub use disk::Disk;
pub use record::{Call, Change, calls};
pub use wall_clock::WallClock;

/// Writes, syncs, and changes of names and lengths.
pub const EVERY_CHANGE: &str = "wsn";

/// The effect at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// No effect: calls are counted and optionally recorded.
    Nothing,
    /// SIGKILL instead of the call.
    Kill,
    /// Half of a write, then SIGKILL.
    Torn,
    /// Half of a write, reported as a short write.
    Short,
    /// This error instead of the call.
    Error(Errno),
}

/// Error numbers of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
#[expect(missing_docs, reason = "they are the system's")]
pub enum Errno {
    Eintr = 4,
    Eio = 5,
    Enomem = 12,
    Emfile = 24,
    Enospc = 28,
}

/// The counted calls and the effect at one of them.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Letters: `w`rites, `s`yncs, `n`ames and lengths, `r`eads, `o`pens; for memory, `m`aps and C `a`llocations.
    pub class: &'static str,
    /// Number of the call, from 1.
    pub at: usize,
    /// Effect at that call.
    pub act: Act,
    /// The effect repeats at every later call while this file exists.
    pub while_there: Option<PathBuf>,
    /// File in which the calls are recorded, with the data of writes.
    pub record: Option<PathBuf>,
    /// Whether syncs report success without being made.
    pub lies: bool,
    /// Limit on open files, from the start.
    pub files_max: Option<u64>,
    /// Limit on the address space in bytes, from the start.
    pub memory_bytes_max: Option<u64>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            class: EVERY_CHANGE,
            at: 0,
            act: Act::Nothing,
            while_there: None,
            record: None,
            lies: false,
            files_max: None,
            memory_bytes_max: None,
        }
    }
}

impl Plan {
    /// Returns the same home; a service started on it runs under this plan.
    #[must_use]
    pub fn on(&self, home: &Home) -> Home {
        let mut home = home.clone();
        let act = match self.act {
            Act::Nothing => String::new(),
            Act::Kill => "kill".to_owned(),
            Act::Torn => "torn".to_owned(),
            Act::Short => "short".to_owned(),
            Act::Error(error) => (error as i32).to_string(),
        };
        let at = if self.act == Act::Nothing { 0 } else { self.at };
        home.set("LD_PRELOAD", text(SHIM.path()));
        home.set("FAULTS_DIRECTORY", text(&home.data()));
        home.set("FAULTS_CLASS", self.class);
        home.set("FAULTS_AT", &at.to_string());
        home.set("FAULTS_ACT", &act);
        if let Some(file) = &self.while_there {
            home.set("FAULTS_WHILE", text(file));
        }
        if let Some(file) = &self.record {
            home.set("FAULTS_RECORD", text(file));
            home.set("FAULTS_DATA", "1");
        }
        if self.lies {
            home.set("FAULTS_LIE", "1");
        }
        for (name, most) in [("FAULTS_FILES", self.files_max), ("FAULTS_MEMORY", self.memory_bytes_max)] {
            if let Some(most) = most {
                home.set(name, &most.to_string());
            }
        }
        home
    }
}

/// Runs a service until `live` kills it, and cuts the power with it. Afterwards the directory holds a state that a disk
/// could have then.
///
/// # Panics
/// Panics if the service does not start or its directory cannot be changed.
pub fn until_the_power_fails<T>(
    home: &Home,
    plan: &Plan,
    dice: &mut Dice,
    live: impl FnOnce(&Service) -> T,
) -> T {
    let record = home.at("record");
    std::fs::remove_file(&record).ok();
    let mut disk = Disk::new(&home.data());
    let service = Service::start(&Plan { record: Some(record.clone()), ..plan.clone() }.on(home));
    let lived = live(&service);
    service.wait();
    calls(&record).into_iter().for_each(|call| disk.take(call));
    disk.fail(dice);
    lived
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

/// A preloaded library, built once per test process with a C compiler.
struct Library {
    name: &'static str,
    built: OnceLock<PathBuf>,
}

static SHIM: Library = Library::new("shim");
static CLOCK: Library = Library::new("clock");

impl Library {
    const fn new(name: &'static str) -> Self {
        Self { name, built: OnceLock::new() }
    }

    fn path(&self) -> &Path {
        self.built.get_or_init(|| {
            let target = target_directory().unwrap_or_else(env::temp_dir);
            let name = format!("{}.so", self.name);
            let fresh = TempDir::new_in(&target).expect("a temporary folder can be made");
            let (built, library) = (fresh.path().join(&name), target.join(&name));
            let source = repository::root().join(format!("tests/src/faults/{}.c", self.name));
            let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
            cc.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&built).arg(source);
            let status = cc.status().expect("a C compiler can be run");
            assert!(status.success(), "the library of faults `{}` does not compile", self.name);
            // Another test process may be using the existing file.
            std::fs::rename(built, &library).expect("a file can be moved beside itself");
            library
        })
    }
}
