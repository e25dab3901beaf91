//! Sync: fetches, brings the commit into force, and lets the work tree follow.

use std::sync::Arc;

use tollgate_git::{Advance, CommitId, Fetched, GitError, LocalClone, RemoteFailure, TreeFiles, UnfitReason};

use crate::git_sync::remotes::Configured;
use crate::git_sync::{Cloned, GitSyncError, GitSyncInner, SyncMode, Synced, off_the_executor};
use crate::intake::{
    HoldBack, IntakeError, ListFile, RuleFile, RuleTree, TreeOrigin, TreeReport, UnreadableFile,
};
use tollgate_telemetry::logs::ErrorChain;

/// A fetched commit that is not in force yet.
struct FetchedCommit {
    before: Option<CommitId>,
    fetched: Fetched,
    /// Whether the clone is new and not in place yet.
    is_fresh: bool,
    /// Whether the branch was named in the configuration or a request.
    is_named: bool,
    /// Rule tree to take; `None` if nothing is to be taken.
    tree: Option<RuleTree>,
}

impl GitSyncInner {
    pub(super) async fn refresh(
        self: &Arc<Self>,
        held: &mut Option<Configured>,
        manner: SyncMode,
    ) -> Result<Synced, GitSyncError> {
        let configured = held.clone().ok_or(GitSyncError::NotConfigured)?;
        let inner = Arc::clone(self);
        let found = off_the_executor(move || inner.find(&configured, manner)).await?;
        let (before, after) = (found.before, found.fetched.commit);
        let force = manner == SyncMode::Force;
        let hold_back = if force { HoldBack::Nothing } else { HoldBack::Commit };
        let (report, replaced) = self.take(found, force, hold_back).await?;
        let TreeReport { version, loaded, changed, removed, failed, .. } = report;
        Ok(Synced { before, after, version, loaded, changed, removed, failed, replaced })
    }

    pub(super) async fn clone_from(
        self: &Arc<Self>,
        configured: Configured,
        held: &mut Option<Configured>,
    ) -> Result<Cloned, GitSyncError> {
        let (inner, wanted) = (Arc::clone(self), configured.clone());
        let found = off_the_executor(move || {
            let (clone, fetched) = inner.fresh(&wanted)?;
            let tree = Some(tree_to_take(&clone, fetched.commit)?);
            Ok(FetchedCommit {
                before: None,
                fetched,
                is_fresh: true,
                is_named: wanted.branch.is_some(),
                tree,
            })
        })
        .await?;
        let branch = found.fetched.branch.clone();
        // The repository was requested explicitly, so everything acceptable is taken.
        let is_operators =
            self.configured()?.is_some_and(|known| known.remote.address == configured.remote.address);
        let was_of_the_api = self.note_origin(!is_operators);
        let taken = self.take(found, true, HoldBack::List).await;
        let (report, _) = taken.inspect_err(|_| {
            self.note_origin(was_of_the_api);
        })?;
        self.shown.lock().url = Some(configured.remote.address.clone());
        *held = Some(configured);
        Ok(Cloned { path: self.directory.rules(), branch, n_failed: report.failed.len() })
    }

    /// Notes whether the followed repository was named over the API. Returns whether the one before was.
    pub(super) fn note_origin(&self, is_of_the_api: bool) -> bool {
        self.check.set_of_the_api(is_of_the_api);
        self.deps.intake.set_git_of_the_api(is_of_the_api)
    }

    /// Fetches into the clone, or into a new one if there is no usable clone.
    fn find(&self, configured: &Configured, manner: SyncMode) -> Result<FetchedCommit, GitSyncError> {
        if let Some(clone) = self.usable_clone(configured) {
            if manner == SyncMode::Pull {
                self.refuse_changes(&clone)?;
            }
            let found =
                configured.remote.fetch(&clone, configured.branch.as_deref()).map_err(GitSyncError::from);
            let found = match found {
                Ok(fetched) if self.is_named_no_more(configured, &clone, &fetched) => {
                    return self.find_again(configured, manner);
                }
                found => found.and_then(|fetched| self.judge(configured, &clone, fetched, false, manner)),
            };
            match found {
                // The clone is checked again, because the error may come from the remote.
                Err(GitSyncError::Git(error @ GitError::Damaged(_))) if !clone.is_whole() => {
                    tell_of_damage(&error)
                }
                Err(GitSyncError::Git(GitError::Damaged(error))) => {
                    return Err(GitError::Failed(RemoteFailure::Invalid(error)).into());
                }
                found => return found,
            }
        }
        self.find_again(configured, manner)
    }

    fn find_again(&self, configured: &Configured, manner: SyncMode) -> Result<FetchedCommit, GitSyncError> {
        let (clone, fetched) = self.fresh(configured)?;
        self.judge(configured, &clone, fetched, true, manner)
    }

