//! Exact decimal numbers.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use core::cmp::Ordering;
use core::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::NUMBER_DIGITS_MAX;

/// An exact decimal number in its shortest plain form: `-?[0-9]+(\.[0-9]+)?`, without redundant zeros. Equal numbers
/// have equal texts.
///
/// The JSON form is that text. JSON numbers are also accepted, because manifests of
/// [`Semantics::V1`](crate::Semantics::V1) contain doubles.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(String);

impl Number {
    /// Most significant digits for which a number is the only one of that length with its nearest double.
    pub const SHORT_DIGITS_MAX: usize = 15;

    /// Parses a text that is entirely a plain decimal number, `-?[0-9]+(\.[0-9]+)?`, of at most [`NUMBER_DIGITS_MAX`]
    /// digits in total; redundant zeros do not count. Returns `None` for any other text.
    #[must_use]
    pub fn from_plain(text: &str) -> Option<Self> {
        let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
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
        let n_digits = n_significant(whole, fraction).max(whole.len()).max(fraction.len());
        if n_digits > NUMBER_DIGITS_MAX {
            return None;
        }
        Some(Self(match (whole, fraction) {
            ("", "") => "0".to_owned(),
            ("", fraction) => format!("{sign}0.{fraction}"),
            (whole, "") => format!("{sign}{whole}"),
            (whole, fraction) => format!("{sign}{whole}.{fraction}"),
        }))
    }

    /// Returns the shortest decimal number with this nearest double; `None` for NaN and infinities.
    #[must_use]
    pub fn from_f64(double: f64) -> Option<Self> {
        // `Display` writes every digit and no exponent.
        double.is_finite().then(|| Self((double + 0.0).to_string()))
    }

    /// Returns the plain decimal text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the nearest double.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// Returns whether the number has at most [`Self::SHORT_DIGITS_MAX`] significant digits.
    #[must_use]
    pub fn is_short(&self) -> bool {
        let unsigned = self.0.strip_prefix('-').unwrap_or(&self.0);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        n_significant(whole.trim_start_matches('0'), fraction) <= Self::SHORT_DIGITS_MAX
    }

    /// Returns the double that orders exactly against the doubles of all short numbers.
    #[must_use]
    pub fn comparable(&self) -> f64 {
        let nearest = self.to_f64();
        if self.is_short() { nearest } else { comparable_double(nearest, |short| self.cmp(short)) }
    }

    /// Returns the number with its sign inverted.
    #[must_use]
    pub fn negated(&self) -> Self {
        match self.0.strip_prefix('-') {
            Some(positive) => Self(positive.to_owned()),
            None if self.0 == "0" => self.clone(),
            None => Self(format!("-{}", self.0)),
        }
    }
}

