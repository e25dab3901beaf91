//! A real Blnk, with PostgreSQL and Redis on loopback: payments of every kind, claims of clients, and odd holds.
//!
//! It runs in full mode only. `TOLLGATE_BLNK` names one Blnk binary for each version, separated by colons.

mod batches;
mod claims;
mod comparison;
mod every_kind;
mod holds;
mod identity;
mod kinds;
mod odd;
mod programs;
mod redis;
mod round;
mod rows;
mod rules;
mod server;

use std::env;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_tests::{Home, Service, needs, proof};

use crate::blnk::truth::number;
use crate::real_blnk::server::Blnk;

/// Upper bound for anything that Blnk or the service has to finish.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The variable that names the binaries.
const BINARIES: &str = "TOLLGATE_BLNK";
const HOW_TO_BUILD: &str = "clone https://github.com/blnkfinance/blnk, check out a version, build it with `go build -o blnk ./cmd`, \
    and set TOLLGATE_BLNK to the paths of such binaries, separated by colons";

/// Returns the binaries to test; none outside full mode.
fn binaries() -> Vec<PathBuf> {
    if !proof::is_full() {
        println!("SKIPPED: a real Blnk is tested with TOLLGATE_PROOF=full and {BINARIES}");
        return Vec::new();
    }
    let list = env::var_os(BINARIES).unwrap_or_else(|| panic!("{BINARIES} names no Blnk: {HOW_TO_BUILD}"));
    let binaries: Vec<PathBuf> = env::split_paths(&list).collect();
    let missing = binaries.iter().find(|binary| !binary.is_file());
    assert!(missing.is_none(), "{BINARIES}: {missing:?} is no file: {HOW_TO_BUILD}");
    binaries
}

/// Tests every binary, and fails if any of them has a fault.
#[track_caller]
pub(crate) fn check_each(faults: impl Fn(&Path) -> Vec<String>) {
    let binaries = binaries();
    if binaries.is_empty() {
        return;
    }
    needs!(PostgreSql);
    let all: Vec<String> = binaries.iter().flat_map(|binary| faults(binary)).collect();
    assert!(all.is_empty(), "{all:#?}");
}

/// Polls until a condition holds, or fails with what it lacked last. `complaint` returns that, or nothing.
#[track_caller]
pub(crate) fn until(what: &str, mut complaint: impl FnMut() -> Option<String>) {
    let deadline = Instant::now() + PATIENCE;
    while let Some(complaint) = complaint() {
        assert!(Instant::now() < deadline, "timed out before {what}: {complaint}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// The ways in which a service hears of payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intake {
    /// Webhooks, and the database in addition.
    Both,
    /// The database alone, whose rows are judged.
    Database,
}

/// Returns the intake that the documentation recommends for this version.
pub(crate) fn recommended(blnk: &Blnk) -> Intake {
    if blnk.repeats_webhooks() { Intake::Both } else { Intake::Database }
}

/// Returns the URL of the webhooks to this service; none for a version that is read by the database alone.
pub(crate) fn webhook(blnk: &Blnk, service: &Service) -> String {
    match recommended(blnk) {
        Intake::Both => format!("http://{}/blnkwebhook", service.address()),
        Intake::Database => String::new(),
    }
}

/// Configures a home for this Blnk.
pub(crate) fn home(blnk: &Blnk, intake: Intake) -> Home {
    let mut home = Home::new();
    home.set("LEDGER_KIND", "blnk");
    home.set("LEDGER_WEBHOOK_SECRET", server::SECRET);
    home.set("LEDGER_DSN", &blnk.dsn());
    home.set("LEDGER_SYNC_INTERVAL", "100ms");
    if intake == Intake::Database {
        home.set("LEDGER_EVALUATE", "true");
    }
    home
}

/// Waits until the service has read every row committed so far. The current pass may have begun earlier.
#[track_caller]
pub(crate) fn caught_up(service: &Service) {
    let passes = || number(service, r#"tollgate_ledger_passes_total{result="ok"}"#);
    let before = passes();
    until("the ledger is read", || (passes() < before + 2).then(|| service.get("/readyz").text()));
}
