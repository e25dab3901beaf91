//! Paths outside the rules directory that need notices: links and their targets.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::intake::rule_files::{FileKind, WalkedDirectory};

/// Links of a rules directory and their targets. No path leads through another link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BehindLinks {
    /// Rule files behind links.
    files: HashSet<PathBuf>,
    /// Links, and missing targets of links.
    links: HashSet<PathBuf>,
    /// Folders behind links that may contain rule files.
    folders: HashSet<PathBuf>,
}

impl BehindLinks {
    pub(super) fn new(found: &WalkedDirectory) -> Self {
        let files = found.files.iter().filter(|file| found.is_behind_link(file));
        Self {
            files: files.map(|file| file.path.clone()).collect(),
            links: found.links.keys().chain(&found.missing).cloned().collect(),
            folders: found.folders.iter().cloned().collect(),
        }
    }

    /// Returns whether no link is in the directory or leads to it.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether this is, or could become, a rule file behind a link.
    pub(super) fn is_rule_file(&self, path: &Path) -> bool {
        self.files.contains(path)
            || self.is_in_folder(path) && path.extension().is_some_and(FileKind::has_extension)
    }

    /// Returns whether a change at this path may affect the rules.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.files.contains(path)
            || self.links.contains(path)
            || self.folders.contains(path)
            || self.is_in_folder(path)
    }

    /// Returns whether a path is directly in one of the folders and not hidden.
    fn is_in_folder(&self, path: &Path) -> bool {
        path.parent().is_some_and(|folder| self.folders.contains(folder))
            && path.file_name().is_some_and(|name| !is_hidden(Path::new(name)))
    }

    /// Returns the folders to watch that are outside the rules directory.
    pub(super) fn directories_to_watch(&self, root: &Path) -> BTreeSet<PathBuf> {
        let around = self.files.iter().chain(&self.links).filter_map(|path| path.parent());
        let all = around.chain(self.folders.iter().map(PathBuf::as_path));
        all.filter(|folder| !folder.starts_with(root)).map(Path::to_owned).collect()
    }
}

fn is_hidden(path: &Path) -> bool {
    path.iter().any(|part| part.to_string_lossy().starts_with('.'))
}
