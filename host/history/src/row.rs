//! One past transaction as queries read it: its amount and the fields that some query needs.

use tollgate_guest_abi::prices;
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{FieldAccess, TextComparison, Transaction, Value};

use crate::distinct::Distinct;
use crate::owned_value::OwnedValue;
use crate::timeline::OpenRun;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowField {
    /// The amount of the transaction, or the measure of its series; every row has one.
    Amount,
    /// A column, by its index among the [`Columns`] of the query.
    Column(usize),
    /// Same as `Column`, with caseless texts.
    Caseless(usize, TextComparison),
}

/// The fields a query reads from rows besides the amount, by index.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    fields: Vec<FieldAccess>,
    /// Field whose value is the amount of an entry; `None` for the amount of the transaction.
    measure: Option<FieldAccess>,
}

/// One row; `places` maps the columns of the query to those of the series.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    amount: Decimal,
    cells: Cells<'a>,
    places: &'a [usize],
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Cells<'a> {
    /// A run and a position in it; places refer to its tables.
    Kept(OpenRun<'a>, usize),
    /// A transaction that is not stored, and the fields of the columns; it needs no places.
    Fresh(&'a Transaction, &'a [FieldAccess]),
}

impl RowField {
    /// Returns the column index; `None` for the amount.
    pub(super) const fn column(self) -> Option<usize> {
        match self {
            RowField::Amount => None,
            RowField::Column(column) | RowField::Caseless(column, _) => Some(column),
        }
    }

    /// Returns the price of reading it from one row, in fuel. The price of the row covers the amount.
    pub(super) const fn price(self) -> u64 {
        match self {
            RowField::Amount => 0,
            RowField::Column(_) | RowField::Caseless(..) => prices::ROW_FIELD,
        }
    }

    /// Returns a value that `distinct` compares; `None` for a missing one.
    pub(super) fn distinct_of(self, held: &OwnedValue) -> Option<Distinct<'_>> {
        match held {
            OwnedValue::Structure(digest) => Some(Distinct::Structure(**digest)),
            held => Distinct::of(self.value_of(held)),
        }
    }

    pub(super) fn value_of(self, held: &OwnedValue) -> Value<'_> {
        match self {
            RowField::Caseless(_, how) => held.value().compared(how),
            RowField::Amount | RowField::Column(_) => held.value(),
        }
    }
}

impl Columns {
    pub(super) const fn measured_by(measure: Option<FieldAccess>) -> Self {
        Self { fields: Vec::new(), measure }
    }

    /// Returns the row field of an access; adds it when it is missing.
    pub(super) fn field(&mut self, access: &FieldAccess) -> RowField {
        let is_amount = match &self.measure {
            None => access.is_amount(),
            Some(measure) => access == measure,
        };
        match (is_amount, access.is_caseless()) {
            (true, _) => RowField::Amount,
            (false, true) => RowField::Caseless(self.place_of(access), access.text_comparison()),
            (false, false) => RowField::Column(self.place_of(access)),
        }
    }

    /// Returns the index of an access; appends it when it is missing.
    pub(super) fn place_of(&mut self, access: &FieldAccess) -> usize {
        self.fields.iter().position(|known| known == access).unwrap_or_else(|| {
            self.fields.push(access.clone());
            self.fields.len() - 1
        })
    }

    pub(super) fn fields(&self) -> &[FieldAccess] {
        &self.fields
    }
}

impl<'a> Row<'a> {
    pub(super) const fn new(amount: Decimal, cells: Cells<'a>, places: &'a [usize]) -> Self {
        Self { amount, cells, places }
    }

    /// Returns the transaction whose values it shows, if it is not stored.
    pub(super) const fn fresh(&self) -> Option<&'a Transaction> {
        match self.cells {
            Cells::Fresh(transaction, _) => Some(transaction),
            Cells::Kept(..) => None,
        }
    }

    /// Returns the value of a field that `distinct` compares; `None` for a missing one.
    pub(super) fn distinct(&self, field: RowField) -> Option<Distinct<'a>> {
        match (field.column(), self.cells) {
            (Some(column), Cells::Kept(run, position)) => {
                field.distinct_of(run.cell(position, *self.places.get(column)?)?)
            }
            _ => Distinct::of(self.value(field)),
        }
    }

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
