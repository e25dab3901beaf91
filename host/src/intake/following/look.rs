//! What files look like from outside: enough to know which are to be read.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use crate::intake::rule_files::{FoundFile, Stamp};

/// What files looked like, by their paths; of one whose stamp the system does not tell nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look {
    files: HashMap<OsString, Seen>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    stamp: Stamp,
    /// Whether a change behind this look is sure to show.
    is_settled: bool,
}

/// Which directory stands behind a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Root {
    device: u64,
    inode: u64,
}

impl Root {
    /// # Errors
    /// When there is none.
    pub(super) fn of(directory: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(directory)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

impl Look {
    /// As they are found `now`.
    pub(super) fn at<'f>(files: impl IntoIterator<Item = &'f FoundFile>, now: SystemTime) -> Self {
        let seen = files.into_iter().filter_map(|file| {
            let stamp = file.stamp?;
            Some((file.path.clone().into(), Seen { stamp, is_settled: stamp.is_settled(now) }))
        });
        Self { files: seen.collect() }
    }

    /// Whether a file looks as it did.
    pub(super) fn is_same(&self, file: &FoundFile) -> bool {
        self.seen(file).is_some_and(|seen| file.stamp == Some(seen.stamp))
    }

    /// Whether a file is as it was when it looked like this.
    pub(super) fn is_unchanged(&self, file: &FoundFile) -> bool {
        self.is_same(file) && self.seen(file).is_some_and(|seen| seen.is_settled)
    }

    /// Whether there is no file.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    fn seen(&self, file: &FoundFile) -> Option<&Seen> {
        self.files.get(file.path.as_os_str())
    }
}
