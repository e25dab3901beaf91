//! The settings of a ledger.

use std::num::NonZeroUsize;
use std::time::Duration;

use tollgate_model::ledger_kind::{LedgerIdentity, LedgerKind, LeftOutTreatment, UnreadableVerdict};
use tollgate_model::secret::Secret;

/// The settings of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSettings {
    /// Kind of the ledger, which determines the form of its events and rows.
    pub kind: LedgerKind,
    /// Identity of its payments.
    pub identity: LedgerIdentity,
    /// Maximum time an entry waits for its parent before it is treated as a separate payment.
    pub parent_wait: Duration,
    /// Address, which contains a password.
    pub dsn: Option<Secret>,
    /// Schema of the table; `None` means the search path.
    pub schema: Option<String>,
    /// Table or view.
    pub table: String,
    /// Transaction fields and their columns, in the order of [`LEDGER_FIELDS`].
    pub columns: Vec<(&'static str, String)>,
    /// Polling interval.
    pub interval: Duration,
    /// Maximum number of rows per poll.
    pub batch_rows: NonZeroUsize,
    /// Time span that the first read covers.
    pub look_back: Duration,
    /// Time by which every read starts before the last row.
    pub overlap: Duration,
    /// Time limit of a statement in the database.
    pub statement_timeout: Duration,
    /// Treatment of payments of which a part was left out.
    pub left_out: LeftOutTreatment,
    /// Verdict in the alert about an entry that cannot be read.
    pub unreadable: UnreadableVerdict,
    /// Whether new rows are evaluated.
    pub evaluate: bool,
    /// Whether the readiness check fails until all rows have been read once.
    pub waits_for_first_reading: bool,
}

/// The field for the time at which the ledger changed a transaction.
pub const CHANGED_FIELD: &str = "updated_at";

/// Transaction fields of a ledger, and whether each is required. The column has the name of the field unless
/// `LEDGER_COLUMNS` names another. `updated_at` is read only if it is named there.
pub const LEDGER_FIELDS: [(&str, bool); 11] = [
    ("transaction_id", true),
    ("created_at", true),
    ("amount", true),
    ("currency", true),
    ("source", false),
    ("destination", false),
    ("reference", true),
    ("description", false),
    ("status", false),
    ("meta_data", false),
    (CHANGED_FIELD, false),
];
