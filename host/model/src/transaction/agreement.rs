//! Comparison of two reports of the same transaction.

use std::sync::Arc;

use crate::decimal::Decimal;
use crate::transaction::identifier::without_blanks_at_ends;
use crate::transaction::json::shown;
use crate::transaction::{Json, Transaction};

/// Maximum relative difference of two doubles that agree to 15 significant digits.
const DOUBLES_DIFFER: f64 = 1e-15;

/// The rule by which two amounts of a payment agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AmountAgreement {
    /// The values are equal.
    #[default]
    Exact,
    /// The values agree to 15 significant digits, because one of them may have passed through a double.
    Doubles,
}

impl AmountAgreement {
    /// Returns whether the amounts agree.
    #[must_use]
    pub fn holds(self, one: Decimal, other: Decimal) -> bool {
        match self {
            AmountAgreement::Exact => one == other,
            AmountAgreement::Doubles => {
                let (a, b) = (one.to_f64(), other.to_f64());
                one == other || (a - b).abs() <= a.abs().max(b.abs()) * DOUBLES_DIFFER
            }
        }
    }
}

impl AmountAgreement {
    /// Returns whether two reports can name the same account. A ledger of doubles, which is Blnk, also replaces the
    /// indicator of a balance by its id.
    fn is_same_account(self, one: &Option<Arc<str>>, other: &Option<Arc<str>>) -> bool {
        match self {
            AmountAgreement::Exact => is_same_where_named(one, other),
            AmountAgreement::Doubles => can_be_same_account(one, other),
        }
    }
}

impl Transaction {
    /// Returns the first field in which another report disagrees about the movement: amount, currency, or an account
    /// that both name. Other fields may differ. A row or event of the ledger may contain more or less than the request,
    /// and times of another clock.
    #[must_use]
    pub fn disagreement_with(&self, other: &Transaction, amounts: AmountAgreement) -> Option<&'static str> {
        let same = [
            ("amount", amounts.holds(self.amount.value(), other.amount.value())),
            ("currency", is_same_currency(&self.currency, &other.currency)),
            ("source", amounts.is_same_account(&self.source, &other.source)),
            ("destination", amounts.is_same_account(&self.destination, &other.destination)),
        ];
        same.into_iter().find(|(_, is_same)| !is_same).map(|(field, _)| field)
    }

    /// Returns the wire path of the first field in which a transaction with the same id differs. Returns `None` if only
    /// `created_at` can differ, which the service fills in if it is absent.
    #[must_use]
    pub fn difference_from(&self, other: &Transaction) -> Option<String> {
        let same = [
            ("amount", self.amount == other.amount),
            ("currency", self.currency == other.currency),
            ("source", self.source == other.source),
            ("destination", self.destination == other.destination),
            ("reference", self.reference == other.reference),
            ("description", self.description == other.description),
            ("status", self.status == other.status),
            ("hash", self.hash == other.hash),
            ("allow_overdraft", self.allow_overdraft == other.allow_overdraft),
            ("inflight", self.inflight == other.inflight),
            ("skip_queue", self.skip_queue == other.skip_queue),
            ("atomic", self.atomic == other.atomic),
            ("effective_date", self.effective_date == other.effective_date),
            ("scheduled_for", self.scheduled_for == other.scheduled_for),
            ("inflight_expiry_date", self.inflight_expiry_date == other.inflight_expiry_date),
        ];
        let named = same.into_iter().find(|(_, is_same)| !is_same).map(|(field, _)| field.to_owned());
        let in_metadata = || match (&self.metadata, &other.metadata) {
            (Some(Json::Object(one)), Some(Json::Object(another))) => {
                difference_of(one, another).map(|key| format!("meta_data.{key}"))
            }
            (one, another) => (one.is_some() != another.is_some()).then(|| "meta_data".to_owned()),
        };
        named.or_else(in_metadata).or_else(|| difference_of(&self.unnamed, &other.unnamed))
    }
}

/// Returns whether two reports can name the same account: one names none, or one names a balance by its indicator, such
/// as `@world`, and the other by its id.
#[must_use]
pub fn can_be_same_account(one: &Option<Arc<str>>, other: &Option<Arc<str>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other || one.starts_with('@') != other.starts_with('@'),
        _ => true,
    }
}

/// Returns the first key whose values differ between two objects.
fn difference_of(one: &[(Box<str>, Json)], other: &[(Box<str>, Json)]) -> Option<String> {
    let of = |entries: &[(Box<str>, Json)], key: &str| {
        entries.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.canonical())
    };
    let keys = one.iter().chain(other).map(|(key, _)| key);
    keys.into_iter().find(|key| of(one, key) != of(other, key)).map(|key| shown(key))
}

