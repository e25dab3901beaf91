//! One past transaction, as questions read it: its amount, and those of its fields that some question asked for.

use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{FieldAccess, Transaction, Value};

use crate::owned_value::OwnedValue;
use crate::timeline::OpenRun;

/// A field of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowField {
    /// Every row has one: that of the transaction, or what its series measures.
    Amount,
    /// By its number among the [`Columns`] of the question.
    Column(usize),
    /// The same; its texts are caseless.
    Caseless(usize),
}

/// The fields a question reads of rows, besides the amount, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    fields: Vec<FieldAccess>,
    /// What the amount of an entry is, when it is not that of the transaction.
    measure: Option<FieldAccess>,
}

/// One row; `places` leads from the columns of the question to those of the series.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    amount: Decimal,
    cells: Cells<'a>,
    places: &'a [usize],
}

/// Where the values stand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cells<'a> {
    /// In a run, at a position; the places are those of its tables.
    Kept(OpenRun<'a>, usize),
    /// Still in the transaction; the places are those of these fields.
    Fresh(&'a Transaction, &'a [FieldAccess]),
}

impl RowField {
    /// Its number among the columns; `None` of the amount.
    pub(super) const fn column(self) -> Option<usize> {
        match self {
            RowField::Amount => None,
            RowField::Column(column) | RowField::Caseless(column) => Some(column),
        }
    }

    /// The value that is held in its column.
    pub(super) fn value_of(self, held: &OwnedValue) -> Value<'_> {
        match self {
            RowField::Caseless(_) => held.value().caseless(),
            RowField::Amount | RowField::Column(_) => held.value(),
        }
    }
}

impl Columns {
    /// None yet, of a series with this measure.
    pub(super) const fn measured_by(measure: Option<FieldAccess>) -> Self {
        Self { fields: Vec::new(), measure }
    }

    /// The field of a row behind an access; added when it is not there yet.
    pub(super) fn field(&mut self, access: &FieldAccess) -> RowField {
        let is_amount = match &self.measure {
            None => access.is_amount(),
            Some(measure) => access == measure,
        };
        match (is_amount, access.is_caseless()) {
            (true, _) => RowField::Amount,
            (false, true) => RowField::Caseless(self.place_of(access)),
            (false, false) => RowField::Column(self.place_of(access)),
        }
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
        let Some(column) = field.column() else { return Value::Number(self.amount) };
        match self.cells {
            Cells::Kept(run, position) => {
                let cell = self.places.get(column).and_then(|place| run.cell(position, *place));
                cell.map_or(Value::Missing, |held| field.value_of(held))
            }
            Cells::Fresh(transaction, fields) => {
                fields.get(column).map_or(Value::Missing, |field| field.read(transaction))
            }
        }
    }
}
