//! How much is tried: a sample on every run, the whole measure when `TOLLGATE_PROOF=full`.

use std::env;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::ops::Range;

/// Whether the whole measure was asked for.
#[must_use]
pub fn is_full() -> bool {
    env::var_os("TOLLGATE_PROOF").is_some_and(|value| value == "full")
}

/// `full` when the whole measure was asked for, otherwise `sample`.
#[must_use]
pub fn rounds(sample: usize, full: usize) -> usize {
    if is_full() { full } else { sample }
}

/// The part of so many rounds that falls to this process: all, or with `TOLLGATE_PROOF_SHARE=2/4` the second quarter of
/// them, so that a long proof can run on several cores or machines.
///
/// # Panics
/// When the variable says something else.
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

/// Where chance begins: `TOLLGATE_PROOF_SEED`, or another number on every run; printed, so that a run can be repeated.
///
/// # Panics
/// When the variable is no number.
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
