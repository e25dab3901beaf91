//! Amounts that are sent as texts. Many senders write JSON numbers as binary fractions, and a text keeps their digits.

use crate::transaction::{Json, JsonNumber};

/// Replaces an amount that is a text of a decimal number by that number. The two are one payment, so this comes before the
/// fingerprint. Any other text stays, and is refused later.
pub(super) fn read_amount(entries: &mut [(Box<str>, Json)]) {
    let Some((_, amount)) = entries.iter_mut().find(|(name, _)| **name == *"amount") else { return };
    if let Json::Text(text) = amount
        && let Some(number) = number_of(text)
    {
        *amount = number;
    }
}

/// Reads `-?[0-9]+(\.[0-9]+)?`. The number has the digits of the text, without zeros before the first one of the whole part.
fn number_of(text: &str) -> Option<Json> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !fraction.is_none_or(is_digits) {
        return None;
    }
    let significant = whole.trim_start_matches('0');
    let whole = if significant.is_empty() { "0" } else { significant };
    let number = match fraction {
        Some(fraction) => format!("{sign}{whole}.{fraction}"),
        None => format!("{sign}{whole}"),
    };
    Some(JsonNumber::of_json(&number).map_or_else(|_| Json::WideNumber(number.into()), Json::Number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let read = number_of(text).map(|number| match number {
            Json::Number(number) => number.as_str().to_owned(),
            other => format!("{other:?}"),
        });
        assert_eq!(read.as_deref(), expected, "{text}");
    }

    #[test]
    fn a_text_is_an_amount_if_it_is_digits_with_a_point() {
        for text in ["0", "10", "10.50", "-10.50", "0.1", "-0", "99999999999999999999999999999999999999"] {
            check(text, Some(text));
        }
        check("007.50", Some("7.50"));
        check("00", Some("0"));
        check("-00.5", Some("-0.5"));
        for text in [
            "", "-", ".", ".5", "5.", "+1", "--1", "1e3", "1E3", "1.5e0", " 1", "1 ", "1\n", "1,5", "1_000",
            "0x10", "1.2.3", "NaN", "Infinity", "١", "１", "1-",
        ] {
            check(text, None);
        }
        let wide = "9".repeat(39);
        check(&wide, Some(&format!("WideNumber(\"{wide}\")")));
    }
}
