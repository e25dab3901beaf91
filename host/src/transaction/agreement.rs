//! Whether two tellings are of one transaction.

use std::sync::Arc;

use crate::transaction::Transaction;

impl Transaction {
    /// Whether another telling of this transaction says the same of what is moved: the amount by its value, the currency,
    /// the reference, and the two accounts where both name them. A ledger's own row says more in some places and less in
    /// others than the request that was sent about it, and times by another clock.
    #[must_use]
    pub fn agrees_with(&self, other: &Transaction) -> bool {
        self.amount == other.amount
            && self.currency == other.currency
            && self.reference == other.reference
            && is_same_where_named(&self.source, &other.source)
            && is_same_where_named(&self.destination, &other.destination)
    }
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
        assert_eq!(first.agrees_with(&other), expected, "{fields}");
        assert_eq!(other.agrees_with(&first), expected, "{fields}");
    }

    #[test]
    fn what_is_moved_has_to_be_the_same_and_the_rest_need_not() {
        check(r#"{"amount": 1.5, "currency": "EUR", "reference": "r"}"#, true);
        check(
            r#"{"amount": 15e-1, "currency": "EUR", "reference": "r", "source": "a", "destination": "b",
            "status": "void", "description": "d", "meta_data": {"k": 1}, "created_at": "2026-01-01T00:00:00Z"}"#,
            true,
        );
        check(r#"{"amount": 1.51, "currency": "EUR", "reference": "r"}"#, false);
        check(r#"{"amount": 1.5, "currency": "eur", "reference": "r"}"#, false);
        check(r#"{"amount": 1.5, "currency": "EUR", "reference": "s"}"#, false);
        check(r#"{"amount": 1.5, "currency": "EUR", "reference": "r", "source": "b"}"#, false);
    }
}
