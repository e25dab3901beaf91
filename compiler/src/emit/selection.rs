//! Selections: necessary conditions on fields for a rule to match.
//!
//! The engine checks them to skip rules that cannot match. Skipping changes no result. A selection only covers tests
//! that the rule's own module makes before its history lookups, and nothing else in a rule can fail.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tollgate_guest_abi::{Comparison, Condition, FieldPath, FieldType, Item, ListSource, Number, Operand};

/// Most texts in a selection for one field; a field with more is not restricted.
const TEXTS_MAX: usize = 256;

/// Necessary conditions: where one of them fails, the rule does not match. An empty selection excludes nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// Fields that must equal one of these texts, in sorted order. Booleans appear in their text form.
    pub texts: BTreeMap<FieldPath, Vec<String>>,
    /// Fields whose value as a double must be in this range. A non-number is in no range.
    pub ranges: BTreeMap<FieldPath, NumberRange>,
}

/// A closed range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberRange {
    /// The lower bound, included.
    pub low: f64,
    /// The upper bound, included.
    pub high: f64,
}

impl NumberRange {
    /// Returns whether the number is in the range; false for NaN.
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
    /// Returns the selection of a condition.
    #[must_use]
    pub fn of_condition(condition: &Condition) -> Self {
        match condition {
            Condition::All(parts) => Self::of_all(parts),
            Condition::Any(parts) => {
                parts.iter().map(Self::of_condition).reduce(|left, right| left.or(&right)).unwrap_or_default()
            }
            Condition::Compare { left, operator, right } => Self::of_comparison(left, *operator, right),
            Condition::In { value: Operand::Field(path), list, negated: false } => Self::of_list(path, list),
            Condition::In { .. } | Condition::Not(_) | Condition::Matches { .. } | Condition::Previous(_) => {
                Self::default()
            }
        }
    }

    /// Combines the parts up to the first one with a history lookup. A lookup that fails makes the rule fail, whatever
    /// follows it.
    fn of_all(parts: &[Condition]) -> Self {
        let mut all = Self::default();
        for part in parts {
            all = all.and(Self::of_condition(part));
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

    /// A text equals only itself, unless it is a number or the field is a number or a date-time.
    fn of_texts(path: &FieldPath, mut texts: Vec<String>) -> Self {
        if matches!(path.field_type(), FieldType::Number | FieldType::Time) || texts.len() > TEXTS_MAX {
            return Self::default();
        }
        texts.sort();
        texts.dedup();
        Self { texts: BTreeMap::from([(path.clone(), texts)]), ..Self::default() }
    }

    /// Requires both selections.
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

    /// Returns the selection of two alternatives: the conditions that are necessary for either.
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

/// Returns the text that a literal equals as a symbol.
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

    /// Formats the selection as `field: values`, texts first.
    #[track_caller]
    fn check(condition: &str, expected: &str) {
        let script = format!("rule r {{ when {condition} then review score 0.5 reason \"r\" }}");
        let rule = compile(&script, &CompileOptions::default()).rule.unwrap();
        let Selection { texts, ranges } = Selection::of_condition(&rule.when);
        let texts = texts.iter().map(|(path, texts)| format!("{path}: {}", texts.join(" ")));
        let ranges = ranges.iter().map(|(path, NumberRange { low, high })| format!("{path}: {low}..{high}"));
        assert_eq!(texts.chain(ranges).collect::<Vec<_>>().join(", "), expected, "{condition}");
    }

    #[test]
    fn a_rule_needs_what_it_compares_with() {
        check(r#"currency == "EUR""#, "currency: eur");
        check("metadata.vip == true", "metadata.vip: true");
        check(r#"currency in ("EUR", "USD", "EUR")"#, "currency: eur usd");
        check("amount > 5", "amount: 5..inf");
        check("amount <= 5", "amount: -inf..5");
        check("5 > amount", "amount: -inf..5");
        check("metadata.risk == 7", "metadata.risk: 7..7");
    }

    #[test]
    fn all_parts_are_needed_and_one_of_some() {
        check(r#"amount > 5 and currency == "EUR" and amount < 9"#, "currency: eur, amount: 5..9");
        check(r#"currency == "EUR" or currency == "USD""#, "currency: eur usd");
        check(r#"currency == "EUR" or status == "failed""#, "");
        check(
            r#"amount > 5 and (status == "a" or amount > 7 and status == "b")"#,
            "status: a b, amount: 5..inf",
        );
        check(r#"currency in ("EUR", "USD") and currency == "USD""#, "currency: usd");
    }

    #[test]
    fn a_comparison_that_a_selection_cannot_state_restricts_nothing() {
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
    fn a_test_after_a_history_lookup_does_not_restrict_the_selection() {
        let count = r#"count(when source == $current.source, "P1D") > 3"#;
        check(&format!(r#"{count} and currency == "EUR""#), "");
        check(&format!(r#"currency == "EUR" and {count} and amount > 5"#), "currency: eur");
        check(&format!(r#"currency == "EUR" and {count} or currency == "USD""#), "currency: eur usd");
        check(&format!(r#"(status == "a" and {count}) and amount > 5"#), "status: a");
    }
}
