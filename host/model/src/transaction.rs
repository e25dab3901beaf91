//! Transactions: movements of money to be evaluated.
//!
//! ```text
//!  bytes ──parse──▶ Transaction ──value(path)──▶ Value ──relate──▶ the relations that rules test
//! ```
//!
//! A [`Transaction`] keeps the caller's input, including digits, so that it can be stored and returned unchanged. A
//! [`Value`] is the view of one field for rules, and a [`FieldAccess`] is a resolved path to it.

mod access;
mod agreement;
mod event_time;
mod fingerprint;
mod identifier;
mod json;
mod left_out;
mod left_out_fields;
mod limits;
mod long_texts;
mod parse;
mod relation;
mod report;
mod reported_amount;
mod reported_status;
mod sameness;
mod spelling;
mod status;
mod value;
mod wide_objects;
mod wire;
mod wire_fields;

use std::sync::Arc;

pub use tollgate_compiler::StatedTime;

pub use access::FieldAccess;
pub use agreement::{AmountAgreement, can_be_same_account, is_same_currency};
pub use event_time::EventTime;
pub use fingerprint::Fingerprint;
pub use identifier::UnclearCharacter;
pub use json::{Json, JsonError, JsonErrorKind, JsonLimits, JsonNumber};
pub use left_out_fields::{LeftOutFields, METADATA, mark_left_out, metadata_paths, take_left_out};
pub use limits::{
    BeyondTolerance, Identifiers, OBJECT_KEYS_DEFAULT, RequestSettings, TimeTolerance, WindowClock,
};
pub use long_texts::{LongTexts, SHORT_TEXT_MAX, TextDigest, adopt_digest_key, digest_key, digest_of};
pub use parse::{DESCRIPTION_BYTES_MAX, InjectRequest, InvalidTransaction, RequestOptions};
pub use relation::{RelationSet, relate, relate_in};
pub use report::TransactionReport;
pub use reported_amount::{AmountTerms, ReportedAmount, StoredAmounts, compare_report};
pub use reported_status::{CHANGED_FIELD, DatedStatus, ReportedStatus};
pub use sameness::{is_same_bytes, is_same_text};
pub use status::{EarlierStatuses, StatusWords, StatusWordsError};
pub use value::{CaselessText, StructureDigest, TextComparison, Value, in_small_letters, with_small_letters};
pub use wide_objects::WideObjects;
pub use wire::AmountForm;
pub use wire_fields::{WireKind, kind_of};

/// One movement of money as received, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    /// Unique id, from the caller or a generated UUID.
    pub transaction_id: Arc<str>,
    /// Amount with its digits as received.
    pub amount: JsonNumber,
    /// Currency of the amount.
    pub currency: Arc<str>,
    /// Account that is debited.
    pub source: Option<Arc<str>>,
    /// Account that is credited.
    pub destination: Option<Arc<str>>,
    /// Reference from the caller.
    pub reference: Arc<str>,
    /// Description for people.
    pub description: Option<Arc<str>>,
    /// Free-form status; `pending`, `applied`, `failed` and `declined` are common.
    pub status: Option<Arc<str>>,
    /// Hash from the caller.
    pub hash: Option<Arc<str>>,
    /// Whether an overdraft is allowed; `false` by default.
    pub allow_overdraft: bool,
    /// Whether the transaction is inflight; `false` by default.
    pub inflight: bool,
    /// Whether to skip the queue; `false` by default.
    pub skip_queue: bool,
    /// Whether the transaction is atomic; `false` by default.
    pub atomic: bool,
    /// Time of the transaction, the clock of all windows. `created_at` on the wire; the time of arrival if absent.
    pub timestamp: EventTime,
    /// Time at which it takes effect.
    pub effective_date: Option<EventTime>,
    /// Time at which it is to be executed.
    pub scheduled_for: Option<EventTime>,
    /// Time at which an inflight transaction expires.
    pub inflight_expiry_date: Option<EventTime>,
    /// Additional data from the caller; `meta_data` on the wire.
    pub metadata: Option<Json>,
    /// Fields that are not part of the interface: stored, never read by rules.
    pub unnamed: Vec<(Box<str>, Json)>,
    /// The fields that a ledger reported beyond the limits of a transaction, and that are missing here.
    pub left_out: Option<Box<LeftOutFields>>,
    /// The most that rules can read at once.
    pub longest_reads: LongestReads,
    /// Numbers and digests of its long texts.
    pub long_texts: LongTexts,
    /// The places of the members of its wide objects.
    pub wide_objects: WideObjects,
}

/// The most that a rule can read of a transaction at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LongestReads {
    /// The most of one field: the bytes of its text, or the keys of its objects.
    pub of_field: u32,
    /// The elements of the longest array.
    pub n_elements: u32,
}

impl Transaction {
    /// Computes the most that a rule can read at once.
    #[must_use]
    pub fn measured(&self) -> LongestReads {
        let named = [
            Some(&self.transaction_id),
            Some(&self.currency),
            self.source.as_ref(),
            self.destination.as_ref(),
            Some(&self.reference),
            self.description.as_ref(),
            self.status.as_ref(),
            self.hash.as_ref(),
        ];
        let longest = named.into_iter().flatten().map(|text| text.len()).max().unwrap_or(0);
        let measured = self.metadata.as_ref().map(Json::measured).unwrap_or_default();
        let narrowed = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        LongestReads {
            of_field: narrowed(longest.max(measured.longest_text) + measured.n_keys),
            n_elements: narrowed(measured.longest_array),
        }
    }
}
