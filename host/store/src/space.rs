//! Free disk space and the kind of the file system.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// The file system of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Free space in bytes.
    pub free_bytes: u64,
    /// Whether it is a network file system, where locks and syncs are often unreliable.
    pub is_remote: bool,
}

/// Linux's magic numbers of network file systems: NFS, SMB 1, CIFS, SMB 2.
#[cfg(target_os = "linux")]
const REMOTE: [u32; 4] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42];

impl DiskSpace {
    /// Free space below which commits are likely to fail soon.
    pub const FREE_BYTES_MIN: u64 = 64 << 20;

    /// Queries the file system of this path.
    ///
    /// # Errors
    /// When the system call fails.
    pub fn at(path: &Path) -> io::Result<Self> {
        let room = rustix::fs::statvfs(path)?;
        let free_bytes = room.f_bavail.saturating_mul(room.f_frsize);
        Ok(Self { free_bytes, is_remote: check_remote(path)? })
    }
}

/// Size of the files of the store, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreSize {
    /// The database, which only grows.
    pub database: u64,
    /// Its log and the index of the log.
    pub log: u64,
    /// The history's files, as far as they lie in the data directory.
    pub history: u64,
}

impl StoreSize {
    /// Measures the store of a data directory. A missing file counts as empty.
    #[must_use]
    pub fn of(data_dir: &Path) -> Self {
        let bytes = |name| data_dir.join(name).metadata().map_or(0, |metadata| metadata.len());
        let files = std::fs::read_dir(data_dir.join("history")).into_iter().flatten().flatten();
        let of_keys: u64 = files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum();
        Self {
            database: bytes("tollgate.db"),
            log: bytes("tollgate.db-wal") + bytes("tollgate.db-shm"),
            history: of_keys + bytes("history.snapshot"),
        }
    }

    /// Returns the size of the database and its log.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.database.saturating_add(self.log)
    }
}

/// Bytes that a trial writes, too many to be stored in the inode.
const TRIAL_BYTES: usize = 64 << 10;

/// Writes to a directory and removes what was written, to learn whether the file system takes data.
///
/// # Errors
/// When it does not, for example because it is full, over a quota or read-only.
pub fn try_to_write(directory: &Path) -> io::Result<()> {
    let path = directory.join(".write-trial");
    let written = File::create(&path).and_then(|mut file| file.write_all(&[0; TRIAL_BYTES]));
    // A file that cannot be removed is written over the next time.
    std::fs::remove_file(&path).ok();
    written
}

pub(super) fn check_writable(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(directory, rustix::fs::Access::WRITE_OK)?)
}

/// Returns whether the file system of this file lacks byte-range locks. SQLite needs them, and reports their absence as
/// a busy database.
pub(super) fn lacks_locks(file: &Path) -> bool {
    let Ok(file) = File::options().read(true).write(true).open(file) else { return false };
    let locked = rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive);
    locked.is_err_and(|error| !matches!(error, Errno::AGAIN | Errno::ACCESS | Errno::INTR))
}

/// Returns the directory for the history's spill files: the configured one, or else the system's temporary directory.
/// The data directory is used if the temporary one is in memory or not writable.
#[must_use]
pub fn spill_directory(set: Option<&Path>, data_dir: &Path) -> PathBuf {
    let directory = || {
        let temporary = std::env::temp_dir();
        let is_fit = !is_in_memory(&temporary) && check_writable(&temporary).is_ok();
        if is_fit || check_writable(data_dir).is_err() { temporary } else { data_dir.to_owned() }
    };
    set.map_or_else(directory, Path::to_owned)
}

/// Compares with Linux's magic numbers of tmpfs and ramfs.
#[cfg(target_os = "linux")]
fn is_in_memory(path: &Path) -> bool {
    const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
    rustix::fs::statfs(path).is_ok_and(|found| IN_MEMORY.contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &Path) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn check_remote(path: &Path) -> io::Result<bool> {
    // The magic numbers have 32 bits, whatever the type of the field.
    Ok(REMOTE.contains(&(rustix::fs::statfs(path)?.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn check_remote(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_spill_directory_is_used() {
        let chosen = Path::new("/nowhere");
        assert_eq!(spill_directory(Some(chosen), Path::new("data")), chosen);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_told_from_a_disk() {
        assert!(!is_in_memory(Path::new("/nowhere")));
        if Path::new("/dev/shm").exists() {
            assert!(is_in_memory(Path::new("/dev/shm")));
        }
    }
}
