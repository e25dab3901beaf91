//! Anchors of which the record could not be read a moment ago, so that not every query waits for it again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::PATIENCE;
use crate::anchor::Anchor;
use crate::spill::SpillError;

/// Anchors beyond this number are not noted; queries wait for them.
const NOTED_MAX: usize = 65_536;
/// Time between two lines of the log.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// Such anchors, each for as long as a query would wait.
#[derive(Debug, Default)]
pub(super) struct UnreadAnchors {
    noted: Mutex<NotedAnchors>,
    /// Number of anchors, which is nearly always 0.
    n_kept: AtomicUsize,
    n_noted: AtomicU64,
    has_damaged: AtomicBool,
}

#[derive(Debug, Default)]
struct NotedAnchors {
    anchors: HashMap<Anchor, (Instant, SpillError)>,
    logged: Option<Instant>,
}

impl UnreadAnchors {
    pub(super) fn note(&self, anchor: Anchor, error: SpillError) {
        self.n_noted.fetch_add(1, Ordering::Relaxed);
        let mut noted = self.noted.lock();
        if noted.logged.is_none_or(|logged| logged.elapsed() >= LOG_PAUSE) {
            tracing::error!(%error, "keys of the history cannot be read back");
            noted.logged = Some(Instant::now());
        }
        if noted.anchors.len() >= NOTED_MAX {
            noted.anchors.retain(|_, (since, _)| since.elapsed() < PATIENCE);
        }
        if noted.anchors.len() < NOTED_MAX {
            noted.anchors.insert(anchor, (Instant::now(), error));
        }
        self.n_kept.store(noted.anchors.len(), Ordering::Relaxed);
    }

    /// Returns the reason, if the record of an anchor could not be read a moment ago.
    pub(super) fn reason(&self, anchor: Anchor) -> Option<SpillError> {
        if self.n_kept.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut noted = self.noted.lock();
        let (since, error) = noted.anchors.get(&anchor)?;
        if since.elapsed() < PATIENCE {
            return Some(error.clone());
        }
        noted.anchors.remove(&anchor);
        self.n_kept.store(noted.anchors.len(), Ordering::Relaxed);
        None
    }

    /// Returns how often a record could not be read.
    pub(super) fn n_noted(&self) -> u64 {
        self.n_noted.load(Ordering::Relaxed)
    }

    /// Records that a record is damaged. Returns whether none was before.
    pub(super) fn note_damaged(&self) -> bool {
        !self.has_damaged.swap(true, Ordering::AcqRel)
    }

    /// Returns whether a record is damaged.
    pub(super) fn has_damaged(&self) -> bool {
        self.has_damaged.load(Ordering::Acquire)
    }
}
