//! What notices are to speak of beside the rules directory itself: the places that its links lead to, and the links.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::intake::rule_files::{FileKind, WalkedDirectory};

/// The links of a rules directory and what lies behind them. No path has a link in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BehindLinks {
    /// Rule files behind links.
    files: HashSet<PathBuf>,
    /// Links, and places without anything to which they lead.
    links: HashSet<PathBuf>,
    /// Folders in which rule files are looked for.
    folders: HashSet<PathBuf>,
}

impl BehindLinks {
    pub(super) fn of(found: &WalkedDirectory) -> Self {
        let files = found.files.iter().filter(|file| found.is_behind_link(file));
        Self {
            files: files.map(|file| file.path.clone()).collect(),
            links: found.links.keys().chain(&found.missing).cloned().collect(),
            folders: found.folders.iter().cloned().collect(),
        }
    }

    /// Whether this is a rule file behind a link, or would be one.
    pub(super) fn is_rule_file(&self, path: &Path) -> bool {
        self.files.contains(path)
            || self.is_in_folder(path) && path.extension().is_some_and(FileKind::has_extension)
    }

    /// Whether a change at this path may be one of the rules.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.files.contains(path)
            || self.links.contains(path)
            || self.folders.contains(path)
            || self.is_in_folder(path)
    }

    /// Whether it lies in one of the folders, under no hidden name.
    fn is_in_folder(&self, path: &Path) -> bool {
        path.parent().is_some_and(|folder| self.folders.contains(folder))
            && path.file_name().is_some_and(|name| !is_hidden(Path::new(name)))
    }

    /// The folders of which notices are needed, but for those below the rules directory.
    pub(super) fn places_to_watch(&self, root: &Path) -> BTreeSet<PathBuf> {
        let around = self.files.iter().chain(&self.links).filter_map(|path| path.parent());
        let all = around.chain(self.folders.iter().map(PathBuf::as_path));
        all.filter(|folder| !folder.starts_with(root)).map(Path::to_owned).collect()
    }
}

fn is_hidden(path: &Path) -> bool {
    path.iter().any(|part| part.to_string_lossy().starts_with('.'))
}
