//! Filters file system notices: determines when to look at the directory, and which files are still being written.

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
use tokio::task::AbortHandle;
use tollgate_engine::registry::{LISTS_MAX, RULES_MAX};
use tollgate_model::instruction::ignored::is_misnamed;

use crate::intake::following::watched::BehindLinks;
use crate::intake::rule_files::{FileKind, relative_path};

/// Pause after the last notice before looking: editors write a file in several steps.
pub(super) const QUIET: Duration = Duration::from_millis(40);
/// Pause if all notices are renames into the directory, whose files are complete.
const QUIET_WHEN_RENAMED: Duration = Duration::from_millis(5);
/// Time after which an unclosed file counts as complete if it is not written to.
const UNCLOSED_MAX: Duration = Duration::from_secs(10);
/// Whether the system reports when files are closed; elsewhere, a quiet period has to suffice.
const CLOSING_IS_REPORTED: bool = cfg!(target_os = "linux");
/// Maximum number of files recorded as being written.
const UNFINISHED_MAX: usize = RULES_MAX + LISTS_MAX;

/// Notices that have not been acted on yet.
#[derive(Debug, Default)]
pub(super) struct PendingNotices {
    wake: Notify,
    /// Whether some notices will never arrive.
    are_lost: AtomicBool,
    /// Files being written, with the time of the last write.
    unfinished: Mutex<HashMap<PathBuf, Instant>>,
    /// Files that may have changed.
    touched: Mutex<TouchedFiles>,
    /// Paths outside the directory whose notices count.
    behind_links: Mutex<Arc<BehindLinks>>,
    /// The next look without a notice.
    reminder: Mutex<Option<AbortHandle>>,
    /// Whether there were notices other than renames into the directory.
    is_in_steps: AtomicBool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct TouchedFiles {
    paths: HashSet<PathBuf>,
    /// Files and folders that were closed after writing, or renamed or linked into place.
    complete: HashSet<PathBuf>,
    /// Whether all files count, because there were too many to record.
    are_all: bool,
}

impl TouchedFiles {
    pub(super) fn has(&self, path: &Path) -> bool {
        self.are_all || self.paths.contains(path)
    }

    /// Returns whether a file was complete at the last notice of it or of a folder above it.
    pub(super) fn is_complete(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.complete.contains(above))
    }

    pub(super) fn add(&mut self, others: Self) {
        self.are_all |= others.are_all;
        self.complete.retain(|path| !others.paths.contains(path));
        self.complete.extend(others.complete);
        others.paths.into_iter().for_each(|path| self.touch(path));
    }

