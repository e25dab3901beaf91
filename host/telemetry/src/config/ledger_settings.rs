//! The settings of a ledger.

use std::num::NonZeroUsize;
use std::time::Duration;

use tollgate_guest_abi::Verdict;
use tollgate_model::secret::Secret;
use tollgate_model::transaction::{AmountAgreement, CHANGED_FIELD};

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

/// The kind of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LedgerKind {
    /// One id per payment; every report uses that id.
    #[default]
    Generic,
    /// Blnk: one entry with a separate id for each stage of a payment.
    Blnk,
}

/// The identity of a ledger payment in this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LedgerIdentity {
    /// Id of its first entry.
    #[default]
    Id,
    /// Its reference: the `transaction_id` with which a back end requested a verdict before the ledger had the payment.
    Reference,
}

impl LedgerKind {
    /// Returns the kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [LedgerKind::Generic, LedgerKind::Blnk].into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the name used in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            LedgerKind::Generic => "generic",
            LedgerKind::Blnk => "blnk",
        }
    }

    /// Returns the rule by which two reports agree on an amount.
    #[must_use]
    pub const fn amounts(self) -> AmountAgreement {
        match self {
            LedgerKind::Generic => AmountAgreement::Exact,
            // Its events carry amounts as doubles; its rows and hooks carry exact amounts.
            LedgerKind::Blnk => AmountAgreement::Doubles,
        }
    }
}

impl LedgerIdentity {
    /// Returns the identity of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [LedgerIdentity::Id, LedgerIdentity::Reference].into_iter().find(|one| one.as_str() == name)
    }

    /// Returns the name used in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            LedgerIdentity::Id => "id",
            LedgerIdentity::Reference => "reference",
        }
    }
}

/// The treatment of a payment of which a part was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeftOutTreatment {
    /// Its verdict is at least `review`.
    #[default]
    Review,
    /// It is judged as if nothing had been left out.
    Judge,
}

/// The verdict in the alert about an entry that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnreadableVerdict {
    /// `alert`
    Alert,
    /// `review`
    #[default]
    Review,
    /// `block`
    Block,
}

impl LeftOutTreatment {
    /// Returns the treatment of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "review" => Some(Self::Review),
            "judge" => Some(Self::Judge),
            _ => None,
        }
    }
}

impl UnreadableVerdict {
    /// Returns the verdict of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Alert, Self::Review, Self::Block].into_iter().find(|one| one.verdict().as_str() == name)
    }

    /// Returns the verdict.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Alert => Verdict::Alert,
            Self::Review => Verdict::Review,
            Self::Block => Verdict::Block,
        }
    }
}
