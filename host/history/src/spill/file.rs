//! The spill file: pieces of bytes whose checksums are kept in memory.
//!
//! The file is unlinked as soon as it is open. No other process can open it, and nothing remains of it when this
//! process ends, in whatever way.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::SpillError;
use super::space::{FileSpace, GRAIN_BYTES, grains_of};

/// Counter that makes file names unique within the process.
static N_FILES: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct SpillFile {
    file: File,
    space: Mutex<FileSpace>,
    n_heap_bytes: AtomicUsize,
    #[cfg(test)]
    pub(super) is_full: std::sync::atomic::AtomicBool,
}

/// The location of one piece. A read after it was freed is detected by the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Offset in grains.
    at: u32,
    n_bytes: u32,
    checksum: u64,
}

impl Extent {
    fn len(self) -> usize {
        usize::try_from(self.n_bytes).unwrap_or(0)
    }

    /// Returns the checksum of the piece, which also serves as a hash.
    pub(super) const fn checksum(self) -> u64 {
        self.checksum
    }
}

impl SpillFile {
    /// Creates a new file in an existing directory.
    pub(super) fn create(directory: &Path) -> Result<Self, SpillError> {
        let number = N_FILES.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("tollgate-spill-{}-{number}", std::process::id()));
        let failed = |error: std::io::Error| SpillError { reason: format!("`{}`: {error}", path.display()) };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = match options.open(&path) {
            // Left by a process with the same id that died between two system calls.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path).and_then(|()| options.open(&path))
            }
            opened => opened,
        };
        let file = file.map_err(failed)?;
        fs::remove_file(&path).map_err(failed)?;
        Ok(Self {
            file,
            space: Mutex::default(),
            n_heap_bytes: AtomicUsize::new(0),
            #[cfg(test)]
            is_full: false.into(),
        })
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.space.lock().used_bytes()
    }

    /// Returns the memory used to track free space, in bytes.
    pub(super) fn n_heap_bytes(&self) -> usize {
        self.n_heap_bytes.load(Ordering::Relaxed)
    }

    /// Writes pieces; adjacent ones are written in one call.
    pub(crate) fn write(&self, pieces: &[Arc<[u8]>]) -> Result<Vec<Extent>, SpillError> {
        let full = || SpillError { reason: "it has reached its maximum size".into() };
        #[cfg(test)]
        if self.is_full.load(Ordering::Relaxed) {
            return Err(SpillError { reason: "no space left on the device of this test".into() });
        }
        let mut extents: Vec<Extent> = Vec::with_capacity(pieces.len());
        let mut space = self.space.lock();
        let written = pieces.iter().try_for_each(|piece| {
            let n_bytes = u32::try_from(piece.len()).map_err(|_| full())?;
            let at = space.take(grains_of(n_bytes)).ok_or_else(full)?;
            extents.push(Extent { at, n_bytes, checksum: checksum(piece) });
            Ok(())
        });
        self.n_heap_bytes.store(space.n_heap_bytes(), Ordering::Relaxed);
        drop(space);
        match written.and_then(|()| self.write_all(pieces, &extents)) {
            Ok(()) => Ok(extents),
            Err(error) => {
                extents.into_iter().for_each(|extent| self.free(extent));
                Err(error)
            }
        }
    }

    fn write_all(&self, pieces: &[Arc<[u8]>], extents: &[Extent]) -> Result<(), SpillError> {
        let n_bytes: u64 =
            extents.iter().map(|extent| u64::from(grains_of(extent.n_bytes)) * GRAIN_BYTES).sum();
        let mut run = Vec::with_capacity(usize::try_from(n_bytes).unwrap_or(0));
        let (mut from, mut end) = (0_u64, 0_u64);
        let flush = |run: &mut Vec<u8>, from: u64| {
            let result = self.file.write_all_at(run, from);
            run.clear();
            result.map_err(|error| SpillError { reason: error.to_string() })
        };
        for (piece, extent) in pieces.iter().zip(extents) {
            let at = u64::from(extent.at) * GRAIN_BYTES;
            if at != end && !run.is_empty() {
                flush(&mut run, from)?;
            }
            if run.is_empty() {
                from = at;
            }
            run.extend_from_slice(piece);
            end = at + u64::from(grains_of(extent.n_bytes)) * GRAIN_BYTES;
            run.resize(usize::try_from(end - from).unwrap_or(run.len()), 0);
        }
        if run.is_empty() { Ok(()) } else { flush(&mut run, from) }
    }

    pub(crate) fn read(&self, extent: Extent) -> Result<Arc<[u8]>, SpillError> {
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, extent.len()).collect();
        // The only reference, so `get_mut` succeeds.
        self.read_into(extent, Arc::get_mut(&mut bytes).unwrap_or_default())?;
        Ok(bytes)
    }

    /// Reads a piece to be changed, with capacity for `n_more` further bytes.
    pub(super) fn read_owned(&self, extent: Extent, n_more: usize) -> Result<Vec<u8>, SpillError> {
        let mut bytes = Vec::with_capacity(extent.len() + n_more);
        bytes.resize(extent.len(), 0);
        self.read_into(extent, &mut bytes)?;
        Ok(bytes)
    }

    fn read_into(&self, extent: Extent, bytes: &mut [u8]) -> Result<(), SpillError> {
        let failed = |reason: String| SpillError { reason };
        let at = u64::from(extent.at) * GRAIN_BYTES;
        self.file.read_exact_at(bytes, at).map_err(|error| failed(error.to_string()))?;
        if checksum(bytes) != extent.checksum {
            return Err(failed("the data does not match its checksum".into()));
        }
        Ok(())
    }

    pub(super) fn free(&self, extent: Extent) {
        let mut space = self.space.lock();
        space.give_back(extent.at, grains_of(extent.n_bytes));
        self.n_heap_bytes.store(space.n_heap_bytes(), Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn end_bytes(&self) -> u64 {
        self.space.lock().end_bytes()
    }

    /// Overwrites all pieces, like a faulty disk.
    #[cfg(test)]
    pub(super) fn damage(&self) {
        let end = self.space.lock().end_bytes();
        self.file.write_all_at(&vec![0xAB; usize::try_from(end).unwrap()], 0).unwrap();
    }
}

/// Detects disk errors; not a protection against attackers.
fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}
