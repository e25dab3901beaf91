//! The part of a series in what leaves memory as a whole.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_model::transaction::Transaction;

use super::Series;
use crate::anchor::Anchor;
use crate::fill::{RowChange, RowChangeKind};
use crate::key::{ExportKey, KeyQuery};
use crate::key_table::{AnchorPart, PartialDeparture as _, TableState};
use crate::lookup_budget::LookupBudget;
use crate::lookup_error::LookupError;
use crate::residency::{Anchors, Departure, HeldAnchors, KeptKey, Residency};
use crate::spill::{Spill, SpillError, SpillSource, SpillTurn};
use crate::timeline::{TimeRange, TimelineVisitor};

impl Series {
    /// Same as [`Series::visit`], for a key that may be on the disk.
    #[cold]
    pub(super) fn visit_resident(
        &self,
        key: &KeyQuery<'_>,
        stretch: &TimeRange,
        budget: &LookupBudget<'_>,
        look: &mut impl TimelineVisitor,
    ) -> Result<(), LookupError> {
        let written;
        let bytes = match key {
            KeyQuery::Text(text) => {
                written = text.to_key();
                written.bytes()
            }
            KeyQuery::Written(key) => key.bytes(),
        };
        let mut visit = || self.key_table.read().visit(key, stretch, budget, look).map(drop);
        let anchor = self.anchor.as_ref().and_then(|anchor| anchor.field.anchor_of(bytes));
        match (anchor, self.spill.residency()) {
            (Some(anchor), Some(residency)) => residency.while_resident(anchor, visit),
            _ => visit(),
        }
    }

    /// Finds keys by their anchors from now on.
    pub(crate) fn index_anchors(&self) {
        self.key_table.write().index_anchors();
    }

    /// Returns the number of the table of its keys.
    pub(crate) fn table_id(&self) -> u64 {
        self.key_table.read().id()
    }

    /// Returns what is known of the table of its keys; `None` when its contents are uncertain.
    pub(crate) fn table_state(&self) -> Option<TableState> {
        let key_table = self.key_table.read();
        key_table.doubt().is_none().then(|| key_table.state())
    }

    /// Returns whether its keys may leave memory.
    pub(crate) const fn has_anchors(&self) -> bool {
        self.anchor.is_some()
    }

    /// Returns the anchor of a key; `None` when its keys stay in memory.
    pub(crate) fn anchor_of(&self, key: &[u8]) -> Option<Anchor> {
        self.layout().anchor().filter(|_| self.has_anchors())?.anchor_of(key)
    }

    /// Returns the anchors of up to `n_slots` slots before one, and the slot before which to continue.
    pub(crate) fn anchors_before(&self, end: usize, n_slots: usize) -> (Vec<Anchor>, Option<usize>) {
        self.key_table.read().anchors_before(end, n_slots)
    }

    /// Returns whether a key of an anchor is in memory.
    pub(crate) fn has_keys_of(&self, anchor: Anchor) -> bool {
        self.key_table.read().has_keys_of(anchor)
    }

    /// Returns the keys of an anchor, with the number of their table; with `takes_used`, also those that were used lately.
    pub(crate) fn part_of(&self, anchor: Anchor, takes_used: bool) -> (u64, AnchorPart) {
        let key_table = self.key_table.read();
        (key_table.id(), key_table.part_of(anchor, takes_used))
    }

    /// Drops keys of a table whose entries are elsewhere now.
    pub(crate) fn leave<'k>(&self, table: u64, keys: impl IntoIterator<Item = &'k ExportKey>) {
        let mut key_table = self.key_table.write();
        if key_table.id() == table {
            key_table.leave(keys);
        }
    }

    /// Changes rows of one anchor, which is held.
    pub(crate) fn change_rows(&self, changes: &[RowChange]) {
        let mut key_table = self.key_table.write();
        for RowChange { key, kind, .. } in changes {
            match kind {
                RowChangeKind::Put(entry) => key_table.import(key, std::slice::from_ref(entry)),
                RowChangeKind::Remove(place) => key_table.remove_entry(key, *place),
            }
        }
    }

    /// Takes back keys of a table that left memory, lately or long ago, if it still has that table. Returns whether their bytes
    /// are valid.
    pub(crate) fn come_back(&self, table: u64, keys: &[KeptKey<'_>], left_lately: bool) -> bool {
        let mut key_table = self.key_table.write();
        key_table.id() != table
            || keys.iter().all(|one| key_table.come_back(&one.key, &one.chunks, one.latest, left_lately))
    }
}

