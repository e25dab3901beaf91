//! Bookkeeping entries of a ledger about a payment, which are not payments themselves.
//!
//! A client can write the metadata that marks such an entry. So the entry is compared with the payment that it names, and
//! waits if that is not known yet. An entry that cannot be bookkeeping is taken like any other.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tollgate_model::ledger_kind::can_shadow;
use tollgate_store::WaitingQuery;

use super::joining::{ChildEntry, Result};
use super::waiting::RereadEntry;
use super::{EntryChange, EntryOutcome, PaymentEvent, PaymentsInner, ReportedEntry, known};

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
        let PaymentEvent::Shadow { about, main, .. } = &entry.happened else {
            return Ok(EntryOutcome::Nothing);
        };
        let locked = self.lock(&self.entries, about).await;
        let waiting = self.deps.store.waiting_entries(WaitingQuery::Entry(&entry.id), 1).await?.pop();
        let own = &entry.report.transaction().transaction_id;
        let before = self.deps.store.ledger_entry(&entry.id).await?;
        if waiting.is_none() && before.is_some_and(|before| *before.transaction_id != **own) {
            return Ok(EntryOutcome::Nothing);
        }
        let Some(known_about) = self.moved(about).await? else {
            if waiting.is_none() {
                self.wait(child, about).await?;
            }
            return Ok(EntryOutcome::Waits(Arc::clone(about)));
        };
        let is_taken = waiting.as_ref().is_some_and(|waiting| waiting.is_taken);
        let paid = self.payment_of(&known_about).await?;
        let is_shadow = can_shadow(entry.report.transaction(), main, &paid, self.deps.kind.amounts());
        let mut outcome = EntryOutcome::Nothing;
        let mut changes = Vec::new();
        if is_shadow {
            if is_taken {
                self.deps.monitor.advance(own, VOID, Arc::clone(child.event)).await?;
            }
            changes.push(known(&entry.id, &paid.transaction_id));
            tracing::debug!(transaction.id = %entry.id, about = %about, "a bookkeeping entry of the ledger");
        } else if !is_taken {
            drop(locked);
            let (entry, _) = without_shadow(entry.clone());
            let child = ChildEntry { entry: &entry, waiting: None, ..*child };
            outcome = self.apply(&child).await?;
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

    pub(super) async fn take_waiting_shadows(&self, shadows: Vec<RereadEntry<'_>>) -> Result<()> {
        for shadow in shadows {
            self.take_shadow(&shadow.child()).await?;
        }
        Ok(())
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
