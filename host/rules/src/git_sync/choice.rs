//! Following the default branch of a repository when no branch is named, and changes of that default.

use tollgate_git::{Fetched, FollowedRepository, GitError, LocalClone};

use crate::git_sync::remotes::Configured;
use crate::git_sync::{GitSyncError, GitSyncInner};
use tollgate_telemetry::logs::ErrorChain;

const STILL_THERE: &str = "the old branch still exists, so it was not renamed";
const NOT_IN_HISTORY: &str =
    "the old branch is gone, and the new one does not contain the commit whose rules are in force";

impl GitSyncInner {
    /// Refuses another default branch unless it is the renamed previous one: the old name is gone, and the new branch
    /// contains the commit in force.
    pub(super) fn refuse_another_choice(
        &self,
        configured: &Configured,
        clone: &LocalClone,
        fetched: &Fetched,
        is_fresh: bool,
    ) -> Result<(), GitSyncError> {
        let Some(from) = self.choice_before(configured).filter(|before| *before != fetched.branch) else {
            return Ok(());
        };
        let to = fetched.branch.clone();
        match configured.remote.fetch(clone, Some(&from)) {
            Ok(_) => return Err(GitSyncError::BranchMoved { from, to, why: STILL_THERE }),
            Err(GitError::NoBranch) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(in_force) = self.in_force(clone, is_fresh)
            && !clone.follows(fetched.commit, in_force)?
        {
            return Err(GitSyncError::BranchMoved { from, to, why: NOT_IN_HISTORY });
        }
        tracing::warn!(from, to, "the repository's branch was renamed, and is followed under its new name");
        Ok(())
    }

    /// Returns the previous default branch; `None` if a branch is or was named, or another repository was followed.
    fn choice_before(&self, configured: &Configured) -> Option<String> {
        let (address, branch) = self.shown.lock().followed.clone()?;
        let is_own = configured.branch.is_none() && address == configured.remote.address;
        (is_own && !self.was_named(&branch)).then_some(branch)
    }

    /// Returns whether the followed branch was named earlier but is named no longer, and the default is another. The
    /// operator then changed the configuration on purpose.
    pub(super) fn is_named_no_more(
        &self,
        configured: &Configured,
        clone: &LocalClone,
        fetched: &Fetched,
    ) -> bool {
        let Some(before) = clone.branch().filter(|before| *before != fetched.branch) else { return false };
        configured.branch.is_none() && self.was_named(&before)
    }

    fn was_named(&self, branch: &str) -> bool {
        self.remembered().is_some_and(|known| known.branch == branch && known.is_named == Some(true))
    }

    /// Returns the record of the repository followed last, for use without a clone.
    pub(super) fn remembered(&self) -> Option<FollowedRepository> {
        self.directory.remembered().unwrap_or_else(|error| {
            tracing::error!(error = %ErrorChain(&error), "the record of the followed repository cannot be read");
            None
        })
    }

    /// Records the repository and branch of this clone, and whether the branch was named.
    pub(super) fn remember(&self, clone: &LocalClone, is_named: bool) -> Result<(), GitSyncError> {
        let Some((address, branch)) = clone.address().zip(clone.branch()) else { return Ok(()) };
        self.shown.lock().followed = Some((address.clone(), branch.clone()));
        let followed = FollowedRepository { address, branch, is_named: Some(is_named) };
        if self.remembered().as_ref() != Some(&followed) {
            self.directory.remember(&followed)?;
        }
        Ok(())
    }
}