    /// Records whether a file was complete at a notice.
    fn note(&mut self, path: &Path, is_complete: bool) {
        if !is_complete {
            self.complete.remove(path);
        } else if self.complete.len() < UNFINISHED_MAX {
            self.complete.insert(path.to_owned());
        }
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
    /// Waits for a notice; an earlier unseen notice counts.
    pub(super) async fn wait(&self) {
        self.wake.notified().await;
    }

    /// Returns the pause required after the last notice.
    pub(super) fn quiet(&self) -> Duration {
        let is_whole = CLOSING_IS_REPORTED && !self.is_in_steps.load(Ordering::Relaxed);
        if is_whole { QUIET_WHEN_RENAMED } else { QUIET }
    }

    /// Returns and clears the files with notices.
    pub(super) fn touched(&self) -> TouchedFiles {
        self.is_in_steps.store(false, Ordering::Relaxed);
        mem::take(&mut *self.touched.lock())
    }

    /// Acts like a notice for every file.
    pub(super) fn touch_all(&self) {
        self.touched.lock().are_all = true;
        self.wake.notify_one();
    }

    /// Wakes the follower after this time, instead of an earlier reminder.
    pub(super) fn remind(self: &Arc<Self>, after: Duration) {
        let notices = Arc::downgrade(self);
        let reminder = tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(notices) = notices.upgrade() {
                notices.wake.notify_one();
            }
        });
        if let Some(earlier) = self.reminder.lock().replace(reminder.abort_handle()) {
            earlier.abort();
        }
    }

    /// Returns whether, since the last call, it turned out that some notices will never arrive. For example, the system
    /// refuses more watches.
    pub(super) fn were_lost(&self) -> bool {
        self.are_lost.swap(false, Ordering::Relaxed)
    }

    pub(super) fn unfinished(&self) -> HashSet<PathBuf> {
        let mut unfinished = self.unfinished.lock();
        unfinished.retain(|_, touched| touched.elapsed() < UNCLOSED_MAX);
        unfinished.keys().cloned().collect()
    }

    /// Accepts notices for these paths behind links.
    pub(super) fn set_behind_links(&self, behind_links: BehindLinks) {
        *self.behind_links.lock() = Arc::new(behind_links);
    }

    /// Processes a notice; called on the watcher's thread.
    pub(super) fn take(&self, directory: &Path, notice: notify::Result<notify::Event>) {
        let event = match notice {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(error = %error, "notices of changed rule files are incomplete");
                self.are_lost.store(true, Ordering::Relaxed);
                return self.wake.notify_one();
            }
        };
        if event.need_rescan() {
            tracing::warn!("notices of changed rule files were lost; the directory is scanned instead");
        }
        let behind_links = Arc::clone(&self.behind_links.lock());
        let is_ours = |path: &PathBuf| {
            relative_path(directory, path).is_some_and(|relative| FileKind::of_path(&relative).is_some())
                || behind_links.is_rule_file(path)
        };
        let is_of_interest = |path: &PathBuf| is_visible(directory, path) || behind_links.has(path);
        let wakes = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                let mut unfinished = self.unfinished.lock();
                unfinished.retain(|path, _| !event.paths.contains(path));
                event.paths.iter().any(|path| is_ours(path) || is_misnamed_file(directory, path))
            }
            // Includes our own reads.
            EventKind::Access(_) => false,
            EventKind::Create(CreateKind::File | CreateKind::Any)
            | EventKind::Modify(ModifyKind::Data(_)) => {
                event.paths.iter().filter(|path| is_ours(path)).for_each(|path| self.mark_written(path));
                event.paths.iter().any(is_ours)
            }
            // A folder event covers its whole content.
            _ => event.need_rescan() || event.paths.iter().any(is_of_interest),
        };
        if wakes {
            let is_renamed =
                matches!(event.kind, EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)));
            self.is_in_steps.fetch_or(!is_renamed, Ordering::Relaxed);
            let is_closed = matches!(event.kind, EventKind::Access(AccessKind::Close(AccessMode::Write)));
            let mut touched = self.touched.lock();
            for path in &event.paths {
                let is_linked = matches!(event.kind, EventKind::Create(_)) && is_link(path);
                touched.note(path, CLOSING_IS_REPORTED && (is_renamed || is_closed || is_linked));
            }
            event.paths.into_iter().for_each(|path| touched.touch(path));
            drop(touched);
            self.wake.notify_one();
        }
    }

    fn mark_written(&self, path: &Path) {
        if !CLOSING_IS_REPORTED {
            return;
        }
        if is_link(path) {
            return;
        }
        let mut unfinished = self.unfinished.lock();
        if unfinished.len() < UNFINISHED_MAX || unfinished.contains_key(path) {
            unfinished.insert(path.to_owned(), Instant::now());
        }
    }
}

/// Returns whether this is a symbolic or hard link, which is complete at once, and of which no close follows.
fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_symlink() || metadata.is_file() && metadata.nlink() > 1)
}

/// Returns whether a path below the directory resembles that of a rule or list; such files are reported.
fn is_misnamed_file(directory: &Path, path: &Path) -> bool {
    is_visible(directory, path)
        && relative_path(directory, path).is_some_and(|relative| is_misnamed(&relative))
}

/// Returns whether a path is below the directory and has no hidden part.
fn is_visible(directory: &Path, path: &Path) -> bool {
    path.strip_prefix(directory)
        .is_ok_and(|relative| !relative.iter().any(|part| part.to_string_lossy().starts_with('.')))
}
