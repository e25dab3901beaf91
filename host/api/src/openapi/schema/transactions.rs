//! Schemas of transactions: as sent by a caller, as reported by a ledger, and as returned.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use crate::transactions::get::{IneffectiveStatus, StoredEvaluation};

/// An identifier of at most 255 bytes in UTF-8, without characters that control or reorder the text around them.
#[derive(Serialize, ToSchema)]
#[schema(
    min_length = 1,
    max_length = 255,
    pattern = r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+$"
)]
pub(crate) struct Id(String);

/// An identifier as above, or an empty text, which counts as absent.
#[derive(Serialize, ToSchema)]
#[schema(
    max_length = 255,
    pattern = r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$"
)]
pub(crate) struct OptionalId(String);

/// Id of a transaction or an account: at most 255 bytes in UTF-8, without invisible characters and without blanks at
/// either end. Joiners and variation selectors are accepted where they change the rendering; the pattern does not
/// express this. An empty text counts as absent.
#[derive(Serialize, ToSchema)]
#[schema(
    max_length = 255,
    pattern = "^$|^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\\s\\u2800]([^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]*[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\\s\\u2800])?$"
)]
pub(crate) struct Identifier(String);

/// Id of a transaction or an account with any characters that a ledger uses.
#[derive(Serialize, ToSchema)]
#[schema(max_length = 255)]
pub(crate) struct ReportedIdentifier(String);

/// A decimal number as a text, with at most 38 digits.
#[derive(Serialize, ToSchema)]
#[schema(pattern = r"^-?(?!([0-9]\.?){39})[0-9]+(\.[0-9]+)?$", max_length = 64, example = "129.90")]
pub(crate) struct DecimalText(String);

/// An exact amount in units of the currency, with at most 38 digits: a number, or the same digits as a text. Answers have a
/// number, unless the request has `Accept: application/json; decimals=string`.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(example = 129.90)]
pub(crate) enum Amount {
    /// A number.
    Number(f64),
    /// The digits of a number.
    Text(DecimalText),
}

/// Defines the fields of a transaction for one type of identifier.
macro_rules! transaction {
    ($(#[$attribute:meta])* $name:ident, $identifier:ty) => {
        #[derive(Serialize, ToSchema)]
        $(#[$attribute])*
        pub(crate) struct $name {
            /// Unique id. A repeated id with the same content gets the same response. Generated if absent.
            transaction_id: Option<$identifier>,
            amount: Amount,
            /// Currency code.
            currency: Id,
            /// Source balance identifier.
            source: Option<$identifier>,
            /// Destination balance identifier.
            destination: Option<$identifier>,
            /// The caller's reference: any text of at most 350 characters.
            #[schema(min_length = 1, max_length = 350)]
            reference: String,
            /// Description for people; at most 4,096 bytes in UTF-8.
            #[schema(max_length = 4096)]
            description: Option<String>,
            /// Status, a free text; `pending`, `applied`, `failed` and `declined` are common.
            status: Option<OptionalId>,
            /// The caller's hash.
            hash: Option<OptionalId>,
            /// Allow overdraft on the source balance; false if absent.
            allow_overdraft: Option<bool>,
            /// Marks an inflight transaction; false if absent.
            inflight: Option<bool>,
            /// Skip the processing queue; false if absent.
            skip_queue: Option<bool>,
            /// The transaction should be atomic; false if absent.
            atomic: Option<bool>,
            /// Time of the transaction, which all windows refer to. The time of arrival if absent.
            created_at: Option<DateTime<Utc>>,
            /// Effective date.
            effective_date: Option<DateTime<Utc>>,
            /// Scheduled execution time.
            scheduled_for: Option<DateTime<Utc>>,
            /// Expiry time of an inflight transaction.
            inflight_expiry_date: Option<DateTime<Utc>>,
            /// Additional data of the caller; rules read it as `metadata`.
            #[schema(value_type = Option<Object>)]
            meta_data: Option<()>,
        }
    };
}

transaction! {
    /// One movement of money. Fields not listed here are stored and returned, but rules do not read them. The first
    /// instant of the year 1 (`0001-01-01T00:00:00Z`), which serialisers write for an unset time, counts as absent.
    #[schema(example = json!({"transaction_id": "txn_1", "amount": 129.90, "currency": "EUR", "reference": "ref_1"}))]
    Transaction, Identifier
}

transaction! {
    /// One movement of money as a ledger reports it, or as stored, independent of its origin. A report without an id gets one that is
    /// derived from it.
    RecordedTransaction, ReportedIdentifier
}

/// A transaction as it was sent, with its current status and its verdict.
#[derive(Serialize, ToSchema)]
pub(crate) struct StoredTransaction {
    #[serde(flatten)]
    transaction: RecordedTransaction,
    #[serde(flatten)]
    evaluation: StoredEvaluation<'static>,
    /// The fields that a ledger reported beyond the limits of a transaction, and that are missing here, such as `meta_data.note`.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<Vec<String>>,
    /// The latest version that a ledger reported, if it differs in more than the status. Amount, currency, source and
    /// destination are equal. Rules read the first version.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_description: Option<RecordedTransaction>,
    /// Statuses that a ledger reported and that did not stand: one entry for each different word, at most 32, the first
    /// one first. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_effect: Option<Vec<IneffectiveStatus>>,
}

/// A message from a ledger. Members not listed here are ignored.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum WebhookEnvelope {
    /// An event about a transaction.
    Transaction {
        /// `transaction.` followed by a word.
        #[schema(
            max_length = 255,
            pattern = r"^transaction\.[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+$",
            example = "transaction.applied"
        )]
        event: String,
        /// The transaction.
        data: Box<RecordedTransaction>,
    },
    /// Any other event; it changes nothing.
    Other {
        /// Any other event name.
        #[schema(pattern = r"^(?!transaction\.)", example = "balance.created")]
        event: String,
        /// Any value, or none.
        #[schema(value_type = Option<serde_json::Value>)]
        data: (),
    },
}
