//! Which past transactions a question is about, split into what a series finds and what must be tested row by row.
//!
//! ```text
//!  source == $current.source and status in ("failed", "declined")
//!  └── key: a series by source, and the value to look up ──┘ └── residual: tested on the rows found ──┘
//! ```

use std::sync::Arc;

use tollgate_guest_abi::{Comparison, Condition, FieldPath, FieldType, Operand, Window};

use crate::history::filter::{Binder, Demand, Filter, FilterError, Reading, Scene};
use crate::history::key::{KEY_FIELDS_MAX, Key};
use crate::history::row::{Columns, Row, RowField};
use crate::history::series::Series;
use crate::history::spill::SpillError;
use crate::history::timeline::{Look, OpenBody, Stretch};
use crate::named_list::NamedLists;
use crate::sequence::Sequence;
use crate::transaction::{FieldAccess, Transaction, Value};

/// A filter and a window, bound, before it has a series.
#[derive(Debug)]
pub(super) struct Plan {
    /// The fields of the key, in order; the series to look in is the one of these.
    pub(super) fields: Vec<FieldPath>,
    /// What it reads of rows besides their amounts.
    pub(super) columns: Columns,
    sought: Vec<Sought>,
    residual: Filter,
    demand: Demand,
    window: Window,
}

/// A filter and a window, bound, with the series to look in.
#[derive(Debug)]
pub(super) struct Scope {
    plan: Plan,
    series: Arc<Series>,
    /// From the columns of the plan to those of the series.
    places: Box<[usize]>,
}

/// The value a field of the key must equal.
#[derive(Debug)]
enum Sought {
    Number(f64),
    Text(Box<str>),
    Boolean(bool),
    /// Of the transaction under evaluation.
    Current(FieldAccess),
}

/// A question about one transaction: where to look and what to test.
#[derive(Debug)]
pub(super) struct Search<'a> {
    scope: &'a Scope,
    key: Key<'a>,
    stretch: Stretch,
    scene: Scene<'a>,
}

impl Plan {
    /// Splits and binds a filter.
    ///
    /// # Errors
    /// When the condition is no filter.
    pub(super) fn bind(filter: &Condition, window: Window) -> Result<Self, FilterError> {
        let Split { mut key, rest } = Split::of(filter);
        key.sort_unstable_by_key(|equality| equality.field);
        let fields = key.iter().map(|equality| equality.field.clone()).collect();
        let sought = key.iter().map(|equality| equality.sought.bind()).collect();
        let mut binder = Binder::default();
        let residual = binder.filter(rest)?;
        let (demand, columns) = binder.finish();
        Ok(Self { fields, columns, sought, residual, demand, window })
    }

    /// The field of a row, to be read besides what the filter reads.
    pub(super) fn field(&mut self, access: &FieldAccess) -> RowField {
        self.columns.field(access)
    }

    /// With the series of its fields, and the places there of its columns.
    pub(super) fn over(self, series: Arc<Series>, places: Box<[usize]>) -> Scope {
        debug_assert_eq!(self.fields, series.fields(), "the series has the key of the plan");
        Scope { plan: self, series, places }
    }
}

impl Scope {
    /// Whether every row of the key is selected, so that summaries tell all.
    pub(super) const fn selects_all_of_key(&self) -> bool {
        self.plan.residual.is_empty()
    }

    /// The question about this transaction, seen from this number; `None` when nothing can match.
    pub(super) fn search<'a>(
        &'a self,
        current: &'a Transaction,
        as_of: Sequence,
        lists: &'a dyn NamedLists,
    ) -> Option<Search<'a>> {
        let scene = self.plan.demand.meet(current, lists)?;
        let key = Key::of(self.plan.sought.iter().map(|sought| sought.read(current)))?;
        let to = current.timestamp.micros();
        let stretch = Stretch { from: to.saturating_sub(self.plan.window.micros()), to, as_of };
        Some(Search { scope: self, key, stretch, scene })
    }
}

