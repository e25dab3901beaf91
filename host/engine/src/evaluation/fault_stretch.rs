//! A stretch of runs nearly all of which were faulty, of one rule or of the rules of an owner.
//!
//! ```text
//!  first faulty run ──▶ 256 runs, of which at most 25 are sound, of 32 sources ──▶ this holds for the time: due
//!                          └─ one more is sound: the stretch is over
//! ```
//!
//! A client who sends transactions on which a rule is faulty has to make up nine tenths of the traffic for this time.

use std::time::{Duration, Instant};

use smallvec::SmallVec;

/// The runs that are looked at.
pub(crate) const RUNS: u64 = 256;
/// The most of them that may be sound: nine tenths are faulty.
pub(crate) const SOUND_MAX: u32 = 25;
/// Distinct sources that the faulty ones of these runs must have.
pub(crate) const SOURCES_MIN: usize = 32;

const WORD: u64 = 64;

/// A stretch of runs, beginning with a faulty one.
#[derive(Debug)]
pub(super) struct FaultStretch {
    /// Since when the last [`RUNS`] are all in the stretch and have enough sources; `None` while they have not.
    full_since: Option<Instant>,
    n_runs: u64,
    /// The bit of run `n` is bit `n % 64` of word `n / 64 % 4`. It is set if the run was sound.
    sound: [u64; (RUNS / WORD) as usize],
    /// The sources of the latest faulty runs, with the number of the last such run, the latest source last.
    ///
    /// INVARIANT: no other source has a later run, so there are [`SOURCES_MIN`] sources in the last [`RUNS`] exactly if the
    /// first of so many is.
    sources: SmallVec<[(u64, u64); 4]>,
}

impl FaultStretch {
    /// Begins a stretch, without runs.
    pub(super) fn begin() -> Self {
        Self { full_since: None, n_runs: 0, sound: Default::default(), sources: SmallVec::new() }
    }

    /// Adds a faulty run, with the hash of its source.
    pub(super) fn note_faulty(&mut self, source: u64, now: Instant) {
        let number = self.next(false);
        if let Some(known) = self.sources.iter().position(|(known, _)| *known == source) {
            self.sources.remove(known);
        } else if self.sources.len() == SOURCES_MIN {
            self.sources.remove(0);
        }
        self.sources.push((source, number));
        self.look(now);
    }

    /// Adds a sound run. Returns whether the stretch goes on.
    pub(super) fn note_sound(&mut self, now: Instant) -> bool {
        self.next(true);
        self.look(now);
        self.n_sound() <= SOUND_MAX
    }

    /// Returns whether the last [`RUNS`] have been in the stretch, with enough sources, for this long.
    pub(super) fn is_due(&self, now: Instant, least: Duration) -> bool {
        self.full_since.is_some_and(|since| now.saturating_duration_since(since) >= least)
    }

    fn look(&mut self, now: Instant) {
        let is_recent = |(_, number): &(u64, u64)| number + RUNS >= self.n_runs;
        let is_full = self.n_runs >= RUNS
            && self.sources.len() >= SOURCES_MIN
            && self.sources.first().is_some_and(is_recent);
        self.full_since = if is_full { self.full_since.or(Some(now)) } else { None };
    }

    /// Returns how many of the last [`RUNS`] were faulty.
    pub(super) fn n_faulty(&self) -> u64 {
        self.n_runs.min(RUNS) - u64::from(self.n_sound())
    }

    /// Returns the number of the next run, of which it notes whether it is sound.
    fn next(&mut self, is_sound: bool) -> u64 {
        let number = self.n_runs;
        self.n_runs += 1;
        let word_index = (number / WORD % (RUNS / WORD)) as usize;
        if let Some(word) = self.sound.get_mut(word_index) {
            let bit = 1 << (number % WORD);
            *word = if is_sound { *word | bit } else { *word & !bit };
        }
        number
    }

    fn n_sound(&self) -> u32 {
        self.sound.iter().map(|word| word.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_secs(300);

    /// Runs of a stretch, one each second: `Some(source)` is faulty, `None` sound. `expected` is the run after which the stretch
    /// is due.
    #[track_caller]
    fn check(runs: impl Iterator<Item = Option<u64>>, expected: Option<u64>) {
        let begun = Instant::now();
        let mut stretch = FaultStretch::begin();
        let mut due_after = None;
        for (n, run) in (1..).zip(runs) {
            let now = begun + Duration::from_secs(n);
            match run {
                Some(source) => stretch.note_faulty(source, now),
                None if stretch.note_sound(now) => {}
                None => break,
            }
            if due_after.is_none() && stretch.is_due(now, LEAST) {
                due_after = Some(n);
            }
        }
        assert_eq!(due_after, expected);
    }

    const FULL: u64 = 256;
    const DUE: u64 = FULL + LEAST.as_secs();

    #[test]
    fn a_stretch_is_due_when_256_runs_of_32_sources_lasted_for_the_time() {
        let of_sources = |n: u64| (0..1_000).map(move |run| Some(run % n));
        check(of_sources(32), Some(DUE));
        check(of_sources(1_000), Some(DUE));
        check(of_sources(31), None);
        check(of_sources(32).take(DUE as usize - 1), None);
    }

    #[test]
    fn a_burst_after_a_quiet_time_is_not_due() {
        let mut stretch = FaultStretch::begin();
        let begun = Instant::now();
        stretch.note_faulty(0, begun);
        let later = begun + LEAST;
        (0..500).for_each(|run| stretch.note_faulty(run % 64, later));
        assert!(!stretch.is_due(later, LEAST));
    }

    #[test]
    fn sources_of_earlier_runs_do_not_count() {
        let few_later = |n: u64| (0..1_000).map(move |run| Some(if run < n { run % 40 } else { 0 }));
        check(few_later(200), None);
        check(few_later(600), Some(DUE));
        check((0..200).map(|run| Some(run % 31)).chain((0..600).map(|_| Some(0))).chain([Some(99)]), None);
    }

    #[test]
    fn more_sound_runs_than_a_tenth_end_it() {
        let every = |n: u64| (0..2_000).map(move |run| (run % n != n - 1).then_some(run % 64));
        check(every(11), Some(DUE));
        check(every(10), None);
    }
}
