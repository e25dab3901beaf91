//! What files look like from outside: enough to know which are to be read.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::intake::rule_files::{FoundFile, ReadLinks, RefusedPath, Stamp, WalkedDirectory};

/// What files looked like, by their paths below the directory; of one whose stamp the system does not tell nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DirectoryLook {
    files: HashMap<String, SeenFile>,
    refused: Vec<RefusedPath>,
    links: ReadLinks,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenFile {
    /// Where it lies: links may lead to another file that looks alike.
    path: PathBuf,
    stamp: Stamp,
    /// Whether a change behind this look is sure to show.
    is_settled: bool,
}

/// Which directory stands behind a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RootIdentity {
    /// Without a link in it.
    pub(super) path: PathBuf,
    device: u64,
    inode: u64,
}

impl RootIdentity {
    /// # Errors
    /// When there is none.
    pub(super) fn of(directory: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(directory)?;
        let metadata = fs::symlink_metadata(&path)?;
        Ok(Self { path, device: metadata.dev(), inode: metadata.ino() })
    }
}

impl DirectoryLook {
    /// As these files of a directory are found `now`.
    pub(super) fn at<'f>(
        files: impl IntoIterator<Item = &'f FoundFile>,
        found: &WalkedDirectory,
        now: SystemTime,
    ) -> Self {
        let seen = files.into_iter().filter_map(|file| {
            let (path, stamp) = (file.path.clone(), file.stamp?);
            Some((file.relative.clone(), SeenFile { path, stamp, is_settled: stamp.is_settled(now) }))
        });
        Self { files: seen.collect(), refused: found.refused.clone(), links: found.links.clone() }
    }

    /// Whether a file looks as it did.
    pub(super) fn is_same(&self, file: &FoundFile) -> bool {
        self.seen(file).is_some_and(|seen| file.path == seen.path && file.stamp == Some(seen.stamp))
    }

    /// Whether a file is as it was when it looked like this.
    pub(super) fn is_unchanged(&self, file: &FoundFile) -> bool {
        self.is_same(file) && self.seen(file).is_some_and(|seen| seen.is_settled)
    }

    /// Whether links led elsewhere when it looked like this.
    pub(super) fn has_other_links(&self, found: &WalkedDirectory) -> bool {
        self.links != found.links
    }

    fn seen(&self, file: &FoundFile) -> Option<&SeenFile> {
        self.files.get(&file.relative)
    }
}
