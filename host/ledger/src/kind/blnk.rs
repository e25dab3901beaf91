//! Blnk: every stage of a payment is a separate entry linked to the previous one.
//!
//! ```text
//!  QUEUED ──▶ its copy, `reference` + `_q`: INFLIGHT ──▶ APPLIED or VOID, in full or in part        one payment
//!  APPLIED ──▶ `<entry>_refund`, or `ref_<uuid>` before Blnk 0.15.0: a separate payment that refunds the other one, and may
//!              pass through a queue too: then only the queued entry has the refunded one as its parent
//!  `_shadow_for`, `_provider`, `_main_balance`: bookkeeping of the lineage of funds
//! ```
//!
//! The reference and metadata of an entry suggest its role, so the order of arrival does not matter. Clients choose
//! references and metadata too, so a role holds only if accounts and amount of the parent agree; see `Payments` in the
//! service. Whether a settlement is full or partial depends on the hold.

use std::sync::Arc;

use super::amount;
use super::{EntryReport, PaymentEvent, Progress, QueuedRefund, ReportChannel, ReportedEntry};
use tollgate_model::transaction::{
    DESCRIPTION_BYTES_MAX, InvalidTransaction, Json, JsonNumber, StatusWords, TransactionReport,
    take_left_out,
};
use tollgate_telemetry::config::LedgerIdentity;

/// The one field that is cut, because only people read it.
const DESCRIPTION: &str = "description";
/// Prefix of Blnk entry ids. `parent_transaction` may also be a batch id.
const ENTRY: &str = "txn_";
/// Suffix that Blnk adds to the reference of a copy of a queued entry.
const OF_COPY: &str = "_q";
/// Characters between the reference of a split payment and the number of a leg.
const LEG_MARKS: [char; 2] = ['_', '-'];
/// Suffix that turns the id of an entry into the reference of its refund.
const OF_REFUND: &str = "_refund";
/// Prefix of a reference that Blnk generates for a commit or void; a UUID follows. Such a reference may also be the id
/// of the hold and one of the words below.
const MADE_UP: &str = "ref_";
const SETTLING: [&str; 2] = ["_commit_", "_void_"];
const UUID_CHARACTERS: usize = 36;
/// First character of a balance that is named by its indicator, and the end of the indicators of lineage balances.
const INDICATOR: char = '@';
const LINEAGE: &str = "_lineage";

pub(super) fn read(
    entry_report: EntryReport<'_>,
    identity: LedgerIdentity,
    words_known: &StatusWords,
) -> Result<ReportedEntry, InvalidTransaction> {
    let EntryReport { channel, mut data, message, arrival } = entry_report;
    let left_out = shortened(&mut data);
    let words = EntryFields::new(&data);
    let Some(id) = words.id else { return Err(InvalidTransaction::MissingField { field: "transaction_id" }) };
    let id: Arc<str> = id.into();
    let copied = words.copied();
    let reference = words.reference.map(|reference| match copied {
        Some(_) => reference.strip_suffix(OF_COPY).unwrap_or(reference).to_owned(),
        None => reference.to_owned(),
    });
    let happened = words.happened(copied, reference.as_deref().unwrap_or_default());
    let queued_refund = words.queued_refund(copied, reference.as_deref().unwrap_or_default());
    let happened = match words.shadow() {
        Some((about, main)) => {
            PaymentEvent::Shadow { about: about.into(), main: main.into(), otherwise: Box::new(happened) }
        }
        None => happened,
    };
    let payment = match identity {
        LedgerIdentity::Id => copied.unwrap_or(&id).to_owned(),
        LedgerIdentity::Reference => match reference.as_deref().filter(|reference| !reference.is_empty()) {
            Some(reference) => reference.to_owned(),
            None => return Err(InvalidTransaction::MissingField { field: "reference" }),
        },
    };
    let leg_of = match identity {
        LedgerIdentity::Id => None,
        LedgerIdentity::Reference => {
            reference.as_deref().filter(|_| words.is_leg(copied)).and_then(whole_of).map(Arc::from)
        }
    };
    let also = copied.into_iter().map(Arc::from).collect();
    let is_exact = !matches!(channel, ReportChannel::Event(_));
    let amount = amount::read_amount(&data, is_exact)?;
    let Json::Object(mut members) = data else { return Err(InvalidTransaction::NotAnObject) };
    put(&mut members, "transaction_id", Json::Text(payment.into()));
    if let Some(reference) = reference {
        put(&mut members, "reference", Json::Text(reference.into()));
    }
    if let Some(amount) = amount {
        put(&mut members, "amount", Json::Number(JsonNumber::from(amount)));
    }
    let report =
        TransactionReport::read(channel.word(), Json::Object(members), message, arrival, words_known)?
            .at_its_schedule();
    let report = report.with_left_out(left_out).with_exact_amount(is_exact);
    Ok(ReportedEntry { id, also, leg_of, happened, queued_refund, report })
}

