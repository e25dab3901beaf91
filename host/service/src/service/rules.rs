//! Loads rules from the rules directory, the API and a repository.

use std::sync::Arc;

use tollgate_git::{CLONES, Worker};

use crate::service::ServiceError;
use tollgate_rules::git_sync::{self, GitSync, PendingEdits, Polling};
use tollgate_rules::intake::{self, Intake, RulesDirectory};
use tollgate_telemetry::config::Settings;

/// The rules in force, and the tasks that update them.
pub(super) struct Rules {
    pub(super) directory: RulesDirectory,
    pub(super) intake: Intake,
    pub(super) git: GitSync,
    pub(super) polling: Polling,
}

impl Rules {
    /// Puts the stored rules, the directory and the repository in force, in this order.
    pub(super) async fn start(settings: &Settings, deps: intake::IntakeDeps) -> Result<Self, ServiceError> {
        let edits = Arc::new(PendingEdits::default());
        let directory = RulesDirectory {
            path: settings.rules_dir.clone(),
            may_be_missing: !settings.rules_dir_is_set,
            is_optional: settings.sources_are_optional,
            asks_for_notices: settings.rules_dir_notices,
        };
        let registry = Arc::clone(&deps.registry);
        let (clock, metrics) = (Arc::clone(&deps.clock), Arc::clone(&deps.metrics));
        let (checks, holds) = (deps.checks.clone(), deps.holds.clone());
        let instance = deps.store.instance_id().await?;
        let deps = intake::IntakeDeps { sink: Some(Arc::<PendingEdits>::clone(&edits)), ..deps };
        let intake = Intake::start(deps, &directory).await?;
        let (git, polling) = GitSync::begin(git_sync::GitSyncDeps {
            intake: intake.clone(),
            registry: Arc::clone(&registry),
            clock,
            metrics,
            checks,
            settings: settings.git.clone(),
            directory: settings.data_dir.join(CLONES),
            edits,
            worker: Worker::of_this_program(settings.git.timeout, settings.walls_are_needed),
            is_optional: settings.sources_are_optional,
            instance,
        })
        .await?;
        if registry.current().rules.is_empty() && holds.wanted().is_empty() {
            tracing::warn!(
                directory = %directory.path.display(),
                "no rule is in force: every transaction is approved until there is one"
            );
        }
        Ok(Self { directory, intake, git, polling })
    }
}
