//! Exact arithmetic: fractions of big integers, rounded to a double once, at the end.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

/// Maximum number of digits before the point, after it, and between the first and the last non-zero digit.
const DIGITS_MAX: usize = 38;

/// A decimal number split into `sign whole.fraction`, without redundant zeros.
struct Digits {
    negative: bool,
    whole: String,
    fraction: String,
}

impl Digits {
    /// Parses `-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`; `None` for any other text.
    fn read(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number),
        };
        let (whole, fraction) = match number.split_once('.') {
            Some((_, "")) => return None,
            Some((whole, fraction)) => (whole, fraction),
            None => (number, ""),
        };
        if whole.is_empty() || !(whole.chars().chain(fraction.chars())).all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let (mut whole, mut fraction) = (whole.to_owned(), fraction.to_owned());
        for _ in 0..exponent {
            whole.push(if fraction.is_empty() { '0' } else { fraction.remove(0) });
        }
        for _ in exponent..0 {
            fraction.insert(0, whole.pop().unwrap_or('0'));
        }
        let whole = whole.trim_start_matches('0').to_owned();
        let fraction = fraction.trim_end_matches('0').to_owned();
        Some(Self { negative, whole, fraction })
    }

    fn is_kept(&self) -> bool {
        let all = format!("{}{}", self.whole, self.fraction);
        let significant = all.trim_matches('0').len();
        significant.max(self.whole.len()).max(self.fraction.len()) <= DIGITS_MAX
    }
}

/// Whether the whole text is a plain decimal number, `-?[0-9]+(\.[0-9]+)?`, within the size limits.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains(['e', 'E']) && Digits::read(text).is_some_and(|digits| digits.is_kept())
}

/// Parses a JSON number or a plain decimal text.
pub(super) fn parse(text: &str) -> Option<BigRational> {
    let digits = Digits::read(text)?;
    let all: BigInt = format!("0{}{}", digits.whole, digits.fraction).parse().ok()?;
    let n_digits = u32::try_from(digits.fraction.len()).ok()?;
    let magnitude = BigRational::new(all, BigInt::from(10).pow(n_digits));
    Some(if digits.negative { -magnitude } else { magnitude })
}

/// Formats a number without exponent and redundant zeros.
pub(super) fn plain_text(json: &str) -> Option<String> {
    let Digits { negative, whole, fraction } = Digits::read(json)?;
    let whole = if whole.is_empty() { "0" } else { &whole };
    let is_zero = whole == "0" && fraction.is_empty();
    let sign = if negative && !is_zero { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

/// Returns the double nearest to a fraction, with ties to even.
pub(super) fn nearest(fraction: &BigRational) -> f64 {
    if fraction.is_zero() {
        return 0.0;
    }
    let (numerator, denominator) = (fraction.numer().magnitude(), fraction.denom().magnitude());
    // About 70 bits of quotient: more than a double holds, fewer than a u128.
    let shift = 70 + bits(denominator) - bits(numerator);
    let (numerator, denominator) = if shift >= 0 {
        (numerator << shift, denominator.clone())
    } else {
        (numerator.clone(), denominator << -shift)
    };
    let quotient = (&numerator / &denominator).to_u128().unwrap_or(u128::MAX);
    // A sticky bit represents the cut-off remainder, so that the final rounding breaks ties correctly.
    let sticky = u128::from(!(numerator % denominator).is_zero());
    #[expect(clippy::cast_precision_loss, reason = "this is the rounding")]
    let rounded = (quotient | sticky) as f64;
    let magnitude = rounded * 2_f64.powi(-i32::try_from(shift).unwrap_or(0));
    if fraction.is_negative() { -magnitude } else { magnitude }
}

fn bits(number: &BigUint) -> i64 {
    i64::try_from(number.bits()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_times_a_tenth_is_three_tenths() {
        let tenth = parse("0.1").unwrap();
        assert_eq!(nearest(&(&tenth + &tenth + &tenth)), 0.3);
        assert_eq!(nearest(&parse("-1.5e-7").unwrap()), -1.5e-7);
        assert_eq!(nearest(&(parse("1").unwrap() / parse("3").unwrap())), 1.0 / 3.0);
    }

    #[test]
    fn doubles_survive_the_way_there_and_back() {
        for number in [0.1, 9.99, 1e21, 123_456_789.123, 5e-324_f64.max(1e-30), 2_f64.powi(53) + 2.0] {
            assert_eq!(nearest(&parse(&format!("{number:e}")).unwrap()), number, "{number}");
        }
        // Halfway between two doubles, and slightly above.
        assert_eq!(nearest(&parse("9007199254740993").unwrap()), 9_007_199_254_740_992.0);
        assert_eq!(nearest(&parse("9007199254740993.0001").unwrap()), 9_007_199_254_740_994.0);
    }

    #[test]
    fn a_number_is_written_out_in_full() {
        for (json, text) in [
            ("42.0", "42"),
            ("1e21", "1000000000000000000000"),
            ("1.5e-7", "0.00000015"),
            ("-0.0", "0"),
            ("-0.50", "-0.5"),
        ] {
            assert_eq!(plain_text(json).as_deref(), Some(text));
        }
    }

    #[test]
    fn only_plain_decimals_are_numbers() {
        for text in ["42", "0042", "042.0", "-1", "99999999999999999999999999999999999999"] {
            assert!(is_plain(text), "{text}");
        }
        for text in
            ["", "-", "1.", ".1", "1e3", "+1", " 1", "true", "100000000000000000000000000000000000000"]
        {
            assert!(!is_plain(text), "{text}");
        }
    }
}
