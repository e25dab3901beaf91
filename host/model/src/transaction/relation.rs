//! Comparison of values, as defined in `docs/language.md`, "How values compare".

use std::cmp::Ordering;

use tollgate_guest_abi::imports::relation;
use tollgate_guest_abi::{Comparison, Semantics};

use crate::decimal::Decimal;
use crate::transaction::{CaselessText, Transaction, Value};

/// The relations that hold between two values; none if either is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationSet(i32);

impl RelationSet {
    /// The empty set.
    pub const NONE: RelationSet = RelationSet(0);
    /// Only `!=`.
    pub const UNEQUAL: RelationSet = RelationSet(relation::NOT_EQUAL);

    const fn equality(equal: bool) -> Self {
        RelationSet(if equal { relation::EQUAL } else { relation::NOT_EQUAL })
    }

    /// Adds the order of two numbers or times. NaN has none.
    fn with_order(self, order: Option<Ordering>) -> Self {
        let bit = match order {
            Some(Ordering::Less) => relation::LESS,
            Some(Ordering::Greater) => relation::GREATER,
            Some(Ordering::Equal) => relation::LEVEL,
            None => 0,
        };
        RelationSet(self.0 | bit)
    }

    /// Returns the relations of two numbers or times in this order. NaN has none.
    #[must_use]
    pub fn of_order(order: Option<Ordering>) -> Self {
        Self::equality(order == Some(Ordering::Equal)).with_order(order)
    }

    /// Returns the bits passed to rule modules, see [`relation`].
    #[must_use]
    pub const fn bits(self) -> i32 {
        self.0
    }

    /// Returns whether `==` holds.
    #[must_use]
    pub const fn equal(self) -> bool {
        self.0 & relation::EQUAL != 0
    }

    /// Returns whether the values are ordered.
    #[must_use]
    pub const fn have_order(self) -> bool {
        self.0 & (relation::LESS | relation::GREATER | relation::LEVEL) != 0
    }

    /// Returns whether a comparison holds.
    #[must_use]
    pub const fn satisfy(self, comparison: Comparison) -> bool {
        self.0 & comparison.relation_bits() != 0
    }
}

/// Compares two values.
#[must_use]
pub fn relate(left: Value<'_>, right: Value<'_>, semantics: Semantics) -> RelationSet {
    relate_by(left, right, semantics, Decimal::from_plain)
}

/// Compares two values of which some are texts of this transaction. Each of its long texts is read once, however often
/// it is compared.
#[must_use]
pub fn relate_in(
    transaction: &Transaction,
    left: Value<'_>,
    right: Value<'_>,
    semantics: Semantics,
) -> RelationSet {
    relate_by(left, right, semantics, |text| transaction.number_of(text))
}

#[inline]
fn relate_by(
    left: Value<'_>,
    right: Value<'_>,
    semantics: Semantics,
    number_of: impl Fn(&str) -> Option<Decimal>,
) -> RelationSet {
    use Value::{Boolean, Caseless, Missing, Number, Text, Time};
    match (left, right) {
        (Missing, _) | (_, Missing) => RelationSet::NONE,
        (Number(_), Number(_) | Text(_) | Caseless(_)) | (Text(_) | Caseless(_), Number(_)) => {
            match (left.as_decimal_by(&number_of), right.as_decimal_by(&number_of)) {
                (Some(left), Some(right)) => RelationSet::of_order(order_of(left, right, semantics)),
                _ => RelationSet::equality(false),
            }
        }
        (Text(one), Text(other)) => {
            RelationSet::equality(one == other).with_order(order_of_texts(one, other, semantics, number_of))
        }
        (
            Caseless(CaselessText { compared: one, .. }),
            Text(other) | Caseless(CaselessText { compared: other, .. }),
        )
        | (Text(one), Caseless(CaselessText { compared: other, .. })) => {
            RelationSet::equality(one.eq_ignore_ascii_case(other))
                .with_order(order_of_texts(one, other, semantics, number_of))
        }
        (Boolean(one), Boolean(other)) => RelationSet::equality(one == other),
        (Boolean(boolean), Text(text)) | (Text(text), Boolean(boolean)) => {
            RelationSet::equality(text == word(boolean))
        }
        (Boolean(boolean), Caseless(text)) | (Caseless(text), Boolean(boolean)) => {
            RelationSet::equality(text.compared.eq_ignore_ascii_case(word(boolean)))
        }
        (Time(_), Time(_) | Text(_) | Caseless(_)) | (Text(_) | Caseless(_), Time(_)) => {
            match (left.as_time(semantics), right.as_time(semantics)) {
                (Some(left), Some(right)) => RelationSet::of_order(Some(left.order(right))),
                _ => RelationSet::equality(false),
            }
        }
        _ => RelationSet::equality(false),
    }
}

const fn word(boolean: bool) -> &'static str {
    if boolean { "true" } else { "false" }
}

/// Compares two numbers, exactly or as doubles.
fn order_of(left: Decimal, right: Decimal, semantics: Semantics) -> Option<Ordering> {
    if semantics.is_exact() { Some(left.cmp(&right)) } else { left.to_f64().partial_cmp(&right.to_f64()) }
}

