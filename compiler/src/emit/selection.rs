//! Which transactions a rule has nothing to do with: what a field has to be for its condition to be anything but false.
//!
//! Whoever runs many rules looks at a field or two and spares those that cannot match. That changes no answer: a selection
//! says only what the rule's own module would find out before it asks the history, and nothing else it asks can fail.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tollgate_guest_abi::{Comparison, Condition, FieldPath, FieldType, Item, ListSource, Number, Operand};

/// Most texts a field is compared with; a selection of more does not look at it.
const TEXTS_MAX: usize = 256;

/// Where one of these does not hold, the condition is false. Without any, nothing is known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// The field is one of these texts, as its symbol says; in order. A boolean is its word.
    pub texts: BTreeMap<FieldPath, Vec<String>>,
    /// The field, as a double, is in this range; one that is no number is in none.
    pub ranges: BTreeMap<FieldPath, NumberRange>,
}

/// From the one to the other, both of them in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberRange {
    /// Not less.
    pub low: f64,
    /// Not more.
    pub high: f64,
}

impl NumberRange {
    /// Whether it is there and in it.
    #[must_use]
    pub fn has(self, number: f64) -> bool {
        self.low <= number && number <= self.high
    }

    fn around(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn within(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high) }
    }
}

impl Selection {
    /// What a condition needs.
    #[must_use]
    pub fn of(condition: &Condition) -> Self {
        match condition {
            Condition::All(parts) => Self::of_all(parts),
            Condition::Any(parts) => {
                parts.iter().map(Self::of).reduce(|left, right| left.or(&right)).unwrap_or_default()
            }
            Condition::Compare { left, operator, right } => Self::of_comparison(left, *operator, right),
            Condition::In { value: Operand::Field(path), list, negated: false } => Self::of_list(path, list),
            Condition::In { .. } | Condition::Not(_) | Condition::Matches { .. } | Condition::Previous(_) => {
                Self::default()
            }
        }
    }

    /// Up to the first part that asks the history: a question that cannot be answered makes the rule fail, whatever stands
    /// behind it.
    fn of_all(parts: &[Condition]) -> Self {
        let mut all = Self::default();
        for part in parts {
            all = all.and(Self::of(part));
            if asks_history(part) {
                break;
            }
        }
        all
    }

    fn of_comparison(left: &Operand, operator: Comparison, right: &Operand) -> Self {
        match (left, right) {
            (Operand::Field(path), Operand::Number(number)) => {
                Self::of_number(path, operator, number.to_f64())
            }
            (Operand::Number(number), Operand::Field(path)) => {
                Self::of_number(path, operator.mirrored(), number.to_f64())
            }
            (Operand::Field(path), literal) | (literal, Operand::Field(path))
                if operator == Comparison::Equal =>
            {
                word(literal).map_or_else(Self::default, |text| Self::of_texts(path, vec![text.to_owned()]))
            }
            _ => Self::default(),
        }
    }

    fn of_number(path: &FieldPath, operator: Comparison, number: f64) -> Self {
        let (below, above) = (f64::NEG_INFINITY, f64::INFINITY);
        let range = match operator {
            Comparison::Equal => NumberRange { low: number, high: number },
            Comparison::Less | Comparison::LessOrEqual => NumberRange { low: below, high: number },
            Comparison::Greater | Comparison::GreaterOrEqual => NumberRange { low: number, high: above },
            Comparison::NotEqual => return Self::default(),
        };
        Self { ranges: BTreeMap::from([(path.clone(), range)]), ..Self::default() }
    }

    fn of_list(path: &FieldPath, list: &ListSource) -> Self {
        let ListSource::Items(items) = list else { return Self::default() };
        let texts = items.iter().map(|item| match item {
            Item::Text(text) if Number::from_plain(text).is_none() => Some(text.clone()),
            Item::Boolean(boolean) => Some(boolean.to_string()),
            Item::Text(_) | Item::Number(_) | Item::Current(_) => None,
        });
        texts.collect::<Option<_>>().map_or_else(Self::default, |texts| Self::of_texts(path, texts))
    }

    /// A text is equal to nothing but itself unless it is a number, and unless the field is one or a date-time.
    fn of_texts(path: &FieldPath, mut texts: Vec<String>) -> Self {
        if matches!(path.field_type(), FieldType::Number | FieldType::Time) || texts.len() > TEXTS_MAX {
            return Self::default();
        }
        texts.sort();
        texts.dedup();
        Self { texts: BTreeMap::from([(path.clone(), texts)]), ..Self::default() }
    }

