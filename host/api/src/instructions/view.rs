//! The response body of an instruction.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use tollgate_compiler::{CheckedRule, Diagnostic};
use tollgate_engine::registry::{CountedMismatch, Mismatch};
use tollgate_guest_abi::{Cost, Verdict};
use tollgate_history::QueryEstimate;
use tollgate_model::instruction::{
    Instruction, InstructionSource, InstructionStatus, Quarantine, QuarantineCause,
};
use utoipa::ToSchema;

use tollgate_rules::intake::{FailedScript, ListedInstruction};

/// A rule as written, script or module, and everything derived from it.
#[derive(Serialize, ToSchema)]
#[schema(as = Instruction)]
pub(crate) struct InstructionView<'a> {
    /// Id of the instruction; never reused.
    id: i64,
    /// Name of the rule; unique among the instructions in force.
    name: &'a str,
    /// Purpose of the rule; null if its author states none.
    #[schema(required = true)]
    description: Option<&'a str>,
    /// The script as written; null if the rule is a module.
    #[schema(required = true)]
    script: Option<&'a str>,
    /// Verdict of the rule when it matches.
    verdict: Verdict,
    /// Risk from 0 (low) to 1 (high).
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// Reason shown to an analyst.
    reason: &'a str,
    /// The checked rule: names resolved, types settled; null if there is no script.
    #[schema(value_type = Option<Object>, required = true)]
    rule: Option<&'a CheckedRule>,
    /// The compiled module.
    module: ModuleView,
    /// Origin of the instruction.
    source: &'a InstructionSource,
    /// `active`: the rule is in force. `activating`: the rule waits until the history covers its windows.
    /// `quarantined`: the rule does not run, and every transaction is held for review instead. `suspended`: the same,
    /// because the history has no memory for what the rule asks.
    #[schema(example = "active")]
    status: &'static str,
    /// Why the rule is in quarantine; null if it is not.
    #[schema(required = true)]
    quarantine: Option<QuarantineView<'a>>,
    /// The error in a newer version of its file, while this last valid version stays in force; otherwise null.
    #[schema(required = true)]
    refused_change: Option<RefusedChangeView>,
    /// Tests of the rule that received a value they cannot compare, since the rule came into force or the service
    /// started. Always empty for a module; tests on past transactions are not counted.
    incomparable: Vec<IncomparableView<'a>>,
    /// Estimated cost of its questions about the history; null except in the answer to a save, and if it asks none.
    #[schema(required = true)]
    estimate: Option<EstimateView>,
    /// How many of the latest transactions it would have matched, such as `480 of 500`. Null except in the answer to a save of
    /// a rule whose verdict is `review` or severer, if these are more than half of at least 100.
    #[schema(required = true, example = "480 of 500")]
    would_have_matched: Option<String>,
    /// Share of what it asks that the history has gathered, from 0 to 1; null unless the status is `activating`.
    #[schema(required = true, example = 0.42)]
    progress: Option<f64>,
    /// Warnings of the compiler; always empty for a module.
    warnings: &'a [Diagnostic],
    /// Time at which the instruction was first saved.
    #[schema(value_type = DateTime<Utc>)]
    created_at: String,
    /// Time at which its script or module last changed.
    #[schema(value_type = DateTime<Utc>)]
    updated_at: String,
}

/// Cost of the questions of a rule about the history, estimated from a sample of the stored transactions.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Estimate)]
pub(crate) struct EstimateView {
    /// Number of transactions stored.
    transactions: u64,
    /// Fuel that reading the history takes, on average of the latest transactions.
    fuel: u64,
    /// Memory of what the history has to add for the rule, in bytes, while none of it is in the spill file.
    history_bytes: u64,
    /// The part of `history_bytes` that must fit into memory while the history is read for the rule.
    kept_bytes: u64,
}

impl From<QueryEstimate> for EstimateView {
    fn from(estimate: QueryEstimate) -> Self {
        let QueryEstimate { n_stored, fuel, bytes, kept_bytes, .. } = estimate;
        Self { transactions: n_stored, fuel, history_bytes: bytes, kept_bytes }
    }
}

/// The quarantine of a rule.
#[derive(Serialize, ToSchema)]
#[schema(as = Quarantine)]
pub(crate) struct QuarantineView<'a> {
    /// Start of the quarantine.
    #[schema(value_type = DateTime<Utc>)]
    since: String,
    /// `failures`: the rule failed repeatedly and an operator has to act. `policy`: the rule is no longer granted what
    /// it needs. `module`: its module no longer passes admission. These two are checked again at every start.
    /// `sustained_cost`: the rules of its owner kept taking too long while other transactions waited. `memory`: the
    /// history has no memory for what the rule asks. `refused`: there is no rule, because the file was refused when its
    /// source was new.
    cause: QuarantineCause,
    /// Message for people.
    reason: &'a str,
}