/// Cuts what only people read to the limits of a transaction. Returns the names of everything that was left out, also
/// when the report was parsed.
fn shortened(data: &mut Json) -> Vec<Box<str>> {
    let Json::Object(members) = data else { return Vec::new() };
    let mut left_out: Vec<Box<str>> = take_left_out(members);
    for (name, value) in members {
        if let Json::Text(text) = value
            && **name == *DESCRIPTION
            && text.len() > DESCRIPTION_BYTES_MAX
        {
            *text = text.get(..text.floor_char_boundary(DESCRIPTION_BYTES_MAX)).unwrap_or_default().into();
            left_out.push(DESCRIPTION.into());
        }
    }
    left_out
}

/// The fields of an entry that identify its role.
struct EntryFields<'a> {
    id: Option<&'a str>,
    parent: &'a str,
    reference: Option<&'a str>,
    status: &'a str,
    accounts: [Option<&'a str>; 2],
    shadow_for: Option<&'a str>,
    provider: Option<&'a str>,
    main_balance: Option<&'a str>,
    /// Whether the entry passed through a queue.
    is_queued: bool,
    /// The entry that the client requested, if this one passed through a queue.
    queued_parent: Option<&'a str>,
}

impl<'a> EntryFields<'a> {
    fn new(data: &'a Json) -> Self {
        let text = |path: &[&str]| match data.at(path) {
            Some(Json::Text(text)) if !text.is_empty() => Some(&**text),
            _ => None,
        };
        Self {
            id: text(&["transaction_id"]),
            parent: text(&["parent_transaction"])
                .filter(|parent| parent.starts_with(ENTRY))
                .unwrap_or_default(),
            reference: text(&["reference"]),
            status: text(&["status"]).unwrap_or_default(),
            accounts: [text(&["source"]), text(&["destination"])],
            shadow_for: text(&["meta_data", "_shadow_for"]),
            provider: text(&["meta_data", "_provider"]),
            main_balance: text(&["meta_data", "_main_balance"]),
            queued_parent: text(&["meta_data", "QUEUED_PARENT_TRANSACTION"]),
            is_queued: ["QUEUED_PARENT_TRANSACTION", "queue_lane"]
                .iter()
                .any(|name| data.at(&["meta_data", name]).is_some()),
        }
    }

    /// Returns whether the entry is a leg of a split payment: it has a parent, which is never reported.
    fn is_leg(&self, copied: Option<&str>) -> bool {
        match copied {
            Some(copied) => self.queued_parent.is_some_and(|root| root.starts_with(ENTRY) && root != copied),
            None => !self.parent.is_empty(),
        }
    }

