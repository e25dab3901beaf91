//! The one shape in which an instruction is answered.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use tollgate_compiler::Diagnostic;
use tollgate_guest_abi::{Cost, Verdict};
use utoipa::ToSchema;

use crate::api::openapi::schema;
use crate::instruction::{Instruction, InstructionSource};

/// A rule script and everything that follows from it.
#[derive(Serialize, ToSchema)]
#[schema(as = Instruction)]
pub(in crate::api) struct InstructionView<'a> {
    /// Never given twice.
    id: i64,
    /// The rule's name; unique among the instructions in force.
    name: &'a str,
    /// What the rule is for; null when the script does not say.
    #[schema(required = true)]
    description: Option<&'a str>,
    /// As written.
    script: &'a str,
    /// What the rule says when it matches.
    #[schema(value_type = schema::Verdict)]
    verdict: Verdict,
    /// Risk from 0 (low) to 1 (high).
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// The sentence an analyst reads.
    reason: &'a str,
    /// The checked rule: names resolved, types settled.
    #[schema(value_type = Object)]
    rule: &'a serde_json::Value,
    /// What runs.
    module: ModuleView,
    /// Where the instruction comes from.
    #[schema(value_type = schema::InstructionSource)]
    source: &'a InstructionSource,
    /// `active`: transactions are judged by it.
    #[schema(example = "active")]
    status: &'static str,
    /// What the compiler had to say all the same.
    #[schema(value_type = Vec<schema::Diagnostic>)]
    warnings: &'a [Diagnostic],
    /// When it was first saved.
    #[schema(value_type = DateTime<Utc>)]
    created_at: String,
    /// When its script last changed.
    #[schema(value_type = DateTime<Utc>)]
    updated_at: String,
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
    /// Worst case of one evaluation.
    #[schema(value_type = schema::Cost)]
    cost: Cost,
}

impl<'a> From<&'a Instruction> for InstructionView<'a> {
    fn from(instruction: &'a Instruction) -> Self {
        let Instruction { record, entry, rule, digest, abi_version, cost, warnings } = instruction;
        Self {
            id: record.id.0,
            name: &record.name,
            description: entry.description.as_deref(),
            script: &record.script,
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
            status: "active",
            warnings,
            created_at: written(record.created_at),
            updated_at: written(record.updated_at),
        }
    }
}

fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}
