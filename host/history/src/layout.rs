//! Which transactions a series holds, and what it stores of each.

use std::sync::Arc;

use serde::Serialize;
use tollgate_guest_abi::{Condition, FieldPath, Semantics};
use tollgate_model::calendar::ZoneData;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{FieldAccess, StatusWords, Transaction, Value};

use crate::anchor::AnchorField;
use crate::filter::{Binder, Filter, FilterContext, FilterError};
use crate::key::Key;
use crate::owned_value::{OwnedValue, StructureDigests};
use crate::row::{Cells, Columns, Row};
use crate::timeline::Entry;

/// The identity of a series; queries with equal specs share one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct SeriesSpec {
    /// Key fields, in order.
    pub(super) fields: Vec<FieldPath>,
    /// Conditions on past transactions alone; the series holds only those that satisfy all.
    pub(super) selection: Vec<Condition>,
    /// Summed field when it is not the amount; the series holds only transactions in which it is a number.
    pub(super) measure: Option<FieldPath>,
    /// Semantics of key equality and of the selection.
    #[serde(skip_serializing_if = "Semantics::is_first")]
    pub(super) semantics: Semantics,
    /// Digest of the zone data, when the selection reads local times; other data would select other transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) zones: Option<Box<str>>,
    /// Digest of the status words, when a key or the selection reads stages. The columns name it themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status_words: Option<Box<str>>,
}

/// The data by which queries read fields, beside the transactions.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadingData<'d> {
    /// Zone data of local times.
    pub(super) zones: &'d ZoneData,
    /// Table of the stages that statuses mean.
    pub(super) status_words: &'d Arc<StatusWords>,
}

/// A spec that is bound, ready to read transactions.
#[derive(Debug)]
pub(super) struct Layout {
    keys: Arc<[FieldAccess]>,
    selection: Arc<Filter>,
    /// Fields the selection reads.
    selected_by: Columns,
    measure: Option<FieldAccess>,
    semantics: Semantics,
    /// `None` when its keys stay in memory.
    anchor: Option<AnchorField>,
    /// Columns that entries store besides their amounts. Only appended to, so that places stay valid.
    columns: Columns,
}

#[derive(Debug, Default)]
pub(super) struct PreparedRow {
    pub(super) key: Key,
    pub(super) entry: Entry,
}

impl SeriesSpec {
    /// Returns a text that is equal for equal specs.
    pub(super) fn identity(&self) -> String {
        // Every map key is a string and every number is finite, so serialization cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns whether it holds every transaction that has the key fields.
    pub(super) const fn is_plain(&self) -> bool {
        self.selection.is_empty() && self.measure.is_none()
    }
}

impl Layout {
    /// Binds a spec.
    ///
    /// # Errors
    /// When the selection is not a valid filter.
    pub(super) fn bind(spec: &SeriesSpec, data: ReadingData<'_>) -> Result<Self, FilterError> {
        let mut binder = Binder::new(spec.semantics, data, None);
        let selection = binder.filter(&spec.selection)?;
        let (_, selected_by) = binder.finish();
        let bind = |path: &FieldPath| FieldAccess::bind(path, spec.semantics, data.status_words);
        Ok(Self {
            keys: spec.fields.iter().map(bind).collect(),
            selection: Arc::new(selection),
            selected_by,
            measure: spec.measure.as_ref().map(bind),
            semantics: spec.semantics,
            anchor: AnchorField::of(&spec.fields),
            columns: Columns::default(),
        })
    }

    pub(super) fn with(&self, columns: Columns) -> Self {
        Self {
            keys: Arc::clone(&self.keys),
            selection: Arc::clone(&self.selection),
            selected_by: self.selected_by.clone(),
            measure: self.measure.clone(),
            semantics: self.semantics,
            anchor: self.anchor,
            columns,
        }
    }

    pub(super) const fn semantics(&self) -> Semantics {
        self.semantics
    }

    pub(super) const fn columns(&self) -> &Columns {
        &self.columns
    }

    pub(super) const fn anchor(&self) -> Option<AnchorField> {
        self.anchor
    }

    /// Returns the access to the anchor field.
    pub(super) fn anchor_access(&self) -> Option<&FieldAccess> {
        self.keys.get(self.anchor?.place())
    }

    /// Returns the key and entry of a transaction; `None` when it is not selected or has no key, so that nothing equals
    /// it.
    pub(super) fn prepare(&self, sequence: Sequence, transaction: &Transaction) -> Option<PreparedRow> {
        let (mut prepared, mut digests) = (PreparedRow::default(), StructureDigests::default());
        self.prepare_in(&mut prepared, &mut digests, sequence, transaction).map(|()| prepared)
    }

    /// Same as [`Layout::prepare`], but reuses a prepared row and the digests of the transaction.
    #[inline]
    pub(super) fn prepare_in(
        &self,
        prepared: &mut PreparedRow,
        digests: &mut StructureDigests,
        sequence: Sequence,
        transaction: &Transaction,
    ) -> Option<()> {
        let amount = match &self.measure {
            None => transaction.amount.value(),
            Some(field) => match field.read(transaction) {
                Value::Number(number) => number,
                _ => return None,
            },
        };
        if !self.selection.is_empty() && !self.selects(transaction) {
            return None;
        }
        prepared.key.clear();
        prepared
            .key
            .fill(&self.keys, |key, field| key.add(&field.read(transaction), self.semantics, transaction))?;
        let held = |field: &FieldAccess| OwnedValue::of(field.read(transaction), digests);
        let cells = self.columns.fields().iter().map(held).collect();
        let micros = transaction.timestamp.micros();
        prepared.entry = Entry { micros, sequence, amount, cells };
        Some(())
    }

    fn selects(&self, transaction: &Transaction) -> bool {
        let cells = Cells::Fresh(transaction, self.selected_by.fields());
        self.selection.holds(
            Row::new(transaction.amount.value(), cells, &[]),
            &FilterContext::default(),
            None,
        )
    }
}

impl PreparedRow {
    /// Returns whether replacing one row by the other would change nothing.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let (one, two) = (&self.entry, &other.entry);
        self.key.bytes() == other.key.bytes()
            && one.place() == two.place()
            && one.amount == two.amount
            && one.cells.len() == two.cells.len()
            && one.cells.iter().zip(&two.cells).all(|(one, two)| one.is_same_as(two))
    }
}
