//! Records the requests and responses of a service and compares them with what is on disk afterwards.
//!
//! ```text
//!  traffic ──▶ service ──▶ data directory ──✂ fault
//!     │ every request before it is sent, every response when it arrives     │
//!     ▼                                                                     ▼ a copy of the files, read by sqlite3
//!  journal (separate folder) ───────────────────────────▶ checker ◀── stored, replay
//! ```
//!
//! The checker shares no code with the service. It reads the database with Debian's `sqlite3`. A separate interpreter,
//! limited to the few rules of the traffic, derives each expected verdict.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

mod checker;
mod exchange;
mod journal;
mod replay;
mod rules;
mod stamps;
mod stored;
mod traffic;

use std::path::Path;
use std::process::Command;

pub use stamps::Stamp;
pub use traffic::{Pace, Tally};

use crate::binary::binary;
use crate::generator::dice::Dice;
use crate::home::Home;
use crate::proof;
use crate::service::Service;
use checker::Checker;
use journal::Journal;
use traffic::Traffic;

/// Checks one data directory across faults.
#[derive(Debug)]
pub struct DurabilityChecker {
    journal: Journal,
    traffic: Traffic,
    checker: Checker,
    n_checks: usize,
}

/// Maximum number of faults in a message.
const FAULTS_SHOWN: usize = 20;
/// In sample mode, `tollgate audit replay` runs after one check in this many. In full mode it runs after each.
const DERIVED_EVERY: usize = 8;

impl DurabilityChecker {
    /// Creates a checker for an unused home. The same seed gives the same plan.
    ///
    /// # Panics
    /// Panics if no folder can be made for the journal.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let journal = Journal::new();
        let checker = Checker::new(journal.path());
        Self { traffic: Traffic::new(Dice::of_seed(seed)), checker, journal, n_checks: 0 }
    }

    /// Creates a home with the rules that the checker interprets.
    #[must_use]
    pub fn home() -> Home {
        Home::with_rules(&rules::files())
    }

    /// Sends traffic until `pace` is reached or no client gets a response. `end` stops the service at some moment under
    /// load.
    pub fn load(&mut self, service: &Service, pace: Pace, end: impl FnOnce()) -> Tally {
        self.traffic.run(&self.journal, service, pace, end)
    }

    /// Announces memory limits: from now on compiling a script and running a rule may fail.
    pub const fn starve(&mut self) {
        self.traffic.starve();
        self.checker.starve();
    }

    /// Repeats the requests that the last load left without a response and reads back the latest transactions. The next
    /// [`DurabilityChecker::check`] verifies the responses.
    pub fn read_back(&mut self, service: &Service, n_latest: usize) -> Tally {
        self.traffic.read_back(&self.journal, service, n_latest)
    }

    /// Compares the journal with the files of a stopped service. Every suite of faults calls this after every fault.
    ///
    /// # Panics
    /// Panics with the list of differences if there are any.
    #[track_caller]
    pub fn check(&mut self, data: &Path, when: &str) {
        let faults = self.faults(data);
        let shown: Vec<&str> = faults.iter().take(FAULTS_SHOWN).map(String::as_str).collect();
        assert!(faults.is_empty(), "{when}: {} faults:\n{}", faults.len(), shown.join("\n"));
        let is_due = proof::is_full() || self.n_checks.is_multiple_of(DERIVED_EVERY);
        self.n_checks += 1;
        if is_due && self.n_stored() > 0 {
            derive_again(data, when);
        }
    }

    /// Returns the differences.
    pub fn faults(&mut self, data: &Path) -> Vec<String> {
        self.checker.faults(data)
    }

    /// Returns the differences found by a fresh checker without earlier observations.
    #[must_use]
    pub fn faults_at_first_sight(&self, data: &Path) -> Vec<String> {
        Checker::new(self.journal.path()).faults(data)
    }

    /// Returns the stored times, in order of acceptance.
    ///
    /// # Panics
    /// Panics if the files cannot be read.
    #[must_use]
    pub fn stamps(&self, data: &Path) -> Vec<Stamp> {
        self.checker.stamps(data)
    }

    /// Returns the number of transactions and status updates present at the last check.
    #[must_use]
    pub fn n_stored(&self) -> usize {
        self.checker.n_stored()
    }
}

/// Derives every stored verdict again with `tollgate audit replay`.
#[track_caller]
fn derive_again(data: &Path, when: &str) {
    let mut replay = Command::new(binary());
    let output = replay.args(["audit", "replay", "--data-dir"]).arg(data).env_clear().output();
    let output = output.expect("the binary can be run");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{when}: not every verdict can be derived again:\n{said}{complained}");
}
