//! The file: pages side by side, each with a checksum kept in memory.
//!
//! It has no name from the moment it is open, so nobody else finds it and nothing is left of it when the process ends,
//! however that happens.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::SpillError;

/// Pages take whole multiples of this, so that a freed place fits the next.
const GRAIN_BYTES: u64 = 64;

/// Files of one process are told apart.
static N_FILES: AtomicU64 = AtomicU64::new(0);

/// Where pages are kept.
#[derive(Debug)]
pub(super) struct SpillFile {
    file: File,
    space: Mutex<Space>,
    #[cfg(test)]
    pub(super) is_full: std::sync::atomic::AtomicBool,
}

/// What is taken and what is free.
#[derive(Debug, Default)]
struct Space {
    end: u64,
    used: u64,
    /// Free places by their size.
    free: BTreeMap<u64, Vec<u64>>,
}

/// The place of one page.
#[derive(Debug)]
pub(super) struct Extent {
    at: u64,
    n_words: usize,
    checksum: u64,
}

impl SpillFile {
    /// A new one, in a directory of others' making.
    pub(super) fn create(directory: &Path) -> Result<Self, SpillError> {
        let number = N_FILES.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("tollgate-spill-{}-{number}", std::process::id()));
        let failed = |error: std::io::Error| SpillError { reason: format!("`{}`: {error}", path.display()) };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = match options.open(&path) {
            // Left by a process of this number that died between two system calls.
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
            #[cfg(test)]
            is_full: false.into(),
        })
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.space.lock().used
    }

    pub(super) fn write(&self, words: &[u64]) -> Result<Extent, SpillError> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        #[cfg(test)]
        if self.is_full.load(Ordering::Relaxed) {
            return Err(SpillError { reason: "no space left on the device of this test".into() });
        }
        let at = self.space.lock().take(size_of_extent(words.len()));
        let extent = Extent { at, n_words: words.len(), checksum: checksum(&bytes) };
        match self.file.write_all_at(&bytes, at) {
            Ok(()) => Ok(extent),
            Err(error) => {
                self.free(extent);
                Err(SpillError { reason: error.to_string() })
            }
        }
    }

    pub(super) fn read(&self, extent: &Extent) -> Result<Arc<[u64]>, SpillError> {
        let mut bytes = vec![0; extent.n_words * size_of::<u64>()];
        let failed = |reason: String| SpillError { reason };
        self.file.read_exact_at(&mut bytes, extent.at).map_err(|error| failed(error.to_string()))?;
        if checksum(&bytes) != extent.checksum {
            return Err(failed("what was read is not what was written".into()));
        }
        let (words, _) = bytes.as_chunks::<8>();
        Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    pub(super) fn free(&self, extent: Extent) {
        self.space.lock().give_back(extent.at, size_of_extent(extent.n_words));
    }

    /// Overwrites everything, as a disk that lies would.
    #[cfg(test)]
    pub(super) fn damage(&self) {
        let end = usize::try_from(self.space.lock().end).unwrap();
        self.file.write_all_at(&vec![0xAB; end], 0).unwrap();
    }
}

impl Space {
    fn take(&mut self, n_bytes: u64) -> u64 {
        self.used += n_bytes;
        let free = self.free.get_mut(&n_bytes).and_then(Vec::pop);
        free.unwrap_or_else(|| {
            let at = self.end;
            self.end += n_bytes;
            at
        })
    }

    fn give_back(&mut self, at: u64, n_bytes: u64) {
        self.used -= n_bytes;
        self.free.entry(n_bytes).or_default().push(at);
    }
}

const fn size_of_extent(n_words: usize) -> u64 {
    ((n_words * size_of::<u64>()) as u64).next_multiple_of(GRAIN_BYTES)
}

/// Against mistakes of the disk, not against people.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
