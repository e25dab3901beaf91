//! Events, figures of the past and verdicts in short, for people who look at the service.

mod earlier_matches;
mod events;
mod statistics;
mod verdict_row;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::JoinHandle;
use tollgate_engine::registry::Registry;
use tollgate_model::clock::Clock;
use tollgate_model::sequence::Sequence;
use tollgate_store::Store;

use earlier_matches::read_earlier_matches;
use events::EventDeps;
use tollgate_telemetry::config::Settings;
use tollgate_telemetry::metrics::Metrics;

pub use events::{Event, Events, Topic};
pub use statistics::{LastDay, Statistics, StepFigures, StepLength};
pub use verdict_row::VerdictRow;

/// Access to stored verdicts, figures of the past and events. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Activity {
    /// Stored verdicts.
    pub store: Store,
    registry: Arc<Registry>,
    /// Figures of the past.
    pub statistics: Arc<Statistics>,
    /// Events as they happen.
    pub events: Arc<Events>,
    /// Time after which the events of a connection end.
    pub stream_age: Duration,
    /// The service itself.
    pub service: Arc<ServiceFacts>,
}

/// Facts that stay the same while the service runs.
#[derive(Debug)]
pub struct ServiceFacts {
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// The data directory.
    pub data_dir: PathBuf,
    /// Limit of the memory of the history, in bytes.
    pub memory_bytes: usize,
}

impl Activity {
    /// Starts to collect. Must be called within a tokio runtime.
    pub fn start(
        settings: &Settings,
        memory_bytes: usize,
        store: &Store,
        metrics: &Arc<Metrics>,
        registry: &Arc<Registry>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let data_dir = settings.data_dir.clone();
        let statistics = Arc::new(Statistics::open(&data_dir, metrics, registry, clock));
        let events = Events::start(EventDeps {
            metrics: Arc::clone(metrics),
            registry: Arc::clone(registry),
            store: store.clone(),
            clock: Arc::clone(clock),
        });
        let service = Arc::new(ServiceFacts { started_at: clock.now(), data_dir, memory_bytes });
        let stream_age = settings.connections.limits.age;
        Self { store: store.clone(), registry: Arc::clone(registry), statistics, events, stream_age, service }
    }

    /// Reads what the rules matched up to the last number of a complete history, and the counters now and then, until the
    /// task is aborted.
    pub fn keep(&self, complete: impl Future<Output = Sequence> + Send + 'static) -> JoinHandle<()> {
        let (store, registry) = (self.store.clone(), Arc::clone(&self.registry));
        let earlier = read_earlier_matches(store, registry, complete);
        let statistics = Arc::clone(&self.statistics).keep();
        tokio::spawn(async move {
            tokio::join!(statistics, earlier);
        })
    }
}
