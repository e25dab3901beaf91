//! How much room there is for a store, and of what kind.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// The file system that a path is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Room that is left, in bytes.
    pub free_bytes: u64,
    /// Whether it is on another machine, where locks and confirmed writes are often worth nothing.
    pub is_remote: bool,
}

/// Network file systems, by the numbers that Linux gives them: NFS, SMB 1, CIFS, SMB 2.
#[cfg(target_os = "linux")]
const REMOTE: [u32; 4] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42];

impl DiskSpace {
    /// With less room a service has its first refused commit soon.
    pub const FREE_BYTES_MIN: u64 = 64 << 20;

    /// At this path.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn at(path: &Path) -> io::Result<Self> {
        let room = rustix::fs::statvfs(path)?;
        let free_bytes = room.f_bavail.saturating_mul(room.f_frsize);
        Ok(Self { free_bytes, is_remote: check_remote(path)? })
    }
}

/// Whether files can be made in a directory.
pub(super) fn check_writable(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(directory, rustix::fs::Access::WRITE_OK)?)
}

/// Whether the file system of this file lacks the locks of ranges that SQLite works with. SQLite tells that as a database that is busy.
pub(super) fn lacks_locks(file: &Path) -> bool {
    let Ok(file) = File::options().read(true).write(true).open(file) else { return false };
    let locked = rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive);
    locked.is_err_and(|error| !matches!(error, Errno::AGAIN | Errno::ACCESS | Errno::INTR))
}

/// Where the history keeps what is over its limit: where the operator said; otherwise in the system's directory for temporary files, and in
/// the data directory where that is in memory itself or takes no file.
#[must_use]
pub fn spill_directory(set: Option<&Path>, data_dir: &Path) -> PathBuf {
    let directory = || {
        let temporary = std::env::temp_dir();
        let is_fit = !is_in_memory(&temporary) && check_writable(&temporary).is_ok();
        if is_fit || check_writable(data_dir).is_err() { temporary } else { data_dir.to_owned() }
    };
    set.map_or_else(directory, Path::to_owned)
}

/// By the numbers that Linux gives to tmpfs and ramfs.
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
    // These numbers have 32 bits, whatever holds them.
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
    fn what_the_operator_chose_stands() {
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
