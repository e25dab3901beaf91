//! Work that exists only in the clone and would be lost with it.

use super::GitError;
use super::local_clone::CloneDirectory;
use super::own_files::OwnFiles;

/// Work that no remote has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnpushedWork {
    /// Files of the work tree that were changed by hand.
    pub n_files: usize,
    /// Commits of the local branch.
    pub n_commits: usize,
}

impl CloneDirectory {
    /// Counts such work in the clone in use, without changing it. Files that the service wrote do not count, because
    /// the store has them.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn unshared(&self) -> Result<UnpushedWork, GitError> {
        let rules = self.rules();
        if !rules.join(".git").exists() {
            return Ok(UnpushedWork::default());
        }
        let clone = self.open_at(&rules)?;
        let own = OwnFiles::read(clone.git_directory())?;
        let changes = clone.changes()?;
        let by_hand = |path: &&String| !own.has_touched(path);
        let n_files = changes.modified.iter().chain(&changes.untracked).filter(by_hand).count();
        let n_commits = match (clone.head(), clone.remote_head()) {
            (Some(ours), Some(theirs)) => clone.distance(ours, theirs)?.ahead,
            _ => 0,
        };
        Ok(UnpushedWork { n_files, n_commits })
    }
}
