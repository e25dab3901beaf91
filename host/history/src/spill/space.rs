//! The free space of the spill file: one bit per grain.
//!
//! ```text
//!  ██░░███░░░░░░░░░░░░█░█████░░░░░░█  ← grains
//!          ↑ next: pieces are placed here, up to the next taken grain; then in the next wide gap
//! ```
//!
//! Pieces that leave memory together are placed side by side, so that one call writes them. This requires wide gaps, so
//! the file is kept about twice as long as its contents.

use super::account::heap_bytes;

/// Pieces take whole multiples of this, in bytes.
pub(super) const GRAIN_BYTES: u64 = 128;
/// Minimum width of a gap in which the search places pieces, in grains; narrower ones wait until a neighbor is freed.
const WIDE_GRAINS: u32 = 32;
/// The file grows, instead of being searched again, while more than one grain in this many is taken.
const ROOMY_SHARE: u32 = 2;
/// When at most one grain in this many is taken and there is no wide gap, narrow gaps are used.
const SPARSE_SHARE: u32 = 3;
/// The file grows by its length divided by this, and at least by the minimum below, in grains.
const GROWTH_SHARE: u32 = 16;
const GROWTH_GRAINS_MIN: u32 = 1_024;

const WORD_GRAINS: u32 = u64::BITS;

#[derive(Debug, Default)]
pub(super) struct FileSpace {
    /// One bit per grain, set when it is taken.
    taken: Vec<u64>,
    n_taken: u32,
    /// End of the last piece, where the search for a gap continues.
    next: u32,
    /// Number of further grains for which narrow gaps are used.
    n_narrow: u32,
}

pub(super) const fn grains_of(n_bytes: u32) -> u32 {
    n_bytes.div_ceil(GRAIN_BYTES as u32)
}

impl FileSpace {
    pub(super) fn used_bytes(&self) -> u64 {
        u64::from(self.n_taken) * GRAIN_BYTES
    }

    #[cfg(test)]
    pub(super) fn end_bytes(&self) -> u64 {
        u64::from(self.end()) * GRAIN_BYTES
    }

    pub(super) const fn n_heap_bytes(&self) -> usize {
        heap_bytes(self.taken.capacity() * size_of::<u64>())
    }

    /// Takes grains, after the last piece if they fit there. Returns `None` when the file would have more grains than a
    /// `u32` counts.
    pub(super) fn take(&mut self, n_grains: u32) -> Option<u32> {
        let at = if self.gap_at(self.next, n_grains) >= n_grains { self.next } else { self.find(n_grains)? };
        let end = at.checked_add(n_grains)?;
        self.mark(at..end, true);
        self.n_taken += n_grains;
        self.next = end;
        Some(at)
    }

    pub(super) fn give_back(&mut self, at: u32, n_grains: u32) {
        self.mark(at..at.saturating_add(n_grains), false);
        self.n_taken -= n_grains;
        if self.n_taken == 0 {
            *self = Self::default();
        }
    }

    fn find(&mut self, n_grains: u32) -> Option<u32> {
        let is_narrow = self.n_narrow > 0;
        self.n_narrow = self.n_narrow.saturating_sub(n_grains);
        let wanted = if is_narrow { n_grains } else { n_grains.max(WIDE_GRAINS) };
        let end = self.end();
        if let Some(at) = self.find_between(self.next, end, wanted) {
            return Some(at);
        }
        if self.n_taken > end / ROOMY_SHARE {
            return self.grow(n_grains);
        }
        if let Some(at) = self.find_between(0, self.next, wanted) {
            return Some(at);
        }
        if is_narrow || self.n_taken > end / SPARSE_SHARE {
            return self.grow(n_grains);
        }
        // Avoids a search of the entire file for every piece.
        self.n_narrow = end / GROWTH_SHARE;
        match self.find_between(0, end, n_grains) {
            Some(at) => Some(at),
            None => self.grow(n_grains),
        }
    }

    /// Returns the first gap of this width that begins between `from` and `to`.
    fn find_between(&self, from: u32, to: u32, n_grains: u32) -> Option<u32> {
        let mut at = self.next_free(from);
        while at < to {
            if !self.may_begin_in(at / WORD_GRAINS, n_grains) {
                at = self.next_free((at / WORD_GRAINS).saturating_add(1).saturating_mul(WORD_GRAINS));
                continue;
            }
            let gap = self.gap_at(at, n_grains);
            if gap >= n_grains {
                return Some(at);
            }
            at = self.next_free(at.saturating_add(gap));
        }
        None
    }

    /// Returns whether a gap of this width may begin in a word. Most words have only narrow gaps, which are skipped
    /// together. A wide gap covers at least [`WIDE_GRAINS`] in this word and the next.
    fn may_begin_in(&self, word: u32, n_grains: u32) -> bool {
        if n_grains < WIDE_GRAINS {
            return true;
        }
        let free = |word: u32| !self.word(word.saturating_mul(WORD_GRAINS));
        let (own, following) = (free(word), free(word.saturating_add(1)));
        // Bits that start a run of 32 free ones.
        let wide = [1, 2, 4, 8, 16].into_iter().fold(own, |bits, n| bits & (bits >> n));
        wide != 0 || own.leading_ones() + following.trailing_ones() >= WIDE_GRAINS
    }

