//! Binding of conditions: names become slots, and patterns and zones are resolved.

use tollgate_guest_abi as abi;
use tollgate_guest_abi::{Condition, FieldPath, Item, Semantics};
use tollgate_model::calendar::TimePart;
use tollgate_model::decimal::Decimal;
use tollgate_model::pattern::CompiledPattern;
use tollgate_model::transaction::{FieldAccess, Value};
use tollgate_model::value_set::ValueSet;

use crate::filter::membership::ResolvedList;
use crate::filter::operand::ResolvedOperand;
use crate::filter::{ContextDemand, Filter, FilterError, FilterTest};
use crate::layout::ReadingData;
use crate::row::{Columns, RowField};

/// Assigns slots to the values and row fields that one query needs.
#[derive(Debug)]
pub(crate) struct Binder<'z> {
    semantics: Semantics,
    data: ReadingData<'z>,
    demand: ContextDemand,
    columns: Columns,
}

impl<'z> Binder<'z> {
    pub(crate) fn new(semantics: Semantics, data: ReadingData<'z>, measure: Option<FieldAccess>) -> Self {
        Self { semantics, data, demand: ContextDemand::default(), columns: Columns::measured_by(measure) }
    }

    pub(crate) fn finish(self) -> (ContextDemand, Columns) {
        (self.demand, self.columns)
    }

    /// Returns the slot of a value of the current transaction.
    pub(crate) fn current(&mut self, path: &FieldPath) -> usize {
        let field = FieldAccess::bind(path, self.semantics, self.data.status_words);
        slot_of(&mut self.demand.currents, &field)
    }

    /// Returns the filter that selects the rows for which every condition holds.
    ///
    /// # Errors
    /// When a condition queries the history, or contains an invalid pattern or an unknown zone.
    pub(crate) fn filter<'c>(
        &mut self,
        conditions: impl IntoIterator<Item = &'c Condition>,
    ) -> Result<Filter, FilterError> {
        Ok(Filter { tests: self.tests(conditions)?, semantics: self.semantics })
    }

    fn tests<'c>(
        &mut self,
        conditions: impl IntoIterator<Item = &'c Condition>,
    ) -> Result<Vec<FilterTest>, FilterError> {
        conditions.into_iter().map(|condition| self.test(condition)).collect()
    }

    fn test(&mut self, condition: &Condition) -> Result<FilterTest, FilterError> {
        Ok(match condition {
            Condition::All(conditions) => FilterTest::All(self.tests(conditions)?),
            Condition::Any(conditions) => FilterTest::Any(self.tests(conditions)?),
            Condition::Not(condition) => FilterTest::Not(Box::new(self.test(condition)?)),
            Condition::Compare { left, operator, right } => FilterTest::Compare {
                left: self.operand(left)?,
                operator: *operator,
                right: self.operand(right)?,
            },
            Condition::In { value, list, negated } => {
                FilterTest::In { value: self.operand(value)?, list: self.list(list), negated: *negated }
            }
            Condition::Matches { value, pattern, negated } => FilterTest::Matches {
                value: self.operand(value)?,
                pattern: CompiledPattern::compile(pattern)?,
                negated: *negated,
            },
            Condition::Previous(_) => return Err(FilterError::Nested),
        })
    }

    fn operand(&mut self, operand: &abi::Operand) -> Result<ResolvedOperand, FilterError> {
        Ok(match operand {
            abi::Operand::Number(number) => match Decimal::from_plain(number.as_str()) {
                Some(decimal) if self.semantics.is_exact() => ResolvedOperand::Decimal(decimal),
                _ => ResolvedOperand::Number(number.to_f64()),
            },
            abi::Operand::Text(text) => ResolvedOperand::Text(text.as_str().into()),
            abi::Operand::Boolean(boolean) => ResolvedOperand::Boolean(*boolean),
            abi::Operand::Field(path) => ResolvedOperand::Field(self.field(path)),
            abi::Operand::Current(path) => ResolvedOperand::Current(self.current(path)),
            abi::Operand::Time(spec) if spec.current => ResolvedOperand::CurrentTime(
                TimePart::bind(spec, self.data.zones, self.semantics)?,
                self.current(&spec.field),
            ),
            abi::Operand::Time(spec) => ResolvedOperand::Time(
                TimePart::bind(spec, self.data.zones, self.semantics)?,
                self.field(&spec.field),
            ),
            abi::Operand::Arithmetic { left, operator, right } => {
                ResolvedOperand::Arithmetic(Box::new((self.operand(left)?, *operator, self.operand(right)?)))
            }
            abi::Operand::Negate(operand) => ResolvedOperand::Negate(Box::new(self.operand(operand)?)),
            abi::Operand::Aggregate(_) => return Err(FilterError::Nested),
        })
    }

    fn field(&mut self, path: &FieldPath) -> RowField {
        self.columns.field(&FieldAccess::bind(path, self.semantics, self.data.status_words))
    }

    fn list(&mut self, list: &abi::ListSource) -> ResolvedList {
        match list {
            abi::ListSource::Items(items) => self.items(items),
            abi::ListSource::Current(path) => {
                let current = self.current(path);
                ResolvedList::Current(slot_of(&mut self.demand.arrays, &current))
            }
            abi::ListSource::Named(name) => ResolvedList::Named(slot_of(&mut self.demand.lists, name)),
        }
    }

    fn items(&mut self, items: &[Item]) -> ResolvedList {
        let mut literals = Box::<ValueSet>::default();
        let mut currents = Vec::new();
        for item in items {
            match item {
                Item::Number(number) => literals.insert_number(number),
                Item::Text(text) => literals.insert(Value::Text(text)),
                Item::Boolean(boolean) => literals.insert(Value::Boolean(*boolean)),
                Item::Current(path) => currents.push(self.current(path)),
            }
        }
        ResolvedList::Items { literals, currents }
    }
}

/// Returns the index of a value in the table; appends the value when it is missing.
fn slot_of<T: PartialEq + Clone>(table: &mut Vec<T>, wanted: &T) -> usize {
    table.iter().position(|known| known == wanted).unwrap_or_else(|| {
        table.push(wanted.clone());
        table.len() - 1
    })
}
