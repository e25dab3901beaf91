//! How much memory the history takes, and what becomes of what does not fit.
//!
//! ```text
//!  packed entries ─ Page ─┬─ words in memory       counted against the limit
//!                         └─ words in the file     written once, read back when somebody looks
//! ```
//!
//! Beyond the limit the words of pages that nobody looked at lately go to a file of this process's own. Their figures stay
//! in memory, so most questions never miss them. Every answer stays exact: a page that cannot be read back is an error and
//! not a number, and a page that cannot be written stays in memory.

mod file;
mod page;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use file::{Extent, SpillFile};

pub(super) use page::Page;

/// Most pages written out by one call: whoever makes room does not do so for ever.
const PAGES_PER_CALL_MAX: usize = 256;
/// How many more than the living ones the clock may remember before it is swept.
const FORGOTTEN_MAX: usize = 4_096;

/// Why a past transaction cannot be told, or the file for them not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the spill file fails: {reason}")]
pub struct SpillError {
    /// What the system says.
    pub reason: String,
}

/// The account of the memory of one history.
#[derive(Debug, Default)]
pub(super) struct Spill {
    resident_bytes: AtomicUsize,
    n_pages: AtomicUsize,
    /// `None`: whatever there is stays in memory.
    bound: Option<Bound>,
}

#[derive(Debug)]
struct Bound {
    limit_bytes: usize,
    file: SpillFile,
    /// Pages in memory, in the order in which they come up for leaving it.
    clock: Mutex<VecDeque<Weak<Page>>>,
}

impl Spill {
    /// With a limit, and a file in this directory for what is over it.
    pub(super) fn bounded(limit_bytes: usize, directory: &Path) -> Result<Self, SpillError> {
        let bound = Bound { limit_bytes, file: SpillFile::create(directory)?, clock: Mutex::default() };
        Ok(Self { bound: Some(bound), ..Self::default() })
    }

    /// The memory it takes, in bytes, as far as it is counted: all that grows with the transactions.
    pub(super) fn resident_bytes(&self) -> usize {
        self.resident_bytes.load(Ordering::Relaxed)
    }

    /// How much of the file is in use, in bytes.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.bound.as_ref().map_or(0, |bound| bound.file.used_bytes())
    }

    /// Whether it keeps within a fifth of its limit.
    pub(super) fn has_room(&self) -> bool {
        self.bound.as_ref().is_none_or(|bound| {
            self.resident_bytes() <= bound.limit_bytes.saturating_add(bound.limit_bytes / 5)
        })
    }

    /// Counts memory that is there until [`Spill::release`].
    pub(super) fn take(&self, n_bytes: usize) {
        self.resident_bytes.fetch_add(n_bytes, Ordering::Relaxed);
    }

    pub(super) fn release(&self, n_bytes: usize) {
        self.resident_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
    }

    /// Writes out what was not looked at lately, until the limit is kept or nothing more can go. Call it without a lock
    /// that questions wait for.
    pub(super) fn make_room(&self) {
        let Some(bound) = &self.bound else { return };
        if self.resident_bytes() <= bound.limit_bytes {
            return;
        }
        // Whoever finds somebody at it already has nothing to do.
        let Some(mut clock) = bound.clock.try_lock() else { return };
        let mut n_left = PAGES_PER_CALL_MAX;
        // Twice around: the first time a page may be spared because it was used.
        for _ in 0..2 * clock.len() {
            if n_left == 0 || self.resident_bytes() <= bound.limit_bytes {
                break;
            }
            let Some(weak) = clock.pop_front() else { break };
            let Some(page) = weak.upgrade() else { continue };
            if page.is_spared() {
                clock.push_back(weak);
                continue;
            }
            n_left -= 1;
            if let Err(error) = page.leave_memory(&bound.file) {
                tracing::error!(error = %error, "the history cannot be written to the spill file");
                clock.push_back(weak);
                break;
            }
        }
    }

    /// From now on the disk changes what was written, and takes no more.
    #[cfg(test)]
    pub(super) fn break_disk(&self) {
        if let Some(bound) = &self.bound {
            bound.file.damage();
            bound.file.is_full.store(true, Ordering::Relaxed);
        }
    }

    fn register(&self, page: &Arc<Page>) {
        let Some(bound) = &self.bound else { return };
        let mut clock = bound.clock.lock();
        if clock.len() > 2 * self.n_pages.load(Ordering::Relaxed) + FORGOTTEN_MAX {
            clock.retain(|page| page.strong_count() > 0);
        }
        clock.push_back(Arc::downgrade(page));
    }

    fn read(&self, extent: &Extent) -> Result<Arc<[u64]>, SpillError> {
        let nowhere = || SpillError { reason: "there is none".into() };
        self.bound.as_ref().ok_or_else(nowhere)?.file.read(extent)
    }

    fn free(&self, extent: Extent) {
        if let Some(bound) = &self.bound {
            bound.file.free(extent);
        }
    }
}

#[cfg(test)]
mod tests;
