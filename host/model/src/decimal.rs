//! Exact decimal numbers: the value of a JSON number instead of its nearest double.

use std::cmp::Ordering;
use std::fmt;

use tollgate_guest_abi::comparable_double;
use tollgate_guest_abi::limits::NUMBER_DIGITS_MAX;

/// The bound up to which every integer is an exact double.
pub const EXACT_MAX: u64 = 1 << 53;
/// The powers of ten that are exact doubles, starting at 1.
pub const EXACT_POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Exclusive bound of numbers with at most 15 digits.
const SHORT_MAX: u128 = 1_000_000_000_000_000;

/// A number `mantissa / 10^scale` without trailing zeros, at most 38 digits before and after the point together.
///
/// Equal numbers are equal values: `1.10`, `1.1` and `11e-1` are the same [`Decimal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Decimal {
    mantissa: i128,
    scale: u8,
}

/// The error for a number that cannot be represented exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a number has at most {NUMBER_DIGITS_MAX} digits, before and after the point together")]
pub struct DecimalError;

/// Bytes that are looked at together, because that is many times faster than one by one.
const BLOCK: usize = 32;

/// Returns whether all bytes are digits.
fn has_only_digits(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    // Without an early end inside a block, so that the compiler compares all its bytes at once.
    let are_digits =
        |block: &[u8; BLOCK]| block.iter().fold(true, |so_far, byte| so_far & byte.is_ascii_digit());
    blocks.iter().all(are_digits) && rest.iter().all(u8::is_ascii_digit)
}

/// Returns the number of zeros at the beginning.
fn n_leading_zeros(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let n_blocks = blocks.iter().take_while(|block| **block == [b'0'; BLOCK]).count();
    let rest = bytes.get(n_blocks * BLOCK..).unwrap_or_default();
    n_blocks * BLOCK + rest.iter().take_while(|byte| **byte == b'0').count()
}

impl Decimal {
    /// Zero.
    pub const ZERO: Decimal = Decimal { mantissa: 0, scale: 0 };

