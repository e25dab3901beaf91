//! Seeded randomness: the same seed and names give the same numbers, whatever else was drawn before.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A generator of random numbers.
pub type Dice = ChaCha8Rng;

/// Returns a generator for a thing of this name on this day.
///
/// Generators of different names or days are independent, so a customer's day can be made without the days before it.
#[must_use]
pub fn dice(seed: u64, name: &str, day: i64) -> Dice {
    // FNV-1a, which is stable across platforms and releases, unlike the hashes of the standard library.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let parts = [&seed.to_le_bytes()[..], name.as_bytes(), &day.to_le_bytes()[..]];
    for byte in parts.into_iter().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Dice::seed_from_u64(hash)
}
