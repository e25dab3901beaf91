//! What files look like from outside: enough to know that one changed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::intake::rule_files::FilePaths;

/// The stamps of all files that matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look {
    stamps: BTreeMap<PathBuf, Stamp>,
}

/// It changes whenever a file's text does, whatever the writer does to hide it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
    /// Seconds and nanoseconds since 1970 of the last change to anything about the file.
    changed: (i64, i64),
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
    /// # Errors
    /// When a file is gone, or its folder cannot be read.
    pub(super) fn at(files: &FilePaths) -> io::Result<Self> {
        let stamp_of = |path: &PathBuf| {
            let metadata = fs::symlink_metadata(path)?;
            let stamp = Stamp {
                device: metadata.dev(),
                inode: metadata.ino(),
                bytes: metadata.len(),
                modified: metadata.modified().ok(),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            };
            Ok((path.clone(), stamp))
        };
        let stamps = files.rules.iter().chain(&files.lists).map(stamp_of).collect::<io::Result<_>>()?;
        Ok(Self { stamps })
    }

    /// Whether a file looks the same in both.
    pub(super) fn is_same(&self, other: &Self, path: &Path) -> bool {
        self.stamps.get(path) == other.stamps.get(path)
    }

    /// The others.
    pub(super) fn without(&self, is_left_out: impl Fn(&Path) -> bool) -> Self {
        let stamps = self.stamps.iter().filter(|(path, _)| !is_left_out(path));
        Self { stamps: stamps.map(|(path, stamp)| (path.clone(), stamp.clone())).collect() }
    }

    /// Whether there is no file.
    pub(super) fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }
}
