//! Exact sums of decimals, rounded once at the end.
//!
//! A sum is a whole number of units of a power of ten. While that number fits 128 bits, an addition takes a few
//! instructions. Beyond that a big integer takes over, slower but equally exact.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive as _, Zero as _};
use tollgate_guest_abi::comparable_double;

use tollgate_model::decimal::{Decimal, EXACT_MAX, EXACT_POWERS_OF_TEN, exact_double};

/// Exclusive upper bound of whole numbers with at most 15 digits.
const SHORT_MAX: f64 = 1e15;

/// The value of an aggregate, in doubles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AggregateValue {
    /// The nearest double.
    pub nearest: f64,
    /// The double that compares exactly with short numbers; see [`comparable_double`].
    pub comparable: f64,
}

impl AggregateValue {
    pub(super) const fn of_double(double: f64) -> Self {
        Self { nearest: double, comparable: double }
    }

    #[expect(clippy::cast_precision_loss, reason = "no history holds 2^53 rows")]
    pub(super) const fn of_count(n: u64) -> Self {
        Self::of_double(n as f64)
    }
}

impl From<Decimal> for AggregateValue {
    fn from(number: Decimal) -> Self {
        Self { nearest: number.to_f64(), comparable: number.comparable() }
    }
}

/// The value of an aggregate, or a number to compare with one.
#[derive(Debug, Clone, PartialEq)]
pub enum ExactValue {
    /// An exact number.
    Sum(ExactSum),
    /// The result of `avg` or `stddev`; it is compared as a double.
    Double(f64),
}

impl ExactValue {
    /// Creates an exact value from a decimal.
    #[must_use]
    pub fn of(number: Decimal) -> Self {
        Self::Sum(ExactSum::of_units(number.mantissa(), number.scale()))
    }

    /// Compares two values; `None` when one is NaN.
    #[must_use]
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Sum(left), Self::Sum(right)) => Some(left.compare(right)),
            (left, right) => left.to_f64().partial_cmp(&right.to_f64()),
        }
    }

    /// Returns the value as a decimal when it is exact and fits one.
    #[must_use]
    pub fn as_decimal(&self) -> Option<Decimal> {
        match self {
            Self::Sum(sum) => sum.as_decimal(),
            Self::Double(_) => None,
        }
    }

    /// Returns the nearest double.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::Sum(sum) => sum.to_f64(),
            Self::Double(double) => *double,
        }
    }
}

/// A sum of decimals: `units / 10^scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExactSum {
    units: ExactUnits,
    scale: u32,
}

#[derive(Debug, Clone, PartialEq)]
enum ExactUnits {
    Narrow(i128),
    Wide(Box<BigInt>),
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { units: ExactUnits::Narrow(0), scale: 0 }
    }
}

impl ExactSum {
    pub(super) fn of_units(units: i128, scale: u8) -> Self {
        Self { units: ExactUnits::Narrow(units), scale: u32::from(scale) }
    }

    pub(super) fn add(&mut self, decimal: Decimal) {
        self.add_units(&ExactUnits::Narrow(decimal.mantissa()), decimal.scale().into());
    }

    #[inline]
    pub(super) fn add_units_of(&mut self, units: i128, scale: u32) {
        match &mut self.units {
            // The first value needs no addition.
            ExactUnits::Narrow(own) if *own == 0 && self.scale <= scale => {
                (*own, self.scale) = (units, scale)
            }
            _ => self.add_units(&ExactUnits::Narrow(units), scale),
        }
    }

    pub(super) fn add_square(&mut self, decimal: Decimal) {
        self.add_units(&ExactUnits::square(decimal.mantissa()), 2 * u32::from(decimal.scale()));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.add_units(&other.units, other.scale);
    }

    #[inline]
    pub(super) fn value(&self) -> AggregateValue {
        match self.in_doubles() {
            Some((units, power)) if units.abs() < SHORT_MAX => AggregateValue::of_double(units / power),
            _ => self.value_in_full(),
        }
    }

