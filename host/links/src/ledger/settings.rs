//! Which ledger, and how it is read.

use std::num::NonZeroUsize;
use std::time::Duration;

use tollgate_model::ledger_kind::{LedgerIdentity, LedgerKind};
use tollgate_model::secret::Secret;

/// Which ledger, and how it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSettings {
    /// Which ledger it is, for its events and its rows.
    pub kind: LedgerKind,
    /// By what its payments are known.
    pub identity: LedgerIdentity,
    /// How long an entry waits for its parent before it is taken as a payment of its own.
    pub parent_wait: Duration,
    /// Its address, which holds a password.
    pub dsn: Option<Secret>,
    /// The schema of the table; that of the search path when none is named.
    pub schema: Option<String>,
    /// The table, or view.
    pub table: String,
    /// Fields of a transaction, and the columns they are in, in the order of [`LEDGER_FIELDS`].
    pub columns: Vec<(&'static str, String)>,
    /// How often it is looked at.
    pub interval: Duration,
    /// Most rows of one look.
    pub batch_rows: NonZeroUsize,
    /// How far back the first reading goes.
    pub look_back: Duration,
    /// How far behind the last row every reading begins.
    pub overlap: Duration,
    /// After how long the database gives a statement up.
    pub statement_timeout: Duration,
    /// Whether new rows get a verdict.
    pub evaluate: bool,
    /// Whether the service is not ready before the rows were read to their end once.
    pub waits_for_first_reading: bool,
}

/// The field for when the ledger changed a transaction.
pub const CHANGED_FIELD: &str = "updated_at";

/// Fields of a transaction that a ledger has, and whether it must. The column has the name of the field unless
/// `LEDGER_COLUMNS` says otherwise; that of `updated_at` is read only where it is named.
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
