//! Texts that are compared with a `status`, in small letters: a `status` compares so, since
//! [`Semantics::V3`](tollgate_guest_abi::Semantics::V3).

use tollgate_guest_abi::{Condition, Item, List, Operand, PreviousSpec};

/// Writes every text that is compared with a `status` in small letters. The field itself stays as it was sent: patterns see it so.
pub(super) fn in_small_letters(condition: &mut Condition) {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter_mut().for_each(in_small_letters),
        Condition::Not(part) => in_small_letters(part),
        Condition::Compare { left, right, .. } => {
            beside(left, right);
            beside(right, left);
            in_questions(left);
            in_questions(right);
        }
        Condition::In { value, list, .. } => {
            if let (true, List::Items(items)) = (is_status(value), list) {
                items.iter_mut().for_each(item);
            }
            in_questions(value);
        }
        Condition::Matches { value, .. } => in_questions(value),
        Condition::Previous(PreviousSpec { pairs, .. }) => {
            for pair in pairs.iter_mut().filter(|pair| pair.field.is_status()) {
                item(&mut pair.value);
            }
        }
    }
}

fn beside(operand: &Operand, other: &mut Operand) {
    if let (true, Operand::Text(text)) = (is_status(operand), other) {
        text.make_ascii_lowercase();
    }
}

fn item(item: &mut Item) {
    if let Item::Text(text) = item {
        text.make_ascii_lowercase();
    }
}

/// The same in the filters of aggregates.
fn in_questions(operand: &mut Operand) {
    match operand {
        Operand::Aggregate(spec) => in_small_letters(&mut spec.filter),
        Operand::Arithmetic { left, right, .. } => {
            in_questions(left);
            in_questions(right);
        }
        Operand::Negate(operand) => in_questions(operand),
        Operand::Number(_)
        | Operand::Text(_)
        | Operand::Boolean(_)
        | Operand::Field(_)
        | Operand::Current(_)
        | Operand::Time(_) => {}
    }
}

fn is_status(operand: &Operand) -> bool {
    matches!(operand, Operand::Field(path) | Operand::Current(path) if path.is_status())
}
