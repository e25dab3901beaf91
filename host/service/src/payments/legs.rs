//! Legs of a split payment that a back end had judged as a whole, under its reference.
//!
//! The whole moves with its first leg that moves. It is rejected or void when all of its amount is. Legs are no payments of
//! their own, or the whole would count twice.

use std::sync::Arc;

use tollgate_model::decimal::Decimal;
use tollgate_model::ledger_kind::can_be_leg;
use tollgate_model::transaction::Transaction;

use super::joining::{ChildEntry, Result};
use super::{
    EntryChange, EntryOutcome, Hold, LedgerEntry, PaymentEvent, PaymentState, PaymentsInner, Progress,
    ReportedEntry, known,
};

/// Prefix of a known entry that marks a payment as split; no entry of Blnk has such an id.
const SPLIT: &str = "split:";
const APPLIED: &str = "APPLIED";

impl PaymentsInner {
    /// Returns the known payment of which an entry is a leg.
    pub(super) async fn whole_of(&self, entry: &ReportedEntry) -> Result<Option<Transaction>> {
        let (Some(whole), PaymentEvent::Payment(_)) = (&entry.leg_of, &entry.happened) else {
            return Ok(None);
        };
        let found = self.deps.monitor.find(whole).await?.map(|judged| judged.transaction);
        let amounts = self.deps.kind.amounts();
        Ok(found.filter(|whole| can_be_leg(entry.report.transaction(), whole, amounts)))
    }

    /// Applies a leg to its payment.
    pub(super) async fn take_leg(&self, child: &ChildEntry<'_>, whole: &Transaction) -> Result<EntryOutcome> {
        let entry = child.entry;
        let (own, whole_id) = (entry.report.transaction(), &whole.transaction_id);
        let locked = self.lock(&self.payments, whole_id).await;
        let is_new = self.deps.store.ledger_entry(&entry.id).await?.is_none();
        let mut hold = self
            .split_of(whole_id)
            .await?
            .unwrap_or(Hold { held: whole.amount.value(), settled: Decimal::ZERO });
        let status = own.status.as_deref().unwrap_or_default();
        let is_moving =
            entry.happened != PaymentEvent::Payment(Progress::Ended) || status.eq_ignore_ascii_case(APPLIED);
        if !is_moving && is_new {
            hold = without(hold, own.amount.value());
        }
        if is_moving || self.is_used_up(hold) {
            self.deps.monitor.advance(whole_id, status, Arc::clone(child.event)).await?;
        }
        let mut changes: Vec<_> =
            std::iter::once(&entry.id).chain(&entry.also).map(|id| known(id, whole_id)).collect();
        changes.push(known(&format!("{SPLIT}{whole_id}"), whole_id));
        changes.push(EntryChange::Moved((**whole_id).into(), Some(hold)));
        self.commit(&changes).await?;
        drop(locked);
        self.join_those_that_wait(
            std::iter::once(&entry.id).chain(&entry.also).map(|id| (**id).into()).collect(),
        )
        .await?;
        Ok(EntryOutcome::Payment(Arc::clone(whole_id)))
    }

    /// Returns the amounts of a payment that is split.
    async fn split_of(&self, whole: &str) -> Result<Option<Hold>> {
        let marker = self.deps.store.ledger_entry(&format!("{SPLIT}{whole}")).await?;
        Ok(marker.and_then(|marker| match marker.standing {
            PaymentState::Held(hold) => Some(hold),
            _ => None,
        }))
    }

    /// Returns whether the payment of an entry is split.
    pub(super) async fn belongs_to_split(&self, entry: &LedgerEntry) -> Result<bool> {
        Ok(self.split_of(&entry.transaction_id).await?.is_some())
    }

    /// Releases a part of a split payment. Returns whether nothing is left.
    pub(super) fn release(&self, parent: &mut LedgerEntry, amount: Decimal) -> bool {
        let PaymentState::Held(hold) = parent.standing else { return false };
        let hold = without(hold, amount);
        parent.standing = PaymentState::Held(hold);
        self.is_used_up(hold)
    }

    fn is_used_up(&self, hold: Hold) -> bool {
        hold.settled >= hold.held || self.deps.kind.amounts().holds(hold.settled, hold.held)
    }
}

fn without(hold: Hold, amount: Decimal) -> Hold {
    Hold { settled: hold.settled.checked_add(amount).unwrap_or(hold.held), ..hold }
}