    /// Extends the file and returns the old end.
    fn grow(&mut self, n_grains: u32) -> Option<u32> {
        let end = self.end();
        let n_more = n_grains.max(end / GROWTH_SHARE).max(GROWTH_GRAINS_MIN);
        let n_words = end.checked_add(n_more)?.div_ceil(WORD_GRAINS);
        n_words.checked_mul(WORD_GRAINS)?;
        let n_words = usize::try_from(n_words).ok()?;
        self.taken.reserve_exact(n_words - self.taken.len());
        self.taken.resize(n_words, 0);
        Some(end)
    }

    fn end(&self) -> u32 {
        u32::try_from(self.taken.len()).unwrap_or(u32::MAX).saturating_mul(WORD_GRAINS)
    }

    /// Returns the number of free grains from here on. It stops at the first word that reaches `n_enough`, so the
    /// result may exceed it.
    fn gap_at(&self, at: u32, n_enough: u32) -> u32 {
        let mut end = at;
        while end - at < n_enough && end < self.end() {
            let rest = self.word(end) >> (end % WORD_GRAINS);
            let n_left = WORD_GRAINS - end % WORD_GRAINS;
            end += rest.trailing_zeros().min(n_left);
            if rest != 0 {
                break;
            }
        }
        end - at
    }

    /// Returns the first free grain from here on, or the end.
    fn next_free(&self, at: u32) -> u32 {
        let mut at = at;
        while at < self.end() {
            let rest = !self.word(at) >> (at % WORD_GRAINS);
            if rest != 0 {
                return at + rest.trailing_zeros();
            }
            at += WORD_GRAINS - at % WORD_GRAINS;
        }
        self.end()
    }

    fn word(&self, at: u32) -> u64 {
        self.taken.get((at / WORD_GRAINS) as usize).copied().unwrap_or(u64::MAX)
    }

    fn mark(&mut self, grains: std::ops::Range<u32>, is_taken: bool) {
        let mut at = grains.start;
        while at < grains.end {
            let n = (WORD_GRAINS - at % WORD_GRAINS).min(grains.end - at);
            let bits = (u64::MAX >> (WORD_GRAINS - n)) << (at % WORD_GRAINS);
            if let Some(word) = self.taken.get_mut((at / WORD_GRAINS) as usize) {
                debug_assert_eq!(
                    *word & bits,
                    if is_taken { 0 } else { bits },
                    "a grain must not be taken or freed twice"
                );
                if is_taken {
                    *word |= bits;
                } else {
                    *word &= !bits;
                }
            }
            at += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes and frees pieces at random; the first `n_kept` are never freed.
    fn churn(n_pieces: usize, n_kept: usize, n_rounds: usize) -> (FileSpace, u64) {
        let (mut space, mut places, mut state) = (FileSpace::default(), Vec::new(), 7_u64);
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut n_runs, mut end) = (0, None);
        for round in 0..n_rounds {
            if places.len() >= n_pieces {
                let (at, n) = places.swap_remove(n_kept + random(n_pieces - n_kept));
                space.give_back(at, n);
            }
            let n = 1 + random(12) as u32;
            let at = space.take(n).unwrap();
            n_runs += u64::from(round > n_rounds / 2 && end != Some(at));
            end = Some(at + n);
            places.push((at, n));
        }
        let total: u32 = places.iter().map(|(_, n)| n).sum();
        assert_eq!(space.used_bytes(), u64::from(total) * GRAIN_BYTES);
        assert_eq!(space.taken.iter().map(|word| word.count_ones()).sum::<u32>(), total);
        (space, (n_rounds / 2) as u64 / n_runs)
    }

    #[test]
    fn pieces_written_together_lie_together_in_a_compact_file() {
        for n_kept in [0, 3_000, 6_000] {
            let (space, pieces_per_run) = churn(8_000, n_kept, 200_000);
            assert!(pieces_per_run >= 6, "{n_kept}: {pieces_per_run}");
            let share = space.end_bytes() / space.used_bytes();
            assert!(share <= 3, "{n_kept}: {share}");
        }
    }

    #[test]
    fn the_gap_that_is_found_is_the_first_one() {
        for (n_pieces, n_kept) in [(50, 0), (800, 300)] {
            let (space, _) = churn(n_pieces, n_kept, 5_000);
            for (n_grains, from) in
                [(1, 0), (31, 7), (32, 0), (32, 130), (33, 64), (64, 1), (90, 0), (200, 65)]
            {
                let mut starts = (from..space.end()).filter(|&at| at == from || !is_free(&space, at - 1));
                let first = starts.find(|&at| (at..at + n_grains).all(|grain| is_free(&space, grain)));
                assert_eq!(space.find_between(from, space.end(), n_grains), first, "{n_grains} from {from}");
            }
        }
    }

    fn is_free(space: &FileSpace, at: u32) -> bool {
        at < space.end() && space.word(at) >> (at % WORD_GRAINS) & 1 == 0
    }

    #[test]
    fn a_piece_wider_than_any_gap_goes_to_the_end() {
        let mut space = FileSpace::default();
        assert_eq!(space.take(5_000), Some(0));
        assert_eq!(space.take(1), Some(5_000));
        space.give_back(0, 5_000);
        assert_eq!(space.used_bytes(), GRAIN_BYTES);
        let wide = space.take(100_000).unwrap();
        assert!(wide >= 5_001, "{wide}");
    }
}
