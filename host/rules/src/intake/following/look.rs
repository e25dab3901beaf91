//! Stamps of the files in a directory, used to determine which to read.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::intake::rule_files::{FoundFile, ReadLinks, RefusedPath, Stamp, WalkedDirectory};

/// Stamps by path below the directory; files without a stamp are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DirectoryLook {
    files: HashMap<String, SeenFile>,
    refused: Vec<RefusedPath>,
    links: ReadLinks,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenFile {
    /// Resolved path: a link may lead to another file with the same stamp.
    path: PathBuf,
    stamp: Stamp,
    /// Whether any later change is certain to alter the stamp.
    is_settled: bool,
}

/// Identity of the directory at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RootIdentity {
    /// Path without links.
    pub(super) path: PathBuf,
    device: u64,
    inode: u64,
}

impl RootIdentity {
    /// Returns the identity of the directory at this path.
    ///
    /// # Errors
    /// Fails if there is no directory.
    pub(super) fn of_directory(directory: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(directory)?;
        let metadata = fs::symlink_metadata(&path)?;
        Ok(Self { path, device: metadata.dev(), inode: metadata.ino() })
    }
}

impl DirectoryLook {
    /// Records these files of a directory at the time `now`.
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

    /// Returns whether a file has the same path and stamp as recorded.
    pub(super) fn is_same(&self, file: &FoundFile) -> bool {
        self.seen(file).is_some_and(|seen| file.path == seen.path && file.stamp == Some(seen.stamp))
    }

    /// Returns whether the content of a file is certainly unchanged.
    pub(super) fn is_unchanged(&self, file: &FoundFile) -> bool {
        self.is_same(file) && self.seen(file).is_some_and(|seen| seen.is_settled)
    }

    fn seen(&self, file: &FoundFile) -> Option<&SeenFile> {
        self.files.get(&file.relative)
    }
}
