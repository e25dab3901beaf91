//! A branch that was renamed on the remote.

use git2::BranchType;

use super::GitError;
use super::local_clone::LocalClone;

impl LocalClone {
    /// Renames the local branch and keeps its commits; does nothing if it already has this name.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn rename_branch(&self, branch: &str) -> Result<(), GitError> {
        let Some(before) = self.branch().filter(|before| before != branch) else { return Ok(()) };
        match self.repository().find_branch(&before, BranchType::Local) {
            // Overwrites any branch of the new name; HEAD follows the rename.
            Ok(mut local) => local.rename(branch, true).map(drop).map_err(GitError::Damaged)?,
            Err(_) => self.set_branch(branch)?,
        }
        if let Ok(mut remote) = self.repository().find_reference(&format!("refs/remotes/origin/{before}")) {
            remote.delete().map_err(GitError::Damaged)?;
        }
        Ok(())
    }
}
