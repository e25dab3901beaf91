//! The noun everything turns on: one movement of money to be judged.
//!
//! ```text
//!  bytes ──parse──▶ Transaction ──value(path)──▶ Value ──relate──▶ the relations rules test
//! ```
//!
//! A [`Transaction`] keeps what the caller sent, digits included, so that it can be stored and echoed to the letter; a
//! [`Value`] is the view that rules have of one field of it, and a [`FieldAccess`] the way to it.

mod access;
mod agreement;
mod event_time;
mod fingerprint;
mod identifier;
mod json;
mod left_out;
mod limits;
mod parse;
mod relation;
mod report;
mod reported_status;
mod sameness;
mod spelling;
mod status;
mod value;
mod wire;

use std::sync::Arc;

pub use tollgate_compiler::StatedTime;

pub use access::FieldAccess;
pub use agreement::AmountAgreement;
pub use event_time::EventTime;
pub use fingerprint::Fingerprint;
pub use identifier::UnclearCharacter;
pub use json::{Json, JsonError, JsonErrorKind, JsonLimits, JsonNumber};
pub use limits::{Identifiers, OBJECT_KEYS_DEFAULT, RequestSettings};
pub use parse::{InjectRequest, InvalidTransaction, RequestOptions};
pub use relation::{RelationSet, relate};
pub use report::TransactionReport;
pub use reported_status::{CHANGED_FIELD, DatedStatus, ReportedStatus};
pub use sameness::{is_same_bytes, is_same_text};
pub use value::{Value, in_small_letters};
pub use wire::RESERVED;

/// One movement of money, as it was sent, defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    /// Unique; the caller's or a generated UUID.
    pub transaction_id: Arc<str>,
    /// How much, with the digits as given.
    pub amount: JsonNumber,
    /// In what.
    pub currency: Arc<str>,
    /// The account it leaves.
    pub source: Option<Arc<str>>,
    /// The account it reaches.
    pub destination: Option<Arc<str>>,
    /// The caller's reference.
    pub reference: Arc<str>,
    /// For people.
    pub description: Option<Arc<str>>,
    /// A free word; `pending`, `applied`, `failed`, `declined` are in use.
    pub status: Option<Arc<str>>,
    /// The caller's hash.
    pub hash: Option<Arc<str>>,
    /// Default false.
    pub allow_overdraft: bool,
    /// Default false.
    pub inflight: bool,
    /// Default false.
    pub skip_queue: bool,
    /// Default false.
    pub atomic: bool,
    /// When it happened: the clock of all windows. `created_at` on the wire; the time of arrival when left out.
    pub timestamp: EventTime,
    /// When it takes effect.
    pub effective_date: Option<EventTime>,
    /// When it is to be executed.
    pub scheduled_for: Option<EventTime>,
    /// When an inflight transaction lapses.
    pub inflight_expiry_date: Option<EventTime>,
    /// Whatever else the caller knows; `meta_data` on the wire.
    pub metadata: Option<Json>,
    /// Fields the interface does not name: kept, never read by rules.
    pub unnamed: Vec<(Box<str>, Json)>,
}
