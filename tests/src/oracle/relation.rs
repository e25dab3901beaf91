//! The comparison rules for every pair of value types.

use std::cmp::Ordering;

use tollgate_guest_abi::Comparison;

use super::calendar;
use super::value::{Value, word};

/// Whether two values satisfy a comparison. Comparisons with nil are false.
pub(super) fn holds(left: &Value<'_>, comparison: Comparison, right: &Value<'_>) -> bool {
    if left.is_nil() || right.is_nil() {
        return false;
    }
    let (equal, order) = relation(left, right);
    match comparison {
        Comparison::Equal => equal,
        Comparison::NotEqual => !equal,
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

/// Returns whether two values are equal, and their order if they have one.
fn relation(left: &Value<'_>, right: &Value<'_>) -> (bool, Option<Ordering>) {
    use Value::{Boolean, Caseless, Computed, Exact, Number, Text, Time};
    const UNEQUAL: (bool, Option<Ordering>) = (false, None);
    match (left, right) {
        (Caseless(_), Caseless(_) | Text(_) | Boolean(_)) | (Text(_) | Boolean(_), Caseless(_)) => {
            let equal = left.small_text().is_some_and(|text| right.small_text() == Some(text));
            (equal, order_of(left, right))
        }
        (Caseless(text), other) => relation(&Text(text.compared), other),
        (other, Caseless(text)) => relation(other, &Text(text.compared)),
        (Number(_) | Exact(_) | Computed(_), Number(_) | Exact(_) | Computed(_) | Text(_))
        | (Text(_), Number(_) | Exact(_) | Computed(_)) => {
            let order = order_of(left, right);
            (order == Some(Ordering::Equal), order)
        }
        (Text(a), Text(b)) => (a == b, order_of(left, right)),
        (Boolean(left), Boolean(right)) => (left == right, None),
        (Boolean(boolean), Text(text)) | (Text(text), Boolean(boolean)) => (word(*boolean) == *text, None),
        (Time(left, _), Time(right, _)) => (left == right, Some(left.cmp(right))),
        (Time(micros, _), Text(text)) => of_times(calendar::order(*micros, text)),
        (Text(text), Time(micros, _)) => of_times(calendar::order(*micros, text).map(Ordering::reverse)),
        _ => UNEQUAL,
    }
}

/// Compares two numbers: exactly, unless one is only known as a double. `None` if one is not a number.
fn order_of(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    let is_computed = |value: &Value<'_>| matches!(value, Value::Computed(_));
    if is_computed(left) || is_computed(right) {
        return left.number()?.partial_cmp(&right.number()?);
    }
    Some(left.exactly()?.cmp(&right.exactly()?))
}

fn of_times(order: Option<Ordering>) -> (bool, Option<Ordering>) {
    (order == Some(Ordering::Equal), order)
}
