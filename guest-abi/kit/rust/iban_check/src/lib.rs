//! Matches payments to an IBAN with wrong check digits. The cause is a typing error or an attempt to probe accounts.
//! The score rises with the number of payments this account made within the last hour.
#![no_std]
#![forbid(unsafe_code)]

use tollgate_rule::{rule, set_score, Aggregate, Field, Reason};

rule!(matches, "../manifest.json");

// Slots of the manifest.
const IBAN: Field = Field(0);
const PAYMENTS_WITHIN_THE_HOUR: Aggregate = Aggregate(0);

/// Length of the longest IBAN, with a blank after every fourth character.
const IBAN_BYTES_MAX: usize = 42;

fn matches() -> bool {
    let mut buffer = [0; IBAN_BYTES_MAX];
    let iban = match IBAN.text(&mut buffer) {
        Some(iban) if !holds(iban) => iban,
        _ => return false,
    };
    let n_payments = PAYMENTS_WITHIN_THE_HOUR.value();
    set_score(0.5 + 0.1 * n_payments.min(4.0));
    let mut reason = Reason::<128>::new();
    reason.words("The check digits of IBAN ").words(iban).words(" do not hold");
    if n_payments > 0.0 {
        reason.words("; payments of this account within the hour: ").number(n_payments as u32);
    }
    reason.set();
    true
}

/// Checks an IBAN: with its first four characters moved to the end, its number must leave 1 when divided by 97.
fn holds(iban: &str) -> bool {
    let symbols = || iban.bytes().filter(|byte| *byte != b' ');
    let mut rest = 0;
    for symbol in symbols().skip(4).chain(symbols().take(4)) {
        rest = match symbol {
            b'0'..=b'9' => rest * 10 + u32::from(symbol - b'0'),
            b'A'..=b'Z' => rest * 100 + u32::from(symbol - b'A') + 10,
            _ => return false,
        } % 97;
    }
    rest == 1 && (15..=34).contains(&symbols().count())
}
