//! Follows the rules directory while the service runs: changes take effect without a restart.
//!
//! ```text
//!  inotify ─▶ notices ─▶ quiet for a moment? ─▶ look: stamps of all files ─▶ read those that differ ─▶ take_tree
//!                         a look every few seconds anyway ──────┘
//! ```
//!
//! Notices only reduce the delay. Each look compares the whole directory with the state taken last. A lost notice, a
//! replaced directory or a system without notices therefore costs some seconds only.
//!
//! Links and their targets are watched as well. A file that is not whole keeps its previous state
//! (`rule_files/settling.rs`). An unreadable file never counts as removed.
//!
//! Looking at a thousand files takes two milliseconds and reading them ten, on a core that transactions need.

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

use parking_lot::Mutex;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};
use tollgate_engine::registry::RuleSet;
use tollgate_model::background::in_background;

use crate::intake::rule_files::{
    self, FoundFile, GoodContents, HeadCache, PendingFile, SETTLE, Settling, WalkedDirectory,
};
use crate::intake::source::is_in_force;
use crate::intake::tree::TreeKind;
use crate::intake::{Intake, IntakeError, RuleTree, RulesDirectory, UnreadableFile};
use look::{DirectoryLook, RootIdentity};
use notices::{PendingNotices, QUIET, TouchedFiles};
use watched::BehindLinks;
use watcher::Watcher;

/// Longest wait for a quiet moment.
const QUIET_WAIT_MAX: Duration = Duration::from_millis(500);
/// Interval for checking that the directory is still the same; without notices, also for looking at its files.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Interval for looking without a notice and retrying refused files.
const LOOK_ANYWAY_EVERY: Duration = Duration::from_secs(10);
/// Interval for reading every file, even with an unchanged stamp. Memory-mapped files, network file systems and images
/// can change content without changing the stamp.
const READ_ALL_EVERY: Duration = Duration::from_secs(600);
/// Maximum number of attempts when files change during reading.
const READS_MAX: usize = 5;

/// Follows the rules directory until dropped.
#[derive(Debug)]
pub struct Following {
    task: AbortHandle,
    notices: Arc<PendingNotices>,
}

/// Requests that all files of the rules directory are read again.
#[derive(Debug, Clone)]
pub struct Recheck(Arc<PendingNotices>);

impl Following {
    /// Returns a handle for requesting a recheck while the directory is followed.
    #[must_use]
    pub fn recheck(&self) -> Recheck {
        Recheck(Arc::clone(&self.notices))
    }
}

