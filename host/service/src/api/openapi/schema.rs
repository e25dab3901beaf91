//! The shapes of the wire, for the document alone.
//!
//! What is read is read by hand, strictly; what is judged is answered as the bytes that were stored. These types are the
//! description of both; tests hold them against real bodies.

mod transactions;

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

pub(in crate::api) use transactions::{StoredTransaction, Transaction, WebhookEnvelope};

/// The verdict of a stored transaction: all of these, or none where a ledger fed it and nobody asked for a verdict.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct StoredEvaluation {
    /// The severest verdict of the rules that matched; at least `review` when a rule failed.
    verdict: Option<FinalVerdict>,
    /// The highest score of the rules that matched; 0 when none did.
    #[schema(minimum = 0, maximum = 1)]
    score: Option<f64>,
    /// Their reasons, severest rule first.
    reason: Option<String>,
    /// The rules that matched, severest first.
    triggered: Option<Vec<Triggered>>,
    /// The rules that could not answer.
    failures: Option<Vec<FailedRule>>,
    /// The rule set by which the transaction was judged.
    rule_set_version: Option<u64>,
    /// When.
    evaluated_at: Option<DateTime<Utc>>,
}

/// What the service says of a transaction.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Assessment {
    /// Of which transaction; the generated id when none was sent.
    #[schema(example = "txn_1")]
    transaction_id: String,
    #[serde(flatten)]
    evaluation: Evaluation,
}

/// All outcomes brought to one verdict.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Evaluation {
    /// The severest verdict of the rules that matched; at least `review` when a rule failed.
    verdict: FinalVerdict,
    /// The highest score of the rules that matched; 0 when none did.
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// Their reasons, severest rule first.
    reason: String,
    /// The rules that matched, severest first.
    triggered: Vec<Triggered>,
    /// The rules that could not answer.
    failures: Vec<FailedRule>,
    /// The rule set by which the transaction was judged.
    rule_set_version: u64,
    /// When.
    evaluated_at: DateTime<Utc>,
}

/// A rule that matched.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Triggered {
    /// Its instruction.
    instruction_id: i64,
    /// Its name.
    name: String,
    /// What it says.
    verdict: Verdict,
    /// How risky it finds that.
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// Why.
    reason: String,
}

/// A rule that could not answer. It never means allow.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct FailedRule {
    /// Its instruction.
    instruction_id: i64,
    /// Its name.
    name: String,
    /// What went wrong.
    failure: Failure,
}

/// How a rule fails.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::api) enum Failure {
    Trap,
    Fuel,
    Memory,
    Stack,
    Timeout,
    HostCall,
    HostCallLimit,
    InvalidOutput,
    Lookup,
    List,
    Internal,
    Quarantined,
}

/// What keeps a rule from being run.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::api) enum QuarantineCause {
    Failures,
    Policy,
    Module,
}

/// The words in which the service answers, mildest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::api) enum FinalVerdict {
    Approve,
    Alert,
    Review,
    Block,
}

/// The words in which rules speak: `allow` weighs as `approve`, `deny` as `block`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::api) enum Verdict {
    Allow,
    Approve,
    Alert,
    Review,
    Deny,
    Block,
}

/// An entry of a list, exactly as it is.
#[derive(Serialize, ToSchema)]
#[schema(min_length = 1, max_length = 1024)]
pub(in crate::api) struct ListEntry(String);

/// A rule to be compiled.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct InstructionScript {
    /// The rule script, at most 65,536 bytes.
    #[schema(example = "rule Large { when amount > 10000 then review score 0.7 reason \"Large amount\" }")]
    script: String,
}

/// A WebAssembly module, at most 65,536 bytes.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = Binary)]
pub(in crate::api) struct WasmModule(Vec<u8>);

/// A repository to clone.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct GitCloneRequest {
    /// Its address; user and password may stand in it, percent-encoded. By default only HTTPS to public hosts is taken.
    #[schema(max_length = 2048, example = "https://git.example/team/rules.git")]
    url: String,
    /// The branch to follow; the repository's own choice when left out.
    #[schema(example = "main")]
    branch: Option<String>,
    /// What the remote asks for.
    token: Option<String>,
}

/// How to sync.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct GitSyncRequest {
    /// Whether to take a branch whose history was rewritten, and a commit in which a list is refused.
    #[schema(default = false)]
    force: Option<bool>,
}

/// What to push.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct GitPushRequest {
    /// The commit's message.
    #[schema(
        min_length = 1,
        max_length = 4096,
        pattern = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$",
        example = "Raise the limit for cards"
    )]
    message: String,
}

/// Where an instruction or a list comes from.
#[derive(Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(in crate::api) enum InstructionSource {
    /// Saved over the API.
    Api,
    /// A module sent over the API; only instructions have this one.
    Upload,
    /// A file of the rules directory.
    File {
        /// Relative to that directory.
        path: String,
    },
    /// A file of a Git repository.
    Git {
        /// Relative to the top of the repository.
        path: String,
        /// With which commit its text came into force, in hexadecimal digits.
        commit: String,
    },
}

/// Worst case of one evaluation of a rule.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Cost {
    /// WebAssembly instructions executed.
    instructions: u32,
    /// Calls from the module to the host.
    host_calls: u32,
    /// Questions to the history among them.
    history_lookups: u32,
}

/// A complaint about a script, with a place.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Diagnostic {
    /// What is wrong, for machines; stable.
    #[schema(example = "E201")]
    code: String,
    /// `error` keeps the rule from being saved.
    severity: DiagnosticSeverity,
    /// Line of the first character of the offending text, counted from 1.
    line: u32,
    /// Its column, in characters, counted from 1.
    column: u32,
    /// The place behind its last character.
    end: Position,
    /// What is wrong, for people.
    message: String,
    /// How it could be cured; null when that is not known.
    #[schema(required = true)]
    help: Option<String>,
}

/// Whether a complaint keeps the rule from being saved.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::api) enum DiagnosticSeverity {
    Error,
    Warning,
}

/// A place in a script.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Position {
    /// Counted from 1.
    line: u32,
    /// In characters, counted from 1.
    column: u32,
}
