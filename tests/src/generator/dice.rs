//! Repeatable randomness.

/// A stream of random numbers that depends only on the seed (splitmix64).
#[derive(Debug)]
pub struct Dice {
    state: u64,
    /// Whether to generate numbers that doubles cannot tell apart.
    pub(super) has_long_numbers: bool,
}

impl Dice {
    /// Creates the stream of a seed.
    #[must_use]
    pub const fn of_seed(seed: u64) -> Self {
        Self { state: seed, has_long_numbers: false }
    }

    /// Returns the same stream, for batches of long numbers.
    #[must_use]
    pub(super) const fn with_long_numbers(self) -> Self {
        Self { has_long_numbers: true, ..self }
    }

    /// Returns any number.
    pub fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `n - 1`.
    pub fn below(&mut self, n: usize) -> usize {
        // The bias of the remainder is negligible.
        usize::try_from(self.roll() % (n.max(1) as u64)).unwrap_or(0)
    }

    /// Returns true in this percentage of cases.
    pub fn chance(&mut self, per_cent: usize) -> bool {
        self.below(100) < per_cent
    }

    /// Returns one of these items.
    pub fn pick<T: Copy, const N: usize>(&mut self, items: [T; N]) -> T {
        const { assert!(N > 0, "nothing to pick from") };
        #[expect(clippy::indexing_slicing, reason = "below N, which is above 0")]
        items[self.below(N)]
    }
}
