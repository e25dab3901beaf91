//! Series whose keys may leave memory, and how they read the anchors of a transaction.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use smallvec::SmallVec;
use tollgate_guest_abi::Semantics;
use tollgate_model::transaction::{FieldAccess, Transaction};

use super::Residency;
use crate::anchor::{Anchor, AnchorDomain, AnchorField};
use crate::key::Key;
use crate::layout::Layout;
use crate::series::Series;

/// Reads the anchor of a transaction.
#[derive(Debug)]
pub(crate) struct AnchorReader {
    pub(crate) field: AnchorField,
    access: FieldAccess,
    semantics: Semantics,
}

impl AnchorReader {
    fn reads_as(&self, other: &Self) -> bool {
        (self.field, self.semantics, &self.access) == (other.field, other.semantics, &other.access)
    }

    pub(crate) fn anchor_of(&self, transaction: &Transaction) -> Option<Anchor> {
        let mut key = Key::default();
        let value = [self.access.read(transaction)];
        key.fill(&value, |key, value| key.add(value, self.semantics, transaction))?;
        self.field.anchor_of_value(key.bytes())
    }
}

impl Residency {
    /// Adds a series whose keys may leave memory.
    pub(crate) fn register(&self, domain: AnchorDomain, series: &Arc<Series>) {
        let mut all = self.series.write();
        let of_domain = all.entry(domain).or_default();
        of_domain.retain(|series| series.strong_count() > 0);
        of_domain.push(Arc::downgrade(series));
        drop(all);
        if self.has_records() {
            series.index_anchors();
        }
    }

    /// Prepares for the first anchor that leaves. Until then anchors cost nothing.
    pub(crate) fn begin(&self) {
        if self.has_records() {
            return;
        }
        let _no_table_is_replaced = self.generation.write();
        let _no_row_is_added = self.beginning.write();
        if !self.has_records.swap(true, Ordering::AcqRel) {
            let all = self.series.read();
            let series: Vec<Arc<Series>> = all.values().flatten().filter_map(Weak::upgrade).collect();
            series.iter().for_each(|series| series.index_anchors());
        }
    }

    /// Returns what reads the anchors of a series with this layout; equal ones are shared.
    pub(crate) fn reader_of(&self, layout: &Layout) -> Option<Arc<AnchorReader>> {
        let (field, access) = (layout.anchor()?, layout.anchor_access()?.clone());
        let reader = AnchorReader { field, access, semantics: layout.semantics() };
        let mut readers = self.readers.write();
        readers.retain(|reader| Arc::strong_count(reader) > 1);
        let known = readers.iter().find(|known| known.reads_as(&reader)).map(Arc::clone);
        Some(known.unwrap_or_else(|| {
            let reader = Arc::new(reader);
            readers.push(Arc::clone(&reader));
            reader
        }))
    }

    /// Returns the anchors of transactions that are on the disk.
    pub(crate) fn elsewhere<'t>(
        &self,
        transactions: impl IntoIterator<Item = &'t Transaction>,
    ) -> Vec<Anchor> {
        let Some(records) = self.records.get() else { return Vec::new() };
        let readers = self.readers.read();
        let mut anchors = Vec::new();
        for transaction in transactions {
            for anchor in readers.iter().filter_map(|reader| reader.anchor_of(transaction)) {
                if records.store().may_contain(anchor.key()) && !self.shards.has_copy(anchor) {
                    anchors.push(anchor);
                }
            }
        }
        anchors.sort_unstable();
        anchors.dedup();
        anchors
    }

    pub(super) fn series_of(&self, domain: AnchorDomain) -> SmallVec<[Arc<Series>; 16]> {
        let series = self.series.read();
        series.get(&domain).into_iter().flatten().filter_map(Weak::upgrade).collect()
    }
}