    /// Parses a JSON number: `-?digits[.digits][e[+-]digits]`. The text must already have this form.
    ///
    /// # Errors
    /// If it has more than 38 significant digits, or needs more than 38 before or after the point.
    pub fn from_json(text: &str) -> Result<Self, DecimalError> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (number, exponent) = match rest.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, read_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        Self::from_digits(negative, whole, fraction, exponent)
    }

    /// Parses a plain decimal number, `-?[0-9]+(\.[0-9]+)?`. Returns `None` for any other text, and for too many
    /// digits.
    #[must_use]
    #[inline]
    pub fn from_plain(text: &str) -> Option<Self> {
        // Most texts are not numbers; the first byte rules them out.
        match text.as_bytes().first() {
            Some(b'-' | b'0'..=b'9') => Self::read_plain(text),
            _ => None,
        }
    }

    fn read_plain(text: &str) -> Option<Self> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        if !rest.as_bytes().first().is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let (whole, fraction) = match rest.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (rest, ""),
        };
        if !has_only_digits(whole.as_bytes()) || !has_only_digits(fraction.as_bytes()) {
            return None;
        }
        Self::from_digits(negative, whole, fraction, 0).ok()
    }

    fn from_digits(negative: bool, whole: &str, fraction: &str, exponent: i32) -> Result<Self, DecimalError> {
        let mut mantissa: i128 = 0;
        let mut n_digits = 0_usize;
        // Counts zeros until a digit follows, so that trailing zeros do not use up digits.
        let mut n_zeros_held = 0_usize;
        for part in [whole.as_bytes(), fraction.as_bytes()] {
            let mut rest = part;
            loop {
                let n_zeros = n_leading_zeros(rest);
                n_zeros_held += if n_digits > 0 { n_zeros } else { 0 };
                let Some((byte, after)) = rest.get(n_zeros..).and_then(<[u8]>::split_first) else { break };
                n_digits += n_zeros_held + 1;
                if n_digits > NUMBER_DIGITS_MAX {
                    return Err(DecimalError);
                }
                for _ in 0..n_zeros_held {
                    mantissa *= 10;
                }
                n_zeros_held = 0;
                mantissa = mantissa * 10 + i128::from(byte - b'0');
                rest = after;
            }
        }
        if mantissa == 0 {
            return Ok(Self::ZERO);
        }
        let to_i64 = |count: usize| i64::try_from(count).map_err(|_| DecimalError);
        let scale = to_i64(fraction.len())? - to_i64(n_zeros_held)? - i64::from(exponent);
        let signed = if negative { -mantissa } else { mantissa };
        Self::scaled(signed, n_digits, scale)
    }

    fn scaled(mantissa: i128, n_digits: usize, scale: i64) -> Result<Self, DecimalError> {
        if scale >= 0 {
            let scale = u8::try_from(scale).map_err(|_| DecimalError)?;
            return if usize::from(scale) <= NUMBER_DIGITS_MAX {
                Ok(Self { mantissa, scale })
            } else {
                Err(DecimalError)
            };
        }
        let n_zeros = u32::try_from(-scale).map_err(|_| DecimalError)?;
        if n_digits + n_zeros as usize > NUMBER_DIGITS_MAX {
            return Err(DecimalError);
        }
        Ok(Self { mantissa: mantissa * 10_i128.pow(n_zeros), scale: 0 })
    }

    /// Returns `units / 10^scale`.
    ///
    /// # Panics
    /// If the scale is greater than 38.
    #[must_use]
    pub const fn of_units(units: i64, scale: u8) -> Self {
        assert!(scale as usize <= NUMBER_DIGITS_MAX, "a decimal has at most 38 digits after the point");
        let (mut units, mut scale) = (units, scale);
        while scale > 0 && units % 10 == 0 {
            units /= 10;
            scale -= 1;
        }
        Self { mantissa: units as i128, scale }
    }

    /// Creates a decimal from a stored mantissa and scale. Returns `None` if they are not in canonical form.
    pub fn of_parts(mantissa: i128, scale: u8) -> Option<Self> {
        let is_short = mantissa.unsigned_abs() < 10_u128.pow(38) && usize::from(scale) <= NUMBER_DIGITS_MAX;
        (is_short && (scale == 0 || mantissa % 10 != 0)).then_some(Self { mantissa, scale })
    }

    /// Returns the number in units of `10^-scale`, or `None` if that is not an integer of 64 bits.
    #[must_use]
    #[inline]
    pub fn units(self, scale: u8) -> Option<i64> {
        let units = i64::try_from(self.mantissa).ok()?;
        match scale.checked_sub(self.scale)? {
            // The common case.
            0 => Some(units),
            n_more => units.checked_mul(10_i64.checked_pow(u32::from(n_more))?),
        }
    }

    /// Returns the sum, or `None` if it has too many digits.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let widened = |decimal: Self| {
            decimal.mantissa.checked_mul(10_i128.checked_pow(u32::from(scale - decimal.scale))?)
        };
        let (mut mantissa, mut scale) = (widened(self)?.checked_add(widened(other)?)?, scale);
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        Self::of_parts(mantissa, scale)
    }

    /// Returns the difference, or `None` if it has too many digits.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(Self { mantissa: -other.mantissa, ..other })
    }

    /// Returns the digits as one integer, at most 38 of them.
    #[must_use]
    pub const fn mantissa(self) -> i128 {
        self.mantissa
    }

    /// Returns the number of digits after the point, at most 38.
    #[must_use]
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// Returns whether the number has at most 15 significant digits. Different short numbers have different nearest
    /// doubles.
    #[must_use]
    #[inline]
    pub const fn is_short(self) -> bool {
        let mut mantissa = self.mantissa.unsigned_abs();
        while mantissa >= SHORT_MAX && mantissa.is_multiple_of(10) {
            mantissa /= 10;
        }
        mantissa < SHORT_MAX
    }

    /// Returns a double that compares with the double of every short number as this number does, see
    /// [`comparable_double`].
    #[must_use]
    #[inline]
    pub fn comparable(self) -> f64 {
        let nearest = self.to_f64();
        if self.is_short() { nearest } else { self.comparable_beside(nearest) }
    }

    #[cold]
    fn comparable_beside(self, nearest: f64) -> f64 {
        // A double that no decimal represents lies outside the range of valid numbers.
        let compare = |short: Self| self.cmp(&short);
        comparable_double(nearest, |short| Self::from_plain(short.as_str()).map_or(Ordering::Equal, compare))
    }

    /// Returns the nearest double.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        // Numerator and denominator are exact doubles, so the single division rounds once.
        if let (Some(numerator), Some(denominator)) =
            (exact_double(self.mantissa), EXACT_POWERS_OF_TEN.get(usize::from(self.scale)))
        {
            return numerator / denominator;
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

/// Returns the number as a double if it is small enough to be exact.
#[inline]
pub fn exact_double(number: i128) -> Option<f64> {
    let number = i64::try_from(number).ok().filter(|number| number.unsigned_abs() <= EXACT_MAX)?;
    #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
    let double = number as f64;
    Some(double)
}

/// Reads an exponent, saturated. Beyond a few thousand, every number other than zero is out of range anyway.
fn read_exponent(text: &str) -> Result<i32, DecimalError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut value: i32 = 0;
    for byte in digits.bytes() {
        value = (value * 10 + i32::from(byte - b'0')).min(1_000_000);
    }
    Ok(if negative { -value } else { value })
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let units = self.mantissa.unsigned_abs();
        let scale = usize::from(self.scale);
        // Most numbers are short, and 64-bit division is fast.
        match (u64::try_from(units), 10_u64.checked_pow(u32::from(self.scale))) {
            _ if scale == 0 => write!(f, "{sign}{units}"),
            (Ok(units), Some(one)) => write!(f, "{sign}{}.{:0>scale$}", units / one, units % one),
            _ => {
                let one = 10_u128.pow(u32::from(self.scale));
                write!(f, "{sign}{}.{:0>scale$}", units / one, units % one)
            }
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.mantissa.cmp(&other.mantissa);
        }
        // Most numbers have few digits, so 64 bits suffice.
        let scale = self.scale.max(other.scale);
        if let (Some(left), Some(right)) = (self.units(scale), other.units(scale)) {
            return left.cmp(&right);
        }
        let signs = self.mantissa.signum().cmp(&other.mantissa.signum());
        if signs != Ordering::Equal {
            return signs;
        }
        let widened = |decimal: &Self| {
            10_i128
                .checked_pow(u32::from(scale - decimal.scale))
                .and_then(|power| decimal.mantissa.checked_mul(power))
        };
        match (widened(self), widened(other)) {
            (Some(left), Some(right)) => left.cmp(&right),
            // The number that overflows when widened is larger in magnitude.
            (None, Some(_)) => self.mantissa.signum().cmp(&0),
            (Some(_), None) => 0.cmp(&other.mantissa.signum()),
            (None, None) => self.wide(scale).cmp(&other.wide(scale)),
        }
    }
}

