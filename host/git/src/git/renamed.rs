//! A branch that the remote has renamed.

use git2::BranchType;

use super::GitError;
use super::local_clone::LocalClone;

impl LocalClone {
    /// Has the local branch bear another name, with all that is on it; nothing happens where it is its name already.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn rename_branch(&self, branch: &str) -> Result<(), GitError> {
        let Some(before) = self.branch().filter(|before| before != branch) else { return Ok(()) };
        match self.repository().find_branch(&before, BranchType::Local) {
            // What stood under the new name is of no clone of ours, and HEAD follows.
            Ok(mut local) => local.rename(branch, true).map(drop).map_err(GitError::Damaged)?,
            Err(_) => self.set_branch(branch)?,
        }
        if let Ok(mut remote) = self.repository().find_reference(&format!("refs/remotes/origin/{before}")) {
            remote.delete().map_err(GitError::Damaged)?;
        }
        Ok(())
    }
}
