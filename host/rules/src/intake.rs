//! The rule pipeline: compiles, admits, installs and swaps rules, including modules from other compilers.
//!
//! `ARCHITECTURE.md` shows the steps from a script to the rule set. Every source of rules ends in a `RuleChange`.
//!
//! One change runs at a time. Each makes the next version of the rule set, which is durable before it is in force. All
//! files of a tree take effect in one version. Compiling and binding run outside the executor; transactions use the old
//! rule set until the new one is complete.

mod activating;
mod admitting;
mod change;
mod checking;
mod draft;
mod estimating;
mod following;
mod gathering;
mod granting;
mod holding;
mod ignored_report;
mod installing;
mod list_guard;
mod list_reading;
mod list_texts;
mod list_warnings;
mod listing;
mod named_lists;
mod new_sources;
mod precondition;
mod quarantine;
mod removals;
mod removing;
mod required;
mod rule_files;
mod sink;
mod source;
mod start;
mod suspending;
mod taking;
mod tree;
mod trial;
mod turns;
mod warnings;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tollgate_compiler::Diagnostic;
use tollgate_engine::artifacts::Artifacts;
use tollgate_engine::evaluation::Breakers;
use tollgate_engine::policy::{Denial, Policy, TooExpensive};
use tollgate_engine::registry::{LISTS_MAX, RULES_MAX, Registry};
use tollgate_engine::sandbox::{AdmissionRefusal, Sandbox};
use tollgate_guest_abi::Manifest;
use tollgate_history::{History, QueryEstimate};
use tollgate_model::background::in_background;
use tollgate_model::clock::Clock;
use tollgate_model::instruction::{InstructionId, InstructionSource, RuleContent};
use tollgate_store::Store;

use activating::Activating;
use checking::CHECKS_MAX;
use ignored_report::IgnoredReport;
use installing::FILLS_MAX;
use removals::UnpushedRemovals;
use tollgate_telemetry::holding::PaymentHolds;
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::{ReadinessCheck, ReadinessChecks};
use tollgate_telemetry::request_ids::RequestIds;

use source::DirectorySource;
use tree::{RemovedFiles, TreeKind};
use trial::TRIALS_MAX;
use turns::OwnerTurns;

pub use admitting::MANIFEST_CHECK;
pub use checking::{CheckScope, CompiledScript, ScriptCheck};
pub use draft::{Draft, Identity, KnownNames};
pub use following::{Following, Recheck};
pub use installing::InstructionChange;
pub use list_guard::{HoldBack, ListGuard};
pub use list_reading::{ListLine, ListReading};
pub use list_warnings::{EntryWarning, EntryWarnings};
pub use listing::ListedInstruction;
pub use named_lists::{LIST_ENTRIES_MAX, LIST_NAME_BYTES_MAX, SavedList};
pub use new_sources::NewSources;
pub use precondition::{Precondition, tag_of_instruction, tag_of_list};
pub use required::RequiredRules;
pub use rule_files::{RuleFileCounts, Survey, survey};
pub use sink::ScriptSink;
pub use source::RulesDirectory;
pub use start::StartError;
pub use tree::{
    FailedScript, ListFile, RuleFile, RuleTree, TreeOrigin, TreeReport, UnreadableFile, UnreadablePath,
};
pub use trial::{BroadMatch, Confirmation};

/// Brings scripts and modules into force and removes them, one change at a time. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Intake {
    pipeline: Arc<RulePipeline>,
}

