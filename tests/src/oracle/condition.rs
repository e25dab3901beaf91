//! Evaluates conditions and operands directly on the syntax tree.

use regex::Regex;
use serde_json::Value as Json;
use tollgate_guest_abi::{ArithmeticOperator, Comparison, Condition, Item, ListSource, Operand};

use super::past::Past;
use super::value::Value;
use super::{Oracle, calendar, relation};

/// Context of an evaluation: the transaction read, and the current one. They differ only within a filter.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) oracle: &'a Oracle,
    pub(super) past: &'a Past,
    pub(super) about: &'a Json,
    pub(super) current: &'a Json,
}

impl<'a> Scene<'a> {
    pub(super) fn holds(&self, condition: &'a Condition) -> bool {
        match condition {
            Condition::All(parts) => parts.iter().all(|part| self.holds(part)),
            Condition::Any(parts) => parts.iter().any(|part| self.holds(part)),
            Condition::Not(inner) => !self.holds(inner),
            Condition::Compare { left, operator, right } => {
                relation::holds(&self.value(left), *operator, &self.value(right))
            }
            Condition::In { value, list, negated } => {
                let value = self.value(value);
                let Some(items) = self.items(list) else { return false };
                let found = items.iter().any(|item| relation::holds(&value, Comparison::Equal, item));
                !value.is_nil() && found != *negated
            }
            Condition::Matches { value, pattern, negated } => {
                let value = self.value(value);
                let found = value.searched().is_some_and(|text| self.oracle.finds(pattern, &text));
                !value.is_nil() && found != *negated
            }
            Condition::Previous(spec) => self.past.has(spec, self),
        }
    }

    fn value(&self, operand: &'a Operand) -> Value<'a> {
        match operand {
            Operand::Number(number) => Value::literal(number),
            Operand::Text(text) => Value::Text(text),
            Operand::Boolean(boolean) => Value::Boolean(*boolean),
            Operand::Field(path) => Value::read(self.about, path),
            Operand::Current(path) => Value::read(self.current, path),
            Operand::Aggregate(spec) => self.past.aggregate(spec, self),
            Operand::Time(spec) => {
                let transaction = if spec.current { self.current } else { self.about };
                calendar::part(spec, Value::read(transaction, &spec.field))
            }
            Operand::Arithmetic { left, operator, right } => {
                match (self.value(left).number(), self.value(right).number()) {
                    (Some(left), Some(right)) => combined(left, *operator, right),
                    _ => Value::Nil,
                }
            }
            Operand::Negate(inner) => {
                self.value(inner).number().map_or(Value::Nil, |it| Value::computed(-it))
            }
        }
    }

    /// Returns the elements of a list; `None` if the list is missing.
    fn items(&self, list: &'a ListSource) -> Option<Vec<Value<'a>>> {
        match list {
            ListSource::Items(items) => Some(items.iter().map(|item| self.item(item)).collect()),
            ListSource::Current(path) => match Value::read(self.current, path) {
                Value::Nil => None,
                Value::List(items) => Some(items.iter().map(Value::of_json).collect()),
                single => Some(vec![single]),
            },
            ListSource::Named(name) => {
                let entries = self.oracle.lists.get(name)?;
                Some(entries.iter().map(|entry| Value::Text(entry)).collect())
            }
        }
    }

    pub(super) fn item(&self, item: &'a Item) -> Value<'a> {
        match item {
            Item::Number(number) => Value::literal(number),
            Item::Text(text) => Value::Text(text),
            Item::Boolean(boolean) => Value::Boolean(*boolean),
            Item::Current(path) => Value::read(self.current, path),
        }
    }
}

fn combined<'a>(left: f64, operator: ArithmeticOperator, right: f64) -> Value<'a> {
    match operator {
        ArithmeticOperator::Add => Value::computed(left + right),
        ArithmeticOperator::Subtract => Value::computed(left - right),
        ArithmeticOperator::Multiply => Value::computed(left * right),
        ArithmeticOperator::Divide if right == 0.0 => Value::Nil,
        ArithmeticOperator::Divide => Value::computed(left / right),
    }
}

impl Oracle {
    /// Whether a pattern matches somewhere in a text. An invalid pattern never matches.
    fn finds(&self, pattern: &str, text: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        if !patterns.contains_key(pattern) {
            let Ok(regex) = Regex::new(pattern) else { return false };
            patterns.insert(pattern.to_owned(), regex);
        }
        patterns.get(pattern).is_some_and(|regex| regex.is_match(text))
    }
}