    /// Returns the queued entry of which this is a copy.
    fn copied(&self) -> Option<&'a str> {
        let is_copy = self.is_queued && self.reference.is_some_and(|reference| reference.ends_with(OF_COPY));
        (is_copy && !self.parent.is_empty()).then_some(self.parent)
    }

    fn has_status(&self, word: &str) -> bool {
        self.status.eq_ignore_ascii_case(word)
    }

    /// Returns the entry and the balance that this entry would shadow. Blnk moves shadows between lineage balances only,
    /// and names the provider of the funds.
    fn shadow(&self) -> Option<(&'a str, &'a str)> {
        let (about, main) = (self.shadow_for?, self.main_balance?);
        let can_be_lineage = |account: &Option<&str>| {
            account.is_some_and(|account| {
                account != main && (!account.starts_with(INDICATOR) || account.ends_with(LINEAGE))
            })
        };
        let is_shadow =
            about.starts_with(ENTRY) && self.provider.is_some() && self.accounts.iter().all(can_be_lineage);
        is_shadow.then_some((about, main))
    }

    /// Returns the event. `reference` is the reference of the payment.
    fn happened(&self, copied: Option<&str>, reference: &str) -> PaymentEvent {
        let (is_posted, is_released) = (self.has_status("APPLIED"), self.has_status("VOID"));
        // The parent of a copy is the queued refund, whose parent is not reported.
        let is_child_of = |original: &str| copied.is_some() || self.parent == original;
        if let Some(original) = refunded(reference).filter(|original| is_posted && is_child_of(original)) {
            return PaymentEvent::Reversed { original: original.into() };
        }
        if copied.is_none() && (is_posted || is_released) && settles(self.parent, reference) {
            return PaymentEvent::Settled { hold: self.parent.into(), is_released };
        }
        PaymentEvent::Payment(match self.has_status("INFLIGHT") {
            true => Progress::Held,
            false if self.is_awaited() => Progress::Awaited,
            false => Progress::Ended,
        })
    }

    fn is_awaited(&self) -> bool {
        ["QUEUED", "SCHEDULED"].iter().any(|word| self.has_status(word))
    }

    /// Returns what makes the entry a refund of Blnk before 0.15.0 that passes through a queue. `reference` is the reference of
    /// the payment.
    fn queued_refund(&self, copied: Option<&str>, reference: &str) -> Option<QueuedRefund> {
        let has_moved = self.has_status("APPLIED");
        match copied {
            _ if !is_made_up(reference) => None,
            Some(queued) => has_moved.then(|| QueuedRefund::Posted { queued: queued.into() }),
            None => (self.is_awaited() && !self.parent.is_empty())
                .then(|| QueuedRefund::Queued { original: self.parent.into() }),
        }
    }
}

/// Returns whether Blnk generates this reference for a commit or void of the parent entry.
fn settles(parent: &str, reference: &str) -> bool {
    let names_parent = || {
        reference.strip_prefix(parent).is_some_and(|rest| SETTLING.iter().any(|word| rest.starts_with(word)))
    };
    !parent.is_empty() && (is_made_up(reference) || names_parent())
}

/// Returns whether Blnk generates such a reference for an entry that no client requested under one.
fn is_made_up(reference: &str) -> bool {
    reference.strip_prefix(MADE_UP).is_some_and(|rest| rest.len() == UUID_CHARACTERS)
}

/// Returns the reference of a split payment from that of a leg, which ends in the number of the leg. No client was judged
/// under a reference that Blnk generates.
fn whole_of(reference: &str) -> Option<&str> {
    let whole = reference.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let name = whole.strip_suffix(LEG_MARKS)?;
    let is_made_up = name.starts_with(MADE_UP) || name.starts_with(ENTRY);
    (whole.len() < reference.len() && !name.is_empty() && !is_made_up).then_some(name)
}

/// Returns the entry that a refund with this reference refunds.
fn refunded(reference: &str) -> Option<&str> {
    let original = reference.strip_suffix(OF_REFUND)?;
    let uuid = original.strip_prefix(ENTRY)?;
    (uuid.len() == UUID_CHARACTERS).then_some(original)
}

fn put(members: &mut Vec<(Box<str>, Json)>, name: &str, value: Json) {
    match members.iter_mut().find(|(member, _)| **member == *name) {
        Some((_, old)) => *old = value,
        None => members.push((name.into(), value)),
    }
}
