//! Kinds of ledgers: conversion of reported entries into payment events.
//!
//! ```text
//!  event, hook, row ────── read ──────▶ Entry: the payment it belongs to, and what happened to it ──▶ payments
//! ```
//!
//! Events and rows of a ledger share one mapping, so they cannot disagree. To add a kind, add a variant to [`LedgerKind`] and a
//! module next to `blnk` that creates a [`ReportedEntry`].

mod accounts;
mod amount;
mod blnk;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tollgate_telemetry::config::{LedgerIdentity, LedgerKind};

use tollgate_model::transaction::{InvalidTransaction, Json, StatusWords, TransactionReport};

pub use accounts::{AccountComparison, can_be_leg, can_shadow};

/// The channel of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportChannel<'a> {
    /// An event of this name, such as `applied`.
    Event(&'a str),
    /// A hook, whose numbers are exact.
    Hook,
    /// A database row, whose numbers are exact.
    Row,
}

/// A report about one entry of a ledger.
#[derive(Debug)]
pub struct EntryReport<'a> {
    /// Channel of the report.
    pub channel: ReportChannel<'a>,
    /// Entry as an object.
    pub data: Json,
    /// Id of the message that contained it.
    pub message: Option<&'a str>,
    /// Time of arrival.
    pub arrival: DateTime<Utc>,
}

/// An entry of a ledger.
#[derive(Debug, Clone)]
pub struct ReportedEntry {
    /// Id in the ledger.
    pub id: Arc<str>,
    /// Other ledger ids of the same payment.
    pub also: Vec<Arc<str>>,
    /// Identity of the payment of which the entry is a leg, if it is one and payments are identified by reference.
    pub leg_of: Option<Arc<str>>,
    /// Event that the entry reports.
    pub happened: PaymentEvent,
    /// The queued or posted refund that the entry reports, if it passes through a queue and its reference does not say so.
    pub queued_refund: Option<QueuedRefund>,
    /// Payment as reported. For an entry that settles a hold, only the settled part.
    pub report: TransactionReport,
}

/// The progress of a separate payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It has not happened yet.
    Awaited,
    /// It was posted or rejected.
    Ended,
    /// Its amount is held.
    Held,
}

/// An event in the life of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentEvent {
    /// A separate payment reached the state of its status: posted, held, rejected or awaited.
    Payment(Progress),
    /// All or part of a held amount was posted or released, if the accounts are those of the hold. With swapped accounts,
    /// a payment was refunded.
    Settled {
        /// Entry of the hold.
        hold: Arc<str>,
        /// Whether the amount was released.
        is_released: bool,
    },
    /// A separate payment refunded another one, if it moved the same amount back.
    Reversed {
        /// An entry of the refunded payment.
        original: Arc<str>,
    },
    /// An internal bookkeeping entry of the ledger, if [`can_shadow`] holds for the payment that it names; then nothing
    /// happened.
    Shadow {
        /// Entry that it concerns.
        about: Arc<str>,
        /// The account of that entry for which the ledger keeps the record.
        main: Arc<str>,
        /// The event of the payment if it is no bookkeeping entry.
        otherwise: Box<PaymentEvent>,
    },
}

/// An entry that refunds another one if it moves the same amount back once it is posted. Only the queued entry names the other
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueuedRefund {
    /// The queued entry.
    Queued {
        /// The entry that it refunds.
        original: Arc<str>,
    },
    /// The copy by which it was posted.
    Posted {
        /// The queued entry.
        queued: Arc<str>,
    },
}

impl ReportedEntry {
    /// Returns whether the entry releases a held amount.
    #[must_use]
    pub fn is_release(&self) -> bool {
        matches!(self.happened, PaymentEvent::Settled { is_released: true, .. })
    }
}

/// Reads an entry.
///
/// # Errors
/// If the entry is invalid; the error names the field.
pub fn read(
    kind: LedgerKind,
    entry_report: EntryReport<'_>,
    identity: LedgerIdentity,
    words: &StatusWords,
) -> Result<ReportedEntry, InvalidTransaction> {
    match kind {
        LedgerKind::Generic => generic(entry_report, words),
        LedgerKind::Blnk => blnk::read(entry_report, identity, words),
    }
}

/// Treats every entry as a separate payment.
fn generic(entry_report: EntryReport<'_>, words: &StatusWords) -> Result<ReportedEntry, InvalidTransaction> {
    let EntryReport { channel, data, message, arrival } = entry_report;
    let report = TransactionReport::read(channel.word(), data, message, arrival, words)?;
    let id = Arc::clone(&report.transaction().transaction_id);
    Ok(ReportedEntry {
        id,
        also: Vec::new(),
        leg_of: None,
        happened: PaymentEvent::Payment(Progress::Ended),
        queued_refund: None,
        report,
    })
}

/// Returns whether the data has the fields of a Blnk entry, which a generic ledger does not have.
#[must_use]
pub fn looks_like_blnk(data: &Json) -> bool {
    ["precise_amount", "precision", "parent_transaction"].iter().all(|name| data.at(&[name]).is_some())
}

impl ReportChannel<'_> {
    /// Returns the name of the event. For other channels, only the data states a status.
    const fn word(&self) -> &str {
        match self {
            ReportChannel::Event(word) => word,
            ReportChannel::Hook | ReportChannel::Row => "updated",
        }
    }
}
