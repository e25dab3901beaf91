//! Kinds of ledgers: each reads what its ledger tells of an entry as news of a payment.
//!
//! ```text
//!  event, hook, row ──LedgerKind::read──▶ Entry: which payment it is part of, and what happened to that ──▶ payments
//! ```
//!
//! Events and rows of one ledger go through one mapping, so the two ways in cannot disagree. A further kind of ledger is a
//! further variant here, and a module beside [`blnk`] that makes a [`ReportedEntry`] of what it tells.

mod amount;
mod blnk;

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::transaction::{AmountAgreement, InvalidTransaction, Json, TransactionReport};

/// Which ledger it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LedgerKind {
    /// One that has one id for each payment, and tells of it under that id.
    #[default]
    Generic,
    /// Blnk, which has an entry for each stage of a payment, under an id of its own.
    Blnk,
}

/// By what a payment of a ledger is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LedgerIdentity {
    /// By the id of its first entry.
    #[default]
    Id,
    /// By its reference: the `transaction_id` under which a back end asked for a verdict before the ledger knew of it.
    Reference,
}

impl LedgerKind {
    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [LedgerKind::Generic, LedgerKind::Blnk].into_iter().find(|kind| kind.as_str() == name)
    }

    /// As settings name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            LedgerKind::Generic => "generic",
            LedgerKind::Blnk => "blnk",
        }
    }
}

impl LedgerIdentity {
    /// The identity of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [LedgerIdentity::Id, LedgerIdentity::Reference].into_iter().find(|one| one.as_str() == name)
    }

    /// As settings name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            LedgerIdentity::Id => "id",
            LedgerIdentity::Reference => "reference",
        }
    }
}

/// How a ledger tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportChannel<'a> {
    /// By an event of this word, such as `applied`.
    Event(&'a str),
    /// By a hook, whose numbers are exact.
    Hook,
    /// By a row of its database, whose numbers are exact.
    Row,
}

/// What a ledger tells of one of its entries.
#[derive(Debug)]
pub struct EntryReport<'a> {
    /// How.
    pub telling: ReportChannel<'a>,
    /// The entry, as an object.
    pub data: Json,
    /// The id of the message it came in.
    pub message: Option<&'a str>,
    /// When it came.
    pub arrival: DateTime<Utc>,
}

/// An entry of a ledger.
#[derive(Debug, Clone)]
pub struct ReportedEntry {
    /// Its id in the ledger.
    pub id: Arc<str>,
    /// Other ids in the ledger that stand for the same payment.
    pub also: Vec<Arc<str>>,
    /// What it says happened.
    pub happened: PaymentEvent,
    /// The payment as it is told: for what settles a hold, that of the settled part alone.
    pub report: TransactionReport,
}

/// How far a payment of its own has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is yet to come.
    Awaited,
    /// It was posted or rejected.
    Ended,
    /// Its amount is held.
    Held,
}

/// What happened to a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentEvent {
    /// A payment of its own has come as far as its status says: it was posted, held, rejected, or is yet to come.
    Payment(Progress),
    /// All or a part of what was held was posted, or released.
    Settled {
        /// The entry of the hold.
        hold: Arc<str>,
        /// Whether it was released.
        is_released: bool,
    },
    /// A payment of its own gave another one back.
    Reversed {
        /// An entry of the other one.
        original: Arc<str>,
    },
    /// Nothing: it is book-keeping of the ledger about this entry.
    Nothing {
        /// The entry.
        about: Arc<str>,
    },
}

impl LedgerKind {
    /// When two tellings of a payment say the same amount.
    #[must_use]
    pub const fn amounts(self) -> AmountAgreement {
        match self {
            LedgerKind::Generic => AmountAgreement::Exact,
            // Its events bring amounts as doubles, its rows and hooks as they are.
            LedgerKind::Blnk => AmountAgreement::Doubles,
        }
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// When it is none; the error names the field.
    pub fn read(
        self,
        told: EntryReport<'_>,
        identity: LedgerIdentity,
    ) -> Result<ReportedEntry, InvalidTransaction> {
        match self {
            LedgerKind::Generic => generic(told),
            LedgerKind::Blnk => blnk::read(told, identity),
        }
    }
}

/// Every entry is a payment of its own.
fn generic(told: EntryReport<'_>) -> Result<ReportedEntry, InvalidTransaction> {
    let report = TransactionReport::read(told.telling.word(), told.data, told.message, told.arrival)?;
    let id = Arc::clone(&report.transaction().transaction_id);
    Ok(ReportedEntry { id, also: Vec::new(), happened: PaymentEvent::Payment(Progress::Ended), report })
}

/// Whether what is told looks like an entry of Blnk, which a ledger of the generic kind does not have.
#[must_use]
pub fn looks_like_blnk(data: &Json) -> bool {
    ["precise_amount", "precision", "parent_transaction"].iter().all(|name| data.at(&[name]).is_some())
}

impl ReportChannel<'_> {
    /// That of an event; what is no event tells of a status only in its data.
    const fn word(&self) -> &str {
        match self {
            ReportChannel::Event(word) => word,
            ReportChannel::Hook | ReportChannel::Row => "updated",
        }
    }
}
