//! What every flow of the service stands on.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::artifacts::Artifacts;
use crate::calendar::ZoneData;
use crate::clock::{Clock, SystemClock};
use crate::config::Settings;
use crate::evaluation::{Breakers, Failing};
use crate::history::History;
use crate::intake::{self, RequiredRules};
use crate::policy::Policy;
use crate::readiness::Checks;
use crate::registry::{Lists, Registry, RuleSet};
use crate::sandbox::Sandbox;
use crate::service::ServiceError;
use crate::store::{Store, StoredPast};
use crate::telemetry::metrics::Metrics;

/// Opened once, and shared by all.
pub(super) struct Ground {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) history: Arc<History>,
    pub(super) registry: Arc<Registry>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) sandbox: Sandbox,
    pub(super) breakers: Arc<Breakers>,
    pub(super) checks: Checks,
}

impl Ground {
    /// Opens the store and all that is empty yet; with it comes who hears of rules that keep failing.
    pub(super) async fn open(
        settings: &Settings,
    ) -> Result<(Self, UnboundedReceiver<Failing>), ServiceError> {
        let store = Store::open(&settings.data_dir).await?;
        let history = History::over(Arc::new(StoredPast::of(&store)));
        let zones = ZoneData::of_directory(settings.zone_data_dir.as_deref())?;
        tracing::info!(
            release = zones.name(),
            digest = zones.digest_text(),
            directory = settings.zone_data_dir.as_ref().map(|path| path.display().to_string()),
            zones = zones.names().len(),
            "time zone data in force"
        );
        let history = history.in_zones(Arc::clone(&zones));
        let history = history.bounded(settings.memory_limit_bytes, &settings.spill_dir)?;
        let (breakers, failing) = Breakers::new();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let metrics = Arc::new(Metrics::new());
        let ground = Self {
            store,
            checks: Checks::new(Arc::clone(&clock), Arc::clone(&metrics)),
            clock,
            history: Arc::new(history),
            registry: Arc::new(Registry::new(RuleSet::new(0, Vec::new(), Lists::default()).in_zones(zones))),
            metrics,
            sandbox: Sandbox::new()?,
            breakers: Arc::new(breakers),
        };
        Ok((ground, failing))
    }

    /// What brings rules into force.
    pub(super) fn intake(&self, settings: &Settings) -> Result<intake::Means, ServiceError> {
        Ok(intake::Means {
            clock: Arc::clone(&self.clock),
            history: Arc::clone(&self.history),
            registry: Arc::clone(&self.registry),
            store: self.store.clone(),
            metrics: Arc::clone(&self.metrics),
            breakers: Arc::clone(&self.breakers),
            policy: settings.rule_policy.as_deref().map_or_else(|| Ok(Policy::default()), Policy::read)?,
            sandbox: self.sandbox.clone(),
            artifacts: Artifacts::open(&settings.data_dir, &self.sandbox),
            required: RequiredRules::new(&self.checks, settings.rules_required),
            lists: intake::ListGuard::new(&self.checks, settings.lists_shrink),
            checks: self.checks.clone(),
            sink: None,
        })
    }
}