/// Returns whether two currencies are equal in the language: regardless of ASCII case, and of blanks at the ends.
#[must_use]
pub fn is_same_currency(one: &str, other: &str) -> bool {
    without_blanks_at_ends(one).eq_ignore_ascii_case(without_blanks_at_ends(other))
}

fn is_same_where_named(one: &Option<Arc<str>>, other: &Option<Arc<str>>) -> bool {
    one.is_none() || other.is_none() || one == other
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[track_caller]
    fn check(fields: &str, expected: bool) {
        let first = r#"{"amount": 1.50, "currency": "EUR", "reference": "r", "source": "a"}"#;
        let of = |body: &str| Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap().0;
        let (first, other) = (of(first), of(fields));
        assert_eq!(first.disagreement_with(&other, AmountAgreement::Exact).is_none(), expected, "{fields}");
        assert_eq!(other.disagreement_with(&first, AmountAgreement::Exact).is_none(), expected, "{fields}");
    }

    #[test]
    fn transactions_agree_if_amount_currency_and_known_accounts_are_equal() {
        check(r#"{"amount": 1.5, "currency": "EUR", "reference": "r"}"#, true);
        check(
            r#"{"amount": 15e-1, "currency": "EUR", "reference": "r", "source": "a", "destination": "b",
            "status": "void", "description": "d", "meta_data": {"k": 1}, "created_at": "2026-01-01T00:00:00Z"}"#,
            true,
        );
        check(r#"{"amount": 1.51, "currency": "EUR", "reference": "r"}"#, false);
        check(r#"{"amount": 1.5, "currency": "eur", "reference": "r"}"#, true);
        check(r#"{"amount": 1.5, "currency": "EU", "reference": "r"}"#, false);
        check(r#"{"amount": 1.5, "currency": "EUR", "reference": "s"}"#, true);
        check(r#"{"amount": 1.5, "currency": "EUR", "reference": "r", "source": "b"}"#, false);
    }

    #[test]
    fn an_indicator_and_an_id_are_one_account_of_blnk_alone() {
        let of = |source: &str| {
            let body =
                format!(r#"{{"amount": 1, "currency": "EUR", "reference": "r", "source": "{source}"}}"#);
            Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap().0
        };
        for (one, other, expected) in [
            ("@world", "bln_1", None),
            ("@world", "@cash", Some("source")),
            ("bln_1", "bln_2", Some("source")),
        ] {
            assert_eq!(of(one).disagreement_with(&of(other), AmountAgreement::Doubles), expected);
            assert_eq!(of(one).disagreement_with(&of(other), AmountAgreement::Exact), Some("source"));
        }
    }

    #[test]
    fn amounts_that_went_through_doubles_are_the_same_to_15_digits() {
        for (one, other, expected) in [
            ("123456789012.3456789012345679", "123456789012.34567890123456789", true),
            ("1.2345678901234568", "1.234567890123456789", true),
            ("0.1", "0.1", true),
            ("0", "0", true),
            ("0", "0.000000000000000001", false),
            ("100", "100.000000000001", false),
            ("100.00", "100.01", false),
        ] {
            let [one, other] = [one, other].map(|text| Decimal::from_plain(text).unwrap());
            assert_eq!(AmountAgreement::Doubles.holds(one, other), expected, "{one} {other}");
        }
    }

    #[track_caller]
    fn check_difference(fields: &str, expected: Option<&str>) {
        let first = r#"{"amount": 1.50, "currency": "EUR", "reference": "r", "source": "a", "meta_data": {"k": [1], "l": 2}, "x": 1}"#;
        let of = |body: &str| Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap().0;
        let (first, other) = (of(first), of(&format!("{{{fields}}}")));
        assert_eq!(other.difference_from(&first).as_deref(), expected, "{fields}");
    }

    #[test]
    fn the_first_field_that_differs_is_named() {
        let same = r#""amount": 1.5, "currency": "EUR", "reference": "r", "source": "a""#;
        let rest = r#""meta_data": {"l": 2.0, "k": [1]}, "x": 1.0"#;
        check_difference(&format!("{same}, {rest}"), None);
        check_difference(&format!("{same}, {rest}, \"created_at\": \"2026-01-01T00:00:00Z\""), None);
        check_difference(&format!("{}, {rest}", same.replace("1.5", "1.51")), Some("amount"));
        check_difference(&format!("{same}, {rest}, \"inflight\": true"), Some("inflight"));
        check_difference(&format!("{same}, \"x\": 1"), Some("meta_data"));
        check_difference(&format!("{same}, {}", rest.replace("[1]", "[2]")), Some("meta_data.k"));
        check_difference(&format!("{same}, {}", rest.replace("\"l\"", "\"m\"")), Some("meta_data.m"));
        check_difference(&format!("{same}, {}", rest.replace("1.0", "2")), Some("x"));
        check_difference(&format!("{same}, {rest}, \"y\\n\": 1"), Some("y\\n"));
    }
}
