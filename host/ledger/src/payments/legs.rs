//! Legs of a split payment that a back end had judged as a whole, under its reference.
//!
//! The whole moves with its first leg that moves, because its amount counted when it was judged. It is rejected or void when
//! all of its amount is, so a leg that fails alone changes nothing. Legs are no payments of their own, or the whole would
//! count twice.
//!
//! INVARIANT: the legs of a payment, and what settles them, move together at most its amount. The sums are changed under the
//! lock of the payment, in the commit that makes an entry known, so each leg counts once. Either legs move or the whole as an
//! entry of its own, never both: of the two, the one that is reported later is judged or becomes a dead letter.

use std::sync::Arc;

use crate::kind::can_be_leg;
use tokio::sync::MutexGuard;
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::Transaction;
use tollgate_store::TransactionOrigin;

use super::child_entry::{ChildEntry, Result};
use super::joining::ParentAction;
use super::{
    Contradiction, EVENTS, EntryChange, EntryOutcome, Hold, Judged, LedgerEntry, LedgerIdentity,
    PaymentEvent, PaymentsInner, Progress, ROWS, ReportChannel, ReportedEntry, TallyKind, known,
};

const APPLIED: &str = "APPLIED";
/// The sum of the legs of a payment that is taken as one entry: no leg fits.
const NO_LEGS: Hold = Hold { held: Decimal::ZERO, settled: Decimal::ZERO };

/// The amounts of a leg that is settled, and of its payment.
pub(super) struct Split {
    /// The leg, and the part of it committed or released.
    leg: Hold,
    /// The payment, and the part of it rejected or released.
    released: Hold,
    /// The payment, and the part of it posted.
    posted: Hold,
    /// The sum of its legs.
    legs: Decimal,
}

/// The change that a leg makes.
struct CountedLeg {
    leg: Hold,
    legs: Hold,
    released: Hold,
    posted: Hold,
    is_moving: bool,
}

impl PaymentsInner {
    /// Returns the known payment of which an entry may be a leg.
    pub(super) async fn whole_of(&self, entry: &ReportedEntry) -> Result<Option<Judged>> {
        let (Some(whole), PaymentEvent::Payment(_)) = (&entry.leg_of, &entry.happened) else {
            return Ok(None);
        };
        let found = self.deps.monitor.find(whole).await?;
        Ok(found.filter(|whole| can_be_leg(entry.report.transaction(), &whole.transaction)))
    }

    /// Applies a leg to its payment. Returns `None` if the entry is none, or would exceed the amount of the payment.
    pub(super) async fn take_leg(&self, child: &ChildEntry<'_>) -> Result<Option<EntryOutcome>> {
        let entry = child.entry;
        let Some(judged) = self.whole_of(entry).await? else { return Ok(None) };
        let locked = self.lock(&self.payments, &judged.transaction.transaction_id).await;
        if !self.may_be_leg(entry, &judged).await? {
            return Ok(None);
        }
        let whole = judged.transaction;
        let whole_id = &whole.transaction_id;
        let before = self.leg_before(entry).await?;
        let own = entry.report.transaction();
        if before.is_some_and(|leg| !self.deps.kind.amounts().holds(leg.held, own.amount.value())) {
            let detail = "its id is known with another `amount`".to_owned();
            return self
                .refuse(child, Contradiction { reason: "transaction_conflict", detail })
                .await
                .map(Some);
        }
        let Some(counted) = self.count_leg(entry, &whole, before).await? else { return Ok(None) };
        if counted.is_moving || self.fills(counted.released) {
            let status = own.status.as_deref().unwrap_or_default();
            self.deps.monitor.advance(whole_id, status, Arc::clone(child.event)).await?;
        }
        self.commit(&changes_of(entry, whole_id, &counted)).await?;
        drop(locked);
        self.join_those_that_wait(ids_of(entry).map(|id| (**id).into()).collect()).await?;
        Ok(Some(EntryOutcome::Payment(Arc::clone(whole_id))))
    }

    /// Returns whether an entry was not taken as a payment of its own, and the payment can have legs: a caller sent it
    /// before the ledger reported any entry of it, a queued one included, and it has not failed.
    async fn may_be_leg(&self, entry: &ReportedEntry, whole: &Judged) -> Result<bool> {
        let (store, whole_id) = (&self.deps.store, &*whole.transaction.transaction_id);
        for id in ids_of(entry) {
            let known = store.ledger_entry(id).await?;
            if known.is_some_and(|known| *known.transaction_id != *whole_id) {
                return Ok(false);
            }
        }
        // Then the bound decides.
        if self.legs_of(whole_id).await?.is_some() {
            return Ok(true);
        }
        let status = whole.transaction.status.as_deref().unwrap_or_default();
        let has_failed = self.deps.monitor.status_words().is_failed_or_later(status);
        let is_of_caller = match whole.origin {
            TransactionOrigin::Past => true,
            TransactionOrigin::Request => whole.assessment.is_some(),
            TransactionOrigin::Ledger => false,
        };
        Ok(is_of_caller && !has_failed && !store.knows_entry_of_payment(whole_id).await?)
    }

