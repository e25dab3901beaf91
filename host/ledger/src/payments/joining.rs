//! Joins entries that settle or reverse another one with their parent.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::kind::AccountComparison;
use futures_util::FutureExt as _;
use futures_util::future::try_join_all;
use sha2::{Digest as _, Sha256};
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::Transaction;
use tollgate_store::WaitingQuery;

use super::child_entry::{ChildEntry, RereadEntry, Result};
use super::{
    Contradiction, DeadLetter, EVENTS, EntryChange, EntryOutcome, Hold, JOINED_AT_ONCE, Json, LedgerEntry,
    MonitorError, PaymentError, PaymentEvent, PaymentState, PaymentsInner, Progress, ROWS, ReportChannel,
    ReportedEntry, WaitingEntry, known,
};

const REVERSED: &str = "REVERSED";
/// The status of a hold that was settled in parts, and of a payment that turned out to be part of another one.
const VOID: &str = "VOID";

/// Maximum number of entries of one parent that are joined concurrently.
const SIDE_BY_SIDE: usize = 64;
/// The effect of an entry on its parent.
pub(super) enum ParentAction {
    /// None: the entry is a separate payment that only names the parent.
    Nothing,
    /// Reverses the parent, as a separate payment.
    Reverse,
    /// Settles a part of the parent, as a separate payment, or ends the hold.
    Settle { is_part: bool },
    /// Releases an amount and changes no status: a leg of a split payment of which more is left, or a hold or leg that was
    /// settled as a whole before.
    Release,
    /// The effect is impossible.
    Refuse(Contradiction),
}

impl PaymentsInner {
    /// Takes a separate payment, and joins the entries that wait for it.
    pub(super) async fn take_own(&self, child: &ChildEntry<'_>) -> Result<EntryOutcome> {
        let entry = child.entry;
        let payment = &entry.report.transaction().transaction_id;
        let locked = self.lock_wholes(std::iter::once(entry)).await;
        if self.counts_legs(payment).await? {
            return self.refuse_whole(child).await;
        }
        self.take_alone(child).await?;
        self.commit(&self.known_by(entry).await?).await?;
        drop(locked);
        let arrived = std::iter::once(&entry.id).chain(&entry.also).map(|id| (**id).into()).collect();
        self.join_those_that_wait(arrived).await?;
        Ok(EntryOutcome::Payment(Arc::clone(payment)))
    }

    /// Returns the changes that make an entry known, without those already stored.
    pub(super) async fn known_by(&self, entry: &ReportedEntry) -> Result<Vec<EntryChange>> {
        let transaction = entry.report.transaction();
        let of = &transaction.transaction_id;
        let state = match &entry.happened {
            PaymentEvent::Payment(Progress::Awaited) => PaymentState::Awaited,
            PaymentEvent::Payment(Progress::Held) => {
                PaymentState::Held(Hold { held: transaction.amount.value(), settled: Decimal::ZERO })
            }
            _ => PaymentState::Moved,
        };
        let (mut changes, mut before) = (Vec::new(), PaymentState::Awaited);
        for id in std::iter::once(&entry.id).chain(&entry.also) {
            match self.deps.store.ledger_entry(id).await? {
                Some(known) => before = known.standing,
                None => changes.push(known(id, of)),
            }
        }
        let moved = match state {
            PaymentState::Awaited => None,
            PaymentState::Moved => Some(None),
            PaymentState::Held(hold) => Some(Some(hold)),
        };
        // A repeated report of a hold must not reset its settled amount.
        let moved = moved.filter(|_| before == PaymentState::Awaited);
        changes.extend(moved.map(|hold| EntryChange::Moved((**of).into(), hold)));
        changes.extend(self.without_further_legs(of).await?);
        Ok(changes)
    }

    /// Applies an entry to its parent, or stores it as waiting if the parent is unknown.
    pub(super) async fn join_or_wait(&self, child: &ChildEntry<'_>, parent: &str) -> Result<EntryOutcome> {
        let entry = child.entry;
        let locked = self.lock(&self.entries, parent).await;
        let waiting = self.deps.store.waiting_entries(WaitingQuery::Entry(&entry.id), 1).await?.pop();
        let Some(known_parent) = self.moved(parent).await? else {
            self.wait(child, parent, waiting.as_ref()).await?;
            return Ok(EntryOutcome::Waits(parent.into()));
        };
        // Known and not waiting: it was applied before.
        if matches!(entry.happened, PaymentEvent::Settled { .. })
            && waiting.is_none()
            && let Some(before) = self.deps.store.ledger_entry(&entry.id).await?
        {
            return self.take_again(child, &before).await;
        }
        // The parent has just arrived, and what waits for it is not joined yet.
        let further = waiting.as_ref().map(|waiting| self.reread_all(waiting)).unwrap_or_default();
        if waiting.as_ref().is_some_and(|waiting| waiting.is_taken) {
            self.wait(child, parent, waiting.as_ref()).await?;
        }
        let joining = ChildEntry { waiting: waiting.as_ref(), further: &further, ..*child };
        let taken = self.join(&[joining], known_parent).await?.pop();
        drop(locked);
        self.join_those_that_wait(VecDeque::from([(*entry.id).into()])).await?;
        taken.ok_or_else(|| MonitorError::Unavailable.into())
    }

