//! Schemas for the OpenAPI document only.
//!
//! Requests are parsed by hand, strictly; verdicts are returned as the stored bytes. These types describe both, and
//! tests compare them with real bodies.

mod transactions;

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

pub(in crate::api) use transactions::{StoredTransaction, Transaction, WebhookEnvelope};

/// The verdict of a stored transaction. All members are present, or none if a ledger reported the transaction and no
/// verdict was requested.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct StoredEvaluation {
    /// The most severe verdict of the rules that matched; at least `review` if a rule failed.
    verdict: Option<FinalVerdict>,
    /// The highest score of the rules that matched; 0 if none did.
    #[schema(minimum = 0, maximum = 1)]
    score: Option<f64>,
    /// Reasons of the rules that matched, most severe rule first.
    reason: Option<String>,
    /// The rules that matched, most severe first.
    triggered: Option<Vec<Triggered>>,
    /// The rules that failed.
    failures: Option<Vec<FailedRule>>,
    /// Version of the rule set that was applied.
    rule_set_version: Option<u64>,
    /// Time of the evaluation.
    evaluated_at: Option<DateTime<Utc>>,
}

/// The verdict on a transaction.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Assessment {
    /// Id of the transaction; generated if none was sent.
    #[schema(example = "txn_1")]
    transaction_id: String,
    #[serde(flatten)]
    evaluation: Evaluation,
}

/// The outcomes of all rules, combined into one verdict.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Evaluation {
    /// The most severe verdict of the rules that matched; at least `review` if a rule failed.
    verdict: FinalVerdict,
    /// The highest score of the rules that matched; 0 if none did.
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// Reasons of the rules that matched, most severe rule first.
    reason: String,
    /// The rules that matched, most severe first.
    triggered: Vec<Triggered>,
    /// The rules that failed.
    failures: Vec<FailedRule>,
    /// Version of the rule set that was applied.
    rule_set_version: u64,
    /// Time of the evaluation.
    evaluated_at: DateTime<Utc>,
}

/// A rule that matched.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Triggered {
    /// Id of its instruction.
    instruction_id: i64,
    /// Name of the rule.
    name: String,
    /// Verdict of the rule.
    verdict: Verdict,
    /// Score of the rule.
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// Reason of the rule.
    reason: String,
}

/// A rule that failed. A failure never counts as `allow`.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct FailedRule {
    /// Id of its instruction.
    instruction_id: i64,
    /// Name of the rule.
    name: String,
    /// Kind of failure.
    failure: Failure,
}

/// The kinds of rule failure.
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

/// The cause of a quarantine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::api) enum QuarantineCause {
    Failures,
    Policy,
    Module,
}

/// The verdicts of the service, mildest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::api) enum FinalVerdict {
    Approve,
    Alert,
    Review,
    Block,
}

/// The verdicts of rules: `allow` counts as `approve`, `deny` as `block`.
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

/// An entry of a list, unchanged.
#[derive(Serialize, ToSchema)]
#[schema(min_length = 1, max_length = 1024)]
pub(in crate::api) struct ListEntry(String);

/// A rule to compile.
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
    /// Address of the repository; it may contain a percent-encoded user and password. By default only HTTPS to public
    /// hosts is allowed.
    #[schema(max_length = 2048, example = "https://git.example/team/rules.git")]
    url: String,
    /// The branch to follow; the remote's default branch if absent.
    #[schema(example = "main")]
    branch: Option<String>,
    /// Access token for the remote.
    token: Option<String>,
}

/// Options of a sync.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct GitSyncRequest {
    /// Whether to accept a branch with rewritten history, and a commit in which a list is refused.
    #[schema(default = false)]
    force: Option<bool>,
}

/// Options of a push.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct GitPushRequest {
    /// The commit message.
    #[schema(
        min_length = 1,
        max_length = 4096,
        pattern = r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$",
        example = "Raise the limit for cards"
    )]
    message: String,
}

/// Origin of an instruction or a list.
#[derive(Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(in crate::api) enum InstructionSource {
    /// Saved over the API.
    Api,
    /// A module uploaded over the API; only for instructions.
    Upload,
    /// A file of the rules directory.
    File {
        /// Path relative to that directory.
        path: String,
    },
    /// A file of a Git repository.
    Git {
        /// Path relative to the top of the repository.
        path: String,
        /// The commit with which its text came into force, in hexadecimal digits.
        commit: String,
    },
}

/// Worst case of one evaluation of a rule.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Cost {
    /// Number of WebAssembly instructions.
    instructions: u32,
    /// Number of host calls.
    host_calls: u32,
    /// Number of host calls that query the history.
    history_lookups: u32,
}

/// A diagnostic of a script, with its position.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Diagnostic {
    /// Stable diagnostic code for programs.
    #[schema(example = "E201")]
    code: String,
    /// Severity; `error` prevents the rule from being saved.
    severity: DiagnosticSeverity,
    /// Line of the first character of the affected text, counted from 1.
    line: u32,
    /// Column of that character, counted in characters from 1.
    column: u32,
    /// Position after the last character.
    end: Position,
    /// Message for people.
    message: String,
    /// Suggested correction; null if there is none.
    #[schema(required = true)]
    help: Option<String>,
}

/// Whether a diagnostic prevents the rule from being saved.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::api) enum DiagnosticSeverity {
    Error,
    Warning,
}

/// A position in a script.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Position {
    /// Line, counted from 1.
    line: u32,
    /// Column in characters, counted from 1.
    column: u32,
}
