//! Notices of the system that something changed, boiled down: wake up, and who is still writing.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, mem};

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind, RenameMode};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tollgate_engine::registry::{LISTS_MAX, RULES_MAX};

use crate::intake::following::watched::BehindLinks;
use crate::intake::rule_files::{FileKind, relative_path};

/// After the last notice of a change, before it is looked at: editors write a file in several steps.
pub(super) const QUIET: Duration = Duration::from_millis(40);
/// The same where files were renamed into the directory and nothing else was heard: whoever does so has written them whole.
const QUIET_WHEN_RENAMED: Duration = Duration::from_millis(5);
/// A file that was written and not closed counts as whole when nobody touched it for this long.
const UNCLOSED_MAX: Duration = Duration::from_secs(10);
/// Elsewhere nobody says when a file is closed; there, quiet has to do.
const CLOSING_IS_TOLD: bool = cfg!(target_os = "linux");
/// Most files of which it is remembered that somebody writes them.
const UNFINISHED_MAX: usize = RULES_MAX + LISTS_MAX;

/// What was heard and not looked at yet.
#[derive(Debug, Default)]
pub(super) struct PendingNotices {
    wake: Notify,
    /// Whether some never come.
    are_lost: AtomicBool,
    /// Files written and not closed, and when they were last touched.
    unfinished: Mutex<HashMap<PathBuf, Instant>>,
    /// Files that may be another than they were.
    touched: Mutex<TouchedFiles>,
    /// What counts beside the files of the directory itself.
    behind_links: Mutex<Arc<BehindLinks>>,
    /// Whether something else was heard than that files were renamed into the directory.
    is_in_steps: AtomicBool,
}

/// Files of which something was heard.
#[derive(Debug, Clone, Default)]
pub(super) struct TouchedFiles {
    paths: HashSet<PathBuf>,
    /// Too many to keep.
    are_all: bool,
}

impl TouchedFiles {
    pub(super) fn has(&self, path: &Path) -> bool {
        self.are_all || self.paths.contains(path)
    }

    pub(super) fn add(&mut self, others: Self) {
        self.are_all |= others.are_all;
        others.paths.into_iter().for_each(|path| self.touch(path));
    }

    fn touch(&mut self, path: PathBuf) {
        if self.paths.len() < UNFINISHED_MAX {
            self.paths.insert(path);
        } else {
            self.are_all = true;
        }
    }
}

impl PendingNotices {
    /// Waits for a notice; one that came before the call counts.
    pub(super) async fn wait(&self) {
        self.wake.notified().await;
    }

    /// For how long nothing more may come before what was heard of is looked at.
    pub(super) fn quiet(&self) -> Duration {
        let is_whole = CLOSING_IS_TOLD && !self.is_in_steps.load(Ordering::Relaxed);
        if is_whole { QUIET_WHEN_RENAMED } else { QUIET }
    }

    /// Files of which something was heard since the last call: they are looked at from here on.
    pub(super) fn touched(&self) -> TouchedFiles {
        self.is_in_steps.store(false, Ordering::Relaxed);
        mem::take(&mut *self.touched.lock())
    }

    /// Gives a notice of every file.
    pub(super) fn touch_all(&self) {
        self.touched.lock().are_all = true;
        self.wake.notify_one();
    }

    /// Gives a notice after a while.
    pub(super) fn remind(self: &Arc<Self>, after: Duration) {
        let notices = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(notices) = notices.upgrade() {
                notices.wake.notify_one();
            }
        });
    }

    /// Whether notices were found to be missing for good since the last call, as when the system watches no more folders.
    pub(super) fn were_lost(&self) -> bool {
        self.are_lost.swap(false, Ordering::Relaxed)
    }

    /// Files that somebody is writing.
    pub(super) fn unfinished(&self) -> HashSet<PathBuf> {
        let mut unfinished = self.unfinished.lock();
        unfinished.retain(|_, touched| touched.elapsed() < UNCLOSED_MAX);
        unfinished.keys().cloned().collect()
    }

    /// Takes notices also of what links lead to.
    pub(super) fn heed(&self, behind_links: BehindLinks) {
        *self.behind_links.lock() = Arc::new(behind_links);
    }

    /// Takes a notice of the system; called on its thread.
    pub(super) fn take(&self, directory: &Path, notice: notify::Result<notify::Event>) {
        let event = match notice {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(error = %error, "not every changed rule file is noticed any more");
                self.are_lost.store(true, Ordering::Relaxed);
                return self.wake.notify_one();
            }
        };
        if event.need_rescan() {
            tracing::warn!("notices of changed rule files were lost; looking for them instead");
        }
        let behind_links = Arc::clone(&self.behind_links.lock());
        let is_ours = |path: &PathBuf| {
            relative_path(directory, path).is_some_and(|relative| FileKind::of(&relative).is_some())
                || behind_links.is_rule_file(path)
        };
        let is_of_interest = |path: &PathBuf| is_visible(directory, path) || behind_links.has(path);
        let wakes = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                let mut unfinished = self.unfinished.lock();
                unfinished.retain(|path, _| !event.paths.contains(path));
                event.paths.iter().any(is_ours)
            }
            // Our own reading is among these.
            EventKind::Access(_) => false,
            EventKind::Create(CreateKind::File | CreateKind::Any)
            | EventKind::Modify(ModifyKind::Data(_)) => {
                event.paths.iter().filter(|path| is_ours(path)).for_each(|path| self.mark_written(path));
                event.paths.iter().any(is_ours)
            }
            // A folder comes with all that is in it.
            _ => event.need_rescan() || event.paths.iter().any(is_of_interest),
        };
        if wakes {
            let is_renamed =
                matches!(event.kind, EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)));
            self.is_in_steps.fetch_or(!is_renamed, Ordering::Relaxed);
            let mut touched = self.touched.lock();
            event.paths.into_iter().for_each(|path| touched.touch(path));
            drop(touched);
            self.wake.notify_one();
        }
    }

    fn mark_written(&self, path: &Path) {
        if !CLOSING_IS_TOLD {
            return;
        }
        // A link, or a second name for a file that was there, is whole at once, and nobody closes it.
        if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.nlink() > 1 || metadata.is_symlink()) {
            return;
        }
        let mut unfinished = self.unfinished.lock();
        if unfinished.len() < UNFINISHED_MAX || unfinished.contains_key(path) {
            unfinished.insert(path.to_owned(), Instant::now());
        }
    }
}

/// Whether it lies below the directory, under no hidden name.
fn is_visible(directory: &Path, path: &Path) -> bool {
    path.strip_prefix(directory)
        .is_ok_and(|relative| !relative.iter().any(|part| part.to_string_lossy().starts_with('.')))
}
