//! How much room there is for a store, and of what kind.

use std::io;
use std::path::Path;

/// The file system that a path is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Room that is left, in bytes.
    pub free_bytes: u64,
    /// Whether it is on another machine, where locks and confirmed writes are often worth nothing.
    pub is_remote: bool,
}

/// Network file systems, by the numbers that Linux gives them: NFS, SMB 1, CIFS, SMB 2.
#[cfg(target_os = "linux")]
const REMOTE: [u32; 4] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42];

impl Space {
    /// At this path.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn at(path: &Path) -> io::Result<Self> {
        let room = rustix::fs::statvfs(path)?;
        let free_bytes = room.f_bavail.saturating_mul(room.f_frsize);
        Ok(Self { free_bytes, is_remote: is_remote(path)? })
    }
}

#[cfg(target_os = "linux")]
fn is_remote(path: &Path) -> io::Result<bool> {
    // These numbers have 32 bits, whatever holds them.
    Ok(REMOTE.contains(&(rustix::fs::statfs(path)?.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_remote(_: &Path) -> io::Result<bool> {
    Ok(false)
}
