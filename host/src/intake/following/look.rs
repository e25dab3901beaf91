//! What files look like from outside: enough to know which are to be read.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use crate::intake::rule_files::{FileKind, FoundFile, Stamp};

/// What files looked like, by their paths below the directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look {
    rules: HashMap<String, Seen>,
    lists: HashMap<String, Seen>,
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
        let mut look = Self::default();
        for file in files {
            if let Some(stamp) = file.stamp {
                let seen = Seen { stamp, is_settled: stamp.is_settled(now) };
                let of_kind = if file.kind == FileKind::List { &mut look.lists } else { &mut look.rules };
                of_kind.insert(file.relative.clone(), seen);
            }
        }
        look
    }

    /// Whether a file looks as it did.
    pub(super) fn is_same(&self, file: &FoundFile) -> bool {
        self.seen(file).is_some_and(|seen| file.stamp == Some(seen.stamp))
    }

    /// Whether a file is as it was when it looked like this.
    pub(super) fn is_unchanged(&self, file: &FoundFile) -> bool {
        self.is_same(file) && self.seen(file).is_some_and(|seen| seen.is_settled)
    }

    /// Whether no list came, went or changed.
    pub(super) fn has_the_lists_of(&self, other: &Self) -> bool {
        self.lists == other.lists
    }

    /// Whether there is no file.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.lists.is_empty()
    }

    fn seen(&self, file: &FoundFile) -> Option<&Seen> {
        let of_kind = if file.kind == FileKind::List { &self.lists } else { &self.rules };
        of_kind.get(&file.relative)
    }
}
