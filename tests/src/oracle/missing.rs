//! Implements "`$current.x` missing in a filter: the filter matches nothing."

use serde_json::Value as Json;
use tollgate_guest_abi::{Condition, FieldPath, Item, ListSource, Operand};

use super::value::Value;

/// Whether a filter refers to a field that the current transaction lacks.
pub(super) fn names_a_missing_current(filter: &Condition, current: &Json) -> bool {
    let mut paths = Vec::new();
    of_condition(filter, &mut paths);
    paths.into_iter().any(|path| Value::read(current, path).is_nil())
}

fn of_condition<'a>(condition: &'a Condition, paths: &mut Vec<&'a FieldPath>) {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().for_each(|part| of_condition(part, paths));
        }
        Condition::Not(inner) => of_condition(inner, paths),
        Condition::Compare { left, operator: _, right } => {
            of_operand(left, paths);
            of_operand(right, paths);
        }
        Condition::In { value, list, negated: _ } => {
            of_operand(value, paths);
            match list {
                ListSource::Current(path) => paths.push(path),
                ListSource::Items(items) => items.iter().for_each(|item| of_item(item, paths)),
                ListSource::Named(_) => {}
            }
        }
        Condition::Matches { value, pattern: _, negated: _ } => of_operand(value, paths),
        // Filters contain no lookups.
        Condition::Previous(_) => {}
    }
}

fn of_operand<'a>(operand: &'a Operand, paths: &mut Vec<&'a FieldPath>) {
    match operand {
        Operand::Current(path) => paths.push(path),
        Operand::Time(spec) if spec.current => paths.push(&spec.field),
        Operand::Arithmetic { left, operator: _, right } => {
            of_operand(left, paths);
            of_operand(right, paths);
        }
        Operand::Negate(inner) => of_operand(inner, paths),
        Operand::Time(_)
        | Operand::Number(_)
        | Operand::Text(_)
        | Operand::Boolean(_)
        | Operand::Field(_)
        | Operand::Aggregate(_) => {}
    }
}

fn of_item<'a>(item: &'a Item, paths: &mut Vec<&'a FieldPath>) {
    if let Item::Current(path) = item {
        paths.push(path);
    }
}
