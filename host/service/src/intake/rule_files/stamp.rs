//! What a file looks like from outside: enough to know that it changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

/// Two changes within this may bear the same time: clocks of file systems move in steps, of two seconds at most.
const STEP_MAX: Duration = Duration::from_secs(2);

/// It changes whenever a file's text does, whatever the writer does to hide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::intake) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
    /// Seconds and nanoseconds since 1970 of the last change to anything about the file.
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

    /// Whether both are of one file, changed or not.
    pub(super) fn is_of_the_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether the file's next change is sure to show, when it looks like this `now`: its last one is not so near that the next
    /// could bear the same time.
    pub(in crate::intake) fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, _) = self.changed;
        let changed = u64::try_from(seconds).map_or(SystemTime::UNIX_EPOCH, |seconds| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds + 1)
        });
        now.duration_since(changed).is_ok_and(|age| age >= STEP_MAX)
    }
}
