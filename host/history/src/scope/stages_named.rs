//! Finds out whether a condition reads the stages of past transactions.

use tollgate_guest_abi::{Condition, Operand};

/// Returns whether a condition reads the field `stage` of past transactions.
pub(super) fn names_stage(condition: &Condition) -> bool {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter().any(names_stage),
        Condition::Not(part) => names_stage(part),
        Condition::Compare { left, operator: _, right } => reads_stage(left) || reads_stage(right),
        Condition::In { value, .. } | Condition::Matches { value, .. } => reads_stage(value),
        Condition::Previous(_) => false,
    }
}

fn reads_stage(operand: &Operand) -> bool {
    match operand {
        Operand::Field(path) => path.is_stage(),
        Operand::Time(spec) => spec.field.is_stage(),
        Operand::Arithmetic { left, operator: _, right } => reads_stage(left) || reads_stage(right),
        Operand::Negate(inner) => reads_stage(inner),
        Operand::Current(_)
        | Operand::Aggregate(_)
        | Operand::Number(_)
        | Operand::Text(_)
        | Operand::Boolean(_) => false,
    }
}
