//! The shapes in which the repository is answered.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use crate::git_sync::{Cloned, GitStatus, LastError, OwnFileContent, Published, Synced, Unwritten};
use crate::intake::FailedScript;

/// A repository was cloned.
#[derive(Serialize, ToSchema)]
#[schema(as = GitClone)]
pub(in crate::api) struct CloneView {
    /// For people.
    message: String,
    /// The local rules directory.
    path: String,
    /// The branch that is followed.
    branch: String,
}

/// What changed, by path. An empty list says that nothing did.
#[derive(Serialize, ToSchema)]
#[schema(as = GitSync)]
pub(in crate::api) struct SyncView {
    /// The commit whose rules were in force; null when there was none.
    #[schema(required = true)]
    before: Option<String>,
    /// The commit whose rules are in force.
    after: String,
    /// The version of the rule set in force.
    rule_set_version: u64,
    /// Files that were not in force before.
    loaded: Vec<String>,
    /// Files whose text or place changed.
    changed: Vec<String>,
    /// Files that are gone, and their instructions and lists with them.
    removed: Vec<String>,
    /// Files that are not in force as they lie in the commit.
    failed: Vec<FailedView>,
    /// The local reference that keeps commits which the branch here no longer has; null when none gave way.
    #[schema(required = true)]
    replaced: Option<String>,
}

/// Changes were pushed.
#[derive(Serialize, ToSchema)]
#[schema(as = GitPush)]
pub(in crate::api) struct PushView {
    /// For people.
    message: String,
    /// Where the branch stands, here and there.
    commit: String,
    /// Which branch.
    branch: String,
    /// The files that changed, by path.
    files: Vec<String>,
}

/// How the rules stand to their repository.
#[derive(Serialize, ToSchema)]
#[schema(as = GitStatus)]
pub(in crate::api) struct StatusView {
    /// Whether there is a repository.
    configured: bool,
    /// Its address, without credentials.
    #[schema(required = true)]
    url: Option<String>,
    /// The branch that is followed.
    #[schema(required = true)]
    branch: Option<String>,
    /// The local rules directory: a work tree for people and for push.
    local_path: String,
    /// The commit whose rules are in force.
    #[schema(required = true)]
    current_commit: Option<String>,
    /// The remote's branch when it was last seen.
    #[schema(required = true)]
    remote_commit: Option<String>,
    /// Whether the two are one.
    up_to_date: bool,
    /// Commits of the local branch that the remote has not.
    ahead: usize,
    /// Commits of the remote that the local branch has not.
    behind: usize,
    /// Rule files of the work tree that are not as the local branch has them.
    modified: Vec<String>,
    /// Rule files of the local branch that are not in the work tree.
    deleted: Vec<String>,
    /// Rule files of the work tree that the local branch has not.
    untracked: Vec<String>,
    /// Whether the remote's branch does not follow the commit in force; then the rules stay until somebody decides.
    history_rewritten: bool,
    /// When the remote was last asked with success.
    #[schema(required = true, value_type = Option<DateTime<Utc>>)]
    last_sync: Option<String>,
    /// What went wrong since.
    #[schema(required = true)]
    last_error: Option<LastErrorView>,
    /// Files that are not in force as they lie in the commit.
    failed: Vec<FailedView>,
    /// Files that were changed here and at the remote; while they are, the work tree stays behind the remote's branch.
    in_the_way: Vec<String>,
    /// Rules and lists that were saved or removed over the API, and whose files do not say so yet; it is tried again.
    not_written: Vec<NotWrittenView>,
}

/// A change over the API that is in force and not in the work tree.
#[derive(Serialize, ToSchema)]
#[schema(as = NotWritten)]
pub(in crate::api) struct NotWrittenView {
    /// `rule` or `list`.
    kind: &'static str,
    /// Its name.
    name: String,
    /// The file that stands in the way; null where it is something else.
    #[schema(required = true)]
    path: Option<String>,
    /// What is wrong, and what to do.
    message: String,
}

