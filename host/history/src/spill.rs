//! How much memory the history takes, and what becomes of what does not fit.
//!
//! ```text
//!  entries ─┬─ in memory     counted, as the allocator counts, against the limit
//!           └─ in the file   written when they leave, read when somebody looks
//! ```
//!
//! Beyond the limit every series in turn lets go of what it can do without: first the chunks that were full longest, then
//! the entries of keys that nobody touched lately. It all goes to a file of this process's own. Keys, and the figures of
//! full chunks, stay in memory. Every answer stays exact: what cannot be read back is an error and not a number, and what
//! cannot be written stays in memory.

mod account;
mod file;
mod piece_cache;
mod space;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use file::SpillFile;
use piece_cache::PieceCache;

pub(super) use account::{SeriesAccount, heap_bytes};
pub(super) use file::Extent;

/// Most bytes one series lets go at a time.
pub(super) const LEAVING_BYTES_MAX: usize = 128 * 1_024;
/// Most rounds over all series in one call: whoever makes room does not do so for ever.
const ROUNDS_MAX: usize = 16;
/// So often a question is asked again because what it was about to read has moved.
const MISSES_MAX: usize = 64;
/// Between what is allocated this share of it lies waste, as measured with ten million transactions: rows that grow leave places
/// that only others of their size can take.
const FRAGMENTS_SHARE: usize = 3;
/// What is read to be changed has room for so much more.
const ROOM_BYTES: usize = 48;
/// Room is made for this share of the limit at once, and is not asked for again before so much is needed.
const LIMIT_SHARE: usize = 64;

/// Why a past transaction cannot be told, or the file for them not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the spill file fails: {reason}")]
pub struct SpillError {
    /// What the system says.
    pub reason: String,
}

/// Why a question has no answer this time. Where it is a place in the file, that may have been given back while the question
/// was on its way to it.
#[derive(Debug)]
pub(super) struct SpillMiss<E = SpillError> {
    pub(super) extent: Option<Extent>,
    pub(super) error: E,
}

/// The account of the memory of one history.
#[derive(Debug, Default)]
pub(super) struct Spill {
    resident_bytes: AtomicUsize,
    /// `None`: whatever there is stays in memory.
    bound: Option<SpillLimit>,
}

#[derive(Debug)]
struct SpillLimit {
    limit_bytes: usize,
    file: SpillFile,
    recent: PieceCache,
    /// No room is made below this: it was in vain.
    in_vain_below: AtomicUsize,
    /// In the order in which they are asked to let go.
    spill_sources: Mutex<VecDeque<Weak<dyn SpillSource>>>,
}

/// Somebody whose memory is counted.
pub(super) trait SpillSource: std::fmt::Debug + Send + Sync {
    /// Lets go about so many bytes, if it can. Answers how much it wrote out.
    ///
    /// # Errors
    /// When the file takes no more.
    fn let_go(&self, n_bytes: usize) -> Result<usize, SpillError>;
}

impl Spill {
    /// With a limit, and a file in this directory for what is over it.
    pub(super) fn bounded(limit_bytes: usize, directory: &Path) -> Result<Self, SpillError> {
        let bound = SpillLimit {
            limit_bytes,
            file: SpillFile::create(directory)?,
            recent: PieceCache::within(limit_bytes),
            in_vain_below: AtomicUsize::new(0),
            spill_sources: Mutex::default(),
        };
        Ok(Self { bound: Some(bound), ..Self::default() })
    }

