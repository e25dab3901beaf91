//! One past transaction, as questions read it: its amount, and those of its fields that some question asked for.

use crate::decimal::Decimal;
use crate::history::held::Held;
use crate::history::timeline::OpenPacked;
use crate::transaction::{FieldAccess, Value};

/// A field of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowField {
    /// Every row has it.
    Amount,
    /// By its number among the [`Columns`] of the question.
    Column(usize),
}

/// The fields a question reads of rows, besides the amount, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    fields: Vec<FieldAccess>,
}

/// One row; `places` leads from the columns of the question to the cells of the series.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    amount: Decimal,
    cells: Cells<'a>,
    places: &'a [usize],
}

/// Where the values stand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cells<'a> {
    /// One by one.
    Held(&'a [Held]),
    /// Packed, at a position.
    Packed(&'a OpenPacked, usize),
}

impl Columns {
    /// The field of a row behind an access; added when it is not there yet.
    pub(super) fn field(&mut self, access: &FieldAccess) -> RowField {
        if access.is_amount() {
            return RowField::Amount;
        }
        RowField::Column(self.place_of(access))
    }

    /// Where the access stands; added at the end when it is not there yet.
    pub(super) fn place_of(&mut self, access: &FieldAccess) -> usize {
        self.fields.iter().position(|known| known == access).unwrap_or_else(|| {
            self.fields.push(access.clone());
            self.fields.len() - 1
        })
    }

    /// In order.
    pub(super) fn fields(&self) -> &[FieldAccess] {
        &self.fields
    }
}

impl<'a> Row<'a> {
    pub(super) const fn new(amount: Decimal, cells: Cells<'a>, places: &'a [usize]) -> Self {
        Self { amount, cells, places }
    }

    /// What stands in a field.
    pub(super) fn value(&self, field: RowField) -> Value<'a> {
        let column = match field {
            RowField::Amount => return Value::Number(self.amount),
            RowField::Column(column) => column,
        };
        let Some(&place) = self.places.get(column) else { return Value::Missing };
        let held = match self.cells {
            Cells::Held(cells) => cells.get(place),
            Cells::Packed(packed, position) => packed.cell(place, position),
        };
        held.map_or(Value::Missing, Held::value)
    }
}
