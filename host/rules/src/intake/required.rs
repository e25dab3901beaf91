//! Minimum number of rules: below it the service is not ready, and no change may go below it.

use std::sync::Arc;

use tollgate_engine::registry::BoundRule;

use crate::intake::IntakeError;
use crate::intake::tree::TreeKind;
use tollgate_telemetry::readiness::{ReadinessCheck, ReadinessChecks};

/// Returns the number of rules, without those that stand for refused files.
pub(super) fn n_in_force<'r>(rules: impl IntoIterator<Item = &'r Arc<BoundRule>>) -> usize {
    rules.into_iter().filter(|rule| !rule.instruction.record.is_refused_file()).count()
}

/// Compares the number of rules in force with `SERVICE_RULES_REQUIRED`.
#[derive(Debug)]
pub struct RequiredRules {
    n_required: usize,
    in_force: ReadinessCheck,
    /// A held-back change of the rules directory.
    directory: ReadinessCheck,
    /// A held-back change of the repository.
    git: ReadinessCheck,
}

impl RequiredRules {
    /// Reports to readiness checks named `rules`.
    #[must_use]
    pub fn new(checks: &ReadinessChecks, n_required: usize) -> Self {
        let [in_force, directory, git] = ["rules"; 3].map(|name| checks.add(name));
        Self { n_required, in_force, directory, git }
    }

    /// Reports the number of rules in a new rule set.
    pub(super) fn came_into_force(&self, n_rules: usize) {
        if self.is_short(n_rules) {
            self.in_force.failing(format!(
                "{n_rules} rules are in force, and SERVICE_RULES_REQUIRED asks for {}",
                self.n_required
            ));
        } else {
            self.in_force.ok();
        }
    }

    /// Returns whether this number of rules is below the required one.
    pub(super) const fn is_short(&self, n_rules: usize) -> bool {
        n_rules < self.n_required
    }

    /// Decides whether a rule may be removed over the API.
    ///
    /// # Errors
    /// [`IntakeError::TooFewRules`] if that leaves fewer rules than required.
    pub(super) const fn check(&self, n_rules: usize) -> Result<(), IntakeError> {
        if self.is_short(n_rules) {
            return Err(IntakeError::TooFewRules { n_rules, n_required: self.n_required });
        }
        Ok(())
    }

    /// Decides whether a change of files from this source is allowed.
    ///
    /// # Errors
    /// [`IntakeError::TooFewRules`] if it leaves fewer rules than before and than required. Typical causes are an
    /// unmounted volume, an empty commit or a wrong branch.
    pub(super) fn judge(
        &self,
        tree_kind: TreeKind,
        n_before: usize,
        n_after: usize,
    ) -> Result<(), IntakeError> {
        let check = match tree_kind {
            TreeKind::Directory => &self.directory,
            TreeKind::Git => &self.git,
        };
        if n_after >= self.n_required || n_after >= n_before {
            check.ok();
            return Ok(());
        }
        let error = IntakeError::TooFewRules { n_rules: n_after, n_required: self.n_required };
        let tree_kind = match tree_kind {
            TreeKind::Directory => "the rules directory",
            TreeKind::Git => "the repository",
        };
        check.degraded(format!("a change of {tree_kind} is held back: {error}"));
        Err(error)
    }
}
