//! Faults of the storage under a service: a kill at a certain call, a write that is torn or short, an error, a power cut.
//!
//! A small library in C (`faults/shim.c`) is loaded before the service and stands between it and the system. It counts the
//! calls of all threads together, so that one number after the other reaches every place at which a run can be hit; a tracer
//! counts those of each thread alone, and misses most.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

mod disk;
mod record;

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
    Enospc = 28,
}

/// Which calls are counted, and what happens at one of them.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Letters: `w`rites, `s`yncs, `n`ames and lengths, `r`eads.
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
}

impl Default for Plan {
    fn default() -> Self {
        Self { class: EVERY_CHANGE, at: 0, act: Act::Nothing, while_there: None, record: None, lies: false }
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
        home.set("LD_PRELOAD", text(shim()));
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

/// Built once per test process, with the C compiler that the service itself needs.
fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let target = target_directory().unwrap_or_else(env::temp_dir);
        let fresh = TempDir::new_in(&target).expect("a temporary folder can be made");
        let (built, shim) = (fresh.path().join("faults.so"), target.join("faults.so"));
        let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&built);
        let status = cc.arg(repository::root().join("tests/src/faults/shim.c")).status();
        assert!(status.expect("a C compiler can be run").success(), "the faults do not compile");
        // Another test process may run by the one that is there.
        std::fs::rename(built, &shim).expect("a file can be moved beside itself");
        shim
    })
}
