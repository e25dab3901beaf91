//! Who saw what the service was asked and what it answered, and holds it against what is on the disk afterwards.
//!
//! ```text
//!  traffic ──▶ service ──▶ data directory ──✂ fault
//!     │ every request before it is sent, every answer when it is there      │
//!     ▼                                                                     ▼ a copy of the files, read by sqlite3
//!  journal (a folder of its own) ───────────────────────▶ checker ◀── stored, replay
//! ```
//!
//! The checker shares no line with the service. It reads the database with Debian's `sqlite3`, and says what every verdict
//! has to be by an interpreter of its own, which knows the few rules of the traffic and nothing else.

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

/// Everything around one data directory that must be held together across faults.
#[derive(Debug)]
pub struct DurabilityChecker {
    journal: Journal,
    traffic: Traffic,
    checker: Checker,
    n_checks: usize,
}

/// More of them say nothing more.
const FAULTS_SHOWN: usize = 20;
/// On every run the service's own word is asked after one check of so many; in the full mode after each.
const DERIVED_EVERY: usize = 8;

impl DurabilityChecker {
    /// Of a home that nobody has used yet; the same seed gives the same plan.
    ///
    /// # Panics
    /// When no folder can be made for the journal.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let journal = Journal::new();
        let checker = Checker::of(journal.path());
        Self { traffic: Traffic::new(Dice::of_seed(seed)), checker, journal, n_checks: 0 }
    }

    /// A home with the rules by which the checker judges.
    #[must_use]
    pub fn home() -> Home {
        Home::with_rules(&rules::files())
    }

    /// Sends until `pace` is reached or nobody answers any more; ends the service at some moment under load.
    pub fn load(&mut self, service: &Service, pace: Pace, end: impl FnOnce()) -> Tally {
        self.traffic.run(&self.journal, service, pace, end)
    }

    /// From here on the service is without memory now and then: it may make no module of a script, and rules may fail.
    pub const fn starve(&mut self) {
        self.traffic.starve();
        self.checker.starve();
    }

    /// Asks a service that came back for what the last load left open, once more, and for what it was told of, last things
    /// first. The answers are judged by the next [`DurabilityChecker::check`].
    pub fn read_back(&mut self, service: &Service, n_latest: usize) -> Tally {
        self.traffic.read_back(&self.journal, service, n_latest)
    }

    /// Holds the journal against the files of a service that has ended. Here, and nowhere else, every suite of faults comes
    /// by after every fault.
    ///
    /// # Panics
    /// When the two differ; with everything that does.
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

    /// What differs; empty when nothing does.
    pub fn faults(&mut self, data: &Path) -> Vec<String> {
        self.checker.faults(data)
    }

    /// What differs in the eyes of a checker that has seen nothing before.
    #[must_use]
    pub fn faults_at_first_sight(&self, data: &Path) -> Vec<String> {
        Checker::of(self.journal.path()).faults(data)
    }

    /// The times that are stored, in the order of acceptance.
    ///
    /// # Panics
    /// When the files cannot be read.
    #[must_use]
    pub fn stamps(&self, data: &Path) -> Vec<Stamp> {
        self.checker.stamps(data)
    }

    /// Transactions and status updates that were there at the last check.
    #[must_use]
    pub fn n_stored(&self) -> usize {
        self.checker.n_stored()
    }
}

/// Every verdict that is stored follows from the rest of the store: `tollgate audit replay` derives each again.
#[track_caller]
fn derive_again(data: &Path, when: &str) {
    let mut replay = Command::new(binary());
    let output = replay.args(["audit", "replay", "--data-dir"]).arg(data).env_clear().output();
    let output = output.expect("the binary can be run");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{when}: not every verdict can be derived again:\n{said}{complained}");
}