    /// Decides whether a fetched commit may be taken, and reads its rule tree.
    fn judge(
        &self,
        configured: &Configured,
        clone: &LocalClone,
        fetched: Fetched,
        is_fresh: bool,
        manner: SyncMode,
    ) -> Result<FetchedCommit, GitSyncError> {
        self.shown.lock().remote_commit = Some(fetched.commit);
        if manner != SyncMode::Force {
            self.refuse_another_choice(configured, clone, &fetched, is_fresh)?;
        }
        let before = self.in_force(clone, is_fresh);
        let is_rewritten = self.check_rewritten(clone, &fetched, is_fresh)? && manner != SyncMode::Force;
        self.shown.lock().is_rewritten = is_rewritten;
        if is_rewritten {
            return Err(GitSyncError::HistoryRewritten);
        }
        if manner == SyncMode::Pull
            && let Some(head) = clone.head()
        {
            let distance = clone.distance(head, fetched.commit)?;
            if distance.ahead > 0 && distance.behind > 0 {
                return Err(GitSyncError::Diverged);
            }
        }
        let version = self.deps.registry.current().version;
        let is_taken = before == Some(fetched.commit)
            && !is_fresh
            && self.shown.lock().is_taken(fetched.commit, version);
        let tree = if manner == SyncMode::Poll && is_taken {
            None
        } else {
            Some(tree_to_take(clone, fetched.commit)?)
        };
        Ok(FetchedCommit { before, fetched, is_fresh, is_named: configured.branch.is_some(), tree })
    }

    /// Returns the clone if it is intact and of this repository.
    fn usable_clone(&self, configured: &Configured) -> Option<LocalClone> {
        match self.directory.open() {
            Ok(clone) => clone.filter(|clone| configured.is_of(clone)).filter(LocalClone::is_whole),
            Err(error) => {
                tell_of_damage(&error);
                None
            }
        }
    }

    fn fresh(&self, configured: &Configured) -> Result<(LocalClone, Fetched), GitSyncError> {
        let clone = self.directory.begin(&configured.remote.address)?;
        let fetched = configured.remote.fetch(&clone, configured.branch.as_deref())?;
        clone.set_branch(&fetched.branch)?;
        clone.advance(&fetched.branch, fetched.commit)?;
        Ok((clone, fetched))
    }

    /// Returns the commit in force; if the clone is lost, the rule set still names it.
    pub(super) fn in_force(&self, clone: &LocalClone, is_fresh: bool) -> Option<CommitId> {
        let of_the_clone = if is_fresh { None } else { clone.in_force() };
        of_the_clone.or_else(|| self.named_by_the_rules())
    }

    /// Returns the commit that the rule set in force names.
    pub(super) fn named_by_the_rules(&self) -> Option<CommitId> {
        self.deps.registry.current().commit.as_deref().and_then(CommitId::parse)
    }

    /// Returns whether history was rewritten. A new clone of another repository or branch has another history, so it
    /// does not count.
    fn check_rewritten(
        &self,
        clone: &LocalClone,
        fetched: &Fetched,
        is_fresh: bool,
    ) -> Result<bool, GitSyncError> {
        let shown = self.shown.lock().followed.clone();
        let is_another = is_fresh && shown.is_some() && shown != clone.address().zip(clone.branch());
        match self.in_force(clone, is_fresh) {
            Some(before) if !is_another => Ok(!clone.follows(fetched.commit, before)?),
            _ => Ok(false),
        }
    }

    pub(super) fn refuse_changes(&self, clone: &LocalClone) -> Result<(), GitSyncError> {
        let _writing = self.writing.lock();
        self.deps.edits.write(clone);
        let changes = clone.changes()?;
        if changes.is_empty() { Ok(()) } else { Err(GitSyncError::Dirty(changes.paths())) }
    }

    /// Brings a fetched commit into force and lets the work tree follow.
    async fn take(
        self: &Arc<Self>,
        found: FetchedCommit,
        force: bool,
        hold_back: HoldBack,
    ) -> Result<(TreeReport, Option<String>), GitSyncError> {
        let FetchedCommit { fetched, is_fresh, is_named, tree, .. } = found;
        let report = match tree {
            Some(tree) => {
                let taken = self.deps.intake.take_tree_holding(tree, hold_back).await;
                let report = taken.inspect_err(|error| {
                    if let IntakeError::ListsRefused(failed) = error {
                        self.shown.lock().held_back(failed);
                    }
                })?;
                self.shown.lock().taken(fetched.commit, &report);
                self.deps.edits.compare(&self.deps.intake);
                Some(report)
            }
            None => None,
        };
        let inner = Arc::clone(self);
        let replaced = off_the_executor(move || inner.follow(&fetched, is_fresh, is_named, force)).await?;
        let unchanged =
            || TreeReport { version: self.deps.registry.current().version, ..TreeReport::default() };
        Ok((report.unwrap_or_else(unchanged), replaced))
    }

