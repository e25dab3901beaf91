//! Amounts of later reports of a ledger about one payment.
//!
//! A payment may be captured below its authorised amount, and a database may know digits that an event has lost. Both are
//! changes of the payment. Any other amount belongs to another payment.

use crate::decimal::Decimal;
use crate::transaction::{AmountAgreement, Json, JsonNumber, StatusWords, Transaction};

/// The amounts of a stored payment.
#[derive(Debug, Clone, Copy)]
pub struct StoredAmounts<'a> {
    /// The amount that was accepted.
    pub first: &'a JsonNumber,
    /// The amount after all changes.
    pub current: &'a JsonNumber,
}

/// How a reported amount compares with a stored one.
#[derive(Debug, Clone, Copy)]
pub struct AmountTerms<'a> {
    /// When two amounts are one.
    pub agreement: AmountAgreement,
    /// Whether the report has all digits.
    pub is_exact: bool,
    /// Says which statuses are settled.
    pub words: &'a StatusWords,
}

/// The effect of a reported amount.
#[derive(Debug, Clone, PartialEq)]
pub enum ReportedAmount {
    /// It is the amount of the payment.
    Same,
    /// It replaces the amount of the payment.
    Changed(JsonNumber),
    /// It is that of another payment.
    Other,
}

impl Transaction {
    /// Returns the effect of the amount of this report on a stored payment.
    #[must_use]
    pub fn reported_amount(
        &self,
        stored: StoredAmounts<'_>,
        AmountTerms { agreement: amounts, is_exact, words }: AmountTerms<'_>,
    ) -> ReportedAmount {
        let (reported, current) = (self.amount.value(), stored.current.value());
        let is_capture = Decimal::ZERO < reported
            && reported < current
            && self.status.as_deref().is_some_and(|status| words.is_settled(status));
        if amounts.holds(reported, current) {
            match is_exact && reported != current && self.status.is_some() {
                true => ReportedAmount::Changed(self.amount.clone()),
                false => ReportedAmount::Same,
            }
        } else if amounts.holds(reported, stored.first.value()) {
            // The authorisation is reported again.
            ReportedAmount::Same
        } else if is_capture {
            ReportedAmount::Changed(self.amount.clone())
        } else {
            ReportedAmount::Other
        }
    }

    /// Returns the same transaction with another amount.
    #[must_use]
    pub fn with_amount(self, amount: &JsonNumber) -> Transaction {
        Transaction { amount: amount.clone(), ..self }
    }
}

impl JsonNumber {
    /// Parses a number that the service stored.
    #[must_use]
    pub fn from_stored(text: &str) -> Option<Self> {
        match Json::reread(text) {
            Some(Json::Number(number)) => Some(number),
            _ => None,
        }
    }
}

/// Returns the first field in which a report is about another payment, or what becomes of the amount.
///
/// # Errors
/// The name of that field.
pub fn compare_report(
    report: &Transaction,
    stored: &Transaction,
    current: Option<&JsonNumber>,
    terms: AmountTerms<'_>,
) -> Result<Option<JsonNumber>, &'static str> {
    let stored_amounts = StoredAmounts { first: &stored.amount, current: current.unwrap_or(&stored.amount) };
    let changed = match report.reported_amount(stored_amounts, terms) {
        ReportedAmount::Other => return Err("amount"),
        ReportedAmount::Same => None,
        ReportedAmount::Changed(amount) => Some(amount),
    };
    let reported = Transaction { amount: stored.amount.clone(), ..report.clone() };
    reported.disagreement_with(stored, terms.agreement).map_or(Ok(changed), Err)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn number(text: &str) -> JsonNumber {
        JsonNumber::from_stored(text).unwrap()
    }

    #[track_caller]
    fn check(
        reported: &str,
        status: &str,
        [first, current]: [&str; 2],
        is_exact: bool,
        expected: Option<&str>,
    ) {
        let body =
            format!(r#"{{"amount": {reported}, "currency": "EUR", "reference": "r", "status": "{status}"}}"#);
        let report = Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap().0;
        let (first, current) = (number(first), number(current));
        let stored = StoredAmounts { first: &first, current: &current };
        let agreement = if is_exact { AmountAgreement::Doubles } else { AmountAgreement::Exact };
        let terms = AmountTerms { agreement, is_exact, words: &StatusWords::built_in() };
        let effect = match report.reported_amount(stored, terms) {
            ReportedAmount::Other => None,
            ReportedAmount::Same => Some("same".to_owned()),
            ReportedAmount::Changed(amount) => Some(amount.as_str().to_owned()),
        };
        assert_eq!(effect.as_deref(), expected, "{reported} {status}");
    }

    #[test]
    fn only_a_settled_status_lowers_an_amount() {
        check("60", "applied", ["100", "100"], false, Some("60"));
        check("60", "SETTLED", ["100", "100"], false, Some("60"));
        check("40", "applied", ["100", "60"], false, Some("40"));
        check("100", "applied", ["100", "60"], false, Some("same"));
        check("100.0", "applied", ["100", "100"], false, Some("same"));
        for (reported, status) in
            [("60", "pending"), ("60", "void"), ("60", "on the desk"), ("101", "applied"), ("0", "applied")]
        {
            check(reported, status, ["100", "100"], false, None);
        }
        check("70", "applied", ["100", "60"], false, None);
        check("-60", "applied", ["-50", "-50"], false, None);
    }

    #[test]
    fn exact_digits_replace_rounded_ones() {
        let rounded = "1.2345678901234568";
        check("1.234567890123456789", "applied", [rounded, rounded], true, Some("1.234567890123456789"));
        check(rounded, "applied", [rounded, "1.234567890123456789"], false, Some("same"));
    }
}