    /// Returns the amounts of a leg that was counted before.
    async fn leg_before(&self, entry: &ReportedEntry) -> Result<Option<Hold>> {
        for id in ids_of(entry) {
            if let Some(leg) = self.deps.store.ledger_tally(TallyKind::Leg, id).await? {
                return Ok(Some(leg));
            }
        }
        Ok(None)
    }

    /// Adds a leg to its payment, unless the sum would exceed the amount of the payment.
    async fn count_leg(
        &self,
        entry: &ReportedEntry,
        whole: &Transaction,
        before: Option<Hold>,
    ) -> Result<Option<CountedLeg>> {
        let (own, whole_id) = (entry.report.transaction(), &whole.transaction_id);
        let none = Hold { held: whole.amount.value(), settled: Decimal::ZERO };
        let legs = self.deps.store.ledger_tally(TallyKind::Legs, whole_id).await?.unwrap_or(none);
        let released = self.deps.store.ledger_tally(TallyKind::Released, whole_id).await?.unwrap_or(none);
        let posted = self.deps.store.ledger_tally(TallyKind::Posted, whole_id).await?.unwrap_or(none);
        let mut leg = before.unwrap_or(Hold { held: own.amount.value(), settled: Decimal::ZERO });
        let legs = match before {
            Some(_) => Some(legs),
            None => self.added(legs, leg.held),
        };
        let Some(legs) = legs else { return Ok(None) };
        let has_ended = entry.happened == PaymentEvent::Payment(Progress::Ended);
        let is_applied = own.status.as_deref().is_some_and(|status| status.eq_ignore_ascii_case(APPLIED));
        let mut counted = CountedLeg { leg, legs, released, posted, is_moving: !has_ended || is_applied };
        if has_ended {
            let rest = leg.held.checked_sub(leg.settled).unwrap_or(Decimal::ZERO);
            leg.settled = leg.held;
            counted.leg = leg;
            match is_applied {
                true => counted.posted = self.added(posted, rest).unwrap_or(posted),
                false => counted.released = self.added(released, rest).unwrap_or(released),
            }
        }
        Ok(Some(counted))
    }

    /// Returns the amounts of the leg `parent` and of its payment, if it is a leg.
    pub(super) async fn split_of(&self, parent: &LedgerEntry, whole: &Transaction) -> Result<Option<Split>> {
        let store = &self.deps.store;
        let Some(leg) = store.ledger_tally(TallyKind::Leg, &parent.entry).await? else { return Ok(None) };
        let none = Hold { held: whole.amount.value(), settled: Decimal::ZERO };
        let [mut released, mut posted, mut legs] = [none; 3];
        for (kind, sum) in [
            (TallyKind::Released, &mut released),
            (TallyKind::Posted, &mut posted),
            (TallyKind::Legs, &mut legs),
        ] {
            *sum = store.ledger_tally(kind, &parent.transaction_id).await?.unwrap_or(none);
        }
        Ok(Some(Split { leg, released, posted, legs: legs.settled }))
    }

    /// Determines the effect of an entry on a payment of which its parent is a leg, and adds its amount to the settled part.
    /// Returns `None` if it settles nothing.
    pub(super) fn plan_leg(
        &self,
        joining: &ChildEntry<'_>,
        split: &mut Split,
        whole: &Transaction,
    ) -> Option<ParentAction> {
        let own = joining.entry.report.transaction();
        let PaymentEvent::Settled { is_released, .. } = joining.entry.happened else { return None };
        if !can_be_leg(own, whole) {
            return None;
        }
        let amount = own.amount.value();
        if is_released {
            return self.release_leg(split, amount);
        }
        split.leg = self.added(split.leg, amount)?;
        split.posted = self.added(split.posted, amount).unwrap_or(split.posted);
        Some(ParentAction::Settle { is_part: false })
    }

    /// Releases at most what is left of a leg and of its payment. When a queued leg expires, Blnk voids all of it, whatever was
    /// committed of its copy. Returns `None` if the amount is more than the leg.
    fn release_leg(&self, split: &mut Split, amount: Decimal) -> Option<ParentAction> {
        self.added(Hold { settled: Decimal::ZERO, ..split.leg }, amount)?;
        let settled = split.leg.settled.checked_add(amount)?.min(split.leg.held);
        let left = split.left().min(settled.checked_sub(split.leg.settled)?);
        split.leg.settled = settled;
        split.released = self.added(split.released, left).unwrap_or(split.released);
        Some(match left > Decimal::ZERO && self.fills(split.released) {
            true => ParentAction::Settle { is_part: false },
            false => ParentAction::Release,
        })
    }

