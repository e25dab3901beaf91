//! Counts of each rule in force, collected at each scrape: its outcomes, and the values that its tests could not compare.

use std::fmt;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

use tollgate_engine::registry::{BoundRule, RuleSet};

/// Maximum number of metric series of incomparable values, and of rules with series of outcomes.
const SERIES_MAX: usize = 1_000;

type RuleSetReader = Box<dyn Fn() -> Arc<RuleSet> + Send + Sync>;

/// Shared between the registry, which encodes it, and the metrics, which set its source.
#[derive(Clone, Default)]
pub(super) struct RuleInForceMetrics {
    measure: Arc<OnceLock<RuleSetReader>>,
}

impl RuleInForceMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register_collector(Box::new(metrics.clone()));
        metrics
    }

    pub(super) fn watch(&self, measure: impl Fn() -> Arc<RuleSet> + Send + Sync + 'static) {
        // The first source stays, so all values of a scrape come from one rule set.
        let _ = self.measure.set(Box::new(measure));
    }
}

impl Collector for RuleInForceMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(rule_set) = self.measure.get().map(|measure| measure()) else { return Ok(()) };
        encode_outcomes(&rule_set, &mut encoder)?;
        encode_incomparable(&rule_set, &mut encoder)
    }
}

fn encode_outcomes(rule_set: &RuleSet, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Transactions that a rule matched, or on which it failed, by outcome, since the instruction came into force or the service started";
    let mut family = encoder.encode_descriptor("rule_outcomes", help, None, MetricType::Counter)?;
    let rules = rule_set.rules.iter().map(|in_force| &*in_force.rule);
    for BoundRule { instruction, outcomes, .. } in rules.take(SERIES_MAX) {
        let (n_matched, n_failed) = outcomes.counted();
        let id = instruction.record.id.to_string();
        for (outcome, count) in [("matched", n_matched), ("failed", n_failed)] {
            let labels = [("instruction", &*id), ("outcome", outcome)];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn encode_incomparable(rule_set: &RuleSet, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rules = rule_set.rules.iter().map(|in_force| &in_force.rule);
    let all = rules.flat_map(|rule| rule.counted_mismatches().into_iter().map(move |one| (rule, one)));
    let help = "Values that a test of a rule could not compare; 1000 means 1000 or more";
    let mut family =
        encoder.encode_descriptor("rule_incomparable_values", help, None, MetricType::Counter)?;
    for (rule, counted) in all.take(SERIES_MAX) {
        let record = &rule.instruction.record;
        let labels = [
            ("instruction", record.id.to_string()),
            ("rule", record.name.clone()),
            ("test", counted.test),
            ("field", counted.mismatch.field),
            ("got", counted.mismatch.got.as_str().to_owned()),
            ("wanted", counted.mismatch.wanted.as_str().to_owned()),
        ];
        ConstCounter::new(counted.count).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

impl fmt::Debug for RuleInForceMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleInForceMetrics").field("watched", &self.measure.get().is_some()).finish()
    }
}