    /// The memory it takes, in bytes, as far as it is counted: all that grows with the transactions, and what the
    /// allocator leaves unused between.
    pub(super) fn resident_bytes(&self) -> usize {
        let map = self.bound.as_ref().map_or(0, |bound| bound.file.n_heap_bytes());
        let allocated = self.resident_bytes.load(Ordering::Relaxed) + map;
        allocated + allocated / FRAGMENTS_SHARE
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

    /// Whether what is in memory may have to leave it one day.
    pub(super) const fn is_bounded(&self) -> bool {
        self.bound.is_some()
    }

    /// Asks this one too to let go, when that is needed.
    pub(super) fn register(&self, spill_source: Weak<dyn SpillSource>) {
        if let Some(bound) = &self.bound {
            let mut spill_sources = bound.spill_sources.lock();
            spill_sources.retain(|spill_source| spill_source.strong_count() > 0);
            spill_sources.push_back(spill_source);
        }
    }

    /// Writes out what was not looked at lately, until the limit is kept or nothing more can go. Call it without a lock
    /// that questions wait for.
    pub(super) fn make_room(&self) {
        let Some(bound) = &self.bound else { return };
        if self.excess(bound) == 0 {
            return;
        }
        // Whoever finds somebody at it already has nothing to do.
        let Some(mut spill_sources) = bound.spill_sources.try_lock() else { return };
        // Twice in vain: the first time everything may be spared because it was used.
        let (mut n_in_vain, mut n_rounds) = (0, 0);
        while n_in_vain < 2 * spill_sources.len() && n_rounds < ROUNDS_MAX * spill_sources.len() {
            let excess = self.excess(bound);
            if excess == 0 {
                return;
            }
            let Some(weak) = spill_sources.pop_front() else { return };
            let Some(spill_source) = weak.upgrade() else { continue };
            spill_sources.push_back(weak);
            n_rounds += 1;
            match spill_source.let_go(excess.min(LEAVING_BYTES_MAX)) {
                Ok(0) => n_in_vain += 1,
                Ok(_) => n_in_vain = 0,
                Err(error) => {
                    tracing::error!(error = %error, "the history cannot be written to the spill file");
                    break;
                }
            }
        }
        drop(spill_sources);
        self.gave_up(bound);
    }

    /// Makes room in what is nobody else's yet.
    pub(super) fn make_room_in(&self, mut let_go: impl FnMut(usize) -> Result<usize, SpillError>) {
        let Some(bound) = &self.bound else { return };
        let mut n_in_vain = 0;
        while n_in_vain < 2 {
            let excess = self.excess(bound);
            if excess == 0 {
                return;
            }
            match let_go(excess.min(LEAVING_BYTES_MAX)) {
                Ok(0) => n_in_vain += 1,
                Ok(_) => n_in_vain = 0,
                Err(error) => {
                    tracing::error!(error = %error, "the history cannot be written to the spill file");
                    break;
                }
            }
        }
        self.make_room();
    }

    /// How much has to go; 0 as long as trying would be in vain.
    fn excess(&self, bound: &SpillLimit) -> usize {
        let resident = self.resident_bytes();
        if resident <= bound.limit_bytes || resident < bound.in_vain_below.load(Ordering::Relaxed) {
            return 0;
        }
        let over = resident - (bound.limit_bytes - bound.limit_bytes / LIMIT_SHARE);
        // With what goes, what the allocator leaves unused beside it is counted no more.
        over - over / (FRAGMENTS_SHARE + 1)
    }

    fn gave_up(&self, bound: &SpillLimit) {
        let resident = self.resident_bytes();
        let below =
            if resident > bound.limit_bytes { resident + bound.limit_bytes / LIMIT_SHARE / 4 } else { 0 };
        bound.in_vain_below.store(below, Ordering::Relaxed);
    }

    /// Writes out some pieces, side by side where that can be.
    ///
    /// # Errors
    /// When the file takes no more.
    pub(super) fn write(&self, pieces: &[Arc<[u8]>]) -> Result<Vec<Extent>, SpillError> {
        self.bound.as_ref().ok_or_else(nowhere)?.file.write(pieces)
    }

    /// # Errors
    /// When what is there is not what was written, or not any more.
    pub(super) fn read(&self, extent: Extent) -> Result<Arc<[u8]>, SpillMiss> {
        let bound = self.bound.as_ref().ok_or_else(nowhere)?;
        if let Some(bytes) = bound.recent.get(extent) {
            return Ok(bytes);
        }
        let bytes = bound.file.read(extent).map_err(|error| SpillMiss { extent: Some(extent), error })?;
        let (came, went) = bound.recent.put(extent, &bytes);
        self.resident_bytes.fetch_add(came, Ordering::Relaxed);
        self.resident_bytes.fetch_sub(went, Ordering::Relaxed);
        Ok(bytes)
    }

    /// Reads what will not be read again.
    fn read_once(&self, extent: Extent) -> Result<Arc<[u8]>, SpillError> {
        self.bound.as_ref().ok_or_else(nowhere)?.file.read(extent)
    }

    /// The same, to be changed.
    fn read_owned(&self, extent: Extent) -> Result<Vec<u8>, SpillError> {
        self.bound.as_ref().ok_or_else(nowhere)?.file.read_owned(extent, ROOM_BYTES)
    }

    fn free(&self, extent: Extent) {
        if let Some(bound) = &self.bound {
            bound.file.free(extent);
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
}

impl<E: From<SpillError>> From<SpillError> for SpillMiss<E> {
    fn from(error: SpillError) -> Self {
        Self { extent: None, error: error.into() }
    }
}

impl SpillMiss {
    /// The same, among other reasons.
    pub(super) fn among<E: From<SpillError>>(self) -> SpillMiss<E> {
        SpillMiss { extent: self.extent, error: self.error.into() }
    }
}

/// Asks again while what was to be read has moved: it is found where it is now. The same place twice is a failure.
///
/// # Errors
/// When something cannot be read, or for another reason of whoever asks.
#[inline]
pub(super) fn until_read<T, E>(mut ask: impl FnMut() -> Result<T, SpillMiss<E>>) -> Result<T, E> {
    match ask() {
        Ok(answer) => Ok(answer),
        Err(miss) => ask_again(miss, &mut ask),
    }
}

#[cold]
fn ask_again<T, E>(miss: SpillMiss<E>, ask: &mut dyn FnMut() -> Result<T, SpillMiss<E>>) -> Result<T, E> {
    let mut last = miss;
    for _ in 0..MISSES_MAX {
        let Some(missed) = last.extent else { break };
        match ask() {
            Ok(answer) => return Ok(answer),
            Err(miss) if miss.extent == Some(missed) => return Err(miss.error),
            Err(miss) => last = miss,
        }
    }
    Err(last.error)
}

fn nowhere() -> SpillError {
    SpillError { reason: "there is none".into() }
}

#[cfg(test)]
mod tests;