/// Compares two texts as numbers. Returns `None` unless both are numbers.
fn order_of_texts(
    left: &str,
    right: &str,
    semantics: Semantics,
    number_of: impl Fn(&str) -> Option<Decimal>,
) -> Option<Ordering> {
    order_of(number_of(left)?, number_of(right)?, semantics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::EventTime;

    fn number(text: &str) -> Value<'static> {
        Value::Number(Decimal::from_json(text).unwrap())
    }

    fn caseless(text: &'static str) -> Value<'static> {
        Value::Text(text).caseless()
    }

    /// `expected` lists the operators that hold, in the order `== != < <= > >=`.
    #[track_caller]
    fn check(left: Value<'_>, right: Value<'_>, expected: &str) {
        for semantics in [Semantics::V1, Semantics::V2, Semantics::V3] {
            check_under(semantics, left, right, expected);
        }
    }

    #[track_caller]
    fn check_under(semantics: Semantics, left: Value<'_>, right: Value<'_>, expected: &str) {
        let all = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        let holding = |left, right, mirrored: bool| {
            all.iter()
                .filter(|operator| {
                    relate(left, right, semantics).satisfy(if mirrored {
                        operator.mirrored()
                    } else {
                        **operator
                    })
                })
                .map(|operator| operator.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(holding(left, right, false), expected, "{left:?} {right:?}");
        assert_eq!(holding(right, left, true), expected, "{right:?} {left:?}, mirrored");
    }

    #[test]
    fn numbers_compare_as_numbers_also_with_texts_that_are_numbers() {
        check(number("1"), number("2"), "!= < <=");
        check(number("42"), Value::Text("0042"), "== <= >=");
        check(number("42"), Value::Text("41.5"), "!= > >=");
        check(number("42"), Value::Text("4 2"), "!=");
    }

    #[test]
    fn numbers_that_share_their_nearest_double_differ_since_semantics_2() {
        let (one, two) = ("9007199254740992", "9007199254740993");
        for (left, right) in [
            (number(one), number(two)),
            (number(one), Value::Text(two)),
            (number("0.1"), number("0.10000000000000001")),
        ] {
            check_under(Semantics::V1, left, right, "== <= >=");
            check_under(Semantics::V2, left, right, "!= < <=");
        }
        check_under(Semantics::V1, Value::Text(one), Value::Text(two), "!= <= >=");
        check_under(Semantics::V2, Value::Text(one), Value::Text(two), "!= < <=");
        check_under(Semantics::V2, number("1e18"), Value::Text("01000000000000000000.0"), "== <= >=");
    }

    #[test]
    fn texts_are_equal_to_the_letter_and_ordered_only_as_numbers() {
        check(Value::Text("EUR"), Value::Text("EUR"), "==");
        check(Value::Text("EUR"), Value::Text("eur"), "!=");
        check(Value::Text("0042"), Value::Text("42"), "!= <= >=");
        check(Value::Text("5"), Value::Text("10"), "!= < <=");
    }

    #[test]
    fn caseless_texts_are_equal_whatever_the_case_of_ascii_letters() {
        for other in [Value::Text("applied"), caseless("Applied"), Value::Text("APPLIED")] {
            check(caseless("APPLIED"), other, "==");
        }
        check(caseless("APPLIED"), Value::Text("applied "), "!=");
        check(caseless("\u{c4}"), Value::Text("\u{e4}"), "!=");
        check(caseless("TRUE"), Value::Boolean(true), "==");
        check(caseless("042"), Value::Text("42"), "!= <= >=");
        check(caseless("042"), number("42"), "== <= >=");
        check(caseless("VOID"), number("42"), "!=");
        check(caseless("VOID"), Value::Missing, "");
    }

    #[test]
    fn booleans_equal_booleans_and_their_words() {
        check(Value::Boolean(true), Value::Boolean(true), "==");
        check(Value::Boolean(true), Value::Text("true"), "==");
        check(Value::Boolean(true), Value::Text("True"), "!=");
        check(Value::Boolean(true), number("1"), "!=");
    }

    #[test]
    fn times_compare_with_times_and_with_rfc_3339() {
        let noon = EventTime::parse("2026-01-01T12:00:00Z").unwrap();
        check(Value::Time(&noon), Value::Text("2026-01-01T13:00:00+01:00"), "== <= >=");
        check(Value::Time(&noon), Value::Text("2026-01-02T00:00:00Z"), "!= < <=");
        check(Value::Time(&noon), Value::Text("noon"), "!=");
        check(Value::Time(&noon), number("5"), "!=");
    }

    #[test]
    fn a_date_is_a_whole_day_since_semantics_2() {
        let noon = EventTime::parse("2026-01-01T12:00:00Z").unwrap();
        for (text, since_2) in [
            ("2026-01-01", "== <= >="),
            ("2026-01-02", "!= < <="),
            ("2025-12-31", "!= > >="),
            ("2026-01-01T12:00:00", "== <= >="),
            ("2026-01-01 11:59", "!= > >="),
            ("01.01.2026", "!="),
        ] {
            check_under(Semantics::V1, Value::Time(&noon), Value::Text(text), "!=");
            check_under(Semantics::V2, Value::Time(&noon), Value::Text(text), since_2);
        }
    }

    #[test]
    fn nothing_holds_of_a_missing_value() {
        check(Value::Missing, number("1"), "");
        check(Value::Missing, Value::Missing, "");
    }

    #[test]
    fn structures_are_unequal_to_everything() {
        check(Value::List(&[]), Value::List(&[]), "!=");
        check(Value::List(&[]), Value::Text("[]"), "!=");
    }
}