/// The dependencies of an [`Intake`].
#[derive(Debug)]
pub struct IntakeDeps {
    /// Clock for `created_at`.
    pub clock: Arc<dyn Clock>,
    /// History that new rules query.
    pub history: Arc<History>,
    /// Registry of the rule set in force.
    pub registry: Arc<Registry>,
    /// Store of the instructions.
    pub store: Store,
    /// Metrics registry.
    pub metrics: Arc<Metrics>,
    /// Circuit breakers of rules that keep failing.
    pub breakers: Arc<Breakers>,
    /// Policy for rules, by their source.
    pub policy: Policy,
    /// Sandbox that admits compiled scripts.
    pub sandbox: Sandbox,
    /// Admission of modules from untrusted authors.
    pub artifacts: Arc<Artifacts>,
    /// Readiness checks of the service.
    pub checks: ReadinessChecks,
    /// Words that payments have as currencies, besides those of ISO 4217.
    pub currencies: BTreeSet<String>,
    /// Rules that each owner may save in a minute over the API.
    pub saves_per_minute: NonZeroU32,
    /// Number of rules that the operator requires.
    pub required: RequiredRules,
    /// Sources of which nothing was ever in force.
    pub sources: NewSources,
    /// Reasons to hold new transactions, which become part of each version.
    pub holds: PaymentHolds,
    /// State of lists that are missing or held back.
    pub lists: ListGuard,
    /// Whether a rule of the API that would stop most transactions has to be confirmed.
    pub confirms_broad_rules: bool,
    /// Receiver of changes over the API.
    pub sink: Option<Arc<dyn ScriptSink>>,
}

#[derive(Debug)]
struct RulePipeline {
    deps: Arc<IntakeDeps>,
    activating: Arc<Activating>,
    /// Held while the history is filled for a new instruction of the API.
    fills: tokio::sync::Semaphore,
    /// Held while a script is checked without being saved.
    checks: tokio::sync::Semaphore,
    /// Held while a rule is tried on the latest transactions.
    trials: tokio::sync::Semaphore,
    /// Turns of the owners of such instructions.
    turns: OwnerTurns,
    /// Held during a change.
    state: tokio::sync::Mutex<IntakeState>,
    /// Files whose present content is not in force.
    failed: parking_lot::Mutex<BTreeMap<TreeKind, Vec<FailedScript>>>,
    /// Readiness check for such files.
    refused_files: ReadinessCheck,
    /// Rules of the repository that were removed over the API under a policy.
    removals: UnpushedRemovals,
    ignored: IgnoredReport,
    /// Readiness check for the rules directory.
    directory: DirectorySource,
}

/// State of the intake besides the rule set in force.
#[derive(Debug)]
struct IntakeState {
    last_id: InstructionId,
    /// Files whose instructions were removed over the API, by source.
    set_aside: BTreeMap<TreeKind, RemovedFiles>,
}

/// When [`Intake::put`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutUntil {
    /// When transactions are judged by the instruction.
    InForce,
    /// When it has its id and name, and is activating.
    Reserved,
}

