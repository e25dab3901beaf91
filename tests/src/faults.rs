//! Faults of what is under a service: of its storage (a kill at a certain call, a write that is torn or short, an error, a
//! power cut), of files and memory that the system does not give, and of the clock on the wall.
//!
//! A small library in C (`faults/shim.c`) is loaded before the service and stands between it and the system. It counts the
//! calls of all threads together, so that one number after the other reaches every place at which a run can be hit; a tracer
//! counts those of each thread alone, and misses most.

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

/// Writes, syncs, and whatever changes names and lengths.
pub const EVERY_CHANGE: &str = "wsn";

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Nothing: calls are counted, perhaps written down.
    Nothing,
    /// SIGKILL instead of the call.
    Kill,
    /// Half of a write, then SIGKILL.
    Torn,
    /// Half of a write, and the answer that it was half.
    Short,
    /// No call, and this error.
    Error(Errno),
}

/// Errors of the system by their numbers on Linux.
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

/// Which calls are counted, and what happens at one of them.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Letters: `w`rites, `s`yncs, `n`ames and lengths, `r`eads, `o`pens; of memory, `m`aps and `a`llocations in C.
    pub class: &'static str,
    /// The number of the call, from 1.
    pub at: usize,
    /// What happens there.
    pub act: Act,
    /// It happens at every call from there on while this file exists.
    pub while_there: Option<PathBuf>,
    /// Where the calls are written down, with the data of writes.
    pub record: Option<PathBuf>,
    /// Syncs are answered and not made.
    pub lies: bool,
    /// So many files may be open, from the start.
    pub files_max: Option<u64>,
    /// So many bytes of addresses may be in use, from the start.
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
    /// The same home; a service that starts on it runs by this plan.
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

/// A life that somebody ends by a kill, and with it the power: the directory holds what a disk may hold then.
///
/// # Panics
/// When the service does not start, or its directory cannot be changed.
pub fn until_the_power_fails<T>(
    home: &Home,
    plan: &Plan,
    dice: &mut Dice,
    live: impl FnOnce(&Service) -> T,
) -> T {
    let record = home.at("record");
    std::fs::remove_file(&record).ok();
    let mut disk = Disk::of(&home.data());
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

/// A library that is loaded before the service, built once per test process with the C compiler that the service needs.
struct Library {
    name: &'static str,
    built: OnceLock<PathBuf>,
}

static SHIM: Library = Library::of("shim");
static CLOCK: Library = Library::of("clock");

impl Library {
    const fn of(name: &'static str) -> Self {
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
            // Another test process may run by the one that is there.
            std::fs::rename(built, &library).expect("a file can be moved beside itself");
            library
        })
    }
}