    #[cold]
    fn value_in_full(&self) -> AggregateValue {
        let nearest = self.to_f64();
        let compare = |short: Decimal| self.compare(&Self::of_units(short.mantissa(), short.scale()));
        // A text without a decimal form lies beyond every possible sum.
        let comparable = comparable_double(nearest, |short| {
            Decimal::from_plain(short.as_str()).map_or(Ordering::Equal, compare)
        });
        AggregateValue { nearest, comparable }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        let units = |sum: &Self| sum.units.scaled_up(scale - sum.scale);
        match (units(self), units(other)) {
            (ExactUnits::Narrow(left), ExactUnits::Narrow(right)) => left.cmp(&right),
            (left, right) => left.to_big().cmp(&right.to_big()),
        }
    }

    fn as_decimal(&self) -> Option<Decimal> {
        let (mut units, mut scale) = (self.units.to_big(), self.scale);
        while scale > 0 && (&units % 10_u8).is_zero() {
            (units, scale) = (units / 10_u8, scale - 1);
        }
        Decimal::of_parts(units.to_i128()?, u8::try_from(scale).ok()?)
    }

    /// Returns the double nearest to the sum.
    #[inline]
    pub(super) fn to_f64(&self) -> f64 {
        match self.in_doubles() {
            // Numerator and denominator are exact, so the division rounds only once.
            Some((units, power)) => units / power,
            None => self.mean_in_full(1),
        }
    }

    /// Returns the double nearest to the sum divided by `n`; 0 when `n` is 0.
    #[inline]
    pub(super) fn mean(&self, n: u64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        self.mean_in_doubles(n).unwrap_or_else(|| self.mean_in_full(n))
    }

    #[cold]
    fn mean_in_full(&self, n: u64) -> f64 {
        nearest(&self.units.to_big(), &(power_of_ten(self.scale) * BigUint::from(n)))
    }

    /// Computes the mean with one division of exact doubles, as in [`ExactSum::to_f64`].
    #[inline]
    fn mean_in_doubles(&self, n: u64) -> Option<f64> {
        let (units, power) = self.in_doubles()?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "exact up to 2^53; the comparison below rejects larger values"
        )]
        let (n, max) = (n as f64, EXACT_MAX as f64);
        let denominator = power * n;
        (n <= 1.0 || denominator < max).then_some(units / denominator)
    }

    /// Returns units and divisor when doubles represent both exactly.
    #[inline]
    fn in_doubles(&self) -> Option<(f64, f64)> {
        let ExactUnits::Narrow(units) = self.units else { return None };
        let power = EXACT_POWERS_OF_TEN.get(usize::try_from(self.scale).ok()?)?;
        Some((exact_double(units)?, *power))
    }

    fn add_units(&mut self, units: &ExactUnits, scale: u32) {
        if scale == self.scale
            && let (ExactUnits::Narrow(own), ExactUnits::Narrow(other)) = (&self.units, units)
            && let Some(sum) = own.checked_add(*other)
        {
            self.units = ExactUnits::Narrow(sum);
            return;
        }
        if scale > self.scale {
            self.units = self.units.scaled_up(scale - self.scale);
            self.scale = scale;
        }
        self.units = if scale == self.scale {
            self.units.plus(units)
        } else {
            self.units.plus(&units.scaled_up(self.scale - scale))
        };
    }
}

/// Returns the sample standard deviation of `n` numbers with this sum and sum of squares; 0 when `n` is below 2. It is
/// the square root of the double nearest to the variance `(n·Σx² − (Σx)²) / (n·(n−1))`.
pub(super) fn standard_deviation(sum: &ExactSum, squares: &ExactSum, n: u64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let scale = squares.scale.max(2 * sum.scale);
    let power = |missing| BigInt::from(power_of_ten(missing));
    let total = sum.units.to_big();
    let of_squares = squares.units.to_big() * power(scale - squares.scale) * BigInt::from(n);
    let of_sum = &total * &total * power(scale - 2 * sum.scale);
    let denominator = power_of_ten(scale) * BigUint::from(n) * BigUint::from(n - 1);
    nearest(&(of_squares - of_sum), &denominator).sqrt()
}

