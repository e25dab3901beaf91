//! Readiness check `git`: the followed branch and commit, the last success, and the error since then.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_git::GitError;

use crate::git_sync::{GitSyncError, GitSyncInner};
use tollgate_telemetry::readiness::{ReadinessCheck, ReadinessChecks};

/// Reports the state of the sync. The check is added with the first report, so it is absent without a repository.
#[derive(Debug)]
pub(super) struct GitCheck {
    checks: ReadinessChecks,
    check: OnceLock<ReadinessCheck>,
    /// Since the start of the service; the check reports the time.
    has_succeeded: AtomicBool,
    is_optional: bool,
    /// Whether the repository was named over the API, which never makes the service unready.
    is_of_the_api: AtomicBool,
}

impl GitCheck {
    pub(super) const fn new(checks: ReadinessChecks, is_optional: bool) -> Self {
        let (has_succeeded, is_of_the_api) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { checks, check: OnceLock::new(), has_succeeded, is_optional, is_of_the_api }
    }

    /// Notes whether the repository was named over the API.
    pub(super) fn set_of_the_api(&self, is_of_the_api: bool) {
        self.is_of_the_api.store(is_of_the_api, Ordering::Relaxed);
    }

    fn check(&self) -> &ReadinessCheck {
        self.check.get_or_init(|| self.checks.add("git"))
    }

    fn succeeded(&self, followed: &str) {
        self.has_succeeded.store(true, Ordering::Relaxed);
        self.check().succeeded(followed);
    }

    /// Reports a success, and another instance that pushes to the same branch.
    fn shared_with(&self, another: String) {
        self.has_succeeded.store(true, Ordering::Relaxed);
        self.check().degraded(another);
    }

    /// Reports a failure; `followed` is the branch and commit whose rules are in force, if any.
    fn failed(&self, why: &str, followed: Option<&str>) {
        let why = if self.has_succeeded.load(Ordering::Relaxed) {
            why.to_owned()
        } else {
            format!("{why}; no success since the start")
        };
        match followed {
            Some(followed) => {
                self.check().degraded(format!("{why}; the last good rules stay in force, {followed}"))
            }
            None if self.is_optional => {
                self.check().degraded(format!(
                    "{why}; no rule of the repository is in force; SERVICE_SOURCES_OPTIONAL lets the service be ready \
                     without it"
                ))
            }
            None if self.is_of_the_api.load(Ordering::Relaxed) => self.check().degraded(format!(
                "{why}; no rule of the repository is in force; the service is ready because the repository was named over \
                 the API"
            )),
            None => self.check().failing(format!(
                "{why}; no rule of the repository is in force; set SERVICE_SOURCES_OPTIONAL if it may be missing"
            )),
        }
    }
}

impl GitSyncInner {
    /// Reports the result of an operation. Refusals that concern only the operator's request are not reported.
    pub(super) fn report<T>(&self, result: &Result<T, GitSyncError>) {
        match result {
            Ok(_) => match self.another_instance() {
                Some(found) => self.check.shared_with(found),
                None => self.check.succeeded(&self.followed().unwrap_or_default()),
            },
            Err(
                GitSyncError::NotConfigured
                | GitSyncError::Dirty(_)
                | GitSyncError::Diverged
                | GitSyncError::Git(GitError::PushRefused),
            ) => {}
            Err(error) => self.check.failed(&error.to_string(), self.followed().as_deref()),
        }
    }

    /// Reports a push that succeeded, and one, refused or not, that found the commit of another instance.
    pub(super) fn report_push<T>(&self, result: &Result<T, GitSyncError>) {
        match self.another_instance() {
            Some(found) => self.check.shared_with(found),
            None if result.is_ok() => self.report(result),
            None => {}
        }
    }

    fn another_instance(&self) -> Option<String> {
        self.instances.describe(self.deps.clock.now())
    }

    /// Reports that the repository was not contacted yet.
    pub(super) fn report_unasked(&self) {
        self.check.failed("the repository was not contacted yet", self.followed().as_deref());
    }

    /// Returns branch and commit of the repository whose rules are in force.
    fn followed(&self) -> Option<String> {
        let shown = self.shown.lock();
        let commit = shown.commit().or_else(|| self.named_by_the_rules())?;
        let branch = shown.followed.as_ref().map_or("unknown", |(_, branch)| branch);
        Some(format!("branch {branch}, commit {commit}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use tollgate_model::clock::SystemClock;
    use tollgate_telemetry::metrics::Metrics;
    use tollgate_telemetry::readiness::CheckLevel;

    #[track_caller]
    fn check(is_optional: bool, followed: Option<&str>, level: CheckLevel) {
        let checks = ReadinessChecks::new(Arc::new(SystemClock), Arc::new(Metrics::new()));
        let git = GitCheck::new(checks.clone(), is_optional);
        assert!(checks.summaries().is_empty(), "without a repository there is nothing to check");
        git.failed("the remote cannot be reached", followed);
        let summary = checks.summaries().remove("git").unwrap();
        assert_eq!(summary.level, level, "{}", summary.text);
        assert!(
            summary.text.contains("the remote cannot be reached")
                && summary.text.contains(followed.unwrap_or("no rule"))
        );
        git.set_of_the_api(true);
        git.failed("the remote cannot be reached", followed);
        assert_eq!(checks.summaries().remove("git").unwrap().level, CheckLevel::Degraded);
        git.succeeded("branch main, commit 1f");
        let text = checks.summaries().remove("git").unwrap().text;
        assert!(text.starts_with("ok: branch main, commit 1f, last success "), "{text}");
    }

    #[test]
    fn it_fails_only_where_nothing_of_the_repository_is_in_force_and_something_has_to_be() {
        check(false, Some("branch main, commit 1e"), CheckLevel::Degraded);
        check(true, Some("branch main, commit 1e"), CheckLevel::Degraded);
        check(true, None, CheckLevel::Degraded);
        check(false, None, CheckLevel::Failing);
    }
}