impl Recheck {
    /// Requests that every file is read soon, whatever its stamp; does not wait.
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
    /// Follows the rules directory: every change takes effect once it is complete. The directory is watched when this
    /// returns. A file whose writing begins later is left alone until it is closed.
    pub async fn follow(&self, directory: &RulesDirectory) -> Following {
        let mut follower = Follower {
            intake: self.clone(),
            // Notices contain absolute paths.
            directory: std::path::absolute(&directory.path).unwrap_or_else(|_| directory.path.clone()),
            may_be_missing: directory.may_be_missing,
            asks_for_notices: directory.asks_for_notices,
            notices: Arc::default(),
            watcher: None,
            taken: None,
            looked_at: Instant::now(),
            touched: TouchedFiles::default(),
            behind_links: None,
            read_all_at: Instant::now(),
            complaint: None,
            heads: Arc::default(),
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
    /// Stamps of the files in force; `None` if unknown.
    taken: Option<Arc<DirectoryLook>>,
    looked_at: Instant,
    /// Files with notices since they were last taken.
    touched: TouchedFiles,
    /// Watched paths outside the directory.
    behind_links: Option<BehindLinks>,
    /// Time when every file was last read, whatever its stamp.
    read_all_at: Instant,
    /// Last message about a directory that cannot be read or watched; logged once.
    complaint: Option<String>,
    /// Beginnings of the other files.
    heads: Arc<Mutex<HeadCache>>,
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

    /// Watches the directory that is there now. Returns whether it appeared, was replaced or disappeared.
    async fn watch(&mut self) -> bool {
        let directory = self.directory.clone();
        let Ok(root) = RootIdentity::of_directory(&directory) else { return self.watcher.take().is_some() };
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
            tracing::info!(directory = %directory.display(), "following the rules directory by scanning it");
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

    /// Watches links and their targets; returns whether changes there may have been missed: notices of them count only from
    /// now on.
    async fn watch_behind_links(&mut self, behind_links: BehindLinks) -> bool {
        if self.behind_links.as_ref() == Some(&behind_links) {
            return false;
        }
        self.notices.set_behind_links(behind_links.clone());
        let Some(mut watcher) = self.watcher.take() else { return false };
        let of = behind_links.clone();
        let watched = spawn_blocking(move || {
            let watched = watcher.watch_elsewhere(&of);
            (watcher, watched)
        });
        let Ok((mut watcher, watched)) = watched.await else { return false };
        if let Err(error) = &watched {
            watcher.stop_notices();
            self.say_that_it_looks(error);
        }
        let may_have_missed = watcher.has_notices() && !behind_links.is_empty();
        self.behind_links = Some(behind_links);
        self.watcher = Some(watcher);
        may_have_missed
    }

    fn say_that_it_looks(&self, error: &str) {
        let every_seconds = LOOK_EVERY.as_secs();
        tracing::warn!(
            error,
            every_seconds,
            "no notices of changed rule files; the directory is scanned instead"
        );
    }

    /// Waits for a reason to look at the directory; returns whether there is one.
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
                // Changes before the new watches were set may have been missed, so the files are read again.
                Ok(Some(read)) if self.watch_behind_links(read.behind_links.clone()).await => {}
                Ok(Some(read)) => return self.take(read).await,
                // The files changed during reading.
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
            settling: Arc::clone(&self.intake.pipeline.directory.settling),
            in_force: Some(self.intake.pipeline.deps.registry.current()),
            heads: Arc::clone(&self.heads),
        };
        let read = in_background(move || {
            match read_steadily(&directory, &before, &notices, SystemTime::now()) {
                // A file or folder disappeared during reading, but not the directory itself.
                Err(error) if error.kind() == io::ErrorKind::NotFound && directory.exists() => Ok(None),
                read => read,
            }
        });
        read.await.unwrap_or_else(Err)
    }

    async fn take(&mut self, read: SteadyDirectory) {
        let SteadyDirectory { tree, whole: look, reads_all, pending, .. } = read;
        self.looked_at = Instant::now();
        if self.complaint.take().is_some() {
            tracing::info!(directory = %self.directory.display(), "the rules directory can be read again");
        }
        self.touched = TouchedFiles::default();
        if !pending.is_empty() {
            self.notices.remind(SETTLE + QUIET);
        }
        // Refused files are always read, and so taken again: the cause of the refusal may be gone.
        if self.taken.as_deref() == Some(&look) && !is_any_read(&tree) {
            self.intake.pipeline.ignored.note(&tree);
            self.note_read(&pending);
            return;
        }
        match self.intake.take_tree(tree).await {
            Ok(_) => {
                self.note_read(&pending);
                self.taken = Some(Arc::new(look));
                if reads_all {
                    self.read_all_at = Instant::now();
                }
            }
            // Already logged where it was refused; retried soon.
            Err(error) => {
                if matches!(error, IntakeError::TooFewRules { .. }) {
                    self.note_read(&pending);
                }
                self.taken = None;
            }
        }
    }

    /// Reports a look. The service becomes ready once all files are in force or refused, or have an earlier good version.
    fn note_read(&self, pending: &[PendingFile]) {
        let pipeline = &self.intake.pipeline;
        pipeline.directory.note_read(pending, &*pipeline.deps.registry.current());
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

/// State of the directory before the next look.
#[derive(Default)]
struct KnownDirectory {
    /// Whether a file with an unchanged stamp counts as unchanged.
    is_believed: bool,
    touched: TouchedFiles,
    taken: Arc<DirectoryLook>,
    /// Files whose present content is not in force.
    refused: HashSet<String>,
    settling: Arc<Mutex<Settling>>,
    in_force: Option<Arc<RuleSet>>,
    heads: Arc<Mutex<HeadCache>>,
}

impl KnownDirectory {
    /// Returns the reason for not reading a file, if any.
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

/// A consistent reading of the directory.
struct SteadyDirectory {
    tree: RuleTree,
    behind_links: BehindLinks,
    /// Stamps of the files whose present content is in force or is being taken.
    whole: DirectoryLook,
    /// Whether no file was skipped because of its stamp.
    reads_all: bool,
    /// Files that are being written.
    pending: Vec<PendingFile>,
}

/// Reads the changed files of the directory; `None` if something changed meanwhile. Files that are not whole keep their
/// previous state.
fn read_steadily(
    directory: &Path,
    before: &KnownDirectory,
    notices: &PendingNotices,
    now: SystemTime,
) -> io::Result<Option<SteadyDirectory>> {
    let (found, others) = rule_files::find_all(directory)?;
    let unfinished = notices.unfinished();
    let at = std::time::Instant::now();
    let mut settling = before.settling.lock();
    settling.observe(&found, at, now);
    let complete = found.files.iter().filter(|file| before.touched.is_complete(&file.path));
    complete.for_each(|file| settling.mark_whole(file));
    let is_open = |file: &FoundFile| !before.taken.is_same(file) && unfinished.contains(&file.path);
    let mut tree = rule_files::read(&found, |file| before.leaves_alone(file, is_open(file)));
    let not_whole: HashSet<&str> = found
        .files
        .iter()
        .filter(|file| !before.taken.is_same(file) && !settling.is_whole(file))
        .map(|file| file.relative.as_str())
        .collect();
    let good = before.in_force.as_deref().map(|rule_set| rule_set as &dyn GoodContents);
    let held_back = rule_files::hold_back(&mut tree, good, |path| !not_whole.contains(path));
    let held_back: HashSet<&str> = held_back.iter().map(String::as_str).collect();
    // This second walk reads every link again.
    let is_steady = is_the_same(&found, rule_files::find(directory)?, &held_back);
    if is_steady {
        settling.note_read(&found);
    }
    let is_taken = |file: &&FoundFile| !held_back.contains(file.relative.as_str());
    let whole = DirectoryLook::at(found.files.iter().filter(is_taken), &found, now);
    let pending = held_back.iter().map(|path| settling.pending(path, at, now)).collect();
    drop(settling);
    let behind_links = BehindLinks::new(&found);
    tree.ignored = Some(others.examine(&mut before.heads.lock(), now));
    let reads_all = !left_alone(&tree).any(|why| matches!(why, UnreadableFile::AsTaken));
    Ok(is_steady.then_some(SteadyDirectory { tree, behind_links, whole, reads_all, pending }))
}

/// Returns whether two walks found the same, except for the stamps of files that are being written.
fn is_the_same(before: &WalkedDirectory, mut after: WalkedDirectory, held_back: &HashSet<&str>) -> bool {
    for (file, known) in after.files.iter_mut().zip(&before.files) {
        if held_back.contains(file.relative.as_str()) {
            file.stamp = known.stamp;
        }
    }
    after == *before
}

/// Returns the reasons for all files that were not read.
fn left_alone(tree: &RuleTree) -> impl Iterator<Item = &UnreadableFile> {
    let rules = tree.rules.iter().filter_map(|file| file.content.as_ref().err());
    rules.chain(tree.lists.iter().filter_map(|file| file.text.as_ref().err()))
}

/// Returns whether any file was read, or refused with a reason worth reporting.
fn is_any_read(tree: &RuleTree) -> bool {
    let n_passed_by = left_alone(tree).filter(|why| !why.is_worth_a_word()).count();
    n_passed_by < tree.rules.len() + tree.lists.len()
}
