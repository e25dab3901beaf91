//! Memory use of the history, and the spill file for what exceeds the limit.
//!
//! ```text
//!  entries ─┬─ in memory           counted against the limit, in the sizes of the allocator
//!           └─ in the spill file   written when they leave memory, read on demand
//! ```
//!
//! Above the limit, each series in turn spills what it needs least. The oldest full chunks go first, then the latest
//! entries of keys not used recently. Keys, and the precomputed sums of full chunks, stay in memory, unless they may leave
//! it as a whole ([`residency`](crate::residency)). Every answer stays exact: bytes that cannot be read back cause an
//! error, and bytes that cannot be written stay in memory. The spill file belongs to one process.

mod account;
mod allowed;
mod file;
mod in_vain;
mod piece_cache;
mod room;
mod space;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use allowed::AllowedBytes;
use in_vain::AttemptInVain;
use piece_cache::PieceCache;

use crate::residency::Residency;

pub(super) use account::{SeriesAccount, heap_bytes};
use room::SpillOrder;

pub use room::MemoryUse;

pub(super) use file::{Extent, SpillFile};

/// Maximum number of bytes that one series spills at a time.
pub(super) const LEAVING_BYTES_MAX: usize = 128 * 1_024;
/// Maximum number of retries of a query after bytes it was about to read have moved.
const MISSES_MAX: usize = 64;
/// Memory left unused between allocations is estimated as the allocated memory divided by this, from a measurement with
/// ten million transactions. Rows that grow leave gaps that fit only others of their size.
const FRAGMENTS_SHARE: usize = 3;
/// Spare capacity of a piece that is read in order to be changed, in bytes.
const ROOM_BYTES: usize = 48;
/// The limit divided by this is kept free when a series is added.
const ROOM_FOR_GROWTH_SHARE: usize = 16;
/// The limit divided by this is what keys and precomputed sums may take before whole keys leave.
const KEYS_SHARE: usize = 2;

/// The reason the spill file, or a file of keys, cannot be created, written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a file of the history cannot be used: {reason}")]
pub struct SpillError {
    /// Message of the operating system.
    pub reason: String,
}

/// A failed read. If it names an extent, that may have been freed after the query found it.
#[derive(Debug)]
pub(super) struct SpillMiss<E = SpillError> {
    pub(super) extent: Option<Extent>,
    pub(super) error: E,
}

/// The memory account of one history.
#[derive(Debug, Default)]
pub(super) struct Spill {
    resident_bytes: AtomicUsize,
    /// The part of `resident_bytes` that can leave memory.
    entry_bytes: AtomicUsize,
    /// The part of `resident_bytes` that cannot, and that is being replaced.
    replaced_bytes: AtomicUsize,
    /// Number of the next table of keys. None is used twice: records name the tables of their keys.
    next_table: AtomicU64,
    /// `None` when everything stays in memory.
    bound: Option<SpillLimit>,
}

#[derive(Debug)]
struct SpillLimit {
    limit_bytes: usize,
    allowed: AllowedBytes,
    directory: PathBuf,
    file: SpillFile,
    recent: PieceCache,
    in_vain: AttemptInVain,
    /// `None` when keys stay in memory.
    residency: Option<Residency>,
    order: Mutex<SpillOrder>,
}

/// Memory that is being replaced.
#[derive(Debug)]
pub(super) struct ReplacedBytes {
    spill: Arc<Spill>,
    n_bytes: usize,
}

impl Drop for ReplacedBytes {
    fn drop(&mut self) {
        self.spill.replaced_bytes.fetch_sub(self.n_bytes, Ordering::Relaxed);
    }
}

/// An owner of counted memory.
pub(super) trait SpillSource: std::fmt::Debug + Send + Sync {
    /// Spills about `n_bytes`, if possible.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn let_go(&self, n_bytes: usize) -> Result<SpillTurn, SpillError>;

    /// Returns the memory of keys that may leave as a whole, in bytes.
    fn n_leaving_key_bytes(&self) -> usize {
        0
    }
}

impl SpillLimit {
    fn n_leaving_key_bytes(&self) -> usize {
        let sources: Vec<_> = self.order.lock().sources().collect();
        sources.iter().map(|source| source.n_leaving_key_bytes()).sum()
    }
}