    /// Puts the clone in place and advances the work tree, unless changes would be lost. Returns the reference that
    /// keeps replaced local commits, if any.
    fn follow(
        &self,
        fetched: &Fetched,
        is_fresh: bool,
        is_named: bool,
        force: bool,
    ) -> Result<Option<String>, GitSyncError> {
        let _writing = self.writing.lock();
        let clone = if is_fresh { self.install_clone()? } else { self.open()? };
        clone.rename_branch(&fetched.branch)?;
        self.remember(&clone, is_named)?;
        clone.set_in_force(fetched.commit)?;
        self.deps.edits.write(&clone);
        let given_way = match clone.head() {
            Some(head) if !clone.follows(fetched.commit, head)? => Some(head),
            _ => None,
        };
        if given_way.is_some() && !force {
            self.shown.lock().in_the_way.clear();
            return Ok(None);
        }
        let now = self.deps.clock.now();
        let kept = given_way.map(|head| clone.keep_replaced(head, now)).transpose()?;
        let in_the_way = self.advance(&clone, fetched)?;
        let has_moved = in_the_way.is_empty();
        self.shown.lock().in_the_way = in_the_way;
        let replaced = kept.filter(|_| has_moved);
        if let Some(replaced) = &replaced {
            tracing::warn!(replaced, "the remote's branch replaced local commits; the reference keeps them");
        }
        Ok(replaced)
    }

    fn install_clone(&self) -> Result<LocalClone, GitSyncError> {
        let clone = self.directory.install_begun()?;
        let followed = clone.address().zip(clone.branch());
        let before = std::mem::replace(&mut self.shown.lock().followed, followed.clone());
        if before == followed {
            self.deps.edits.begin(&self.deps.intake);
        } else {
            self.deps.edits.restart(&self.deps.intake);
        }
        Ok(clone)
    }

    /// Advances the work tree; returns the files that prevent it. Changes by the service itself make way, and are
    /// written again where possible.
    fn advance(&self, clone: &LocalClone, fetched: &Fetched) -> Result<Vec<String>, GitSyncError> {
        let mut advance = clone.advance(&fetched.branch, fetched.commit)?;
        if let Advance::InTheWay(paths) = &advance
            && clone.take_back(paths)?
        {
            tracing::warn!(paths = paths.join(", "), "changes over the API were replaced by the remote's");
            advance = clone.advance(&fetched.branch, fetched.commit)?;
            self.deps.edits.begin(&self.deps.intake);
            self.deps.edits.write(clone);
        }
        match advance {
            Advance::Done => Ok(Vec::new()),
            Advance::InTheWay(paths) => {
                let known = self.shown.lock().in_the_way == paths;
                if !known {
                    let paths = paths.join(", ");
                    tracing::warn!(paths, "changed files prevent the work tree from advancing");
                }
                Ok(paths)
            }
        }
    }

    pub(super) fn open(&self) -> Result<LocalClone, GitError> {
        self.directory.open()?.ok_or_else(GitError::gone)
    }
}

fn tell_of_damage(error: &GitError) {
    tracing::error!(error = %ErrorChain(error), "the clone cannot be used; another is created beside it");
}

/// Reads the rule tree of a commit and records that it is about to be in force.
pub(super) fn tree_to_take(clone: &LocalClone, commit: CommitId) -> Result<RuleTree, GitError> {
    let tree = rule_tree(clone.rules_of(commit)?, commit);
    clone.set_taking(commit)?;
    Ok(tree)
}

/// Converts the files of a commit for the intake.
pub(super) fn rule_tree(files: TreeFiles, commit: CommitId) -> RuleTree {
    let unreadable = |unfit: UnfitReason| match unfit {
        UnfitReason::TooLong { bytes, bytes_max } => {
            UnreadableFile::TooLong { bytes: bytes as u64, bytes_max: bytes_max as u64 }
        }
        UnfitReason::NotUtf8 => UnreadableFile::NotUtf8,
        other => UnreadableFile::Refused(other.to_string()),
    };
    let rules = files.rules.into_iter();
    let lists = files.lists.into_iter();
    RuleTree {
        origin: TreeOrigin::Git { commit: commit.to_string() },
        rules: rules
            .map(|file| RuleFile { path: file.path, content: file.content.map_err(unreadable) })
            .collect(),
        lists: lists.map(|file| ListFile::new(file.path, file.content.map_err(unreadable))).collect(),
        unreadable: Vec::new(),
        ignored: Some(files.ignored),
    }
}
