//! Random numbers that are the same on every machine.

/// A small generator (xorshift64*), sufficient only to vary rules and transactions.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence of this seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Returns the next number.
    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(1);
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    /// Returns one of some values, or the default if there are none.
    ///
    /// # Panics
    /// Never panics.
    pub fn pick<T: Copy + Default>(&mut self, things: &[T]) -> T {
        things.get(self.below(things.len())).copied().unwrap_or_default()
    }
}
