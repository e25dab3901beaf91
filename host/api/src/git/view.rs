//! Response bodies of the Git routes.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use tollgate_rules::git_sync::{Cloned, GitStatus, LastError, OwnFileContent, Published, Synced, Unwritten};
use tollgate_rules::intake::FailedScript;

/// Result of a clone.
#[derive(Serialize, ToSchema)]
#[schema(as = GitClone)]
pub(crate) struct CloneView {
    /// Message for people.
    message: String,
    /// The local rules directory.
    path: String,
    /// The followed branch.
    branch: String,
}

/// Changes by path. An empty list means that nothing changed.
#[derive(Serialize, ToSchema)]
#[schema(as = GitSync)]
pub(crate) struct SyncView {
    /// The commit whose rules were in force before; null if there was none.
    #[schema(required = true)]
    before: Option<String>,
    /// The commit whose rules are in force.
    after: String,
    /// Version of the rule set in force.
    rule_set_version: u64,
    /// Files that were not in force before.
    loaded: Vec<String>,
    /// Files whose text or path changed.
    changed: Vec<String>,
    /// Files that no longer exist; their instructions and lists are removed.
    removed: Vec<String>,
    /// Files that are not in force as committed.
    failed: Vec<FailedView>,
    /// Local reference that keeps commits dropped from the local branch; null if none were dropped.
    #[schema(required = true)]
    replaced: Option<String>,
}

/// Result of a push.
#[derive(Serialize, ToSchema)]
#[schema(as = GitPush)]
pub(crate) struct PushView {
    /// Message for people.
    message: String,
    /// Head of the branch, locally and on the remote.
    commit: String,
    /// The branch.
    branch: String,
    /// The changed files, by path.
    files: Vec<String>,
}

/// State of the rules relative to their repository.
#[derive(Serialize, ToSchema)]
#[schema(as = GitStatus)]
pub(crate) struct StatusView {
    /// Whether a repository is configured.
    configured: bool,
    /// Address of the repository, without credentials.
    #[schema(required = true)]
    url: Option<String>,
    /// The followed branch.
    #[schema(required = true)]
    branch: Option<String>,
    /// The local rules directory: a work tree for people and for push.
    local_path: String,
    /// The commit whose rules are in force.
    #[schema(required = true)]
    current_commit: Option<String>,
    /// Head of the remote branch at the last fetch.
    #[schema(required = true)]
    remote_commit: Option<String>,
    /// Whether `current_commit` equals `remote_commit`.
    up_to_date: bool,
    /// Number of commits that are only on the local branch.
    ahead: usize,
    /// Number of commits that are only on the remote branch.
    behind: usize,
    /// Rule files of the work tree that differ from the local branch.
    modified: Vec<String>,
    /// Rule files of the local branch that are missing from the work tree.
    deleted: Vec<String>,
    /// Rule files of the work tree that are not on the local branch.
    untracked: Vec<String>,
    /// Whether the remote branch does not descend from the commit in force. The rules then stay until an operator
    /// decides.
    history_rewritten: bool,
    /// Time of the last successful fetch.
    #[schema(required = true, value_type = Option<DateTime<Utc>>)]
    last_sync: Option<String>,
    /// Last error since then.
    #[schema(required = true)]
    last_error: Option<LastErrorView>,
    /// Files that are not in force as committed.
    failed: Vec<FailedView>,
    /// Files that changed both locally and on the remote. Until this is resolved, the work tree stays behind the remote
    /// branch.
    in_the_way: Vec<String>,
    /// Rules and lists changed over the API whose files are not updated yet; the update is retried.
    not_written: Vec<NotWrittenView>,
}

/// A change over the API that is in force but not in the work tree.
#[derive(Serialize, ToSchema)]
#[schema(as = NotWritten)]
pub(crate) struct NotWrittenView {
    /// `rule` or `list`.
    kind: &'static str,
    /// Name of the rule or list.
    name: String,
    /// The conflicting file; null if the cause is not a file.
    #[schema(required = true)]
    path: Option<String>,
    /// Message for people: the problem and its remedy.
    message: String,
}

/// The last error.
#[derive(Serialize, ToSchema)]
#[schema(as = GitError)]
pub(crate) struct LastErrorView {
    /// The error code.
    code: &'static str,
    /// Message for people.
    message: String,
    /// Time of the error.
    #[schema(value_type = DateTime<Utc>)]
    at: String,
}

/// A file that is not in force as committed. Its last valid version, if any, stays in force.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedFile)]
pub(crate) struct FailedView {
    /// Path relative to the top of the repository.
    path: String,
    /// Line of the first error, counted from 1; null if the error has no position.
    #[schema(required = true)]
    line: Option<usize>,
    /// Column of the first error, counted from 1.
    #[schema(required = true)]
    column: Option<usize>,
    /// Message for people.
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
            0 => "no rule file has local changes".to_owned(),
            n => format!("{n} changed rule files were pushed"),
        };
        let Published { commit, branch, files } = published;
        Self { message, commit: commit.to_string(), branch, files }
    }
}

impl From<GitStatus> for StatusView {
    fn from(status: GitStatus) -> Self {
        let text = |commit: Option<tollgate_git::CommitId>| commit.map(|commit| commit.to_string());
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
