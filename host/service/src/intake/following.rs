//! The rules directory while the service runs: what is saved there takes effect without a restart.
//!
//! ```text
//!  inotify ─▶ notices ─▶ quiet for a moment? ─▶ look: stamps of all files ─▶ read those that differ ─▶ take_tree
//!                         a look every few seconds anyway ──────┘
//! ```
//!
//! Notices only make it fast: what counts is a comparison of the whole directory with what was taken last, so a notice
//! that is lost, a directory that is replaced, or a system that gives no notices at all costs seconds and nothing else.
//! What links lead to is watched as well, and each link. A file that somebody still has open for writing stays as it was. What cannot be read is never taken for removed.
//! A thousand files are looked at in two milliseconds and read in ten, on a core that transactions want.

mod look;
mod notices;
mod watched;
mod watcher;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};
use tollgate_model::background::in_background;

use crate::intake::rule_files::{self, FoundFile};
use crate::intake::source::is_in_force;
use crate::intake::tree::TreeKind;
use crate::intake::{Intake, IntakeError, RuleTree, RulesDirectory, UnreadableFile};
use look::{DirectoryLook, RootIdentity};
use notices::{PendingNotices, QUIET, TouchedFiles};
use watched::BehindLinks;
use watcher::Watcher;

/// Longest wait for that quiet.
const QUIET_WAIT_MAX: Duration = Duration::from_millis(500);
/// How often the directory is looked for; without notices, looked through.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often it is looked through though no notice came, and refused files are tried again.
const LOOK_ANYWAY_EVERY: Duration = Duration::from_secs(10);
/// How often every file is read, also those that look as they did: a mapped file can change under an old stamp, and so can one
/// of a network or of an image.
const READ_ALL_EVERY: Duration = Duration::from_secs(600);
/// How often reading starts again because something changed meanwhile.
const READS_MAX: usize = 5;

/// Follows the rules directory until it is dropped.
#[derive(Debug)]
pub struct Following {
    task: AbortHandle,
    notices: Arc<PendingNotices>,
}

/// Has the rules directory read anew.
#[derive(Debug, Clone)]
pub struct Recheck(Arc<PendingNotices>);

impl Following {
    /// For whoever may ask for it while the directory is followed.
    #[must_use]
    pub fn recheck(&self) -> Recheck {
        Recheck(Arc::clone(&self.notices))
    }
}

