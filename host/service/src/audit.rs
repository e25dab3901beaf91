//! Verdicts derived again out of what is stored, and held against what was answered.
//!
//! ```text
//!  log ──in order──▶ history ──as of the place of each──▶ evaluation by its own rule set ──▶ assessment
//!   │                                                                                          │
//!   └────────────────────────── the answer that was given, to the byte ───────── compared ─────┘
//! ```
//!
//! What judges here is what judged then: the same history, the same evaluation, the modules and lists as they are stored. What
//! the clock decided is taken over: when a verdict was given, and that a rule died of something that is in no log. Nothing is
//! written, and of the log no more than one stretch is in memory at a time.

mod comparison;
mod pass;
mod questions;
mod single;
mod version_cache;
mod zones;

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

/// Numbers looked through at once for the versions that judged.
const NUMBERS_AT_ONCE: u64 = 100_000;

/// Derives verdicts again. It blocks: for threads that may wait.
#[derive(Debug)]
pub struct Audit {
    deps: AuditDeps,
}

/// What an [`Audit`] works with.
#[derive(Debug)]
pub struct AuditDeps {
    /// Where everything is kept. Only read.
    pub store: Store,
    /// Where its connections live.
    pub executor: Handle,
    /// What runs rules.
    pub sandbox: Sandbox,
    /// Who admits modules of strangers.
    pub artifacts: Arc<Artifacts>,
    /// Memory that the history may take, in bytes.
    pub memory_bytes: usize,
    /// Where it keeps what is over that.
    pub spill_dir: PathBuf,
}

/// Which verdicts, by their places in the order of acceptance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditRange {
    /// The first.
    pub from: Sequence,
    /// The last.
    pub through: Sequence,
}

/// One verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictPosition {
    /// Its place in the order of acceptance: that of its transaction, or a later one of its own.
    pub sequence: Sequence,
    /// As the stored transaction says it.
    pub transaction_id: Arc<str>,
    /// The version that judged, as the row says it.
    pub rule_set_version: u64,
}

/// A verdict of which there is something to say.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditFinding {
    /// Which.
    pub place: VerdictPosition,
    /// What.
    pub what: AuditRemark,
}

/// What there is to say.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditRemark {
    /// What was answered is not what follows from the rest of what is stored.
    Differs(Vec<Difference>),
    /// It follows, if these rules failed in these ways, which cannot be derived again.
    TakenOver(Vec<(String, RuleFailure)>),
    /// Nobody can say here and now: these rules did not come to an end that counts.
    NotDerived(Vec<(String, RuleFailure)>),
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditSummary {
    /// Verdicts in the stretch.
    pub n_verdicts: u64,
    /// Those of them that are not what follows from the rest.
    pub n_differing: u64,
    /// Those that follow if a failure is believed that cannot be derived again.
    pub n_taken_over: u64,
    /// Those of which nobody can say it here and now.
    pub n_not_derived: u64,
    /// Those that another version of the service gave, or one that nobody noted.
    pub n_by_another_service: u64,
    /// Those by a version of the rule set of which nobody noted what a module was granted: the defaults were taken.
    pub n_on_assumed_terms: u64,
    /// Transactions that nobody judged at their place.
    pub n_unjudged: u64,
    /// Versions of the rule set that judged.
    pub n_versions: u64,
    /// How often the log was read from its beginning.
    pub n_passes: u64,
    /// The last number of the stretch that there is.
    pub through: Sequence,
}

/// Who hears of it on the way.
pub trait AuditObserver {
    /// Something was found.
    fn hears(&mut self, finding: AuditFinding);

    /// Everything up to here is read. Asked often: answers whether to go on.
    fn reached(&mut self, through: Sequence) -> bool;
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The sandbox cannot be set up.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The history has nowhere to spill to.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The history does not take the questions of a version.
    #[error("the questions of rule set {version} cannot be asked: {source}")]
    Questions {
        /// Which.
        version: u64,
        /// Why.
        source: HistoryError,
    },
    /// Modules of others cannot be compiled now.
    #[error("modules cannot be compiled now: {0}")]
    Compiler(String),
    /// Whoever reads the store is gone; a fault of ours.
    #[error("the store is not read any more")]
    Reader,
}

impl Audit {
    /// With these means.
    #[must_use]
    pub const fn new(deps: AuditDeps) -> Self {
        Self { deps }
    }

    /// Derives every verdict of a stretch again, in order within each version. `None` when it was asked to stop.
    ///
    /// # Errors
    /// See [`AuditError`]; what was found before stands.
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

    /// The versions that judged in a stretch, the first of them last.
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