impl Decimal {
    fn wide(self, scale: u8) -> num_bigint::BigInt {
        num_bigint::BigInt::from(self.mantissa)
            * num_bigint::BigInt::from(10).pow(u32::from(scale - self.scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(json: &str, expected: Result<&str, DecimalError>) {
        assert_eq!(
            Decimal::from_json(json).map(|decimal| decimal.to_string()).as_deref(),
            expected.as_ref().map(|text| *text),
            "{json}"
        );
    }

    #[test]
    fn a_number_is_kept_to_the_last_digit() {
        check("0", Ok("0"));
        check("-0", Ok("0"));
        check("0.10", Ok("0.1"));
        check("1.10", Ok("1.1"));
        check("100.00", Ok("100"));
        check("-12.345e1", Ok("-123.45"));
        check("1e3", Ok("1000"));
        check("1E+3", Ok("1000"));
        check("5e-3", Ok("0.005"));
        check("9007199254740993", Ok("9007199254740993"));
        check("0.00000000000000000000000000000000000001", Ok("0.00000000000000000000000000000000000001"));
        check("99999999999999999999999999999999999999", Ok("99999999999999999999999999999999999999"));
        check("0e999999999999", Ok("0"));
    }

    #[test]
    fn a_sum_is_exact_or_none() {
        for (one, other, sum) in [
            ("0.1", "0.2", Some("0.3")),
            ("99.5", "0.50", Some("100")),
            ("-1", "1", Some("0")),
            ("99999999999999999999999999999999999999", "1", None),
            ("99999999999999999999999999999999999999", "0.1", None),
        ] {
            let [one, other] = [one, other].map(|text| Decimal::from_json(text).unwrap());
            assert_eq!(one.checked_add(other).map(|sum| sum.to_string()).as_deref(), sum);
        }
    }

    #[test]
    fn a_number_of_more_than_38_digits_is_refused() {
        for json in [
            "1e38",
            "1e400",
            "-1e400",
            "1e-39",
            "1e308",
            "100000000000000000000000000000000000001e1",
            "1e99999999999999999999",
            "0.000000000000000000000000000000000000001",
            "1.000000000000000000000000000000000000001",
        ] {
            check(json, Err(DecimalError));
        }
    }

    #[test]
    fn only_a_wholly_plain_text_is_a_number() {
        for (text, number) in [
            ("42", Some("42")),
            ("0042", Some("42")),
            ("-4.50", Some("-4.5")),
            ("", None),
            (" 42", None),
            ("42 ", None),
            ("+42", None),
            ("4.", None),
            (".4", None),
            ("4.2.1", None),
            ("1e3", None),
            ("0x10", None),
            ("NaN", None),
            ("٤٢", None),
            ("--1", None),
        ] {
            assert_eq!(
                Decimal::from_plain(text).map(|decimal| decimal.to_string()).as_deref(),
                number,
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_double_is_the_one_the_standard_library_reads(mantissa in any::<i64>(), scale in 0_u32..30) {
            let digits = format!("{:0>31}", mantissa.unsigned_abs());
            let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
            let text = format!("{}{whole}{}{fraction}", if mantissa < 0 { "-" } else { "" }, if scale > 0 { "." } else { "" });
            let decimal = Decimal::from_plain(&text).unwrap();
            prop_assert_eq!(decimal.to_f64(), text.parse::<f64>().unwrap());
            prop_assert_eq!(Decimal::from_plain(&decimal.to_string()), Some(decimal));
        }

        #[test]
        fn order_is_the_order_of_the_numbers(a in any::<i32>(), b in any::<i32>(), s in 0_i64..9, t in 0_i64..9) {
            let left = Decimal::scaled(i128::from(a), 10, s).unwrap();
            let right = Decimal::scaled(i128::from(b), 10, t).unwrap();
            let (x, y) = (i128::from(a) * 10_i128.pow(9 - s as u32), i128::from(b) * 10_i128.pow(9 - t as u32));
            prop_assert_eq!(left.cmp(&right), x.cmp(&y));
        }
    }
}