impl Search<'_> {
    /// Shows every entry that has the key, the time and the number asked for, with others of its chunk. The series is
    /// locked meanwhile.
    ///
    /// # Errors
    /// When nobody is sure.
    pub(super) fn visit(&self, look: &mut impl Look) -> Result<(), SpillError> {
        self.scope.series.visit(&self.key, self.stretch, look)
    }

    /// What it looks at.
    pub(super) const fn stretch(&self) -> Stretch {
        self.stretch
    }

    /// Every row among these that matches, until one suffices.
    pub(super) fn each_match<'b>(&'b self, body: &'b OpenBody, mut suffices: impl FnMut(Row<'b>) -> bool) {
        body.each_shown(self.stretch, &self.scope.places, |row| {
            self.scope.plan.residual.holds(row, &self.scene) && suffices(row)
        });
    }
}

impl Sought {
    fn read<'a>(&'a self, current: &'a Transaction) -> Reading<'a> {
        match self {
            Sought::Number(number) => Reading::Number(*number),
            Sought::Text(text) => Reading::Value(Value::Text(text)),
            Sought::Boolean(boolean) => Reading::Value(Value::Boolean(*boolean)),
            Sought::Current(field) => Reading::Value(field.read(current)),
        }
    }
}

/// The conditions of a filter that must all hold, sorted.
#[derive(Debug, Default)]
struct Split<'c> {
    /// At most one per field.
    key: Vec<Equality<'c>>,
    rest: Vec<&'c Condition>,
}

/// A condition that a key can answer.
#[derive(Debug)]
struct Equality<'c> {
    field: &'c FieldPath,
    sought: Literal<'c>,
}

/// What a field can be sought by.
#[derive(Debug)]
enum Literal<'c> {
    Number(f64),
    Text(&'c str),
    Boolean(bool),
    Current(&'c FieldPath),
}

impl<'c> Split<'c> {
    fn of(filter: &'c Condition) -> Self {
        let mut split = Self::default();
        split.take(filter);
        split
    }

    fn take(&mut self, condition: &'c Condition) {
        if let Condition::All(conditions) = condition {
            conditions.iter().for_each(|condition| self.take(condition));
            return;
        }
        let is_new = |equality: &Equality<'_>| self.key.iter().all(|known| known.field != equality.field);
        match Equality::of(condition).filter(is_new) {
            Some(equality) if self.key.len() < KEY_FIELDS_MAX => self.key.push(equality),
            _ => self.rest.push(condition),
        }
    }
}

impl<'c> Equality<'c> {
    /// `None` unless keys answer the condition exactly as it reads. Date-times stay out: they equal texts by the
    /// instant, which no key tells.
    fn of(condition: &'c Condition) -> Option<Self> {
        let Condition::Compare { left, operator: Comparison::Equal, right } = condition else { return None };
        let (field, other) = match (left, right) {
            (Operand::Field(field), other) | (other, Operand::Field(field)) => (field, other),
            _ => return None,
        };
        let sought = match other {
            Operand::Number(number) => Literal::Number(*number),
            Operand::Text(text) => Literal::Text(text),
            Operand::Boolean(boolean) => Literal::Boolean(*boolean),
            Operand::Current(path) if has_keys(path) => Literal::Current(path),
            Operand::Current(_)
            | Operand::Field(_)
            | Operand::Aggregate(_)
            | Operand::Time(_)
            | Operand::Arithmetic { .. }
            | Operand::Negate(_) => return None,
        };
        has_keys(field).then_some(Self { field, sought })
    }
}

impl Literal<'_> {
    fn bind(&self) -> Sought {
        match self {
            Literal::Number(number) => Sought::Number(*number),
            Literal::Text(text) => Sought::Text((*text).into()),
            Literal::Boolean(boolean) => Sought::Boolean(*boolean),
            Literal::Current(path) => Sought::Current(FieldAccess::bind(path)),
        }
    }
}

const fn is_keyed(field_type: FieldType) -> bool {
    match field_type {
        FieldType::Number | FieldType::Text | FieldType::Boolean | FieldType::Dynamic => true,
        FieldType::Time | FieldType::Unknown => false,
    }
}

fn has_keys(field: &FieldPath) -> bool {
    is_keyed(field.field_type())
}
