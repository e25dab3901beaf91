//! The one shape in which an instruction is answered.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use tollgate_compiler::Diagnostic;
use tollgate_engine::registry::{CountedMismatch, Mismatch};
use tollgate_guest_abi::{Cost, Verdict};
use tollgate_model::instruction::{
    Instruction, InstructionSource, InstructionStatus, Quarantine, QuarantineCause,
};
use utoipa::ToSchema;

use crate::api::openapi::schema;
use crate::intake::{FailedScript, ListedInstruction};

/// What a rule's author wrote, a script or a module, and everything that follows from it.
#[derive(Serialize, ToSchema)]
#[schema(as = Instruction)]
pub(in crate::api) struct InstructionView<'a> {
    /// Never given twice.
    id: i64,
    /// The rule's name; unique among the instructions in force.
    name: &'a str,
    /// What the rule is for; null when its author does not say.
    #[schema(required = true)]
    description: Option<&'a str>,
    /// As written; null when its author wrote a module.
    #[schema(required = true)]
    script: Option<&'a str>,
    /// What the rule says when it matches.
    #[schema(value_type = schema::Verdict)]
    verdict: Verdict,
    /// Risk from 0 (low) to 1 (high).
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// The sentence an analyst reads.
    reason: &'a str,
    /// The checked rule: names resolved, types settled; null when there is no script.
    #[schema(value_type = Option<Object>, required = true)]
    rule: &'a serde_json::Value,
    /// What runs.
    module: ModuleView,
    /// Where the instruction comes from.
    #[schema(value_type = schema::InstructionSource)]
    source: &'a InstructionSource,
    /// `active`: transactions are judged by it. `activating`: it waits until the history knows what it asks. `quarantined`: it
    /// is not run, and every transaction is held for review in its place.
    #[schema(example = "active")]
    status: &'static str,
    /// Why it is not run; null when it is.
    #[schema(required = true)]
    quarantine: Option<QuarantineView<'a>>,
    /// What is wrong with the newer text of its file, while this one, the last good one, stays in force; else null.
    #[schema(required = true)]
    refused_change: Option<RefusedChangeView>,
    /// Tests of the rule that got a value they cannot compare, since the rule came into force or the service started. A module
    /// has none, and tests of past transactions are not counted.
    incomparable: Vec<IncomparableView<'a>>,
    /// What the compiler had to say all the same; nothing of a module.
    #[schema(value_type = Vec<schema::Diagnostic>)]
    warnings: &'a [Diagnostic],
    /// When it was first saved.
    #[schema(value_type = DateTime<Utc>)]
    created_at: String,
    /// When its script, or its module, last changed.
    #[schema(value_type = DateTime<Utc>)]
    updated_at: String,
}

/// Why a rule is not run.
#[derive(Serialize, ToSchema)]
#[schema(as = Quarantine)]
pub(in crate::api) struct QuarantineView<'a> {
    /// Since when.
    #[schema(value_type = DateTime<Utc>)]
    since: String,
    /// `failures`: it failed again and again, and somebody has to act. Until a start finds otherwise: `policy`: it is not
    /// granted any more what it needs; `module`: its module is not let in any more.
    #[schema(value_type = schema::QuarantineCause)]
    cause: QuarantineCause,
    /// What happened, for people.
    reason: &'a str,
}

/// The WebAssembly module of a rule.
#[derive(Serialize, ToSchema)]
#[schema(as = Module)]
pub(in crate::api) struct ModuleView {
    /// Of its bytes, in lower-case hexadecimal digits.
    sha256: String,
    /// Its size in bytes.
    bytes: usize,
    /// The contract it is written to.
    abi_version: u32,
    /// Worst case of one evaluation: of a script as the compiler counts it, of a module what it is granted.
    #[schema(value_type = schema::Cost)]
    cost: Cost,
}

/// A test of a rule that got a value it cannot compare, so that it did not hold (`!=` and the negated tests held).
#[derive(Serialize, ToSchema)]
#[schema(as = Incomparable)]
pub(in crate::api) struct IncomparableView<'a> {
    /// Where the test stands in the script: the line, counted from 1.
    line: usize,
    /// And the column, in characters, counted from 1.
    column: usize,
    /// The test as it is written, at most 120 characters of it.
    #[schema(example = "metadata.expires_at < timestamp")]
    test: &'a str,
    /// The field that had the value.
    #[schema(example = "metadata.expires_at")]
    field: &'a str,
    /// Kind of the value: `boolean`, `number`, `text` or `structure` (an array or an object). The value itself is not kept.
    #[schema(example = "text")]
    got: &'static str,
    /// Kind that the test could have compared: `boolean`, `number`, `text` or `time`.
    #[schema(example = "time")]
    wanted: &'static str,
    /// In how many transactions it was seen. 1,000 stands for 1,000 or more.
    #[schema(minimum = 1, maximum = 1000)]
    count: u64,
}

/// A text that is not in force because something is wrong with it.
#[derive(Serialize, ToSchema)]
#[schema(as = RefusedChange)]
pub(in crate::api) struct RefusedChangeView {
    /// Of the file.
    path: String,
    /// Line of the first error, counted from 1; null where no place in the file is at fault.
    #[schema(required = true)]
    line: Option<usize>,
    /// Its column, in characters, counted from 1.
    #[schema(required = true)]
    column: Option<usize>,
    /// What is wrong, for people.
    message: String,
}

impl<'a> From<&'a Instruction> for InstructionView<'a> {
    fn from(instruction: &'a Instruction) -> Self {
        let Instruction { record, entry, rule, digest, abi_version, cost, warnings } = instruction;
        Self {
            id: record.id.0,
            name: &record.name,
            description: entry.description.as_deref(),
            script: record.script.as_deref(),
            verdict: entry.verdict,
            score: entry.score,
            reason: &entry.reason,
            rule,
            module: ModuleView {
                sha256: digest.to_string(),
                bytes: record.module.len(),
                abi_version: *abi_version,
                cost: *cost,
            },
            source: &record.source,
            status: InstructionStatus::of(record).as_str(),
            quarantine: record.quarantine.as_ref().map(QuarantineView::from),
            refused_change: None,
            incomparable: Vec::new(),
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
        let CountedMismatch { place, test, mismatch, count } = counted;
        let Mismatch { test: _, field, got, wanted } = mismatch;
        Self {
            line: place.line,
            column: place.column,
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

fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}
