//! The shapes of the wire, for the document alone.
//!
//! What is read is read by hand, strictly; what is judged is answered as the bytes that were stored. These types are the
//! description of both; tests hold them against real bodies.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

/// Names something: at most 255 bytes in UTF-8, without characters that control or reorder the text around them.
#[derive(Serialize, ToSchema)]
#[schema(
    min_length = 1,
    max_length = 255,
    pattern = r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+$"
)]
pub(in crate::api) struct Id(String);

/// One movement of money. Fields that are not named here are kept and given back, and no rule reads them.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"transaction_id": "txn_1", "amount": 129.90, "currency": "EUR", "reference": "ref_1"}))]
pub(in crate::api) struct Transaction {
    /// Unique; the same id with the same content gets the same answer again. Generated when left out.
    transaction_id: Option<Id>,
    /// In the unit of the currency; exact, with at most 38 digits.
    #[schema(example = 129.90)]
    amount: f64,
    /// Currency code.
    currency: Id,
    /// Source balance identifier.
    source: Option<Id>,
    /// Destination balance identifier.
    destination: Option<Id>,
    /// The caller's reference.
    reference: Id,
    /// For people; at most 4,096 bytes in UTF-8.
    #[schema(max_length = 4096)]
    description: Option<String>,
    /// A free word; `pending`, `applied`, `failed` and `declined` are in use.
    status: Option<Id>,
    /// The caller's hash.
    hash: Option<Id>,
    /// Allow overdraft on the source balance.
    #[schema(default = false)]
    allow_overdraft: Option<bool>,
    /// Marks an inflight transaction.
    #[schema(default = false)]
    inflight: Option<bool>,
    /// Skip the processing queue.
    #[schema(default = false)]
    skip_queue: Option<bool>,
    /// The transaction should be atomic.
    #[schema(default = false)]
    atomic: Option<bool>,
    /// When it happened: the clock of all windows. The time of arrival when left out.
    created_at: Option<DateTime<Utc>>,
    /// When it takes effect.
    effective_date: Option<DateTime<Utc>>,
    /// When it is to be executed.
    scheduled_for: Option<DateTime<Utc>>,
    /// When an inflight transaction lapses.
    inflight_expiry_date: Option<DateTime<Utc>>,
    /// Whatever else the caller knows; rules read it as `metadata`.
    #[schema(value_type = Option<Object>)]
    meta_data: Option<()>,
}

/// A transaction as it was sent, with the status it has by now, and the verdict it got.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct StoredTransaction {
    #[serde(flatten)]
    transaction: Transaction,
    #[serde(flatten)]
    evaluation: StoredEvaluation,
}

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

/// What a ledger sends. Members that are not named here are ignored.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(in crate::api) enum WebhookEnvelope {
    /// News of a transaction.
    Transaction {
        /// `transaction.` and a word.
        #[schema(
            max_length = 255,
            pattern = r"^transaction\.[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+$",
            example = "transaction.applied"
        )]
        event: String,
        /// Which.
        data: Box<ReportedTransaction>,
    },
    /// Anything else, which changes nothing.
    Other {
        /// Any other kind of event.
        #[schema(pattern = r"^(?!transaction\.)", example = "balance.created")]
        event: String,
        /// Anything, or nothing.
        #[schema(value_type = Option<serde_json::Value>)]
        data: (),
    },
}

/// A transaction as a ledger knows it.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct ReportedTransaction {
    #[serde(flatten)]
    transaction: Transaction,
    /// Required here.
    transaction_id: Id,
}

/// An entry of a list: a text without blanks around it, line breaks or `#`.
#[derive(Serialize, ToSchema)]
#[schema(pattern = r"^[^\s\u0085\ufeff#]([^\r\n#]*[^\s\u0085#])?$")]
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
    /// Whether to take a branch whose history was rewritten.
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