    /// Returns an entry if its payment is known and has moved.
    pub(super) async fn moved(&self, entry: &str) -> Result<Option<LedgerEntry>> {
        let known = self.deps.store.ledger_entry(entry).await?;
        Ok(known.filter(|known| known.standing != PaymentState::Awaited))
    }

    /// Takes a report of an entry that another report applied before. The payment of the entry may lack what this one has: a
    /// request for a verdict, or all digits.
    async fn take_again(&self, child: &ChildEntry<'_>, before: &LedgerEntry) -> Result<EntryOutcome> {
        if *before.transaction_id == *child.entry.report.transaction().transaction_id {
            self.take_alone(child).await?;
        }
        Ok(EntryOutcome::Payment((*before.transaction_id).into()))
    }

    /// Joins the entries that wait for these, and in turn those that wait for the joined ones. Work beyond the limit of
    /// one call is left to [`PaymentsInner::join_ready_entries`].
    pub(super) async fn join_those_that_wait(&self, mut parents: VecDeque<Box<str>>) -> Result<()> {
        let mut n_left = JOINED_AT_ONCE;
        while let Some(parent) = parents.pop_front() {
            let locked = self.lock(&self.entries, &parent).await;
            let waiting = self.deps.store.waiting_entries(WaitingQuery::For(&parent), n_left).await?;
            if waiting.is_empty() {
                continue;
            }
            let Some(known_parent) = self.moved(&parent).await? else { continue };
            n_left -= waiting.len();
            let shadows = self.join_waiting(&waiting, known_parent).await?;
            drop(locked);
            // Each may turn out to be a child of another entry, which has another lock.
            self.take_waiting_shadows(shadows).await?;
            parents.extend(waiting.into_iter().map(|waiting| waiting.entry));
        }
        Ok(())
    }

