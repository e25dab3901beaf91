//! A commit of what changed in the work tree, made on the side until the remote has taken it.

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Signature};

use super::local_clone::{CommitId, LocalClone};
use super::rule_path::kind_of;
use super::work_tree::Changes;
use super::{GitError, tree};

/// In whose name commits are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Name.
    pub name: String,
    /// E-mail address.
    pub email: String,
}

/// A commit that no branch of ours holds yet.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Which.
    pub commit: CommitId,
    /// What it changes, by path.
    pub files: Vec<String>,
}

impl LocalClone {
    /// Commits the changed rule files on top of the local branch, in front of it: the branch stays where it is. Without
    /// changes this is the branch's own commit. `None` when there is neither branch nor change.
    ///
    /// # Errors
    /// [`GitError::Disk`], [`GitError::Damaged`] and [`GitError::OverLimit`].
    pub fn prepare(&self, author: &Author, message: &str) -> Result<Option<Outgoing>, GitError> {
        let head = self.head();
        let changes = self.changes()?;
        if changes.is_empty() {
            return Ok(head.map(|commit| Outgoing { commit, files: Vec::new() }));
        }
        let commit = self.commit(head, &changes, author, message).map_err(GitError::Damaged)?;
        self.set_reference(OUTGOING, commit)?;
        Ok(Some(Outgoing { commit, files: changes.paths() }))
    }

    fn commit(
        &self,
        head: Option<CommitId>,
        changes: &Changes,
        author: &Author,
        message: &str,
    ) -> Result<CommitId, git2::Error> {
        let repository = self.repository();
        let mut update = TreeUpdateBuilder::new();
        for path in changes.modified.iter().chain(&changes.untracked) {
            // One that is unreadable is left as it was.
            let bytes = self.work_tree().read(path, kind_of(path.as_bytes())).ok().flatten();
            if let Some(bytes) = bytes {
                update.upsert(path.as_str(), repository.blob(&bytes)?, FileMode::Blob);
            }
        }
        for path in &changes.deleted {
            update.remove(path.as_str());
        }
        let parent = head.map(|head| repository.find_commit(head.0)).transpose()?;
        let base = match &parent {
            Some(parent) => parent.tree()?,
            None => repository.find_tree(repository.treebuilder(None)?.write()?)?,
        };
        let tree = repository.find_tree(update.create_updated(repository, &base)?)?;
        let signature = Signature::now(&author.name, &author.email)?;
        let parents: Vec<_> = parent.iter().collect();
        Ok(CommitId(repository.commit(None, &signature, &signature, message, &tree, &parents)?))
    }

    /// The rule files in which two commits differ, by path.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn files_between(&self, one: CommitId, other: CommitId) -> Result<Vec<String>, GitError> {
        let leaves = tree::leaves(self.repository(), other.0)?.fit;
        let contents = leaves.into_iter().map(|(path, leaf)| (path, Some(leaf.id))).collect();
        Ok(Changes::between(&tree::leaves(self.repository(), one.0)?.fit, &contents).paths())
    }

    /// The local branch and the remembered remote one stand on a commit that the remote has taken. The work tree has its
    /// files already.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn was_pushed(&self, branch: &str, commit: CommitId) -> Result<(), GitError> {
        tree::leaves(self.repository(), commit.0)?;
        self.set_reference(&format!("refs/heads/{branch}"), commit)?;
        self.set_reference(&format!("refs/remotes/origin/{branch}"), commit)
    }
}

/// Where a commit waits until it is pushed.
pub(super) const OUTGOING: &str = "refs/tollgate/outgoing";