/// The WebAssembly module of a rule.
#[derive(Serialize, ToSchema)]
#[schema(as = Module)]
pub(crate) struct ModuleView {
    /// SHA-256 digest of the module, in lower-case hexadecimal digits.
    sha256: String,
    /// Size in bytes.
    bytes: usize,
    /// ABI version of the module.
    abi_version: u32,
    /// Worst case of one evaluation: computed by the compiler for a script, the granted limit for a module.
    cost: Cost,
}

/// A test of a rule that received a value it cannot compare. Such a test is false; `!=` and negated tests are true.
#[derive(Serialize, ToSchema)]
#[schema(as = Incomparable)]
pub(crate) struct IncomparableView<'a> {
    /// Line of the test in the script, counted from 1.
    line: usize,
    /// Column of the test in characters, counted from 1.
    column: usize,
    /// Text of the test, at most 120 characters.
    #[schema(example = "metadata.expires_at < timestamp")]
    test: &'a str,
    /// The field that held the value.
    #[schema(example = "metadata.expires_at")]
    field: &'a str,
    /// Type of the value: `boolean`, `number`, `text` or `structure` (an array or an object). The value itself is not
    /// stored.
    #[schema(example = "text")]
    got: &'static str,
    /// Type that the test can compare: `boolean`, `number`, `text` or `time`.
    #[schema(example = "time")]
    wanted: &'static str,
    /// Number of transactions in which this occurred; 1,000 means 1,000 or more.
    #[schema(minimum = 1, maximum = 1000)]
    count: u64,
}

/// A version of a file that is not in force because of an error.
#[derive(Serialize, ToSchema)]
#[schema(as = RefusedChange)]
pub(crate) struct RefusedChangeView {
    /// Path of the file.
    path: String,
    /// Line of the first error, counted from 1; null if the error has no position.
    #[schema(required = true)]
    line: Option<usize>,
    /// Column of the first error in characters, counted from 1.
    #[schema(required = true)]
    column: Option<usize>,
    /// Message for people.
    message: String,
}

impl<'a> From<&'a Instruction> for InstructionView<'a> {
    fn from(instruction: &'a Instruction) -> Self {
        let Instruction { record, entry, checked, digest, abi_version, cost, warnings } = instruction;
        Self {
            id: record.id.0,
            name: &record.name,
            description: entry.description.as_deref(),
            script: record.script.as_deref(),
            verdict: entry.verdict,
            score: entry.score,
            reason: &entry.reason,
            rule: checked.as_deref(),
            module: ModuleView {
                sha256: digest.to_string(),
                bytes: record.module.len(),
                abi_version: *abi_version,
                cost: *cost,
            },
            source: &record.source,
            status: InstructionStatus::of_record(record).as_str(),
            quarantine: record.quarantine.as_ref().map(QuarantineView::from),
            refused_change: None,
            incomparable: Vec::new(),
            estimate: None,
            would_have_matched: None,
            progress: None,
            warnings,
            created_at: written(record.created_at),
            updated_at: written(record.updated_at),
        }
    }
}

impl<'a> From<&'a ListedInstruction> for InstructionView<'a> {
    fn from(listed: &'a ListedInstruction) -> Self {
        Self {
            status: listed.status.as_str(),
            refused_change: listed.refused_change.as_ref().map(RefusedChangeView::from),
            incomparable: listed.mismatches.iter().map(IncomparableView::from).collect(),
            estimate: listed.estimate.map(EstimateView::from),
            would_have_matched: listed.would_have_matched.map(|broad| broad.to_string()),
            progress: listed.progress.map(|share| (share * 100.0).floor() / 100.0),
            ..Self::from(&*listed.instruction)
        }
    }
}

impl<'a> From<&'a Quarantine> for QuarantineView<'a> {
    fn from(quarantine: &'a Quarantine) -> Self {
        let Quarantine { since, cause, reason } = quarantine;
        Self { since: written(*since), cause: *cause, reason }
    }
}

impl<'a> From<&'a CountedMismatch> for IncomparableView<'a> {
    fn from(counted: &'a CountedMismatch) -> Self {
        let CountedMismatch { position, test, mismatch, count } = counted;
        let Mismatch { test: _, field, got, wanted } = mismatch;
        Self {
            line: position.line,
            column: position.column,
            test,
            field,
            got: got.as_str(),
            wanted: wanted.as_str(),
            count: *count,
        }
    }
}

impl From<&FailedScript> for RefusedChangeView {
    fn from(failed: &FailedScript) -> Self {
        let FailedScript { path, line, column, message, has_last_good: _ } = failed;
        Self { path: path.clone(), line: *line, column: *column, message: message.clone() }
    }
}

pub(super) fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}
