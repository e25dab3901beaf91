//! What is in the clone alone, and goes with it.

use super::GitError;
use super::local_clone::CloneDirectory;
use super::own_files::OwnFiles;

/// Somebody's work that no remote has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnpushedWork {
    /// Files of the work tree that were changed by hand.
    pub n_files: usize,
    /// Commits of the local branch.
    pub n_commits: usize,
}

impl CloneDirectory {
    /// What the clone in use has of this; reads, and changes nothing. What the service wrote into the work tree itself, the
    /// store has.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn unshared(&self) -> Result<UnpushedWork, GitError> {
        let rules = self.rules();
        if !rules.join(".git").exists() {
            return Ok(UnpushedWork::default());
        }
        let clone = self.open_at(&rules)?;
        let own = OwnFiles::of(clone.git_directory())?;
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