/// Returns the double by which a number is compared with short ones ([`Number::is_short`]).
///
/// The result is `nearest`, unless that is also the double of a short number. Then it is the adjacent double on the
/// number's side, which `compare` determines against the short number. No short number has that double, because numbers
/// of 15 digits are several doubles apart.
pub fn comparable_double(nearest: f64, compare: impl FnOnce(&Number) -> Ordering) -> f64 {
    let Some(short) = Number::from_f64(nearest).filter(Number::is_short) else { return nearest };
    match compare(&short) {
        Ordering::Less => nearest.next_down(),
        Ordering::Equal => nearest,
        Ordering::Greater => nearest.next_up(),
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0.strip_prefix('-'), other.0.strip_prefix('-')) {
            (None, None) => compare_unsigned(&self.0, &other.0),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(left), Some(right)) => compare_unsigned(right, left),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn compare_unsigned(left: &str, right: &str) -> Ordering {
    fn parts(text: &str) -> (&str, &str) {
        text.split_once('.').unwrap_or((text, ""))
    }
    let ((left, left_fraction), (right, right_fraction)) = (parts(left), parts(right));
    let wholes = left.len().cmp(&right.len()).then_with(|| left.cmp(right));
    wholes.then_with(|| left_fraction.cmp(right_fraction))
}

/// Counts the digits from the first to the last nonzero one; `whole` has no leading zeros, `fraction` no trailing ones.
fn n_significant(whole: &str, fraction: &str) -> usize {
    match (whole, fraction) {
        ("", fraction) => fraction.trim_start_matches('0').len(),
        (whole, "") => whole.trim_end_matches('0').len(),
        (whole, fraction) => whole.len() + fraction.len(),
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self(number.to_string())
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a decimal number of at most {NUMBER_DIGITS_MAX} digits, as a text")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Number, E> {
        Number::from_plain(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_f64<E: serde::de::Error>(self, double: f64) -> Result<Number, E> {
        Number::from_f64(double).ok_or_else(|| E::custom("the number is not finite"))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number.to_string()))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Number, E> {
        Ok(Number(number.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, bool)>) {
        let number = Number::from_plain(text);
        let found = number.as_ref().map(|number| (number.as_str(), number.is_short()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_number_has_one_form() {
        check("042.50", Some(("42.5", true)));
        check("-0.0", Some(("0", true)));
        check("00", Some(("0", true)));
        check("-0.10", Some(("-0.1", true)));
        check("1000000000000000000", Some(("1000000000000000000", true)));
        check("1000000000000000001", Some(("1000000000000000001", false)));
        check("0.000000000000000000000001", Some(("0.000000000000000000000001", true)));
        check("123456789012345", Some(("123456789012345", true)));
        check("1234567890123456", Some(("1234567890123456", false)));
        check("12345678901234.56", Some(("12345678901234.56", false)));
    }

    #[test]
    fn numbers_are_in_the_order_of_their_values() {
        let number = |text| Number::from_plain(text).unwrap();
        let ordered = ["-10", "-9.5", "-9.25", "-0.1", "0", "0.09", "0.1", "0.11", "2", "10", "10.5", "100"];
        for pair in ordered.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn a_long_number_lies_beside_the_short_one_with_its_double() {
        let comparable = |text| Number::from_plain(text).unwrap().comparable();
        let short = 1e18;
        assert_eq!(comparable("1000000000000000000"), short);
        assert_eq!(comparable("1000000000000000001"), short.next_up());
        assert_eq!(comparable("999999999999999999"), short.next_down());
        assert_eq!(comparable("0.10000000000000001"), 0.1_f64.next_up());
        assert_eq!(comparable("-0.10000000000000001"), (-0.1_f64).next_down());
        assert_eq!(comparable("9007199254740993"), 9_007_199_254_740_992.0);
    }

    #[test]
    fn a_text_that_is_not_a_plain_decimal_is_not_a_number() {
        for text in ["", "-", "+1", "1.", ".1", "1e3", " 1", "0x1", "NaN", "٤٢", "1.2.3"] {
            check(text, None);
        }
        check(&"9".repeat(38), Some((&"9".repeat(38), false)));
        check(&"9".repeat(39), None);
        check(&alloc::format!("0.{}1", "0".repeat(38)), None);
    }

    #[test]
    fn json_has_the_text_and_a_double_is_read_too() {
        let read = |json: &str| serde_json::from_str::<Number>(json).map(|number| number.to_string());
        assert_eq!(read("\"0.50\"").unwrap(), "0.5");
        assert_eq!(read("0.1").unwrap(), "0.1");
        assert_eq!(read("-3").unwrap(), "-3");
        assert_eq!(read("1e21").unwrap(), "1000000000000000000000");
        assert!(read("\"1e3\"").is_err());
        assert_eq!(serde_json::to_string(&Number::from_plain("7.0").unwrap()).unwrap(), "\"7\"");
        for double in [0.1, 1e300, -2.5e-12, 9_007_199_254_740_992.0] {
            assert_eq!(Number::from_f64(double).unwrap().to_f64(), double);
        }
    }
}
