//! Use of a key with its latest entries in memory since it was last considered for spilling.
//!
//! A transaction that loads a key also queries it at once, which does not predict further use.

/// Not used.
pub(super) const NOT: u8 = 0;
/// Loaded for one transaction.
pub(super) const ONCE: u8 = 1;
/// Brought back for a transaction that has not come yet; spared once, unless the anchor leaves with another of its keys.
pub(super) const BACK: u8 = 2;
/// Used again; spared once.
pub(super) const AGAIN: u8 = 3;
/// Used four times or more, or read back soon after it left; spared four times. The values between this and [`AGAIN`] are spared
/// two and three times.
pub(super) const OFTEN: u8 = 6;

/// Returns the use of a key after one more entry. `is_loaded` means that its latest entries were not in memory.
pub(super) const fn after_entry(use_before: u8, is_loaded: bool) -> u8 {
    match use_before {
        BACK => ONCE,
        _ if is_loaded => ONCE,
        NOT | ONCE => AGAIN,
        OFTEN.. => OFTEN,
        _ => use_before + 1,
    }
}

/// Returns the use of a key that was considered and spared; `None` when it is not spared.
pub(super) const fn spared(use_before: u8) -> Option<u8> {
    match use_before {
        NOT | ONCE => None,
        BACK | AGAIN => Some(NOT),
        _ => Some(use_before - 1),
    }
}

/// Maximum number of times that a key is considered before it leaves: once as it is, and once after it was joined with what is on
/// the disk, which counts as being used often.
pub(super) const CONSIDERED_MAX: usize = 2 * ((OFTEN - AGAIN) as usize + 2);

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks how often a key is spared after so many entries.
    fn check(use_before: u8, n_entries: usize, n_spared_expected: usize) {
        let mut in_use = (0..n_entries).fold(use_before, |in_use, _| after_entry(in_use, false));
        let mut n_spared = 0;
        while let Some(use_left) = spared(in_use) {
            (in_use, n_spared) = (use_left, n_spared + 1);
        }
        assert_eq!(n_spared, n_spared_expected, "{use_before}, then {n_entries} entries");
        assert!(n_spared < CONSIDERED_MAX);
    }

    #[test]
    fn a_key_is_spared_the_more_often_the_more_it_is_used() {
        for (use_before, n_entries, n_spared) in [
            (NOT, 0, 0),
            (NOT, 1, 1),
            (NOT, 3, 3),
            (NOT, 100, 4),
            (ONCE, 1, 1),
            (BACK, 0, 1),
            (BACK, 1, 0),
            (BACK, 2, 1),
            (OFTEN, 0, 4),
            (OFTEN, 1, 4),
        ] {
            check(use_before, n_entries, n_spared);
        }
        assert_eq!(spared(after_entry(NOT, true)), None);
    }
}
