//! Bookkeeping entries of a ledger about a payment, which are not payments themselves.
//!
//! A client can write the metadata that marks such an entry. So the entry is compared with the payment that it names, and
//! waits if that is not known yet. An entry that cannot be bookkeeping is taken like any other.
//!
//! INVARIANT: bookkeeping about one payment moves at most [`SHADOWS_OF_PAYMENT`] times its amount, and begins only while that
//! has not failed. The sum is changed under
//! the lock of the payment, in the commit that makes the entry known, so each entry counts once. A held entry and those that
//! settle it count together, with the larger of what they hold and what they settle.

use std::sync::Arc;

use crate::kind::can_shadow;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::Transaction;
use tollgate_store::WaitingQuery;

use super::child_entry::{ChildEntry, RereadEntry, Result, without_shadow};
use super::{EntryChange, EntryOutcome, Hold, PaymentEvent, PaymentsInner, ReportedEntry, TallyKind, known};

/// How often the bookkeeping about a payment moves its amount: Blnk credits the receiver's lineage with the provider of a
/// payment, releases the funds of the sender's providers, and passes these on to the receiver.
const SHADOWS_OF_PAYMENT: usize = 3;
/// The status of a payment that turned out to be bookkeeping.
const VOID: &str = "VOID";

impl PaymentsInner {
    /// Notes a bookkeeping entry, takes it as what it is otherwise, or stores it as waiting for the payment that it names.
    pub(super) fn take_shadow<'s>(
        &'s self,
        child: &'s ChildEntry<'s>,
    ) -> BoxFuture<'s, Result<EntryOutcome>> {
        // Boxed, because an entry that is taken may be one for which others wait.
        self.compare_shadow(child).boxed()
    }

    async fn compare_shadow(&self, child: &ChildEntry<'_>) -> Result<EntryOutcome> {
        let entry = child.entry;
        let PaymentEvent::Shadow { about, main, otherwise } = &entry.happened else {
            return Ok(EntryOutcome::Nothing);
        };
        let locked = self.lock(&self.entries, about).await;
        let waiting = self.deps.store.waiting_entries(WaitingQuery::Entry(&entry.id), 1).await?.pop();
        if let (Some(read), Some(stored)) = (child.waiting, &waiting)
            && read.told != stored.told
            && let Some(reread) = self.reread(stored)
        {
            // A further report arrived before the lock was acquired.
            drop(locked);
            return self.take_shadow(&reread.child()).await;
        }
        let own = &entry.report.transaction().transaction_id;
        let before = self.deps.store.ledger_entry(&entry.id).await?;
        if waiting.is_none() && before.as_ref().is_some_and(|before| *before.transaction_id != **own) {
            return Ok(EntryOutcome::Nothing);
        }
        let Some(known_about) = self.moved(about).await? else {
            self.wait(child, about, waiting.as_ref()).await?;
            return Ok(EntryOutcome::Waits(Arc::clone(about)));
        };
        let is_taken = waiting.as_ref().is_some_and(|waiting| waiting.is_taken);
        let paid = self.payment_of(&known_about).await?;
        // Several entries can be of one payment, so the lock of the entry is not enough.
        let counted = self.lock(&self.payments, &paid.transaction_id).await;
        // What was taken as a payment of its own stays one.
        let is_own = waiting.is_none() && before.is_some();
        let is_shadow =
            !is_own && can_shadow(entry.report.transaction(), main, &paid, self.deps.kind.amounts());
        let tallies = if is_shadow { self.count_shadow(entry, otherwise, &paid).await? } else { None };
        let mut outcome = EntryOutcome::Nothing;
        let mut changes = Vec::new();
        if let Some(tallies) = tallies {
            if is_taken {
                self.deps.monitor.advance(own, VOID, Arc::clone(child.event)).await?;
            }
            changes.push(known(&entry.id, &paid.transaction_id));
            changes.extend(tallies);
            tracing::debug!(transaction.id = %entry.id, about = %about, "a bookkeeping entry of the ledger");
        } else if !is_taken {
            drop((locked, counted));
            let (entry, _) = without_shadow(entry.clone());
            // The payment has just arrived, and what waits for it is not joined yet.
            let stored = waiting.as_ref().filter(|_| child.waiting.is_none());
            let stored = stored.map(|waiting| self.reread_all(waiting)).unwrap_or_default();
            let further = if child.waiting.is_some() { child.further } else { &stored };
            let child = ChildEntry { entry: &entry, waiting: None, further, ..*child };
            outcome = self.apply(&child).await?;
        } else {
            self.take_alone(child).await?;
        }
        // What the entry is otherwise may have ended its wait.
        if !matches!(outcome, EntryOutcome::Waits(_)) {
            let waiting = self.deps.store.waiting_entries(WaitingQuery::Entry(&entry.id), 1).await?.pop();
            changes.extend(waiting.iter().map(|waiting| EntryChange::Arrived(waiting.entry.clone())));
            self.commit(&changes).await?;
            waiting.iter().filter(|waiting| !waiting.is_taken).for_each(|_| self.waits_no_longer());
        }
        Ok(outcome)
    }

    /// Adds an entry to the bookkeeping about a payment. Returns the new sums, or `None` if it cannot be a part of it: the
    /// sum would exceed its bound, the entry settles one that is no bookkeeping about this payment, or it begins after the
    /// payment failed.
    async fn count_shadow(
        &self,
        entry: &ReportedEntry,
        otherwise: &PaymentEvent,
        paid: &Transaction,
    ) -> Result<Option<[EntryChange; 2]>> {
        let (store, amounts) = (&self.deps.store, self.deps.kind.amounts());
        let settled = match otherwise {
            PaymentEvent::Settled { hold, .. } => Some(hold),
            _ => None,
        };
        if let Some(hold) = settled
            && let Some(hold) = store.ledger_entry(hold).await?
            && *hold.transaction_id != *paid.transaction_id
        {
            return Ok(None);
        }
        let root = settled.unwrap_or(&entry.id);
        let before = store.ledger_tally(TallyKind::Shadow, root).await?;
        let status = paid.status.as_deref().unwrap_or_default();
        // A hold that became void may have moved parts, so only what never moved is excluded.
        if before.is_none() && self.deps.monitor.status_words().is_failed(status) {
            return Ok(None);
        }
        let before = before.unwrap_or(NOTHING);
        let all = store.ledger_tally(TallyKind::Shadows, &paid.transaction_id).await?.unwrap_or(NOTHING);
        let amount = entry.report.transaction().amount.value();
        let Some((own, all)) = with_shadow(before, all, amount, settled.is_some(), paid.amount.value())
        else {
            return Ok(None);
        };
        let fits = all.settled <= all.held || amounts.holds(all.settled, all.held);
        Ok(fits.then(|| {
            [
                EntryChange::Tally(TallyKind::Shadow, (**root).into(), own),
                EntryChange::Tally(TallyKind::Shadows, (*paid.transaction_id).into(), all),
            ]
        }))
    }

    pub(super) async fn take_waiting_shadows(&self, shadows: Vec<RereadEntry<'_>>) -> Result<()> {
        for shadow in shadows {
            self.take_shadow(&shadow.child()).await?;
        }
        Ok(())
    }
}

const NOTHING: Hold = Hold { held: Decimal::ZERO, settled: Decimal::ZERO };

/// Adds an amount to a bookkeeping entry, and the increase of what that can move to all bookkeeping about a payment of
/// `paid`. Returns both, or `None` if a number would have too many digits.
fn with_shadow(
    before: Hold,
    all: Hold,
    amount: Decimal,
    is_settled: bool,
    paid: Decimal,
) -> Option<(Hold, Hold)> {
    let own = match is_settled {
        true => Hold { settled: before.settled.checked_add(amount)?, ..before },
        false => Hold { held: before.held.max(amount), ..before },
    };
    let can_move = |hold: Hold| hold.held.max(hold.settled);
    let settled = all.settled.checked_add(can_move(own).checked_sub(can_move(before))?)?;
    let held = (0..SHADOWS_OF_PAYMENT).try_fold(Decimal::ZERO, |sum, _| sum.checked_add(paid))?;
    Some((own, Hold { held, settled }))
}