/// What went wrong last.
#[derive(Serialize, ToSchema)]
#[schema(as = GitError)]
pub(in crate::api) struct LastErrorView {
    /// As an error would say it.
    code: &'static str,
    /// For people.
    message: String,
    /// When.
    #[schema(value_type = DateTime<Utc>)]
    at: String,
}

/// A file that is not in force as it lies in the commit; its last good version is, if it had one.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedFile)]
pub(in crate::api) struct FailedView {
    /// Relative to the top of the repository.
    path: String,
    /// The line of the first error, from 1; null where no place is at fault.
    #[schema(required = true)]
    line: Option<usize>,
    /// And its column, from 1.
    #[schema(required = true)]
    column: Option<usize>,
    /// What is wrong.
    message: String,
}

impl From<Cloned> for CloneView {
    fn from(cloned: Cloned) -> Self {
        let message = match cloned.n_failed {
            0 => "the repository is cloned and its rules are in force".to_owned(),
            n => format!("the repository is cloned; {n} of its files are not in force, see /git/status"),
        };
        Self { message, path: cloned.path.to_string_lossy().into_owned(), branch: cloned.branch }
    }
}

impl From<Synced> for SyncView {
    fn from(synced: Synced) -> Self {
        Self {
            before: synced.before.map(|commit| commit.to_string()),
            after: synced.after.to_string(),
            rule_set_version: synced.version,
            loaded: synced.loaded,
            changed: synced.changed,
            removed: synced.removed,
            failed: synced.failed.into_iter().map(FailedView::from).collect(),
            replaced: synced.replaced,
        }
    }
}

impl From<Published> for PushView {
    fn from(published: Published) -> Self {
        let message = match published.files.len() {
            0 => "no rule file was changed here".to_owned(),
            n => format!("{n} changed rule files are pushed"),
        };
        let Published { commit, branch, files } = published;
        Self { message, commit: commit.to_string(), branch, files }
    }
}

impl From<GitStatus> for StatusView {
    fn from(status: GitStatus) -> Self {
        let text = |commit: Option<tollgate_git::git::CommitId>| commit.map(|commit| commit.to_string());
        Self {
            configured: status.url.is_some(),
            url: status.url.map(|url| url.to_string()),
            branch: status.branch,
            local_path: status.local_path.to_string_lossy().into_owned(),
            up_to_date: status.current_commit.is_some() && status.current_commit == status.remote_commit,
            current_commit: text(status.current_commit),
            remote_commit: text(status.remote_commit),
            ahead: status.distance.ahead,
            behind: status.distance.behind,
            modified: status.changes.modified,
            deleted: status.changes.deleted,
            untracked: status.changes.untracked,
            history_rewritten: status.is_rewritten,
            last_sync: status.last_sync.map(written),
            last_error: status.last_error.map(LastErrorView::from),
            failed: status.failed.into_iter().map(FailedView::from).collect(),
            in_the_way: status.in_the_way,
            not_written: status.unwritten.into_iter().map(NotWrittenView::from).collect(),
        }
    }
}

impl From<Unwritten> for NotWrittenView {
    fn from(unwritten: Unwritten) -> Self {
        let Unwritten { subject, path, message } = unwritten;
        let (kind, name) = match subject {
            OwnFileContent::Script(name) | OwnFileContent::Module(name) => ("rule", name),
            OwnFileContent::List(name) => ("list", name),
        };
        Self { kind, name, path, message }
    }
}

impl From<LastError> for LastErrorView {
    fn from(error: LastError) -> Self {
        Self { code: error.code, message: error.message, at: written(error.at) }
    }
}

impl From<FailedScript> for FailedView {
    fn from(failed: FailedScript) -> Self {
        let FailedScript { path, line, column, message, .. } = failed;
        Self { path, line, column, message }
    }
}

fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}
