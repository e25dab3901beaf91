//! Comparison of a ledger entry with the payment that it names, by what they move.
//!
//! Anybody who may write a reference or metadata can name a payment. Accounts and amounts come from the ledger.

use std::sync::Arc;

use tollgate_model::transaction::{AmountAgreement, Transaction, can_be_same_account, is_same_currency};

/// How the accounts of an entry agree with those of a payment. An account that one of the two does not name agrees with
/// every account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountComparison {
    /// The entry moves money in the direction of the payment.
    pub is_same: bool,
    /// The entry moves money back.
    pub is_swapped: bool,
}

impl AccountComparison {
    /// Compares an entry with a payment. Two currencies never agree.
    #[must_use]
    pub fn new(entry: &Transaction, payment: &Transaction) -> Self {
        let has_same_currency = is_same_currency(&entry.currency, &payment.currency);
        let agree = |source: &Option<Arc<str>>, destination: &Option<Arc<str>>| {
            has_same_currency
                && can_be_same_account(source, &payment.source)
                && can_be_same_account(destination, &payment.destination)
        };
        Self {
            is_same: agree(&entry.source, &entry.destination),
            is_swapped: agree(&entry.destination, &entry.source),
        }
    }
}

/// Returns whether an entry can be bookkeeping about a payment of the account `main`: it moves no more than the payment,
/// between other accounts.
#[must_use]
pub fn can_shadow(
    entry: &Transaction,
    main: &Arc<str>,
    payment: &Transaction,
    amounts: AmountAgreement,
) -> bool {
    let accounts = [&payment.source, &payment.destination];
    let main = Some(Arc::clone(main));
    let is_of_main = accounts.iter().any(|account| can_be_same_account(account, &main));
    let is_named = |account: &Option<Arc<str>>| account.is_some() && accounts.contains(&account);
    let (moved, paid) = (entry.amount.value(), payment.amount.value());
    is_of_main
        && !is_named(&entry.source)
        && !is_named(&entry.destination)
        && is_same_currency(&entry.currency, &payment.currency)
        && (moved <= paid || amounts.holds(moved, paid))
}

/// Returns whether an entry can be a leg of a split payment, by currency and accounts: an account that the payment names
/// is that of the entry on the same side, by the same text. An indicator says nothing, because it can stand for every
/// balance. An entry of a payment that names no account is none.
#[must_use]
pub fn can_be_leg(entry: &Transaction, payment: &Transaction) -> bool {
    let is_shared = |own: &Option<Arc<str>>, paid: &Option<Arc<str>>| own.is_some() && own == paid;
    is_same_currency(&entry.currency, &payment.currency)
        && (is_shared(&entry.source, &payment.source) || is_shared(&entry.destination, &payment.destination))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn moved(source: &str, destination: &str, amount: u32) -> Transaction {
        let body = format!(
            r#"{{"amount": {amount}, "currency": "EUR", "reference": "r", "source": "{source}", "destination": "{destination}"}}"#
        );
        Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap().0
    }

    #[track_caller]
    fn check(entry: [&str; 2], payment: [&str; 2], is_same: bool, is_swapped: bool) {
        let [entry, payment] = [entry, payment].map(|[from, to]| moved(from, to, 1));
        assert_eq!(AccountComparison::new(&entry, &payment), AccountComparison { is_same, is_swapped });
    }

    #[test]
    fn the_direction_of_an_entry_is_that_of_its_accounts() {
        check(["a", "b"], ["a", "b"], true, false);
        check(["b", "a"], ["a", "b"], false, true);
        check(["a", "c"], ["a", "b"], false, false);
        check(["a", "a"], ["a", "a"], true, true);
        check(["", "b"], ["a", "b"], true, false);
        // An indicator stands for a balance with an id.
        check(["bln_1", "b"], ["@world", "b"], true, false);
        check(["@other", "@b"], ["@world", "@b"], false, false);
    }

    #[test]
    fn a_leg_shares_an_account_with_its_payment_by_text() {
        for (entry, payment, expected) in [
            (["a", "x"], ["a", "b"], true),
            (["x", "b"], ["a", "b"], true),
            (["x", "y"], ["a", "b"], false),
            (["b", "a"], ["a", "b"], false),
            (["bln_1", "b"], ["@world", "b"], true),
            (["a", "x"], ["a", "@payout"], true),
            // An indicator can stand for every balance, so it identifies none.
            (["bln_1", "x"], ["@world", "b"], false),
            (["x", "y"], ["a", "@payout"], false),
            (["x", "y"], ["@world", "@payout"], false),
            (["@world", "y"], ["x", "b"], false),
            (["@world", "y"], ["@world", "@payout"], true),
            (["x", "y"], ["", ""], false),
            (["", "y"], ["", "b"], false),
        ] {
            let (leg, whole) = (moved(entry[0], entry[1], 1), moved(payment[0], payment[1], 10));
            assert_eq!(can_be_leg(&leg, &whole), expected, "{entry:?} {payment:?}");
        }
    }

    #[test]
    fn bookkeeping_moves_no_more_than_its_payment_between_other_accounts() {
        let payment = moved("a", "b", 10);
        for (source, destination, amount, main, expected) in [
            ("x", "y", 10, "a", true),
            ("x", "y", 3, "b", true),
            ("x", "y", 11, "a", false),
            ("x", "y", 10, "c", false),
            ("a", "y", 10, "b", false),
            ("x", "b", 10, "a", false),
        ] {
            let entry = moved(source, destination, amount);
            let can = can_shadow(&entry, &Arc::from(main), &payment, AmountAgreement::Exact);
            assert_eq!(can, expected, "{source} {destination} {amount} {main}");
        }
    }
}
