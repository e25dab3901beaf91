//! The shapes of transactions: as they are sent, as a ledger reports them, as they are given back.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::StoredEvaluation;

/// Names something: at most 255 bytes in UTF-8, without characters that control or reorder the text around them.
#[derive(Serialize, ToSchema)]
#[schema(
    min_length = 1,
    max_length = 255,
    pattern = r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+$"
)]
pub(in crate::api) struct Id(String);

/// The same, or an empty text, which is the same as leaving it out.
#[derive(Serialize, ToSchema)]
#[schema(
    max_length = 255,
    pattern = r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$"
)]
pub(in crate::api) struct OptionalId(String);

/// Names a transaction or an account: at most 255 bytes in UTF-8, without characters that nobody sees and without blanks at its
/// ends. Joiners and selectors are taken where they change what is seen, which this pattern does not say. An empty text is the
/// same as leaving it out.
#[derive(Serialize, ToSchema)]
#[schema(
    max_length = 255,
    pattern = "^$|^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\\s\\u2800]([^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]*[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\\s\\u2800])?$"
)]
pub(in crate::api) struct Identifier(String);

/// The same with whatever characters it has in a ledger.
#[derive(Serialize, ToSchema)]
#[schema(max_length = 255)]
pub(in crate::api) struct ReportedIdentifier(String);

/// Names the transaction that is reported: not empty.
#[derive(Serialize, ToSchema)]
#[schema(min_length = 1, max_length = 255)]
pub(in crate::api) struct ReportedId(String);

/// The fields of a transaction, which differ in what its identifiers may hold.
macro_rules! transaction {
    ($(#[$attribute:meta])* $name:ident, $identifier:ty) => {
        #[derive(Serialize, ToSchema)]
        $(#[$attribute])*
        pub(in crate::api) struct $name {
            /// Unique; the same id with the same content gets the same answer again. Generated when left out.
            transaction_id: Option<$identifier>,
            /// In the unit of the currency; exact, with at most 38 digits.
            #[schema(example = 129.90)]
            amount: f64,
            /// Currency code.
            currency: Id,
            /// Source balance identifier.
            source: Option<$identifier>,
            /// Destination balance identifier.
            destination: Option<$identifier>,
            /// The caller's reference, any text; at most 255 bytes in UTF-8.
            #[schema(min_length = 1, max_length = 255)]
            reference: String,
            /// For people; at most 4,096 bytes in UTF-8.
            #[schema(max_length = 4096)]
            description: Option<String>,
            /// A free word; `pending`, `applied`, `failed` and `declined` are in use.
            status: Option<OptionalId>,
            /// The caller's hash.
            hash: Option<OptionalId>,
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
    };
}

transaction! {
    /// One movement of money. Fields that are not named here are kept and given back, and no rule reads them. A time that is the
    /// first instant of the year 1 (`0001-01-01T00:00:00Z`), as serialisers write one that is not set, is left out.
    #[schema(example = json!({"transaction_id": "txn_1", "amount": 129.90, "currency": "EUR", "reference": "ref_1"}))]
    Transaction, Identifier
}

transaction! {
    /// One movement of money as it is known, whoever brought it.
    RecordedTransaction, ReportedIdentifier
}

/// A transaction as it was sent, with the status it has by now, and the verdict it got.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct StoredTransaction {
    #[serde(flatten)]
    transaction: RecordedTransaction,
    #[serde(flatten)]
    evaluation: StoredEvaluation,
    /// The transaction as a ledger told it last, where that differs in more than the status: what is moved is the same. Rules
    /// see what was told first.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_description: Option<RecordedTransaction>,
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
    transaction: RecordedTransaction,
    /// Required here.
    transaction_id: ReportedId,
}