/// The result of one turn of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpillTurn {
    /// Something left memory, or was spared because it was used recently. It may leave in a later turn.
    GoesOn,
    /// Nothing is left that could leave memory.
    InVain,
}

impl Spill {
    /// Creates an account with a limit, and a spill file in this directory. With a `residency`, whole keys may leave memory,
    /// too.
    pub(super) fn bounded(
        limit_bytes: usize,
        directory: &Path,
        residency: Option<Residency>,
    ) -> Result<Self, SpillError> {
        let bound = SpillLimit {
            limit_bytes,
            allowed: AllowedBytes::of(limit_bytes),
            directory: directory.to_owned(),
            file: SpillFile::create(directory)?,
            recent: PieceCache::within(limit_bytes),
            in_vain: AttemptInVain::none(),
            residency,
            order: Mutex::default(),
        };
        Ok(Self { bound: Some(bound), ..Self::default() })
    }

    /// Corrects the limit by the resident memory of the process, which `resident` returns in bytes. What it takes now does
    /// not count.
    pub(super) fn watch_process(&self, resident: fn() -> Option<usize>) {
        if let Some(bound) = &self.bound {
            bound.allowed.watch(resident);
        }
    }

    /// Returns a number for a new table of keys.
    pub(super) fn next_table(&self) -> u64 {
        self.next_table.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number that the next table of keys gets.
    pub(super) fn tables_end(&self) -> u64 {
        self.next_table.load(Ordering::Relaxed)
    }

    /// Leaves the numbers of tables before this one to records of an earlier process.
    pub(super) fn skip_tables(&self, next: u64) {
        self.next_table.fetch_max(next, Ordering::Relaxed);
    }

    /// Returns the counted memory, in bytes: everything that grows with the transactions, and an estimate of what the
    /// allocator leaves unused.
    pub(super) fn resident_bytes(&self) -> usize {
        let map = self.bound.as_ref().map_or(0, |bound| bound.file.n_heap_bytes())
            + self.residency().map_or(0, Residency::n_index_bytes);
        let allocated = self.resident_bytes.load(Ordering::Relaxed) + map;
        allocated + allocated / FRAGMENTS_SHARE
    }

    /// Leaves this much out of what cannot leave memory until the returned value is dropped, because it is being replaced.
    pub(super) fn replacing(self: &Arc<Self>, n_bytes: usize) -> ReplacedBytes {
        self.replaced_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        ReplacedBytes { spill: Arc::clone(self), n_bytes }
    }

    /// Returns the part of [`Spill::resident_bytes`] that cannot leave memory: keys and precomputed sums.
    pub(super) fn kept_bytes(&self) -> usize {
        let others = self.entry_bytes.load(Ordering::Relaxed) + self.replaced_bytes.load(Ordering::Relaxed);
        self.resident_bytes().saturating_sub(others + others / FRAGMENTS_SHARE)
    }

    /// Returns the number of bytes by which what cannot leave memory exceeds the limit; 0 without a limit.
    pub(super) fn kept_excess(&self) -> usize {
        let Some(bound) = &self.bound else { return 0 };
        // Nearly always the limit is not reached, and the keys that leave need not be counted.
        if self.kept_bytes() <= bound.limit_bytes {
            return 0;
        }
        self.kept_for_good(bound).saturating_sub(bound.limit_bytes)
    }

    /// Returns [`Spill::kept_bytes`] without the keys that leave memory as a whole.
    fn kept_for_good(&self, bound: &SpillLimit) -> usize {
        let leaving = if bound.residency.is_some() { bound.n_leaving_key_bytes() } else { 0 };
        self.kept_bytes().saturating_sub(leaving + leaving / FRAGMENTS_SHARE)
    }

    /// Returns the limit, in bytes; 0 without one.
    pub(super) fn limit_bytes(&self) -> usize {
        self.bound.as_ref().map_or(0, |bound| bound.limit_bytes)
    }

    /// Returns whether further series with so much that cannot leave memory fit, with a sixteenth of the limit to spare
    /// for the growth of those that are there.
    pub(super) fn fits(&self, kept_bytes: usize) -> bool {
        self.bound.as_ref().is_none_or(|bound| {
            let room = bound.limit_bytes - bound.limit_bytes / ROOM_FOR_GROWTH_SHARE;
            self.kept_for_good(bound).saturating_add(kept_bytes) <= room
        })
    }

    pub(super) fn spilled_bytes(&self) -> u64 {
        self.bound.as_ref().map_or(0, |bound| bound.file.used_bytes())
            + self.residency().map_or(0, |residency| residency.n_file_bytes() as u64)
    }

    /// Returns what leaves memory as a whole; `None` when keys stay in memory.
    pub(super) fn residency(&self) -> Option<&Residency> {
        self.bound.as_ref()?.residency.as_ref()
    }

    /// Returns whether keys, too, should leave memory: half of the limit is taken by what does not leave otherwise.
    pub(super) fn has_many_keys(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| self.kept_bytes() > bound.limit_bytes / KEYS_SHARE)
    }

