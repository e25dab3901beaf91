//! Texts that count as numbers.

use tollgate_guest_abi::limits::NUMBER_DIGITS_MAX;

/// The number that a text wholly is, `-?[0-9]+(\.[0-9]+)?`, as the nearest double.
///
/// `None` for every other text, and for one with more digits before or after the point, or between its first and last
/// that is not zero, than the host keeps.
pub(super) fn plain_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (unsigned, ""),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let n_significant = match (whole, fraction) {
        ("", fraction) => fraction.trim_start_matches('0').len(),
        (whole, "") => whole.trim_end_matches('0').len(),
        (whole, fraction) => whole.len() + fraction.len(),
    };
    let kept = n_significant.max(whole.len()).max(fraction.len()) <= NUMBER_DIGITS_MAX;
    if kept { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wholly_plain_decimal_is_a_number() {
        for (text, number) in
            [("42", 42.0), ("0042", 42.0), ("042.0", 42.0), ("-4.50", -4.5), ("0", 0.0), ("-0", 0.0)]
        {
            assert_eq!(plain_number(text), Some(number), "{text}");
        }
        for text in
            ["", "-", "--1", "+1", "1.", ".1", "1.2.3", "1e3", " 1", "1 ", "0x1", "NaN", "inf", "٤٢", "1_0"]
        {
            assert_eq!(plain_number(text), None, "{text}");
        }
    }

    #[test]
    fn more_than_38_digits_are_no_number() {
        assert_eq!(plain_number(&format!("00{}", "9".repeat(38))), Some(1e38));
        assert_eq!(plain_number(&"9".repeat(39)), None);
        assert_eq!(plain_number(&format!("1{}", "0".repeat(37))), Some(1e37));
        assert_eq!(plain_number(&format!("1{}", "0".repeat(38))), None);
        assert_eq!(plain_number(&format!("0.{}1", "0".repeat(37))), Some(1e-38));
        assert_eq!(plain_number(&format!("0.{}1", "0".repeat(38))), None);
        assert_eq!(plain_number(&format!("5.{}1", "0".repeat(37))), None);
        assert_eq!(plain_number(&format!("5.{}", "0".repeat(60))), Some(5.0));
    }
}
