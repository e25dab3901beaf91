//! The system's watch on a rules directory, and on the folders that its links lead to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::intake::following::look::RootIdentity;
use crate::intake::following::notices::PendingNotices;
use crate::intake::following::watched::BehindLinks;

/// Sends notices of one directory, and of what its links lead to.
pub(super) struct Watcher {
    pub(super) root: RootIdentity,
    /// `None` where the system gives no notices.
    notices: Option<RecommendedWatcher>,
    /// Folders elsewhere.
    elsewhere: BTreeMap<PathBuf, RootIdentity>,
}

impl Watcher {
    /// Without notices: the directory is looked at now and then.
    pub(super) fn without_notices(root: RootIdentity) -> Self {
        Self { root, notices: None, elsewhere: BTreeMap::new() }
    }

    /// # Errors
    /// When the system gives no notices; for people.
    pub(super) fn start(root: RootIdentity, notices: Arc<PendingNotices>) -> Result<Self, String> {
        let of = root.path.clone();
        // Links are followed by the walk, which knows whose links may be.
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(move |event| notices.take(&of, event), config)
            .map_err(|error| error.to_string())?;
        watcher.watch(&root.path, RecursiveMode::Recursive).map_err(|error| error.to_string())?;
        Ok(Self { root, notices: Some(watcher), elsewhere: BTreeMap::new() })
    }

    pub(super) fn has_notices(&self) -> bool {
        self.notices.is_some()
    }

    /// Gives the notices up; whether there were any.
    pub(super) fn stop_notices(&mut self) -> bool {
        self.elsewhere.clear();
        self.notices.take().is_some()
    }

    /// Watches the folders that links lead to, and no others any more; whether one of them was not watched before, so that
    /// something may have happened there in silence.
    ///
    /// # Errors
    /// When the system watches no more folders, or not this one; for people.
    pub(super) fn watch_elsewhere(&mut self, behind_links: &BehindLinks) -> Result<bool, String> {
        let Some(watcher) = &mut self.notices else { return Ok(false) };
        let wanted: BTreeMap<PathBuf, RootIdentity> = behind_links
            .places_to_watch(&self.root.path)
            .into_iter()
            .filter_map(|folder| Some((folder.clone(), RootIdentity::of(&folder).ok()?)))
            .collect();
        for (folder, _) in self.elsewhere.iter().filter(|(folder, known)| wanted.get(*folder) != Some(*known))
        {
            // One that is gone is watched no more anyway.
            watcher.unwatch(folder).ok();
        }
        self.elsewhere.retain(|folder, known| wanted.get(folder) == Some(known));
        let mut is_any_new = false;
        for (folder, root) in wanted {
            if !self.elsewhere.contains_key(&folder) && watch(watcher, &folder)? {
                self.elsewhere.insert(folder, root);
                is_any_new = true;
            }
        }
        Ok(is_any_new)
    }
}

/// Whether it is there to be watched.
fn watch(watcher: &mut RecommendedWatcher, folder: &Path) -> Result<bool, String> {
    match watcher.watch(folder, RecursiveMode::NonRecursive) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind, ErrorKind::PathNotFound) => Ok(false),
        Err(error) => Err(format!("{}: {error}", folder.display())),
    }
}
