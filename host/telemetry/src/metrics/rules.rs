//! Rules: number in force, version of the rule set, and failures.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tollgate_model::assessment::RuleFailure;

use super::Label;

/// Figures of a rule set that comes into force.
#[derive(Debug, Clone, Copy)]
pub struct RuleSetFigures {
    /// Version of the rule set.
    pub version: u64,
    /// Number of rules.
    pub n_rules: usize,
    /// Number of quarantined rules.
    pub n_quarantined: usize,
    /// Number of rules in fused modules, which hold several rules.
    pub n_fused: usize,
}

#[derive(Debug)]
pub(super) struct RuleMetrics {
    failures: Family<Label, Counter>,
    in_force: Gauge,
    fused: Gauge,
    bodies_failed: Counter,
    activating: Gauge,
    quarantined: Gauge,
    rule_set_version: Gauge,
    files_refused: Gauge,
}

impl RuleMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            failures: Family::default(),
            in_force: Gauge::default(),
            fused: Gauge::default(),
            bodies_failed: Counter::default(),
            activating: Gauge::default(),
            quarantined: Gauge::default(),
            rule_set_version: Gauge::default(),
            files_refused: Gauge::default(),
        };
        registry.register("rule_failures", "Rule failures, by kind", metrics.failures.clone());
        registry.register("rules_in_force", "Rules in force", metrics.in_force.clone());
        registry.register("rules_fused", "Rules that are evaluated in fused modules", metrics.fused.clone());
        registry.register(
            "fused_modules_failed",
            "Failures of fused modules, after which their rules ran one by one",
            metrics.bodies_failed.clone(),
        );
        registry.register(
            "rules_activating",
            "Rules that wait until the history can answer them",
            metrics.activating.clone(),
        );
        registry.register(
            "rules_quarantined",
            "Quarantined rules; each lifts every verdict to at least review",
            metrics.quarantined.clone(),
        );
        registry.register(
            "rule_set_version",
            "Version of the rule set in force",
            metrics.rule_set_version.clone(),
        );
        registry.register(
            "rule_files_refused",
            "Rule files and lists that were refused",
            metrics.files_refused.clone(),
        );
        for failure in RuleFailure::ALL {
            metrics.counter(failure);
        }
        metrics
    }

    pub(super) fn failed(&self, failure: RuleFailure) {
        self.counter(failure).inc();
    }

    /// Returns how often rules failed, by kind.
    pub(super) fn totals(&self) -> [(&'static str, u64); RuleFailure::ALL.len()] {
        RuleFailure::ALL.map(|failure| (failure.as_str(), self.counter(failure).get()))
    }

    pub(super) fn bodies_failed(&self, n_bodies: usize) {
        self.bodies_failed.inc_by(n_bodies as u64);
    }

    pub(super) fn swapped(&self, rule_set: RuleSetFigures) {
        let RuleSetFigures { version, n_rules, n_quarantined, n_fused } = rule_set;
        self.fused.set(i64::try_from(n_fused).unwrap_or(i64::MAX));
        self.quarantined.set(i64::try_from(n_quarantined).unwrap_or(i64::MAX));
        self.rule_set_version.set(i64::try_from(version).unwrap_or(i64::MAX));
        self.in_force.set(i64::try_from(n_rules).unwrap_or(i64::MAX));
    }

    pub(super) fn activating(&self, n_rules: usize) {
        self.activating.set(i64::try_from(n_rules).unwrap_or(i64::MAX));
    }

    pub(super) fn files_refused(&self, n_files: usize) {
        self.files_refused.set(i64::try_from(n_files).unwrap_or(i64::MAX));
    }

    fn counter(&self, failure: RuleFailure) -> Counter {
        self.failures.get_or_create_owned(&[("kind", failure.as_str())])
    }
}
