//! The extent of the tests: a sample by default, everything with `TOLLGATE_PROOF=full`.

use std::env;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::ops::Range;
use std::time::Duration;

/// Whether the full extent is requested.
#[must_use]
pub fn is_full() -> bool {
    env::var_os("TOLLGATE_PROOF").is_some_and(|value| value == "full")
}

/// Returns `full` if the full extent is requested, otherwise `sample`.
#[must_use]
pub fn rounds(sample: usize, full: usize) -> usize {
    if is_full() { full } else { sample }
}

/// Returns how long something may take that is documented to take this long: no longer if the full extent is requested, otherwise
/// eight times as long, since other tests run beside it on the same cores.
#[must_use]
pub fn time_limit(documented: Duration) -> Duration {
    if is_full() { documented } else { 8 * documented }
}

/// Returns this process's share of the rounds. `TOLLGATE_PROOF_SHARE=2/4` selects the second quarter, so that a long
/// run can be split over cores or machines. The default is all rounds.
///
/// # Panics
/// Panics if the variable is malformed.
#[must_use]
#[expect(clippy::panic, reason = "a harness that cannot go on fails the test it serves")]
pub fn share(rounds: usize) -> Range<usize> {
    let Ok(share) = env::var("TOLLGATE_PROOF_SHARE") else { return 0..rounds };
    let parts = share.split_once('/').map(|(part, parts)| (part.parse::<usize>(), parts.parse::<usize>()));
    match parts {
        Some((Ok(part), Ok(parts))) if (1..=parts).contains(&part) => {
            rounds * (part - 1) / parts..rounds * part / parts
        }
        _ => panic!("TOLLGATE_PROOF_SHARE is `{share}`, not a share as `1/4`"),
    }
}

/// Returns the random seed: `TOLLGATE_PROOF_SEED`, or a new number on every run. It is printed so that a run can be
/// repeated.
///
/// # Panics
/// Panics if the variable is not a number.
#[must_use]
#[expect(clippy::panic, clippy::print_stdout, reason = "it belongs into the output of a failed test")]
pub fn seed(of: &str) -> u64 {
    let seed = match env::var("TOLLGATE_PROOF_SEED") {
        Ok(seed) => seed.parse().unwrap_or_else(|_| panic!("TOLLGATE_PROOF_SEED is `{seed}`, no number")),
        Err(_) => RandomState::new().build_hasher().finish(),
    };
    println!("{of}: TOLLGATE_PROOF_SEED={seed}");
    seed
}