/// Reason why a change did not take effect. With each of these, nothing changes.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The script does not compile; at least one diagnostic is an error.
    #[error("the script does not compile")]
    Compile(Vec<Diagnostic>),
    /// The module is not admitted.
    #[error("{0}")]
    ModuleRefused(AdmissionRefusal),
    /// The admission of modules is temporarily unavailable.
    #[error("modules cannot be compiled now: {0}")]
    CompilerUnavailable(String),
    /// An instruction in force has this name.
    #[error(
        "the name `{name}` is taken by instruction {holder}, from {source_of_holder}; remove that instruction or choose another name"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// Instruction that has the name.
        holder: InstructionId,
        /// Its source.
        source_of_holder: InstructionSource,
    },
    /// The maximum number of rules is in force.
    #[error("no more than {RULES_MAX} rules can be in force at once")]
    TooMany,
    /// The policy does not grant what the rule needs, or the change.
    #[error(transparent)]
    NotGranted(#[from] Denial),
    /// The estimated cost of the rule exceeds what its author may use.
    #[error(transparent)]
    TooExpensive(#[from] TooExpensive),
    /// The history that the rule asks about does not fit into memory, by estimate or when it was tried.
    #[error(
        "the history that the rule asks about{} does not fit into the memory limit; compare fewer fields for equality, remove rules that \
         ask about other fields, or have SERVICE_MEMORY_LIMIT raised",
        .0.map(|estimate| format!(", about {} bytes of keys and sums,", estimate.kept_bytes)).unwrap_or_default()
    )]
    NoRoom(Option<QueryEstimate>),
    /// The change would leave fewer rules than the operator requires.
    #[error("it would leave {n_rules} rules in force, and SERVICE_RULES_REQUIRED asks for {n_required}")]
    TooFewRules {
        /// Number of rules that it would leave.
        n_rules: usize,
        /// Required number of rules.
        n_required: usize,
    },
    /// Lists of a commit are refused, so the whole commit is held back.
    #[error("the whole commit is held back, because some of its lists are refused: {}", first_of(.0))]
    ListsRefused(Vec<FailedScript>),
    /// There is no such instruction.
    #[error("there is no instruction {0}")]
    NotFound(InstructionId),
    /// A removed rule of the repository is released, but its file is refused.
    #[error("the rule is released, but its file `{path}` is not in force: {why}")]
    StillRefused {
        /// Path of the file.
        path: String,
        /// The reason, for people.
        why: String,
    },
    /// The instruction was removed before it was in force.
    #[error("instruction {0} was removed before it was in force")]
    Removed(InstructionId),
    /// The owner saves too often.
    #[error("this source saves rules too often; try again in {} seconds", .0.as_secs() + 1)]
    TooManySaves(Duration),
    /// The instruction already gets other content.
    #[error("instruction {0} is being changed; try again when that is done, or remove it")]
    Changing(InstructionId),
    /// The instruction does not come from this interface.
    #[error("instruction {id} comes from {source_of_rule} and cannot be replaced here")]
    NotReplaceable {
        /// The instruction.
        id: InstructionId,
        /// Its source.
        source_of_rule: InstructionSource,
    },
    /// The module exceeds a limit, or the history accepts no more queries.
    #[error("{0}")]
    OverLimit(String),
    /// The sandbox refused a module of our own compiler; a bug.
    #[error("the compiled module was refused: {0}")]
    Refused(String),
    /// The list comes from a file.
    #[error("the list `{name}` comes from {source_of_list}; change it there")]
    ListTaken {
        /// Name of the list.
        name: String,
        /// Source of the list.
        source_of_list: InstructionSource,
    },
    /// There is no such list.
    #[error("there is no list `{0}`")]
    ListNotFound(String),
    /// The lists would exceed their maximum number or total size.
    #[error("the maximum of {LISTS_MAX} lists, or of their total size, would be exceeded")]
    TooManyLists,
    /// The data is not a list, or its name is invalid.
    #[error("{0}")]
    InvalidList(String),
    /// The rule would stop most transactions, and nobody has confirmed that it should.
    #[error(
        "the rule would have matched {0} of the latest transactions; if that is meant, send it again with `?confirm=true`"
    )]
    Unconfirmed(BroadMatch),
    /// The content in force is not the one that the caller has read.
    #[error("the content in force has changed since it was read; read it again and repeat the change")]
    PreconditionFailed,
    /// The change could not be stored, or the history of a rule could not be read.
    #[error("the change could not be stored; try again")]
    Unavailable,
}

/// Returns the first file and the reason for its refusal.
fn first_of(failed: &[FailedScript]) -> String {
    failed.first().map(|first| format!("{}: {}", first.path, first.message)).unwrap_or_default()
}

impl IntakeError {
    /// Returns whether the error is temporary and independent of the change.
    fn passes(&self) -> bool {
        matches!(self, Self::Unavailable | Self::CompilerUnavailable(_))
    }
}

