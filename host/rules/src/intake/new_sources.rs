//! New sources of rules. Nothing of a new source was ever in force, so a refused file of it has no last good version.
//!
//! ```text
//!  all files refused        the service is not ready
//!  some files refused       the others are in force, and a rule that fails stands for each refused one
//!  a source of the API      as above, but the service stays ready
//! ```

use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_engine::registry::RuleSet;
use tollgate_model::instruction::InstructionRecord;
use tollgate_store::{Store, StoreError};

use crate::intake::source::is_in_force;
use crate::intake::tree::TreeKind;
use tollgate_telemetry::config::PartialSource;

/// Which sources are new, and what their refused files lead to.
#[derive(Debug)]
pub struct NewSources {
    partial: PartialSource,
    directory: SourceState,
    git: SourceState,
}

#[derive(Debug, Default)]
struct SourceState {
    was_in_force: AtomicBool,
    is_of_the_api: AtomicBool,
}

/// Treatment of refused files that have no last good version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedFiles {
    /// A rule that fails stands for each of them, once another file of the source is in force.
    Placeholder,
    /// The rules that stand for some of them stay.
    Keep,
    /// No rule stands for them.
    LeaveOut,
}

impl NewSources {
    /// Creates the state; every source is new.
    #[must_use]
    pub fn new(partial: PartialSource) -> Self {
        Self { partial, directory: SourceState::default(), git: SourceState::default() }
    }

    /// Reads which sources had a rule or list in an earlier version.
    pub(super) async fn read(&self, store: &Store) -> Result<(), StoreError> {
        for (kind, state) in [("file", &self.directory), ("git", &self.git)] {
            state.was_in_force.store(store.any_version_held(kind).await?, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes the sources of a rule set that came into force.
    pub(super) fn came_into_force(&self, rule_set: &RuleSet) {
        for tree_kind in [TreeKind::Directory, TreeKind::Git] {
            if self.is_new(tree_kind) && is_in_force(tree_kind, rule_set) {
                self.state(tree_kind).was_in_force.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Notes whether the repository was named over the API. Returns whether it was before.
    pub(super) fn set_git_of_the_api(&self, is_of_the_api: bool) -> bool {
        self.git.is_of_the_api.swap(is_of_the_api, Ordering::Relaxed)
    }

    /// Returns the treatment of refused files of this source.
    pub(super) fn refused_files(&self, tree_kind: TreeKind) -> RefusedFiles {
        match self.partial {
            PartialSource::Accept => RefusedFiles::LeaveOut,
            PartialSource::Hold | PartialSource::NotReady if self.is_new(tree_kind) => {
                RefusedFiles::Placeholder
            }
            PartialSource::Hold | PartialSource::NotReady => RefusedFiles::Keep,
        }
    }

    /// Returns why refused files of this source make the service not ready; `None` if they do not.
    pub(super) fn why_not_ready(&self, tree_kind: TreeKind, rule_set: &RuleSet) -> Option<&'static str> {
        if self.state(tree_kind).is_of_the_api.load(Ordering::Relaxed) {
            return None;
        }
        if self.is_new(tree_kind) {
            return Some(match tree_kind {
                TreeKind::Directory => "no file of the rules directory was ever in force",
                TreeKind::Git => "no file of the repository was ever in force",
            });
        }
        let is_own_placeholder = |record: &InstructionRecord| {
            record.is_refused_file() && TreeKind::of_source(&record.source) == Some(tree_kind)
        };
        let mut records = rule_set.rules.iter().map(|in_force| &in_force.rule.instruction.record);
        (self.partial == PartialSource::NotReady && records.any(|record| is_own_placeholder(record)))
            .then_some("SERVICE_SOURCES_STRICT asks for all files of a new source")
    }

    fn is_new(&self, tree_kind: TreeKind) -> bool {
        !self.state(tree_kind).was_in_force.load(Ordering::Relaxed)
    }

    const fn state(&self, tree_kind: TreeKind) -> &SourceState {
        match tree_kind {
            TreeKind::Directory => &self.directory,
            TreeKind::Git => &self.git,
        }
    }
}