    /// Returns whether legs of a payment were counted, and moved something, hold it, or ended the payment. Legs that failed
    /// and are less than the payment do not keep it from moving as one entry.
    pub(super) async fn counts_legs(&self, payment: &str) -> Result<bool> {
        let Some(legs) = self.legs_of(payment).await? else { return Ok(false) };
        let released = self.deps.store.ledger_tally(TallyKind::Released, payment).await?;
        Ok(released
            .is_none_or(|released| !self.reaches(released.settled, legs.settled) || self.fills(released)))
    }

    /// Returns the change by which a payment that is taken as one entry can have no further legs, if it had some.
    pub(super) async fn without_further_legs(&self, payment: &str) -> Result<Option<EntryChange>> {
        let legs = self.legs_of(payment).await?;
        Ok(legs.map(|_| EntryChange::Tally(TallyKind::Legs, payment.into(), NO_LEGS)))
    }

    async fn legs_of(&self, payment: &str) -> Result<Option<Hold>> {
        match self.deps.identity {
            LedgerIdentity::Id => Ok(None),
            LedgerIdentity::Reference => Ok(self.deps.store.ledger_tally(TallyKind::Legs, payment).await?),
        }
    }

    /// Keeps an entry as a dead letter that would move the amount of a split payment once more.
    pub(super) async fn refuse_whole(&self, child: &ChildEntry<'_>) -> Result<EntryOutcome> {
        let whole = &child.entry.report.transaction().transaction_id;
        let detail = format!("the payment {whole} was split, and its legs were counted");
        self.refuse(child, Contradiction { reason: "already_split", detail }).await
    }

    async fn refuse(&self, child: &ChildEntry<'_>, contradiction: Contradiction) -> Result<EntryOutcome> {
        let feed = if child.channel == ReportChannel::Row { ROWS } else { EVENTS };
        self.store_dead_letter(self.dead_letter(child, &contradiction), feed).await?;
        Ok(EntryOutcome::Dead(contradiction.reason))
    }

    /// Locks payments of which legs could be reported at the same time.
    pub(super) async fn lock_wholes<'e>(
        &self,
        entries: impl Iterator<Item = &'e ReportedEntry>,
    ) -> Vec<MutexGuard<'_, ()>> {
        if self.deps.identity != LedgerIdentity::Reference {
            return Vec::new();
        }
        let mut lock_indices: Vec<_> =
            entries.map(|entry| self.lock_index_of(&entry.report.transaction().transaction_id)).collect();
        // In this order, each once, so that two callers never wait for each other.
        lock_indices.sort_unstable();
        lock_indices.dedup();
        let mut locked = Vec::with_capacity(lock_indices.len());
        for lock_index in lock_indices {
            #[expect(clippy::indexing_slicing, reason = "a remainder of the number of locks")]
            locked.push(self.payments[lock_index].lock().await);
        }
        locked
    }

    /// Adds to the settled part of a sum, if its bound suffices.
    fn added(&self, sum: Hold, amount: Decimal) -> Option<Hold> {
        let settled = sum.settled.checked_add(amount)?;
        let fits = settled <= sum.held || self.deps.kind.amounts().holds(settled, sum.held);
        fits.then_some(Hold { settled, ..sum })
    }

    pub(super) fn fills(&self, sum: Hold) -> bool {
        self.reaches(sum.settled, sum.held)
    }

    fn reaches(&self, amount: Decimal, bound: Decimal) -> bool {
        amount >= bound || self.deps.kind.amounts().holds(amount, bound)
    }
}

impl Split {
    /// Returns the part of the legs that was neither posted nor released.
    fn left(&self) -> Decimal {
        let left = self.legs.checked_sub(self.posted.settled);
        let left = left.and_then(|left| left.checked_sub(self.released.settled));
        left.unwrap_or_default().max(Decimal::ZERO)
    }

    /// Returns the changes to store.
    pub(super) fn changes(&self, parent: &LedgerEntry) -> [EntryChange; 3] {
        [
            EntryChange::Tally(TallyKind::Leg, parent.entry.clone(), self.leg),
            EntryChange::Tally(TallyKind::Posted, parent.transaction_id.clone(), self.posted),
            EntryChange::Tally(TallyKind::Released, parent.transaction_id.clone(), self.released),
        ]
    }
}

fn changes_of(entry: &ReportedEntry, whole: &str, counted: &CountedLeg) -> Vec<EntryChange> {
    let mut changes = Vec::new();
    for id in ids_of(entry) {
        changes.push(known(id, whole));
        changes.push(EntryChange::Tally(TallyKind::Leg, (**id).into(), counted.leg));
    }
    changes.push(EntryChange::Tally(TallyKind::Legs, whole.into(), counted.legs));
    changes.push(EntryChange::Tally(TallyKind::Released, whole.into(), counted.released));
    changes.push(EntryChange::Tally(TallyKind::Posted, whole.into(), counted.posted));
    if entry.happened != PaymentEvent::Payment(Progress::Awaited) {
        changes.push(EntryChange::Moved(whole.into(), None));
    }
    changes
}

fn ids_of(entry: &ReportedEntry) -> impl Iterator<Item = &Arc<str>> {
    std::iter::once(&entry.id).chain(&entry.also)
}