impl Intake {
    /// Compiles a script or admits a module, and brings it into force, as a new instruction or in the place of another.
    /// A separate manifest becomes part of the module, which must not have one.
    ///
    /// # Errors
    /// See [`IntakeError`].
    pub async fn put(
        &self,
        content: RuleContent,
        manifest: Option<Manifest>,
        change: InstructionChange,
        until: PutUntil,
        confirmation: Confirmation,
    ) -> Result<ListedInstruction, IntakeError> {
        let pipeline = Arc::clone(&self.pipeline);
        // A separate task: a change completes even if its caller is cancelled.
        run_detached(async move {
            let source = match &content {
                RuleContent::Script(_) => InstructionSource::Api,
                RuleContent::Module(_) => InstructionSource::Upload,
            };
            let turns = pipeline.turns.turn_of(&pipeline.deps.policy.owner_of(&source).name);
            turns.check_rate()?;
            let turn = turns.save.lock().await;
            let draft = pipeline.draft(content, manifest, &source, &change).await?;
            pipeline.hold_if_broad(&draft, &source, confirmation).await?;
            let estimate = draft.estimate;
            let (module, shown) = pipeline.reserve(draft, source, &change).await?;
            drop(turn);
            let listed = match until {
                PutUntil::InForce => Arc::clone(&pipeline).activate(module, change, shown).await?,
                PutUntil::Reserved => pipeline.activate_later(module, change, shown),
            };
            // The rule is in force before it is tried, so the trial makes no transaction wait for it.
            let would_have_matched = pipeline.breadth_of(&listed.instruction).await;
            Ok(ListedInstruction { estimate, would_have_matched, ..listed })
        })
        .await
    }

    /// Compares a tree with the rules in force from the same source. All differences take effect in one new version of
    /// the rule set; without differences there is none.
    ///
    /// A file that does not compile, is unreadable or has a taken name keeps its last good version, if any. It is
    /// reported and does not stop the others.
    ///
    /// # Errors
    /// With each of these, nothing changes:
    /// * [`IntakeError::Unavailable`] if the change cannot be stored, or the history of a rule cannot be read. The
    ///   caller retries later.
    /// * [`IntakeError::TooFewRules`] if the change would leave too few rules in force.
    /// * [`IntakeError::ListsRefused`] if lists of a commit are refused and another commit is in force.
    pub async fn take_tree(&self, tree: RuleTree) -> Result<TreeReport, IntakeError> {
        self.take_tree_holding(tree, HoldBack::default()).await
    }

    /// Like [`Intake::take_tree`], with another effect of refused lists.
    ///
    /// # Errors
    /// See [`Intake::take_tree`].
    pub async fn take_tree_holding(
        &self,
        tree: RuleTree,
        hold_back: HoldBack,
    ) -> Result<TreeReport, IntakeError> {
        let pipeline = Arc::clone(&self.pipeline);
        run_detached(async move { pipeline.take_tree(tree, hold_back, None).await }).await
    }
}

async fn run_detached<T: Send + 'static>(
    change: impl Future<Output = Result<T, IntakeError>> + Send + 'static,
) -> Result<T, IntakeError> {
    tokio::spawn(RequestIds::propagate(change)).await.unwrap_or(Err(IntakeError::Unavailable))
}

/// Runs long work outside the executor.
async fn off_the_executor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IntakeError> + Send + 'static,
) -> Result<T, IntakeError> {
    in_background(RequestIds::propagate_blocking(work)).await.unwrap_or(Err(IntakeError::Unavailable))
}

impl RulePipeline {
    fn new(deps: IntakeDeps, directory: &RulesDirectory) -> Self {
        let saves_per_minute = deps.saves_per_minute;
        let state = IntakeState { last_id: InstructionId(0), set_aside: BTreeMap::new() };
        Self {
            refused_files: deps.checks.add("rules"),
            removals: UnpushedRemovals::new(&deps.checks),
            ignored: IgnoredReport::new(&deps.checks),
            directory: DirectorySource::new(&deps.checks, directory),
            deps: Arc::new(deps),
            activating: Arc::default(),
            fills: tokio::sync::Semaphore::new(FILLS_MAX),
            checks: tokio::sync::Semaphore::new(CHECKS_MAX),
            trials: tokio::sync::Semaphore::new(TRIALS_MAX),
            turns: OwnerTurns::new(saves_per_minute),
            state: tokio::sync::Mutex::new(state),
            failed: parking_lot::Mutex::default(),
        }
    }
}
