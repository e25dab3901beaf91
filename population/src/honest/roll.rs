//! Small draws from a generator, and stable codes from names.
//!
//! Only additions, products and quotients are used, so that the numbers are the same on every machine.

use rand::{Rng, RngCore};

use crate::dice::Dice;

/// Draws that the habits need.
pub(super) trait Roll {
    /// Returns a number from 0 to below 1.
    fn unit(&mut self) -> f64;

    /// Returns true with this probability.
    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a number between two others.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns a whole number from `low` to `high`, both included.
    fn count(&mut self, low: u32, high: u32) -> u32;

    /// Returns a number around a median, with a longer tail upwards: half and double are common at a spread of 1.
    fn around(&mut self, median: f64, spread: f64) -> f64 {
        let tilt = (self.unit() + self.unit() + self.unit() - 1.5) * spread * 1.4;
        if tilt >= 0.0 { median * (1.0 + tilt) } else { median / (1.0 - tilt) }
    }

    /// Returns one of several things.
    fn pick<'t, T>(&mut self, things: &'t [T]) -> Option<&'t T> {
        let last = u32::try_from(things.len()).ok()?.checked_sub(1)?;
        things.get(usize::try_from(self.count(0, last)).ok()?)
    }
}

impl Roll for Dice {
    fn unit(&mut self) -> f64 {
        f64::from(self.next_u32()) / 4_294_967_296.0
    }

    fn count(&mut self, low: u32, high: u32) -> u32 {
        self.random_range(low..=high.max(low))
    }
}

/// Returns a number that belongs to a name.
pub(super) fn hash(seed: u64, name: &str) -> u64 {
    let mut hash = seed ^ 0xcbf2_9ce4_8422_2325;
    for byte in name.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The finaliser of SplitMix64, so that names that differ in their last letter get numbers far apart.
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Returns lower-case letters and digits that belong to a name.
pub(super) fn code(seed: u64, name: &str, length: usize) -> String {
    let mut rest = hash(seed, name);
    let mut code = String::with_capacity(length);
    for _ in 0..length {
        let digit = u32::try_from(rest % 36).unwrap_or_default();
        code.extend(char::from_digit(digit, 36));
        rest /= 36;
    }
    code
}

/// Returns the account of whoever has this name.
pub(super) fn account(seed: u64, name: &str) -> String {
    format!("acct-{}", code(seed, name, 8))
}

/// Returns the thing of a list that belongs to a number.
pub(super) fn nth<T>(things: &[T], number: u64) -> Option<&T> {
    let length = u64::try_from(things.len()).ok().filter(|length| *length > 0)?;
    things.get(usize::try_from(number % length).ok()?)
}

/// Returns a share from 0 to below 1 that spreads evenly over successive numbers, by the golden ratio.
pub(super) fn spread(seed: u64, name: &str, number: usize) -> f64 {
    let offset = u32::try_from(hash(seed, name) % 1_000_000).unwrap_or_default();
    let number = u32::try_from(number).unwrap_or_default();
    (f64::from(offset) / 1e6 + f64::from(number) * 0.618_033_988_749_895).fract()
}

/// Returns a share of a span of days as a whole day.
#[expect(clippy::cast_possible_truncation, reason = "spans of days are far below 2^53")]
pub(super) fn whole(value: f64) -> i64 {
    value.floor() as i64
}