impl SpillSource for Series {
    fn n_leaving_key_bytes(&self) -> usize {
        if !self.has_anchors() {
            return 0;
        }
        let key_table = self.key_table.read();
        // When the first anchor leaves, all keys are considered.
        if self.spill.has_records() { key_table.n_leaving_bytes() } else { key_table.n_kept_bytes() }
    }

    fn let_go(&self, n_bytes: usize) -> Result<SpillTurn, SpillError> {
        // From the first anchor that leaves on, all do: a key of which nothing but itself is in memory is considered no more.
        let leaves_whole = |residency: &&Residency| {
            self.anchor.is_some() && (residency.has_records() || self.spill.has_many_keys())
        };
        let residency = self.spill.residency().filter(leaves_whole);
        let Some(residency) = residency else { return self.key_table.let_go(n_bytes) };
        residency.begin();
        let anchors = self.key_table.write().anchors_to_leave(n_bytes);
        let (mut n_left_bytes, mut failed) = (0, None);
        let (mut stay, mut long) = (Vec::new(), Vec::new());
        for (slot, anchor) in anchors {
            if n_left_bytes >= n_bytes || failed.is_some() {
                stay.push(slot);
                continue;
            }
            match residency.leave(&self.spill, anchor) {
                Ok(Departure::Left(n_more)) => n_left_bytes += n_more,
                Ok(Departure::InUse) => stay.push(slot),
                Ok(Departure::TooLong) => long.push(slot),
                Err(error) => {
                    stay.push(slot);
                    failed = Some(error);
                }
            }
        }
        let mut key_table = self.key_table.write();
        stay.into_iter().for_each(|slot| key_table.consider(slot));
        drop(key_table);
        if let Some(error) = failed {
            return Err(error);
        }
        residency.clean(n_left_bytes);
        let n_more_bytes = n_bytes.saturating_sub(n_left_bytes);
        self.key_table.let_go_of(n_more_bytes, Some(&long))?;
        Ok(self.key_table.read().turn())
    }
}

/// Holds all anchors of a transaction to add rows to these series; `None` when nothing leaves memory.
pub(super) fn hold_to_add<'s>(
    spill: &'s Spill,
    series: impl IntoIterator<Item = &'s Series>,
    transaction: &Transaction,
) -> Option<HeldAnchors<'s>> {
    let residency = spill.residency()?;
    let all = residency.hold_all();
    all.or_else(|| Some(residency.hold_to_add(&anchors_of(series, &[transaction]))))
}

/// Holds all anchors of transactions to change rows of a series; `None` when nothing leaves memory.
pub(super) fn hold_to_change<'s>(
    spill: &'s Spill,
    series: &'s Series,
    transactions: &[&Transaction],
) -> Option<HeldAnchors<'s>> {
    let residency = spill.residency()?;
    let all = residency.hold_all();
    all.or_else(|| Some(residency.hold_to_change(&anchors_of([series], transactions))))
}

/// Holds all anchors of a transaction to remove its row from a series; `None` when nothing leaves memory.
pub(super) fn hold_to_remove<'s>(
    spill: &'s Spill,
    series: &'s Series,
    transaction: &Transaction,
) -> Option<HeldAnchors<'s>> {
    // Then nothing need be read back, which could fail.
    if spill.residency()?.keeps_removable_rows() {
        return hold_to_add(spill, [series], transaction);
    }
    hold_to_change(spill, series, &[transaction])
}

/// Returns the different anchors of transactions in these series.
fn anchors_of<'s>(series: impl IntoIterator<Item = &'s Series>, transactions: &[&Transaction]) -> Anchors {
    let (mut readers, mut anchors): (SmallVec<[_; 16]>, Anchors) = (SmallVec::new(), SmallVec::new());
    for reader in series.into_iter().filter_map(|series| series.anchor.as_ref()) {
        if readers.contains(&Arc::as_ptr(reader)) {
            continue;
        }
        readers.push(Arc::as_ptr(reader));
        for anchor in transactions.iter().filter_map(|transaction| reader.anchor_of(transaction)) {
            if !anchors.contains(&anchor) {
                anchors.push(anchor);
            }
        }
    }
    anchors
}
