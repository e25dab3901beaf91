//! Figures of the past, in steps of a minute and of an hour: verdicts, failures, matches of rules, times of requests.
//!
//! ```text
//!  counters of the metrics and of the rules ──difference, every few seconds──▶ the minute and the hour under way
//!                                                                                    │ at a stop, and now and then
//!                                                          statistics.json ◀─────────┘
//! ```
//!
//! Nothing is counted twice while a transaction is judged: the counters are there for the metrics. Figures since the last
//! write are lost when the process is killed; verdicts are not derived from them.

mod file;
mod last_day;
mod step;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tollgate_engine::registry::{OutcomeCounts, Registry};
use tollgate_model::clock::Clock;
use tollgate_model::instruction::InstructionId;

use last_day::HeldLastDay;
pub use last_day::LastDay;
use step::{RuleFigures, Steps};
pub use step::{StepFigures, StepLength};
use tollgate_telemetry::metrics::{Metrics, ServiceTotals};

/// Interval at which the counters are read.
const READ_EVERY: Duration = Duration::from_secs(5);
/// Interval at which the file is written.
const WRITE_EVERY: Duration = Duration::from_secs(300);

/// Figures of the past of one service.
#[derive(Debug)]
pub struct Statistics {
    metrics: Arc<Metrics>,
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
    file: PathBuf,
    kept: Mutex<KeptFigures>,
    last_day: HeldLastDay,
}

#[derive(Debug)]
struct KeptFigures {
    /// The counters at the last reading.
    totals: ServiceTotals,
    /// The counters of the rules in force at the last reading.
    of_rules: HashMap<InstructionId, ReadOutcomes>,
    minutes: Steps,
    hours: Steps,
}

#[derive(Debug)]
struct ReadOutcomes {
    counts: Arc<OutcomeCounts>,
    read: RuleFigures,
}

impl Statistics {
    /// Reads the figures of earlier runs from the data directory. A file that cannot be read is reported and replaced.
    pub(crate) fn open(
        data_dir: &Path,
        metrics: &Arc<Metrics>,
        registry: &Arc<Registry>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let file = data_dir.join(file::NAME);
        let (minutes, hours) = file::read(&file).unwrap_or_else(|error| {
            tracing::warn!(path = %file.display(), %error, "the statistics of earlier runs cannot be read");
            (Steps::new(StepLength::Minute), Steps::new(StepLength::Hour))
        });
        let totals = metrics.totals();
        let kept = Mutex::new(KeptFigures { totals, of_rules: HashMap::new(), minutes, hours });
        Self {
            metrics: Arc::clone(metrics),
            registry: Arc::clone(registry),
            clock: Arc::clone(clock),
            file,
            kept,
            last_day: HeldLastDay::default(),
        }
    }

    /// Reads the counters now and then, and writes the file, until the task is aborted.
    pub(crate) async fn keep(self: Arc<Self>) {
        let mut readings = tokio::time::interval(READ_EVERY);
        let mut n_readings = 0_u64;
        loop {
            readings.tick().await;
            self.read_counters();
            n_readings += 1;
            if (n_readings * READ_EVERY.as_secs()).is_multiple_of(WRITE_EVERY.as_secs()) {
                self.write().await;
            }
        }
    }

    /// Writes the file; a failure is logged.
    pub async fn write(self: &Arc<Self>) {
        let statistics = Arc::clone(self);
        let written = tokio::task::spawn_blocking(move || {
            statistics.read_counters();
            let kept = statistics.kept.lock();
            let text = file::text(&kept.minutes, &kept.hours);
            drop(kept);
            file::write(&statistics.file, &text?)
        });
        if let Ok(Err(error)) = written.await {
            tracing::warn!(path = %self.file.display(), %error, "the statistics cannot be written");
        }
    }

    /// Returns the time by the clock of the service.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Returns the figures of the steps from `from` to `to`, oldest first; steps without any are left out.
    pub fn between(
        &self,
        length: StepLength,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Vec<(DateTime<Utc>, StepFigures)> {
        self.read_counters();
        let kept = self.kept.lock();
        let steps = match length {
            StepLength::Minute => &kept.minutes,
            StepLength::Hour => &kept.hours,
        };
        steps.between(from, to)
    }

    /// Adds what was counted since the last reading to the steps under way.
    fn read_counters(&self) {
        let totals = self.metrics.totals();
        let rule_set = self.registry.current();
        let now = self.clock.now();
        let mut kept = self.kept.lock();
        let mut figures = StepFigures::between(&kept.totals, &totals);
        kept.totals = totals;
        let mut before = std::mem::take(&mut kept.of_rules);
        for in_force in &rule_set.rules {
            let (id, counts) = (in_force.rule.instruction.record.id, &in_force.rule.outcomes);
            let read = RuleFigures::from_counts(counts);
            let known = before.remove(&id);
            let since = match known.as_ref().filter(|known| Arc::ptr_eq(&known.counts, counts)) {
                Some(known) => read.since(known.read),
                None => read,
            };
            figures.add_rule(id, since);
            // What a rule did before it was replaced.
            if let Some(replaced) = known.filter(|known| !Arc::ptr_eq(&known.counts, counts)) {
                figures.add_rule(id, RuleFigures::from_counts(&replaced.counts).since(replaced.read));
            }
            kept.of_rules.insert(id, ReadOutcomes { counts: Arc::clone(counts), read });
        }
        for (id, removed) in before {
            figures.add_rule(id, RuleFigures::from_counts(&removed.counts).since(removed.read));
        }
        kept.minutes.add(now, &figures);
        kept.hours.add(now, &figures);
    }
}

#[cfg(test)]
mod tests;
