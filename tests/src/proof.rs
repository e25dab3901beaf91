//! How much is tried: a sample on every run, the whole measure when `TOLLGATE_PROOF=full`.

use std::env;

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