    /// Joins all but the shadows, and returns these. The caller holds the lock of the parent.
    async fn join_waiting<'w>(
        &self,
        waiting: &'w [WaitingEntry],
        parent: LedgerEntry,
    ) -> Result<Vec<RereadEntry<'w>>> {
        let (mut read, mut shadows): (Vec<RereadEntry<'_>>, Vec<_>) = (Vec::new(), Vec::new());
        for waiting in waiting {
            match self.reread(waiting) {
                Some(one) if matches!(one.entry.happened, PaymentEvent::Shadow { .. }) => shadows.push(one),
                Some(one) => read.push(one),
                None => self.give_up(waiting).await?,
            }
        }
        // A void releases what the commits left, whichever arrived first.
        read.sort_by_key(|one| one.entry.is_release());
        let joinings: Vec<_> = read.iter().map(RereadEntry::child).collect();
        self.join(&joinings, parent).await?;
        Ok(shadows)
    }

    /// Applies entries to their parent concurrently, and stores the result in one commit. The caller holds the parent's
    /// lock.
    async fn join(&self, joinings: &[ChildEntry<'_>], known: LedgerEntry) -> Result<Vec<EntryOutcome>> {
        let _locked = self.lock(&self.payments, &known.transaction_id).await;
        // Another entry of the same payment may have been settled before the lock was acquired.
        let mut parent = self.moved(&known.entry).await?.unwrap_or(known);
        let paid = self.payment_of(&parent).await?;
        let mut split = self.split_of(&parent, &paid).await?;
        let plans: Vec<_> = joinings
            .iter()
            .map(|joining| match &mut split {
                Some(split) => {
                    self.plan_leg(joining, split, &paid).unwrap_or_else(|| self.refund(joining, &paid))
                }
                None => self.plan(joining, &mut parent, &paid),
            })
            .collect();
        let payment: Arc<str> = (*parent.transaction_id).into();
        let steps = joinings.iter().zip(plans);
        let mut steps: Vec<_> =
            steps.map(|(joining, plan)| self.apply_plan(joining, plan, &payment).boxed()).collect();
        let (mut taken, mut changes) = (Vec::with_capacity(steps.len()), Vec::new());
        while !steps.is_empty() {
            let later = steps.split_off(steps.len().min(SIDE_BY_SIDE));
            for (one, change) in try_join_all(std::mem::replace(&mut steps, later)).await? {
                taken.push(one);
                changes.extend(change);
            }
        }
        let waited = || joinings.iter().filter_map(|joining| joining.waiting);
        changes.extend(waited().map(|waiting| EntryChange::Arrived(waiting.entry.clone())));
        changes.extend(split.iter().flat_map(|split| split.changes(&parent)));
        if let PaymentState::Held(hold) = parent.standing {
            changes.push(EntryChange::Moved(parent.transaction_id, Some(hold)));
        }
        self.commit(&changes).await?;
        waited().filter(|waiting| !waiting.is_taken).for_each(|_| self.waits_no_longer());
        Ok(taken)
    }

    /// Returns the payment that contains an entry.
    pub(super) async fn payment_of(&self, entry: &LedgerEntry) -> Result<Transaction> {
        let found = self.deps.monitor.find(&entry.transaction_id).await?;
        Ok(found.ok_or(MonitorError::Unavailable)?.transaction)
    }

    /// Determines the effect of an entry on the payment `paid`, and adds its amount to the settled part of the hold.
    fn plan(&self, joining: &ChildEntry<'_>, parent: &mut LedgerEntry, paid: &Transaction) -> ParentAction {
        let transaction = joining.entry.report.transaction();
        let amount = transaction.amount.value();
        let is_released = match joining.entry.happened {
            PaymentEvent::Settled { is_released, .. } => is_released,
            _ => return self.refund(joining, paid),
        };
        if !AccountComparison::new(transaction, paid).is_same {
            return self.refund(joining, paid);
        }
        let was_settled = matches!(parent.standing, PaymentState::Held(hold) if self.fills(hold));
        match self.settled(parent, amount, is_released) {
            Ok(_) if is_released && was_settled => ParentAction::Release,
            Ok(hold) => {
                parent.standing = PaymentState::Held(hold);
                ParentAction::Settle {
                    is_part: !is_released && !self.deps.kind.amounts().holds(amount, hold.held),
                }
            }
            Err(contradiction) => ParentAction::Refuse(contradiction),
        }
    }

    /// Returns the effect of an entry that settles nothing: it refunds the payment `paid` if it moves all of it back.
    fn refund(&self, joining: &ChildEntry<'_>, paid: &Transaction) -> ParentAction {
        let transaction = joining.entry.report.transaction();
        match self.deps.kind.amounts().holds(transaction.amount.value(), paid.amount.value()) {
            true if AccountComparison::new(transaction, paid).is_swapped => ParentAction::Reverse,
            _ => ParentAction::Nothing,
        }
    }

    /// Carries out an effect. Returns the outcome for the entry, and the changes to store.
    async fn apply_plan(
        &self,
        joining: &ChildEntry<'_>,
        plan: ParentAction,
        payment: &Arc<str>,
    ) -> Result<(EntryOutcome, Vec<EntryChange>)> {
        let (monitor, event) = (&self.deps.monitor, || Arc::clone(joining.event));
        let own = joining.entry.report.transaction();
        let is_part = match plan {
            ParentAction::Settle { is_part } => is_part,
            ParentAction::Release => {
                let outcome = EntryOutcome::Payment(Arc::clone(payment));
                return Ok((outcome, vec![known(&joining.entry.id, payment)]));
            }
            ParentAction::Nothing | ParentAction::Reverse => {
                let taken = self.take_refund(joining).await?;
                if matches!(plan, ParentAction::Reverse) {
                    monitor.advance(payment, REVERSED, event()).await?;
                }
                return Ok(taken);
            }
            ParentAction::Refuse(contradiction) => {
                let feed = if joining.channel == ReportChannel::Row { ROWS } else { EVENTS };
                self.store_dead_letter(self.dead_letter(joining, &contradiction), feed).await?;
                return Ok((EntryOutcome::Dead(contradiction.reason), Vec::new()));
            }
        };
        if is_part && !joining.is_taken() {
            match self.take_alone(joining).await {
                // No sender waits for an answer, and a conflict that stays would block every other waiting entry.
                Err(PaymentError::Monitor(MonitorError::Conflict(field))) if joining.waiting.is_some() => {
                    return self.store_conflict(joining, &field).await;
                }
                taken => taken?,
            }
        }
        let status = if is_part { VOID } else { own.status.as_deref().unwrap_or(VOID) };
        monitor.advance(payment, status, event()).await?;
        if joining.is_taken() && !is_part {
            monitor.advance(&own.transaction_id, VOID, event()).await?;
        }
        let of = if is_part { &own.transaction_id } else { payment };
        let mut changes = vec![known(&joining.entry.id, of)];
        if is_part {
            changes.push(EntryChange::Moved((**of).into(), None));
        }
        Ok((EntryOutcome::Payment(Arc::clone(of)), changes))
    }

    /// Takes an entry that settles no hold as a separate payment, unless that was done when it arrived.
    async fn take_refund(&self, joining: &ChildEntry<'_>) -> Result<(EntryOutcome, Vec<EntryChange>)> {
        let own = &joining.entry.report.transaction().transaction_id;
        if matches!(joining.entry.happened, PaymentEvent::Settled { .. }) && !joining.is_taken() {
            match self.take_alone(joining).await {
                Err(PaymentError::Monitor(MonitorError::Conflict(field))) if joining.waiting.is_some() => {
                    return self.store_conflict(joining, &field).await;
                }
                taken => taken?,
            }
        }
        let changes = vec![known(&joining.entry.id, own), EntryChange::Moved((**own).into(), None)];
        Ok((EntryOutcome::Payment(Arc::clone(own)), changes))
    }

    /// Keeps a waiting entry whose id belongs to another payment as a dead letter.
    pub(super) async fn store_conflict(
        &self,
        joining: &ChildEntry<'_>,
        field: &str,
    ) -> Result<(EntryOutcome, Vec<EntryChange>)> {
        let detail = format!("its id is known with another `{field}`");
        let contradiction = Contradiction { reason: "transaction_conflict", detail };
        self.store_dead_letter(self.dead_letter(joining, &contradiction), EVENTS).await?;
        Ok((EntryOutcome::Dead(contradiction.reason), Vec::new()))
    }

    /// Takes all reports of an entry as those of a separate payment.
    pub(super) async fn take_alone(&self, joining: &ChildEntry<'_>) -> Result<()> {
        self.take_report(joining).await?;
        for further in joining.further {
            let further = further.child();
            match self.take_report(&further).await {
                Err(PaymentError::Monitor(MonitorError::Conflict(field))) => {
                    self.store_conflict(&further, &field).await?;
                }
                taken => taken?,
            }
        }
        Ok(())
    }

    async fn take_report(&self, joining: &ChildEntry<'_>) -> Result<()> {
        if joining.channel == ReportChannel::Row {
            return self.take_part_of_row(joining).await;
        }
        let report = joining.entry.report.clone();
        Ok(self.deps.monitor.report(report, Arc::clone(joining.event)).await?)
    }

    /// Returns the hold with `amount` added to its settled part, if the held amount suffices. A void releases at most what is
    /// left: Blnk voids the whole amount of a queued hold when that expires, whatever was committed of it before.
    fn settled(
        &self,
        parent: &LedgerEntry,
        amount: Decimal,
        is_released: bool,
    ) -> std::result::Result<Hold, Contradiction> {
        let PaymentState::Held(hold) = parent.standing else {
            let detail = format!("the entry {} holds nothing that could be settled", parent.entry);
            return Err(Contradiction { reason: "not_held", detail });
        };
        let fits = |amount: Decimal| amount <= hold.held || self.deps.kind.amounts().holds(amount, hold.held);
        match hold.settled.checked_add(amount) {
            Some(settled) if is_released && fits(amount) => {
                Ok(Hold { settled: settled.min(hold.held), ..hold })
            }
            Some(settled) if !is_released && fits(settled) => Ok(Hold { settled, ..hold }),
            _ => {
                let Hold { held, settled } = hold;
                let detail = format!(
                    "the entry {} holds {held}, of which {settled} is settled; this one settles {amount} more",
                    parent.entry
                );
                Err(Contradiction { reason: "exceeds_hold", detail })
            }
        }
    }

    pub(super) fn dead_letter(&self, joining: &ChildEntry<'_>, contradiction: &Contradiction) -> DeadLetter {
        let sent = joining.sent.split_once('\n').unwrap_or_default().1;
        let sent = match joining.channel {
            ReportChannel::Event(_) => envelope("event", joining.event, sent),
            ReportChannel::Hook => envelope("hook_type", joining.event, sent),
            ReportChannel::Row => sent.to_owned(),
        };
        let Contradiction { reason, detail } = contradiction;
        DeadLetter {
            digest: Sha256::digest(&sent).into(),
            transaction_id: joining.entry.id.to_string(),
            created_at: joining.entry.report.transaction().timestamp.as_str().to_owned(),
            reason,
            detail: detail.clone(),
            row: sent,
            found_micros: self.deps.clock.now().timestamp_micros(),
            alert: None,
        }
    }
}

/// Rebuilds the message: this member with the event name, and the data.
pub fn envelope(member: &str, event: &str, data: &str) -> String {
    format!(r#"{{"{member}":{},"data":{data}}}"#, Json::Text(event.into()))
}