    /// Returns whether any key ever left memory.
    #[inline]
    pub(super) fn has_records(&self) -> bool {
        self.residency().is_some_and(Residency::has_records)
    }

    /// Returns whether keys in memory may lack rows that could not be read.
    #[inline]
    pub(super) fn has_partial_keys(&self) -> bool {
        self.residency().is_some_and(Residency::has_partial_keys)
    }

    /// Fails where a test has made the disk full.
    ///
    /// # Errors
    /// In tests alone.
    pub(super) fn fail_if_full(&self) -> Result<(), SpillError> {
        #[cfg(test)]
        if self.bound.as_ref().is_some_and(|bound| bound.file.is_full.load(Ordering::Relaxed)) {
            return Err(SpillError { reason: "no space left on the device of this test".into() });
        }
        Ok(())
    }

    /// Returns whether there is a limit, so that data may have to leave memory.
    pub(super) const fn is_bounded(&self) -> bool {
        self.bound.is_some()
    }

    pub(super) fn register(&self, spill_source: Weak<dyn SpillSource>) {
        if let Some(bound) = &self.bound {
            bound.order.lock().add(spill_source);
        }
    }

    /// Creates a file beside the spill file, which is gone when it is dropped.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn temporary_file(&self) -> Result<SpillFile, SpillError> {
        SpillFile::create(&self.bound.as_ref().ok_or_else(nowhere)?.directory)
    }

    /// Writes pieces, adjacent to each other where possible.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn write(&self, pieces: &[Arc<[u8]>]) -> Result<Vec<Extent>, SpillError> {
        self.bound.as_ref().ok_or_else(nowhere)?.file.write(pieces)
    }

    /// Reads a piece, through the cache.
    ///
    /// # Errors
    /// When the bytes are damaged or no longer there.
    pub(super) fn read(&self, extent: Extent) -> Result<Arc<[u8]>, SpillMiss> {
        let bound = self.bound.as_ref().ok_or_else(nowhere)?;
        if let Some(bytes) = bound.recent.get(extent) {
            return Ok(bytes);
        }
        let bytes = bound.file.read(extent).map_err(|error| SpillMiss { extent: Some(extent), error })?;
        let (came, went) = bound.recent.put(extent, &bytes);
        for counted in [&self.resident_bytes, &self.entry_bytes] {
            counted.fetch_add(came, Ordering::Relaxed);
            counted.fetch_sub(went, Ordering::Relaxed);
        }
        Ok(bytes)
    }

    /// Reads a piece that will not be read again.
    fn read_once(&self, extent: Extent) -> Result<Arc<[u8]>, SpillError> {
        self.bound.as_ref().ok_or_else(nowhere)?.file.read(extent)
    }

    fn read_owned(&self, extent: Extent) -> Result<Vec<u8>, SpillError> {
        self.bound.as_ref().ok_or_else(nowhere)?.file.read_owned(extent, ROOM_BYTES)
    }

    fn free(&self, extent: Extent) {
        if let Some(bound) = &self.bound {
            bound.file.free(extent);
        }
    }

    /// Damages the file and makes further writes fail.
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
    /// Converts to a miss with another error type.
    pub(super) fn among<E: From<SpillError>>(self) -> SpillMiss<E> {
        SpillMiss { extent: self.extent, error: self.error.into() }
    }
}

/// Runs `ask`, and again while the bytes it needs have moved. Missing the same extent twice is a failure.
///
/// # Errors
/// When something cannot be read, or `ask` fails otherwise.
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
    SpillError { reason: "it does not exist".into() }
}

#[cfg(test)]
mod tests;