    /// Both hold.
    fn and(mut self, other: Self) -> Self {
        for (path, texts) in other.texts {
            match self.texts.entry(path) {
                Entry::Vacant(entry) => _ = entry.insert(texts),
                Entry::Occupied(mut entry) => entry.get_mut().retain(|text| texts.contains(text)),
            }
        }
        for (path, range) in other.ranges {
            self.ranges.entry(path).and_modify(|own| *own = own.within(range)).or_insert(range);
        }
        self
    }

    /// One of them holds: what this and what another rule needs.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        self.texts.retain(|path, texts| {
            let Some(others) = other.texts.get(path) else { return false };
            texts.extend(others.iter().cloned());
            texts.sort();
            texts.dedup();
            texts.len() <= TEXTS_MAX
        });
        self.ranges.retain(|path, range| {
            other.ranges.get(path).map(|others| *range = range.around(*others)).is_some()
        });
        self
    }
}

/// The text that a literal equals as a symbol.
fn word(literal: &Operand) -> Option<&str> {
    match literal {
        Operand::Text(text) if Number::from_plain(text).is_none() => Some(text),
        Operand::Boolean(true) => Some("true"),
        Operand::Boolean(false) => Some("false"),
        _ => None,
    }
}

fn asks_history(condition: &Condition) -> bool {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter().any(asks_history),
        Condition::Not(inner) => asks_history(inner),
        Condition::Compare { left, right, .. } => counts(left) || counts(right),
        Condition::In { value, .. } | Condition::Matches { value, .. } => counts(value),
        Condition::Previous(_) => true,
    }
}

fn counts(operand: &Operand) -> bool {
    match operand {
        Operand::Aggregate(_) => true,
        Operand::Arithmetic { left, right, .. } => counts(left) || counts(right),
        Operand::Negate(inner) => counts(inner),
        Operand::Number(_)
        | Operand::Text(_)
        | Operand::Boolean(_)
        | Operand::Field(_)
        | Operand::Current(_)
        | Operand::Time(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, compile};

    /// A selection as `field: what`, texts first.
    #[track_caller]
    fn check(condition: &str, expected: &str) {
        let script = format!("rule r {{ when {condition} then review score 0.5 reason \"r\" }}");
        let rule = compile(&script, &CompileOptions::default()).rule.unwrap();
        let Selection { texts, ranges } = Selection::of(&rule.when);
        let texts = texts.iter().map(|(path, texts)| format!("{path}: {}", texts.join(" ")));
        let ranges = ranges.iter().map(|(path, NumberRange { low, high })| format!("{path}: {low}..{high}"));
        assert_eq!(texts.chain(ranges).collect::<Vec<_>>().join(", "), expected, "{condition}");
    }

    #[test]
    fn a_rule_needs_what_it_compares_with() {
        check(r#"currency == "EUR""#, "currency: EUR");
        check("metadata.vip == true", "metadata.vip: true");
        check(r#"currency in ("EUR", "USD", "EUR")"#, "currency: EUR USD");
        check("amount > 5", "amount: 5..inf");
        check("amount <= 5", "amount: -inf..5");
        check("5 > amount", "amount: -inf..5");
        check("metadata.risk == 7", "metadata.risk: 7..7");
    }

    #[test]
    fn all_parts_are_needed_and_one_of_some() {
        check(r#"amount > 5 and currency == "EUR" and amount < 9"#, "currency: EUR, amount: 5..9");
        check(r#"currency == "EUR" or currency == "USD""#, "currency: EUR USD");
        check(r#"currency == "EUR" or status == "failed""#, "");
        check(
            r#"amount > 5 and (status == "a" or amount > 7 and status == "b")"#,
            "status: a b, amount: 5..inf",
        );
        check(r#"currency in ("EUR", "USD") and currency == "USD""#, "currency: USD");
    }

    #[test]
    fn what_only_the_host_can_compare_is_not_needed() {
        check(r#"description == "42""#, "");
        check(r#"timestamp == "2026-01-01T00:00:00Z""#, "");
        check(r#"metadata.code in ("A", "42")"#, "");
        check(r#"metadata.code in ("A", 42)"#, "");
        check(r#"currency != "EUR""#, "");
        check(r#"not (currency == "EUR")"#, "");
        check("source == destination", "");
        check("amount > metadata.limit", "");
    }

    #[test]
    fn what_stands_behind_a_question_to_the_history_does_not_spare_it() {
        let count = r#"count(when source == $current.source, "P1D") > 3"#;
        check(&format!(r#"{count} and currency == "EUR""#), "");
        check(&format!(r#"currency == "EUR" and {count} and amount > 5"#), "currency: EUR");
        check(&format!(r#"currency == "EUR" and {count} or currency == "USD""#), "currency: EUR USD");
        check(&format!(r#"(status == "a" and {count}) and amount > 5"#), "status: a");
    }
}
