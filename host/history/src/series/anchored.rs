//! The part of a series in what leaves memory as a whole.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_model::transaction::Transaction;

use super::Series;
use crate::anchor::Anchor;
use crate::key::{ExportKey, KeyQuery};
use crate::key_table::{AnchorPart, PartialDeparture as _};
use crate::lookup_budget::LookupBudget;
use crate::lookup_error::LookupError;
use crate::residency::{Anchors, Departure, HeldAnchors, KeptKey};
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

    /// Returns the number of the table of its keys.
    pub(crate) fn table_id(&self) -> u64 {
        self.key_table.read().id()
    }

    /// Returns the keys of an anchor, with the number of their table.
    pub(crate) fn part_of(&self, anchor: Anchor) -> (u64, AnchorPart) {
        let key_table = self.key_table.read();
        (key_table.id(), key_table.part_of(anchor))
    }

    /// Drops keys of a table whose entries are elsewhere now.
    pub(crate) fn leave(&self, table: u64, keys: &[ExportKey]) {
        let mut key_table = self.key_table.write();
        if key_table.id() == table {
            key_table.leave(keys);
        }
    }

    /// Takes back keys of a table that left memory, if it still has that table. Returns whether their bytes are valid.
    pub(crate) fn come_back(&self, table: u64, keys: &[KeptKey<'_>]) -> bool {
        let mut key_table = self.key_table.write();
        key_table.id() != table
            || keys.iter().all(|one| key_table.come_back(&one.key, &one.chunks, one.latest))
    }
}

impl SpillSource for Series {
    fn let_go(&self, n_bytes: usize) -> Result<SpillTurn, SpillError> {
        let residency =
            self.spill.residency().filter(|_| self.anchor.is_some() && self.spill.has_many_keys());
        let Some(residency) = residency else { return self.key_table.let_go(n_bytes) };
        let anchors = self.key_table.write().anchors_to_leave(n_bytes);
        let is_empty = anchors.is_empty();
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
        match self.key_table.let_go_of(n_more_bytes, Some(&long))? {
            SpillTurn::InVain if is_empty => Ok(SpillTurn::InVain),
            _ => Ok(SpillTurn::GoesOn),
        }
    }
}

/// Holds all anchors of transactions in these series; `None` when nothing leaves memory.
pub(super) fn hold<'s>(
    spill: &'s Spill,
    series: impl IntoIterator<Item = &'s Series>,
    transactions: &[&Transaction],
) -> Option<HeldAnchors<'s>> {
    let residency = spill.residency()?;
    Some(residency.hold(&anchors_of(series, transactions)))
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
