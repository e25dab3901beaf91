//! The amount of a Blnk entry, with the highest available precision.
//!
//! Blnk counts units of `1 / precision` in `precise_amount`, which is exact in hooks and rows. In events it has passed
//! through a double. From 2^53 on, `amount_string` is then equally precise, and nothing better is available.

use tollgate_model::decimal::{Decimal, EXACT_MAX};
use tollgate_model::transaction::{AmountAgreement, InvalidTransaction, Json};

/// Maximum difference that is no contradiction, because Blnk truncates the amounts in rows.
const CUT_BEHIND: &str = "0.0000000000000001";

/// Reads the amount. `is_exact` states whether `precise_amount` has all its digits.
pub(super) fn read_amount(data: &Json, is_exact: bool) -> Result<Option<Decimal>, InvalidTransaction> {
    let reported = number(data, "amount");
    let Some(units) = number(data, "precise_amount") else { return Ok(written(data).or(reported)) };
    let precision = match number(data, "precision") {
        // Blnk treats a missing precision as 1.
        None | Some(Decimal::ZERO) => 0,
        Some(precision) => match power_of_ten(precision) {
            Some(power) => power,
            None if precision < Decimal::ZERO => return Err(invalid("precision", "a number of at least 1")),
            // A fraction such as a third of a unit is not a decimal.
            None => return Ok(written(data).or(reported)),
        },
    };
    if units.scale() > 0 {
        return Err(invalid("precise_amount", "a whole number"));
    }
    let exact = Decimal::from_json(&format!("{units}e-{precision}"))
        .map_err(|_| invalid("precise_amount", "at most 38 digits in units of `precision`"))?;
    if reported.is_some_and(|reported| !agree(exact, reported)) {
        return Err(invalid("precise_amount", "`amount` times `precision`"));
    }
    let is_small = units.mantissa().unsigned_abs() < u128::from(EXACT_MAX);
    Ok(Some(if is_exact || is_small { exact } else { written(data).unwrap_or(exact) }))
}

fn agree(exact: Decimal, reported: Decimal) -> bool {
    let cut = Decimal::from_plain(CUT_BEHIND).unwrap_or_default().to_f64();
    AmountAgreement::Doubles.holds(exact, reported) || (exact.to_f64() - reported.to_f64()).abs() <= cut
}

/// Parses `amount_string`, which has up to 17 digits.
fn written(data: &Json) -> Option<Decimal> {
    match data.at(&["amount_string"]) {
        Some(Json::Text(text)) => Decimal::from_plain(text),
        _ => None,
    }
}

fn number(data: &Json, name: &str) -> Option<Decimal> {
    match data.at(&[name]) {
        Some(Json::Number(number)) => Some(number.value()),
        _ => None,
    }
}

fn power_of_ten(number: Decimal) -> Option<u32> {
    (0..38).find(|&power| number.scale() == 0 && number.mantissa() == 10_i128.pow(power))
}

const fn invalid(field: &'static str, expected: &'static str) -> InvalidTransaction {
    InvalidTransaction::InvalidField { field, expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::transaction::JsonLimits;

    #[track_caller]
    fn check(data: &str, is_exact: bool, expected: Result<&str, &str>) {
        let data = Json::parse(format!("{{{data}}}").as_bytes(), JsonLimits::ENVELOPE).unwrap();
        let amount = read_amount(&data, is_exact).map(|amount| amount.unwrap().to_string());
        let field = amount.as_ref().map_err(|error| error.field().unwrap_or_default());
        assert_eq!(field.map(String::as_str), expected);
    }

    #[test]
    fn an_amount_is_as_exact_as_it_is_reported() {
        check(r#""amount": 20.5, "precise_amount": 2050, "precision": 100"#, false, Ok("20.5"));
        check(r#""amount": 1e-08, "precise_amount": 1, "precision": 100000000"#, false, Ok("0.00000001"));
        check(
            r#""amount": 0, "precise_amount": 1, "precision": 1000000000000000000"#,
            true,
            Ok("0.000000000000000001"),
        );
        let large = r#""amount": 1.2345678901234567, "amount_string": "1.2345678901234568", "precision": 1000000000000000000"#;
        check(&format!(r#"{large}, "precise_amount": 1234567890123456800"#), false, Ok("1.2345678901234568"));
        check(
            &format!(r#"{large}, "precise_amount": 1234567890123456789"#),
            true,
            Ok("1.234567890123456789"),
        );
        check(r#""amount": 7, "precise_amount": 7, "precision": 0"#, false, Ok("7"));
        check(
            r#""amount": 2.5, "amount_string": "2.5", "precise_amount": 5, "precision": 2"#,
            false,
            Ok("2.5"),
        );
        check(r#""amount": 2.5"#, true, Ok("2.5"));
    }

    #[test]
    fn a_contradictory_amount_is_refused() {
        check(r#""amount": 20.5, "precise_amount": 2051, "precision": 100"#, false, Err("precise_amount"));
        check(r#""amount": 20.5, "precise_amount": 20.5, "precision": 1"#, false, Err("precise_amount"));
        check(r#""amount": 20.5, "precise_amount": 2050, "precision": -100"#, false, Err("precision"));
    }
}
