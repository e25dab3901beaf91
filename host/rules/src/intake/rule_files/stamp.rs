//! File metadata that reveals changes.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

/// Coarsest timestamp resolution of a file system: two changes within this time may have the same timestamp.
const STEP_MAX: Duration = Duration::from_secs(2);

/// Largest difference of the two times that one write sets. A network file system may state them differently.
const ONE_WRITE: Duration = Duration::from_millis(100);

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
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
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

    /// Returns whether the last change was no write: a write sets both times, while a rename, a link or new permissions
    /// leave the modification time behind. An empty file may have got its permissions before its content.
    pub(in crate::intake) fn was_moved(&self) -> bool {
        self.bytes > 0 && self.modified.is_some_and(|modified| modified + ONE_WRITE < self.changed_at())
    }

    /// Returns whether the last change is at least this old. A time in the future says nothing about the age, because one
    /// of the clocks is wrong.
    pub(in crate::intake) fn is_older_than(&self, age: Duration, now: SystemTime) -> bool {
        now.duration_since(self.changed_at()).map_or(true, |since| since >= age)
    }

    fn changed_at(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.changed;
        let nanoseconds = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0));
        u64::try_from(seconds).map_or(SystemTime::UNIX_EPOCH, |seconds| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + nanoseconds
        })
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