impl ExactUnits {
    fn square(mantissa: i128) -> Self {
        // Fast path: the square of an `i64` always fits.
        if let Ok(half) = i64::try_from(mantissa) {
            return ExactUnits::Narrow(i128::from(half) * i128::from(half));
        }
        mantissa.checked_mul(mantissa).map_or_else(
            || ExactUnits::Wide(Box::new(BigInt::from(mantissa) * BigInt::from(mantissa))),
            ExactUnits::Narrow,
        )
    }

    fn plus(&self, other: &Self) -> Self {
        if let (ExactUnits::Narrow(left), ExactUnits::Narrow(right)) = (self, other)
            && let Some(sum) = left.checked_add(*right)
        {
            return ExactUnits::Narrow(sum);
        }
        ExactUnits::Wide(Box::new(self.to_big() + other.to_big()))
    }

    fn scaled_up(&self, digits: u32) -> Self {
        if let ExactUnits::Narrow(units) = self {
            if *units == 0 {
                return ExactUnits::Narrow(0);
            }
            if let Some(units) = narrow_power_of_ten(digits).and_then(|power| units.checked_mul(power)) {
                return ExactUnits::Narrow(units);
            }
        }
        ExactUnits::Wide(Box::new(self.to_big() * BigInt::from(power_of_ten(digits))))
    }

    fn to_big(&self) -> BigInt {
        match self {
            ExactUnits::Narrow(units) => BigInt::from(*units),
            ExactUnits::Wide(units) => units.as_ref().clone(),
        }
    }
}

