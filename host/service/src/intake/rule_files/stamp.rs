//! File metadata that reveals changes.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

/// Coarsest timestamp resolution of a file system: two changes within this time may have the same timestamp.
const STEP_MAX: Duration = Duration::from_secs(2);

/// Metadata that changes with the content of a file, even if the writer resets the modification time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::intake) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
    /// Seconds and nanoseconds since 1970 of the last change to content or metadata.
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns whether both are of one file, changed or not.
    pub(super) fn is_of_the_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Returns whether the next change is certain to alter this stamp: the last one is old enough that a change at
    /// `now` gets another timestamp.
    pub(in crate::intake) fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, _) = self.changed;
        let changed = u64::try_from(seconds).map_or(SystemTime::UNIX_EPOCH, |seconds| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds + 1)
        });
        now.duration_since(changed).is_ok_and(|age| age >= STEP_MAX)
    }
}
