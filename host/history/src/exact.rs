//! Sums of decimals without an error, rounded once at the end.
//!
//! A sum is a whole number of units of a power of ten. As long as that number fits 128 bits the work is a few
//! instructions; beyond, it goes on in a big integer, slower and just as exact.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive as _, Zero as _};
use tollgate_guest_abi::comparable_double;

use tollgate_model::decimal::{Decimal, EXACT_MAX, EXACT_POWERS_OF_TEN, exact_double};

/// Whole numbers of at most 15 digits are below.
const SHORT_MAX: f64 = 1e15;

/// The value of an aggregate, in doubles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AggregateValue {
    /// The nearest double.
    pub nearest: f64,
    /// The double that compares exactly with short numbers, see [`comparable_double`].
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
    /// Exact.
    Sum(ExactSum),
    /// `avg` and `stddev`: what they are compared with is compared by its nearest double.
    Double(f64),
}

impl ExactValue {
    /// A number.
    #[must_use]
    pub fn of(number: Decimal) -> Self {
        Self::Sum(ExactSum::of_units(number.mantissa(), number.scale()))
    }

    /// The order of the two; none of a double that is no number.
    #[must_use]
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Sum(left), Self::Sum(right)) => Some(left.compare(right)),
            (left, right) => left.to_f64().partial_cmp(&right.to_f64()),
        }
    }

    /// As a decimal, when it is exact and has no more digits than one.
    #[must_use]
    pub fn as_decimal(&self) -> Option<Decimal> {
        match self {
            Self::Sum(sum) => sum.as_decimal(),
            Self::Double(_) => None,
        }
    }

    /// The nearest double.
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
    /// `units / 10^scale`.
    pub(super) fn of_units(units: i128, scale: u8) -> Self {
        Self { units: ExactUnits::Narrow(units), scale: u32::from(scale) }
    }

    /// Adds a number.
    pub(super) fn add(&mut self, decimal: Decimal) {
        self.add_units(&ExactUnits::Narrow(decimal.mantissa()), decimal.scale().into());
    }

    /// Adds `units / 10^scale`.
    #[inline]
    pub(super) fn add_units_of(&mut self, units: i128, scale: u32) {
        match &mut self.units {
            // What comes first needs no sum.
            ExactUnits::Narrow(own) if *own == 0 && self.scale <= scale => {
                (*own, self.scale) = (units, scale)
            }
            _ => self.add_units(&ExactUnits::Narrow(units), scale),
        }
    }

    /// Adds the square of a number.
    pub(super) fn add_square(&mut self, decimal: Decimal) {
        self.add_units(&ExactUnits::square(decimal.mantissa()), 2 * u32::from(decimal.scale()));
    }

    /// Adds another sum.
    pub(super) fn merge(&mut self, other: &Self) {
        self.add_units(&other.units, other.scale);
    }

    /// The sum in doubles.
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
        // What has no decimal is beyond every number that there can be.
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

    /// The double nearest to the sum.
    #[inline]
    pub(super) fn to_f64(&self) -> f64 {
        match self.in_doubles() {
            // Both ends of the fraction are exact, so the one division rounds once.
            Some((units, power)) => units / power,
            None => self.mean_in_full(1),
        }
    }

    /// The double nearest to the sum divided by `n`; 0 for no values.
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

    /// As [`ExactSum::to_f64`], one division of exact doubles.
    #[inline]
    fn mean_in_doubles(&self, n: u64) -> Option<f64> {
        let (units, power) = self.in_doubles()?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "up to 2^53 nothing is lost; what is beyond is seen to be"
        )]
        let (n, max) = (n as f64, EXACT_MAX as f64);
        let denominator = power * n;
        (n <= 1.0 || denominator < max).then_some(units / denominator)
    }

    /// The units, and what they are divided by, where doubles are exactly these.
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

/// The sample standard deviation of `n` numbers with this sum and this sum of squares: the square root of the double
/// nearest to their variance `(n·Σx² − (Σx)²) / (n·(n−1))`. 0 for fewer than two.
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
        // The short way first: a product of two halves needs no check.
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

/// The double nearest to a fraction, ties to even. The denominator is above zero, and the fraction far from both ends
/// of the range of doubles: decimals have 38 digits, so neither a sum of their squares nor its inverse reaches 10^200.
fn nearest(numerator: &BigInt, denominator: &BigUint) -> f64 {
    /// Bits of the quotient: all that a double keeps, the one that decides the rounding, and room to spare.
    const QUOTIENT_BITS: i64 = 66;
    let magnitude = numerator.magnitude();
    let bits_of = |number: &BigUint| i64::try_from(number.bits()).unwrap_or(i64::MAX);
    let shift = QUOTIENT_BITS + bits_of(denominator) - bits_of(magnitude);
    let shifted = |number: &BigUint, by: i64| number << u64::try_from(by).unwrap_or(0);
    let (dividend, divisor) = (shifted(magnitude, shift), shifted(denominator, -shift));
    let quotient = &dividend / &divisor;
    let is_exact = &quotient * &divisor == dividend;
    // What was cut off is remembered in the lowest bit, far below the rounding, so that it breaks ties and no more.
    let kept = quotient.to_u128().unwrap_or(u128::MAX) | u128::from(!is_exact);
    let exponent = i32::try_from(-shift).unwrap_or(i32::MIN);
    #[expect(clippy::cast_precision_loss, reason = "this is the one rounding")]
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
    fn what_doubles_would_swallow_is_kept() {
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

    /// Enough digits of a fraction for the standard library to round it, with a last one that says whether it goes on.
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
