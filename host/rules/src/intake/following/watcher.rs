//! File system watches on a rules directory and on the folders that its links lead to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::intake::following::look::RootIdentity;
use crate::intake::following::notices::PendingNotices;
use crate::intake::following::watched::BehindLinks;

/// Watches one directory and the targets of its links.
pub(super) struct Watcher {
    pub(super) root: RootIdentity,
    /// `None` if the system provides no notices.
    notices: Option<RecommendedWatcher>,
    /// Watched folders outside the directory.
    elsewhere: BTreeMap<PathBuf, RootIdentity>,
}

impl Watcher {
    /// Creates a watcher without notices: the directory is polled.
    pub(super) fn without_notices(root: RootIdentity) -> Self {
        Self { root, notices: None, elsewhere: BTreeMap::new() }
    }

    /// Starts watching a directory.
    ///
    /// # Errors
    /// A text for people, if the system provides no notices.
    pub(super) fn start(root: RootIdentity, notices: Arc<PendingNotices>) -> Result<Self, String> {
        let of = root.path.clone();
        // The walk follows links itself, because it checks their owners.
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(move |event| notices.take(&of, event), config)
            .map_err(|error| error.to_string())?;
        watcher.watch(&root.path, RecursiveMode::Recursive).map_err(|error| error.to_string())?;
        Ok(Self { root, notices: Some(watcher), elsewhere: BTreeMap::new() })
    }

    pub(super) fn has_notices(&self) -> bool {
        self.notices.is_some()
    }

    /// Stops the notices; returns whether there were any.
    pub(super) fn stop_notices(&mut self) -> bool {
        self.elsewhere.clear();
        self.notices.take().is_some()
    }

    /// Watches exactly these folders outside the directory.
    ///
    /// # Errors
    /// A text for people, if the system refuses a watch.
    pub(super) fn watch_elsewhere(&mut self, behind_links: &BehindLinks) -> Result<(), String> {
        let Some(watcher) = &mut self.notices else { return Ok(()) };
        let wanted: BTreeMap<PathBuf, RootIdentity> = behind_links
            .directories_to_watch(&self.root.path)
            .into_iter()
            .filter_map(|folder| Some((folder.clone(), RootIdentity::of_directory(&folder).ok()?)))
            .collect();
        for (folder, _) in self.elsewhere.iter().filter(|(folder, known)| wanted.get(*folder) != Some(*known))
        {
            // The system has already removed the watch of a folder that is gone.
            watcher.unwatch(folder).ok();
        }
        self.elsewhere.retain(|folder, known| wanted.get(folder) == Some(known));
        for (folder, root) in wanted {
            if !self.elsewhere.contains_key(&folder) && watch(watcher, &folder)? {
                self.elsewhere.insert(folder, root);
            }
        }
        Ok(())
    }
}

/// Watches a folder; returns `false` if it does not exist.
fn watch(watcher: &mut RecommendedWatcher, folder: &Path) -> Result<bool, String> {
    match watcher.watch(folder, RecursiveMode::NonRecursive) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind, ErrorKind::PathNotFound) => Ok(false),
        Err(error) => Err(format!("{}: {error}", folder.display())),
    }
}