impl Recheck {
    /// Has every file read soon, whatever it looks like; does not wait for it.
    pub fn ask(&self) {
        self.0.touch_all();
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Intake {
    /// Follows the rules directory from here on: every change there takes effect as soon as it is whole. When this returns,
    /// the directory is watched: who begins to write afterwards is heard of, and left alone until the file is closed.
    pub async fn follow(&self, directory: &RulesDirectory) -> Following {
        let mut follower = Follower {
            intake: self.clone(),
            // Notices come with absolute paths.
            directory: std::path::absolute(&directory.path).unwrap_or_else(|_| directory.path.clone()),
            may_be_missing: directory.may_be_missing,
            asks_for_notices: directory.asks_for_notices,
            notices: Arc::default(),
            watcher: None,
            taken: None,
            seen: None,
            looked_at: Instant::now(),
            touched: TouchedFiles::default(),
            behind_links: None,
            read_all_at: Instant::now(),
            complaint: None,
        };
        follower.watch().await;
        let notices = Arc::clone(&follower.notices);
        Following { task: tokio::spawn(follower.run()).abort_handle(), notices }
    }
}

struct Follower {
    intake: Intake,
    directory: PathBuf,
    may_be_missing: bool,
    asks_for_notices: bool,
    notices: Arc<PendingNotices>,
    watcher: Option<Watcher>,
    /// What the files in force looked like; `None` when that is not known.
    taken: Option<Arc<DirectoryLook>>,
    /// What all files looked like at the last look.
    seen: Option<Arc<DirectoryLook>>,
    looked_at: Instant,
    /// Files of which notices came since they were taken.
    touched: TouchedFiles,
    /// What is watched beside the directory itself.
    behind_links: Option<BehindLinks>,
    /// When every file was read last, also those that looked as they did.
    read_all_at: Instant,
    /// The last thing said about a directory that cannot be read or watched; said once.
    complaint: Option<String>,
}

impl Follower {
    async fn run(mut self) {
        self.look().await;
        loop {
            let is_new = self.watch().await;
            if is_new || self.take_due().await {
                self.look().await;
            }
        }
    }

    /// Sees to it that notices come from the directory that is there now; whether it is another than before.
    async fn watch(&mut self) -> bool {
        let directory = self.directory.clone();
        let Ok(root) = RootIdentity::of(&directory) else { return self.watcher.take().is_some() };
        if self.watcher.as_ref().is_none_or(|watcher| watcher.root != root) {
            self.behind_links = None;
        }
        if let Some(watcher) = self.watcher.as_mut().filter(|watcher| watcher.root == root) {
            if self.notices.were_lost() && watcher.stop_notices() {
                self.say_that_it_looks("some folders are not watched");
            }
            return false;
        }
        if !self.asks_for_notices {
            tracing::info!(directory = %directory.display(), "following the rules directory by looking at it");
            self.watcher = Some(Watcher::without_notices(root));
            return true;
        }
        let (notices, of) = (Arc::clone(&self.notices), root.clone());
        let watched = spawn_blocking(move || Watcher::start(of, notices)).await;
        self.watcher = Some(match watched.map_err(|error| error.to_string()).flatten() {
            Ok(watcher) => {
                tracing::info!(directory = %self.directory.display(), "following the rules directory");
                watcher
            }
            Err(error) => {
                self.say_that_it_looks(&error);
                Watcher::without_notices(root)
            }
        });
        true
    }

    /// Has notices come from what links lead to; whether something may have happened there in silence.
    async fn watch_behind_links(&mut self, behind_links: BehindLinks) -> bool {
        if self.behind_links.as_ref() == Some(&behind_links) {
            return false;
        }
        self.notices.heed(behind_links.clone());
        let Some(mut watcher) = self.watcher.take() else { return false };
        let of = behind_links.clone();
        let watched = spawn_blocking(move || {
            let is_any_new = watcher.watch_elsewhere(&of);
            (watcher, is_any_new)
        });
        let Ok((mut watcher, is_any_new)) = watched.await else { return false };
        self.behind_links = Some(behind_links);
        let is_any_new = is_any_new.unwrap_or_else(|error| {
            watcher.stop_notices();
            self.say_that_it_looks(&error);
            false
        });
        self.watcher = Some(watcher);
        is_any_new
    }

    fn say_that_it_looks(&self, error: &str) {
        let every_seconds = LOOK_EVERY.as_secs();
        tracing::warn!(error, every_seconds, "no notices of changed rule files; looking for them instead");
    }

    /// Waits for a reason to look at the directory; whether there was one.
    async fn take_due(&mut self) -> bool {
        if timeout(LOOK_EVERY, self.notices.wait()).await.is_ok() {
            let since = Instant::now();
            while timeout(self.notices.quiet(), self.notices.wait()).await.is_ok()
                && since.elapsed() < QUIET_WAIT_MAX
            {}
            return true;
        }
        !self.has_notices() || self.taken.is_none() || self.looked_at.elapsed() >= LOOK_ANYWAY_EVERY
    }

    fn has_notices(&self) -> bool {
        self.watcher.as_ref().is_some_and(Watcher::has_notices)
    }

    async fn look(&mut self) {
        for _ in 0..READS_MAX {
            match self.read().await {
                // Of what is watched from here on only, changes before that were not heard of.
                Ok(Some(read)) if self.watch_behind_links(read.behind_links.clone()).await => {}
                Ok(Some(read)) => return self.take(read).await,
                // Something changed while it was read.
                Ok(None) => sleep(QUIET).await,
                Err(error) => return self.complain(&error),
            }
        }
        self.taken = None;
    }

    async fn read(&mut self) -> io::Result<Option<SteadyDirectory>> {
        self.touched.add(self.notices.touched());
        let (directory, notices) = (self.directory.clone(), Arc::clone(&self.notices));
        let before = KnownDirectory {
            is_believed: self.read_all_at.elapsed() < READ_ALL_EVERY,
            touched: self.touched.clone(),
            taken: self.taken.clone().unwrap_or_default(),
            refused: self.intake.failed_files().into_iter().map(|failed| failed.path).collect(),
            // Without notices nobody says when a file is closed: it has to look the same twice.
            seen: (!self.has_notices()).then(|| self.seen.clone().unwrap_or_default()),
        };
        let read = in_background(move || {
            match read_steadily(&directory, &before, &notices, SystemTime::now()) {
                // A file or a folder in it is gone, not the directory: it changed while it was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound && directory.exists() => Ok(None),
                read => read,
            }
        });
        read.await.unwrap_or_else(Err)
    }

    async fn take(&mut self, SteadyDirectory { tree, seen, whole: look, reads_all, .. }: SteadyDirectory) {
        self.looked_at = Instant::now();
        self.seen = Some(Arc::new(seen));
        if self.complaint.take().is_some() {
            tracing::info!(directory = %self.directory.display(), "the rules directory can be read again");
        }
        self.touched = TouchedFiles::default();
        // A refused file is always read: it may have its turn now, when what it stood behind is gone.
        let is_whole = !left_alone(&tree).any(|why| matches!(why, UnreadableFile::BeingWritten));
        if self.taken.as_deref() == Some(&look) && !is_any_read(&tree) {
            self.note_read(is_whole);
            return;
        }
        match self.intake.take_tree(tree).await {
            Ok(_) => {
                self.note_read(is_whole);
                self.taken = Some(Arc::new(look));
                if reads_all {
                    self.read_all_at = Instant::now();
                }
            }
            // Said already by whoever refused it; tried again soon.
            Err(error) => {
                if matches!(error, IntakeError::TooFewRules { .. }) {
                    self.note_read(is_whole);
                }
                self.taken = None;
            }
        }
        if !is_whole {
            self.notices.remind(LOOK_EVERY);
        }
    }

    /// The directory counts as read when all that lies in it is in force or was refused: from then on the service may be ready.
    fn note_read(&self, is_whole: bool) {
        if is_whole {
            self.intake.pipeline.directory.mark_read();
        }
    }

    fn complain(&mut self, error: &io::Error) {
        self.looked_at = Instant::now();
        let has_rules = is_in_force(TreeKind::Directory, &self.intake.pipeline.deps.registry.current());
        if error.kind() == io::ErrorKind::NotFound && self.may_be_missing && !has_rules {
            return;
        }
        self.intake.pipeline.directory.cannot_be_read(&self.directory, error, has_rules);
        let said = error.to_string();
        if has_rules && self.complaint.as_ref() != Some(&said) {
            let directory = self.directory.display();
            tracing::error!(%directory, error = said, "the rules directory cannot be read; its rules stay in force");
        }
        self.complaint = Some(said);
    }
}

/// What is known of the directory before it is looked at again.
#[derive(Default)]
struct KnownDirectory {
    /// Whether a file that looks as it did counts as the same.
    is_believed: bool,
    touched: TouchedFiles,
    taken: Arc<DirectoryLook>,
    /// Files that are not in force as they lie there.
    refused: HashSet<String>,
    /// What a file has to look like to be whole; `None` where somebody says when it is.
    seen: Option<Arc<DirectoryLook>>,
}

impl KnownDirectory {
    /// Why a file need not, or should not, be read.
    fn leaves_alone(&self, file: &FoundFile, is_being_written: bool) -> Option<UnreadableFile> {
        let is_in_force = self.is_believed
            && self.taken.is_unchanged(file)
            && !self.touched.has(&file.path)
            && !self.refused.contains(&file.relative);
        match (is_in_force, is_being_written) {
            (true, _) => Some(UnreadableFile::AsTaken),
            (false, true) => Some(UnreadableFile::BeingWritten),
            (false, false) => None,
        }
    }
}

/// The directory as it was for a moment.
struct SteadyDirectory {
    tree: RuleTree,
    behind_links: BehindLinks,
    /// What all its files look like.
    seen: DirectoryLook,
    /// What those look like that are, or now come, into force whole.
    whole: DirectoryLook,
    /// Whether no file was passed by for its looks.
    reads_all: bool,
}

/// Reads what changed in the directory; `None` when something changed meanwhile. Beside files that are open for writing, those that do
/// not look as they did before, where nobody says when they are whole, are left as they were.
fn read_steadily(
    directory: &Path,
    before: &KnownDirectory,
    notices: &PendingNotices,
    now: SystemTime,
) -> io::Result<Option<SteadyDirectory>> {
    let found = rule_files::find(directory)?;
    let look = DirectoryLook::at(&found.files, &found, now);
    let unfinished = notices.unfinished();
    // Without a stamp nothing could ever be seen to have settled; what comes by a link that was swapped was written before.
    let is_settled = |file: &FoundFile| {
        file.stamp.is_none()
            || before.seen.as_ref().is_none_or(|seen| {
                seen.is_same(file) || found.is_behind_link(file) && seen.has_other_links(&found)
            })
    };
    let is_being_written = |file: &FoundFile| {
        !before.taken.is_same(file) && (unfinished.contains(&file.path) || !is_settled(file))
    };
    let tree = rule_files::read(&found, |file| before.leaves_alone(file, is_being_written(file)));
    // Every link is read again with it.
    let is_steady = rule_files::find(directory)? == found;
    let whole = DirectoryLook::at(found.files.iter().filter(|file| !is_being_written(file)), &found, now);
    let behind_links = BehindLinks::of(&found);
    let reads_all = !left_alone(&tree).any(|why| matches!(why, UnreadableFile::AsTaken));
    Ok(is_steady.then_some(SteadyDirectory { tree, behind_links, seen: look, whole, reads_all }))
}

/// Why files are not to be had, of all that are not.
fn left_alone(tree: &RuleTree) -> impl Iterator<Item = &UnreadableFile> {
    let rules = tree.rules.iter().filter_map(|file| file.content.as_ref().err());
    rules.chain(tree.lists.iter().filter_map(|file| file.text.as_ref().err()))
}

/// Whether there is a file in it whose content is known now, or cannot be.
fn is_any_read(tree: &RuleTree) -> bool {
    let n_passed_by = left_alone(tree).filter(|why| !why.is_worth_a_word()).count();
    n_passed_by < tree.rules.len() + tree.lists.len()
}
