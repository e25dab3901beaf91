//! Brings a rule back that was removed over the API and not pushed.

use std::slice;
use std::sync::Arc;

use tollgate_git::CommitId;
use tollgate_model::instruction::{Instruction, InstructionId};
use tollgate_store::UnpushedRemoval;

use crate::git_sync::refresh::rule_tree;
use crate::git_sync::remotes::Configured;
use crate::git_sync::{GitSync, GitSyncError, GitSyncInner, off_the_executor};
use crate::intake::RuleTree;

impl GitSync {
    /// Brings a removed rule of the repository back into force, and its file into the work tree. The remote is not contacted.
    ///
    /// # Errors
    /// See [`GitSyncError`]; the rule stays removed in that case, unless its file is refused.
    pub async fn bring_back(&self, id: InstructionId) -> Result<Arc<Instruction>, GitSyncError> {
        // An unknown id does not wait for a running operation.
        self.inner.deps.intake.removal_to_release(id)?;
        self.exclusively(move |inner, held| async move { inner.bring_back(held.as_ref(), id).await }).await
    }
}

impl GitSyncInner {
    async fn bring_back(
        self: &Arc<Self>,
        held: Option<&Configured>,
        id: InstructionId,
    ) -> Result<Arc<Instruction>, GitSyncError> {
        let removal = self.deps.intake.removal_to_release(id)?;
        held.ok_or(GitSyncError::NotConfigured)?;
        let (inner, path) = (Arc::clone(self), removal.path.clone());
        let (commit, tree) = off_the_executor(move || inner.restore(&removal)).await?;
        let (report, instruction) = self.deps.intake.take_tree_releasing(tree, path).await?;
        self.shown.lock().taken(commit, &report);
        self.deps.edits.compare(&self.deps.intake);
        Ok(instruction)
    }

    /// Restores the file of a removed rule, and reads the rule tree of the commit in force.
    fn restore(&self, removal: &UnpushedRemoval) -> Result<(CommitId, RuleTree), GitSyncError> {
        let _writing = self.writing.lock();
        let clone = self.open()?;
        let commit = self.in_force(&clone, false).ok_or(GitSyncError::NotConfigured)?;
        self.deps.edits.give_up(removal);
        if clone.changes()?.deleted.contains(&removal.path)
            && !clone.take_back(slice::from_ref(&removal.path))?
        {
            tracing::warn!(
                path = removal.path,
                "the file of a released rule was removed by hand and stays removed"
            );
        }
        Ok((commit, rule_tree(clone.rules_of(commit)?, commit)))
    }
}
