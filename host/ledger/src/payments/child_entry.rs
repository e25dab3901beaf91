//! An entry that settles or reverses another one: as it arrives, and as it is stored while it waits.

use std::sync::Arc;

use super::{Json, PaymentError, PaymentEvent, ReportChannel, ReportedEntry, WaitingEntry};

/// First line of a stored report: the channel, followed by the event name for `EVENT`. The report follows on the next
/// line.
pub(super) const EVENT: &str = "event ";
pub(super) const HOOK: &str = "hook";
pub(super) const ROW: &str = "row";

/// The result of an operation on payments.
pub(super) type Result<T> = std::result::Result<T, PaymentError>;

/// An entry that settles or reverses another one, and how it was sent.
pub(super) struct ChildEntry<'a> {
    pub(super) entry: &'a ReportedEntry,
    pub(super) channel: ReportChannel<'a>,
    pub(super) event: &'a Arc<str>,
    /// The text written by [`text_of`].
    pub(super) sent: &'a str,
    /// The stored waiting entry, if it waited.
    pub(super) waiting: Option<&'a WaitingEntry>,
    /// The reports of the entry that arrived over other channels while it waited.
    pub(super) further: &'a [FurtherReport<'a>],
}

/// A waiting entry, parsed again.
pub(super) struct RereadEntry<'w> {
    pub(super) entry: ReportedEntry,
    pub(super) channel: ReportChannel<'w>,
    pub(super) event: Arc<str>,
    pub(super) sent: &'w str,
    pub(super) further: Vec<FurtherReport<'w>>,
    pub(super) waiting: &'w WaitingEntry,
}

/// A report of an entry that another report made known.
pub(super) struct FurtherReport<'w> {
    pub(super) entry: ReportedEntry,
    pub(super) channel: ReportChannel<'w>,
    pub(super) event: Arc<str>,
    pub(super) sent: &'w str,
}

impl ChildEntry<'_> {
    /// Returns whether it waited too long and was taken as a separate payment.
    pub(super) fn is_taken(&self) -> bool {
        self.waiting.is_some_and(|waiting| waiting.is_taken)
    }
}

impl RereadEntry<'_> {
    pub(super) fn child(&self) -> ChildEntry<'_> {
        ChildEntry {
            entry: &self.entry,
            channel: self.channel,
            event: &self.event,
            sent: self.sent,
            waiting: Some(self.waiting),
            further: &self.further,
        }
    }
}

impl FurtherReport<'_> {
    pub(super) fn child(&self) -> ChildEntry<'_> {
        ChildEntry {
            entry: &self.entry,
            channel: self.channel,
            event: &self.event,
            sent: self.sent,
            waiting: None,
            further: &[],
        }
    }
}

/// Returns the stored form of a report: the channel and the data.
pub(super) fn text_of(channel: ReportChannel<'_>, data: &Json) -> String {
    match channel {
        ReportChannel::Event(word) => format!("{EVENT}{word}\n{data}"),
        ReportChannel::Hook => format!("{HOOK}\n{data}"),
        ReportChannel::Row => format!("{ROW}\n{data}"),
    }
}

/// Returns an entry as what it is if it is no bookkeeping, and whether it claims to be.
pub(super) fn without_shadow(mut entry: ReportedEntry) -> (ReportedEntry, bool) {
    match entry.happened {
        PaymentEvent::Shadow { otherwise, .. } => {
            entry.happened = *otherwise;
            (entry, true)
        }
        _ => (entry, false),
    }
}
