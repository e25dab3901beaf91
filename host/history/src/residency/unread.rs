//! Anchors of which the record could not be read a moment ago, so that not every query waits for it again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::PATIENCE;
use crate::anchor::Anchor;

/// Anchors beyond this number are not noted; queries wait for them.
const NOTED_MAX: usize = 65_536;

/// Such anchors, each for as long as a query would wait.
#[derive(Debug, Default)]
pub(super) struct UnreadAnchors {
    noted: Mutex<HashMap<Anchor, Instant>>,
    /// Size of the map, which is nearly always 0.
    n_kept: AtomicUsize,
    n_noted: AtomicU64,
}

impl UnreadAnchors {
    pub(super) fn note(&self, anchor: Anchor) {
        self.n_noted.fetch_add(1, Ordering::Relaxed);
        let mut noted = self.noted.lock();
        if noted.len() >= NOTED_MAX {
            noted.retain(|_, since| since.elapsed() < PATIENCE);
        }
        if noted.len() < NOTED_MAX {
            noted.insert(anchor, Instant::now());
        }
        self.n_kept.store(noted.len(), Ordering::Relaxed);
    }

    pub(super) fn contains(&self, anchor: Anchor) -> bool {
        if self.n_kept.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut noted = self.noted.lock();
        let is_recent = noted.get(&anchor).is_some_and(|since| since.elapsed() < PATIENCE);
        if !is_recent {
            noted.remove(&anchor);
            self.n_kept.store(noted.len(), Ordering::Relaxed);
        }
        is_recent
    }

    /// Returns how often a record could not be read.
    pub(super) fn n_noted(&self) -> u64 {
        self.n_noted.load(Ordering::Relaxed)
    }
}