fn narrow_power_of_ten(digits: u32) -> Option<i128> {
    const FEW: [i128; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    let few = FEW.get(usize::try_from(digits).ok()?).copied();
    few.or_else(|| 10_i128.checked_pow(digits))
}

fn power_of_ten(digits: u32) -> BigUint {
    BigUint::from(10_u32).pow(digits)
}

/// Returns the double nearest to a fraction, ties to even. The denominator must be positive, and the fraction far from
/// both ends of the range of doubles. Decimals have 38 digits, so neither a sum of their squares nor its inverse
/// reaches 10^200.
fn nearest(numerator: &BigInt, denominator: &BigUint) -> f64 {
    /// Bits of the quotient: those a double keeps, the rounding bit, and some to spare.
    const QUOTIENT_BITS: i64 = 66;
    let magnitude = numerator.magnitude();
    let bits_of = |number: &BigUint| i64::try_from(number.bits()).unwrap_or(i64::MAX);
    let shift = QUOTIENT_BITS + bits_of(denominator) - bits_of(magnitude);
    let shifted = |number: &BigUint, by: i64| number << u64::try_from(by).unwrap_or(0);
    let (dividend, divisor) = (shifted(magnitude, shift), shifted(denominator, -shift));
    let quotient = &dividend / &divisor;
    let is_exact = &quotient * &divisor == dividend;
    // The lowest bit records a remainder. It lies far below the rounding bit, so it only breaks ties.
    let kept = quotient.to_u128().unwrap_or(u128::MAX) | u128::from(!is_exact);
    let exponent = i32::try_from(-shift).unwrap_or(i32::MIN);
    #[expect(clippy::cast_precision_loss, reason = "this is the only rounding")]
    let double = kept as f64 * 2_f64.powi(exponent);
    if numerator.sign() == Sign::Minus { -double } else { double }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum_of(texts: &[&str]) -> (ExactSum, ExactSum) {
        let (mut sum, mut squares) = (ExactSum::default(), ExactSum::default());
        for text in texts {
            let decimal = Decimal::from_json(text).unwrap();
            sum.add(decimal);
            squares.add_square(decimal);
        }
        (sum, squares)
    }

    #[track_caller]
    fn check(texts: &[&str], sum: f64, mean: f64, deviation: f64) {
        let n = texts.len() as u64;
        let (total, squares) = sum_of(texts);
        assert_eq!(total.to_f64(), sum, "sum of {texts:?}");
        assert_eq!(total.mean(n), mean, "mean of {texts:?}");
        assert_eq!(standard_deviation(&total, &squares, n), deviation, "deviation of {texts:?}");
    }

    #[test]
    fn three_times_a_tenth_is_three_tenths() {
        check(&["0.1", "0.1", "0.1"], 0.3, 0.1, 0.0);
    }

    #[test]
    fn exact_sums_keep_the_digits_that_doubles_lose() {
        check(&["1e30", "1", "-1e30"], 1.0, 1.0 / 3.0, 1e30);
        check(
            &["9007199254740993", "1"],
            9_007_199_254_740_994.0,
            4_503_599_627_370_497.0,
            6_369_051_672_525_773.0,
        );
        let ten_quadrillionths = ["1e-38"; 10];
        check(&ten_quadrillionths, 1e-37, 1e-38, 0.0);
    }

    #[test]
    fn sums_beyond_128_bits_are_exact_too() {
        let huge = "99999999999999999999999999999999999999";
        let texts = [huge; 40];
        check(&texts, 4e39, 1e38, 0.0);
        check(&[huge, "1e-38", &format!("-{huge}")], 1e-38, 1e-38 / 3.0, 1e38);
    }

    #[test]
    fn few_values_have_no_deviation() {
        check(&["5"], 5.0, 5.0, 0.0);
        check(&["2", "4", "4", "4", "5", "5", "7", "9"], 40.0, 5.0, (32.0_f64 / 7.0).sqrt());
        assert_eq!(ExactSum::default().mean(0), 0.0);
    }

    /// Rounds a fraction with the standard library, from enough digits and a last one that marks a remainder.
    fn nearest_by_digits(numerator: i128, denominator: u128) -> f64 {
        let magnitude = BigUint::from(numerator.unsigned_abs()) * power_of_ten(120);
        let denominator = BigUint::from(denominator);
        let quotient = &magnitude / &denominator;
        let goes_on = &quotient * &denominator != magnitude;
        let sign = if numerator < 0 { "-" } else { "" };
        format!("{sign}{quotient}{}e-121", u8::from(goes_on)).parse().unwrap()
    }

    proptest! {
        #[test]
        fn a_fraction_is_rounded_as_the_standard_library_rounds_its_digits(
            numerator in any::<i128>(), denominator in 1_u128.., cut in 0_u32..126,
        ) {
            let denominator = (denominator >> cut).max(1);
            prop_assert_eq!(
                nearest(&BigInt::from(numerator), &BigUint::from(denominator)),
                nearest_by_digits(numerator, denominator)
            );
        }

        #[test]
        fn halfway_fractions_go_to_the_even_double(odd in (1_u64 << 52)..(1_u64 << 53), power in 0_u32..60) {
            let halfway = (u128::from(odd) * 2 + 1) << power;
            let expected = halfway as f64;
            prop_assert_eq!(nearest(&BigInt::from(halfway), &BigUint::from(1_u32)), expected);
        }

        #[test]
        fn the_short_way_and_the_long_way_agree(units in -(1_i64 << 53)..(1_i64 << 53), scale in 0_u32..30, n in 1_u64..1000) {
            let sum = ExactSum { units: ExactUnits::Narrow(units.into()), scale };
            let long = nearest(&BigInt::from(units), &(power_of_ten(scale) * BigUint::from(n)));
            prop_assert_eq!(sum.mean(n), long);
        }
    }
}
