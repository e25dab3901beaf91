//! Components that all flows of the service share.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::evaluation::{Breakers, FaultReport};
use tollgate_engine::policy::Policy;
use tollgate_engine::registry::{Lists, Registry, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_history::{History, RECORDS_DIRECTORY};
use tollgate_model::calendar::ZoneData;
use tollgate_model::clock::{Clock, SystemClock};
use tollgate_process::HistoryMemory;
use tollgate_store::{Store, StoredPast, spill_directory};

use crate::service::ServiceError;
use crate::service::runtime_probe::{self, RuntimeProbe};
use tollgate_pipeline::activity::Activity;
use tollgate_pipeline::monitor::AcceptanceOrder;
use tollgate_rules::intake::{self, NewSources, RequiredRules};
use tollgate_telemetry::config::{Settings, read_status_words};
use tollgate_telemetry::holding::PaymentHolds;
use tollgate_telemetry::metrics::{HistorySize, Metrics};
use tollgate_telemetry::readiness::{ReadinessCheck, ReadinessChecks};

/// Shared components, opened once.
pub(super) struct SharedParts {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    /// Times of acceptance, which continue those of an earlier run.
    pub(super) arrivals: Arc<AcceptanceOrder>,
    pub(super) history: Arc<History>,
    pub(super) registry: Arc<Registry>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) sandbox: Sandbox,
    pub(super) breakers: Arc<Breakers>,
    pub(super) checks: ReadinessChecks,
    pub(super) holds: PaymentHolds,
    /// Memory budget of the history.
    memory: HistoryMemory,
    /// Result of the last commit.
    commits: ReadinessCheck,
}

impl SharedParts {
    /// Opens the store and creates the other components. Also returns the receiver of rules that keep failing.
    pub(super) async fn open(
        settings: &Settings,
    ) -> Result<(Self, UnboundedReceiver<FaultReport>), ServiceError> {
        // Checked before anything is created: without a sandbox, no rule can run.
        let sandbox = Sandbox::for_threads(settings.execution, settings.evaluation_threads)?;
        let store = Store::open_accepting(&settings.data_dir, settings.accept_empty_store.as_deref()).await?;
        let history = History::over(Arc::new(StoredPast::in_background(&store)));
        let zones = ZoneData::of_directory(settings.zone_data_dir.as_deref())?;
        tracing::info!(
            release = zones.name(),
            digest = zones.digest_text(),
            directory = settings.zone_data_dir.as_ref().map(|path| path.display().to_string()),
            zones = zones.names().len(),
            "time zone data in force"
        );
        let words = read_status_words(settings.words.status_words.as_deref())?;
        let history = history.in_zones(Arc::clone(&zones)).with_status_words(Arc::clone(&words));
        let memory = HistoryMemory::new(settings.memory_limit_bytes);
        let spill_dir = spill_directory(settings.spill_dir.as_deref(), &settings.data_dir);
        let history = if settings.keys_on_disk {
            history.bounded_with_keys(memory.bytes, &spill_dir, &settings.data_dir.join(RECORDS_DIRECTORY))?
        } else {
            history.bounded(memory.bytes, &spill_dir)?
        };
        let history = history.refusing_excess();
        let (breakers, failing) = Breakers::new(settings.quarantine_after);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let arrivals = AcceptanceOrder::after(store.last_times().await?, Arc::clone(&clock));
        let metrics = Arc::new(Metrics::new());
        let checks = ReadinessChecks::new(Arc::clone(&clock), Arc::clone(&metrics));
        runtime_probe::report_environment();
        runtime_probe::report_walls(settings.walls_are_needed, &checks).await;
        let ground = Self {
            store,
            commits: checks.add("commits"),
            holds: PaymentHolds::new(&checks, settings.when_not_ready),
            checks,
            memory,
            clock,
            arrivals: Arc::new(arrivals),
            history: Arc::new(history),
            registry: Arc::new(Registry::new(
                RuleSet::new(0, Vec::new(), Lists::default()).in_zones(zones).with_status_words(words),
            )),
            metrics,
            sandbox,
            breakers: Arc::new(breakers),
        };
        watch(&ground.metrics, &ground.history, &ground.registry);
        Ok((ground, failing))
    }

    /// Returns the probe for resources that can change while the service runs.
    pub(super) fn surroundings(&self, settings: &Settings) -> RuntimeProbe {
        RuntimeProbe {
            data_dir: settings.data_dir.clone(),
            history: Arc::clone(&self.history),
            memory: self.memory.clone(),
            registry: Arc::clone(&self.registry),
            metrics: Arc::clone(&self.metrics),
            commits: self.commits.clone(),
        }
    }

    /// Starts to collect what people look at.
    pub(super) fn activity(&self, settings: &Settings) -> Activity {
        let Self { store, metrics, registry, clock, .. } = self;
        Activity::start(settings, self.memory.bytes, store, metrics, registry, clock)
    }

    pub(super) fn intake(&self, settings: &Settings) -> Result<intake::IntakeDeps, ServiceError> {
        Ok(intake::IntakeDeps {
            clock: Arc::clone(&self.clock),
            history: Arc::clone(&self.history),
            registry: Arc::clone(&self.registry),
            store: self.store.clone(),
            metrics: Arc::clone(&self.metrics),
            breakers: Arc::clone(&self.breakers),
            policy: settings
                .rule_policy
                .as_deref()
                .map_or_else(|| Ok(Policy::default()), Policy::read)?
                .with_fuel_per_owner(settings.fuel_per_owner),
            sandbox: self.sandbox.clone(),
            artifacts: Arc::new(Artifacts::open(
                &settings.data_dir,
                &self.sandbox,
                Compiler::of_this_program(settings.walls_are_needed),
            )),
            currencies: settings.words.currencies.clone(),
            saves_per_minute: settings.saves_per_minute,
            required: RequiredRules::new(&self.checks, settings.rules_required),
            lists: intake::ListGuard::new(&self.checks, settings.lists_shrink),
            confirms_broad_rules: settings.confirms_broad_rules,
            checks: self.checks.clone(),
            sources: NewSources::new(settings.partial_source),
            holds: self.holds.clone(),
            sink: None,
        })
    }
}

/// Returns the resident memory of this process without the code of rules, in bytes.
pub(super) fn resident_bytes() -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        let pages = procfs::process::Process::myself().and_then(|process| process.statm()).ok()?.resident;
        let resident = usize::try_from(pages * procfs::page_size()).ok()?;
        Some(resident.saturating_sub(tollgate_engine::sandbox::code_bytes()))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Registers the history and the rules with the metrics, which measure them at each scrape.
fn watch(metrics: &Metrics, history: &Arc<History>, registry: &Arc<Registry>) {
    let registry = Arc::clone(registry);
    metrics.watch_rules(move || registry.current());
    let history = Arc::clone(history);
    metrics.watch_history(move || {
        let fills = history.running_fills();
        HistorySize {
            n_transactions: history.len() as u64,
            n_series: history.n_series() as u64,
            resident_bytes: history.resident_bytes() as u64,
            spilled_bytes: history.spilled_bytes(),
            n_records: history.n_records() as u64,
            n_held_reads: history.n_held_reads(),
            n_unread_records: history.n_unread_records(),
            n_fills: fills.n_series,
            n_fill_left: fills.n_left,
        }
    });
}
