//! Derives verdicts again from the stored data and compares them with the stored answers.
//!
//! ```text
//!  log ──in order──▶ history ──as of each sequence number──▶ evaluation by the rule set of the time ──▶ assessment
//!   │                                                                                                      │
//!   └──────────────────────────────── stored answer, byte for byte ─────────────────────── compared ───────┘
//! ```
//!
//! The audit uses the same history and evaluation code as the monitor, and the stored modules and lists. It takes over
//! what no log records: the time of a verdict, and rule failures caused by the machine. It writes nothing, and holds
//! two batches of the log in memory at a time.

mod comparison;
mod pass;
mod questions;
mod single;
mod status_words;
mod verdict_jobs;
mod version_cache;
mod zones;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use pass::AuditPass;
use tollgate_engine::artifacts::Artifacts;
use tollgate_engine::sandbox::{Sandbox, SandboxError};
use tollgate_history::{HistoryError, SpillError};
use tollgate_model::assessment::RuleFailure;
use tollgate_model::sequence::Sequence;
use tollgate_store::{Store, StoreError};

pub use comparison::Difference;
pub use single::{Replays, SingleError, SingleVerdict};

/// Sequence numbers searched at once for the versions that judged.
const NUMBERS_AT_ONCE: u64 = 100_000;

/// Derives verdicts again. Its methods block the calling thread.
#[derive(Debug)]
pub struct Audit {
    deps: AuditDeps,
}

/// The dependencies of an [`Audit`].
#[derive(Debug)]
pub struct AuditDeps {
    /// The store to audit; it is only read.
    pub store: Store,
    /// The runtime of the store's connections.
    pub executor: Handle,
    /// The sandbox that runs rules.
    pub sandbox: Sandbox,
    /// Threads that derive verdicts at the same time.
    pub n_threads: NonZeroUsize,
    /// Admits modules of untrusted authors.
    pub artifacts: Arc<Artifacts>,
    /// Memory limit of the history, in bytes.
    pub memory_bytes: usize,
    /// Directory of the history's spill files.
    pub spill_dir: PathBuf,
}

/// A range of verdicts, by sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditRange {
    /// The first number.
    pub from: Sequence,
    /// The last number, inclusive.
    pub through: Sequence,
}

/// Identifies one verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictPosition {
    /// The sequence number of the verdict: that of its transaction, or a later one if the verdict was deferred.
    pub sequence: Sequence,
    /// The id of the transaction, from its row.
    pub transaction_id: Arc<str>,
    /// The version of the rule set that judged, from the row.
    pub rule_set_version: u64,
}

/// A verdict with a remark.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditFinding {
    /// The verdict.
    pub position: VerdictPosition,
    /// The remark.
    pub what: AuditRemark,
}

/// A remark on a verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditRemark {
    /// The stored answer differs from the derived one.
    Differs(Vec<Difference>),
    /// The answers agree if these rules failed as stored; the failures cannot be derived again.
    TakenOver(Vec<(String, RuleFailure)>),
    /// The verdict cannot be derived here and now: these runs failed because of the machine.
    NotDerived(Vec<(String, RuleFailure)>),
}

/// The result of an audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditSummary {
    /// Verdicts in the range.
    pub n_verdicts: u64,
    /// Verdicts whose stored answer differs.
    pub n_differing: u64,
    /// Verdicts that agree only if a failure that cannot be derived again is taken over.
    pub n_taken_over: u64,
    /// Verdicts that cannot be derived here and now.
    pub n_not_derived: u64,
    /// Verdicts given by another or an unrecorded version of the service.
    pub n_by_another_service: u64,
    /// Verdicts by a rule set whose module limits were not recorded; the defaults were assumed.
    pub n_on_assumed_terms: u64,
    /// Transactions without a verdict at their own number.
    pub n_unjudged: u64,
    /// Versions of the rule set that judged.
    pub n_versions: u64,
    /// How often the log was read from its beginning.
    pub n_passes: u64,
    /// The last existing number of the range.
    pub through: Sequence,
}

/// Receives the findings and the progress of an audit.
pub trait AuditObserver {
    /// Called for each finding.
    fn on_finding(&mut self, finding: AuditFinding);

    /// Called after each batch of the log, with the last number read. Returns whether to continue.
    fn reached(&mut self, through: Sequence) -> bool;
}

/// An error that ends an audit.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The sandbox cannot be set up.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The history cannot create its spill files.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The history cannot serve the queries of a rule set.
    #[error("the history cannot serve the queries of rule set {version}: {source}")]
    Questions {
        /// The version of the rule set.
        version: u64,
        /// The reason.
        source: HistoryError,
    },
    /// Untrusted modules cannot be compiled at the moment.
    #[error("modules cannot be compiled now: {0}")]
    Compiler(String),
    /// The task that reads the store failed; this is a bug.
    #[error("the task that reads the store failed")]
    Reader,
}

impl Audit {
    /// Creates an audit with these dependencies.
    #[must_use]
    pub const fn new(deps: AuditDeps) -> Self {
        Self { deps }
    }

    /// Derives every verdict of a range again, in order within each version. Returns `None` if the observer stopped it.
    ///
    /// # Errors
    /// See [`AuditError`]; findings reported before the error remain valid.
    pub fn replay(
        &self,
        stretch: AuditRange,
        witness: &mut dyn AuditObserver,
    ) -> Result<Option<AuditSummary>, AuditError> {
        let last = self.wait(self.deps.store.last_sequence())?;
        let stretch = AuditRange { through: stretch.through.min(last), ..stretch };
        let mut left = self.versions(stretch)?;
        let mut summary = AuditSummary {
            n_versions: left.len() as u64,
            through: stretch.through,
            ..AuditSummary::default()
        };
        while !left.is_empty() || summary.n_passes == 0 {
            let mut pass = AuditPass::over(&self.deps, &mut left)?;
            summary.n_passes += 1;
            if !pass.walk(stretch, witness, &mut summary)? {
                return Ok(None);
            }
        }
        Ok(Some(summary))
    }

    /// Returns the versions that judged in a range, in descending order.
    fn versions(&self, AuditRange { from, through }: AuditRange) -> Result<Vec<u64>, AuditError> {
        let mut versions = std::collections::BTreeSet::new();
        let mut seen = Sequence(from.0.saturating_sub(1));
        while seen < through {
            let end = Sequence(seen.0.saturating_add(NUMBERS_AT_ONCE)).min(through);
            versions.extend(self.wait(self.deps.store.versions_judged_by(seen, end))?);
            seen = end;
        }
        Ok(versions.into_iter().rev().collect())
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.deps.executor.block_on(work)
    }
}
