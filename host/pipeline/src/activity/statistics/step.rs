//! The figures of one minute or hour, and the steps that are kept.

use std::collections::{BTreeMap, VecDeque};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tollgate_engine::registry::OutcomeCounts;
use tollgate_model::instruction::InstructionId;

use tollgate_telemetry::latency::{N_CLASSES, quantile};
use tollgate_telemetry::metrics::ServiceTotals;

/// Rules that a step has figures of; further ones are not kept.
const RULES_MAX: usize = 1_024;

/// The length of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepLength {
    /// Kept for a day.
    Minute,
    /// Kept for 30 days.
    Hour,
}

/// The figures of one step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepFigures {
    /// Verdicts by their word; none that was not given.
    pub verdicts: BTreeMap<String, u64>,
    /// Failures of rules by their kind.
    pub failures: BTreeMap<String, u64>,
    /// Rules that matched or failed.
    pub rules: BTreeMap<i64, RuleFigures>,
    /// Times of injects by class.
    pub(super) times: BTreeMap<usize, u64>,
}

/// How often a rule matched and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFigures {
    pub matched: u64,
    pub(crate) failed: u64,
}

/// The latest steps of one length.
#[derive(Debug)]
pub(super) struct Steps {
    length: StepLength,
    /// By number since 1970, oldest first.
    steps: VecDeque<(i64, StepFigures)>,
}

impl StepLength {
    /// Returns its length in seconds.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 3_600,
        }
    }

    /// Returns how many steps are kept.
    pub const fn n_kept(self) -> usize {
        match self {
            Self::Minute => 24 * 60,
            Self::Hour => 30 * 24,
        }
    }
}

impl StepFigures {
    /// Returns what was counted between two readings.
    pub(super) fn between(before: &ServiceTotals, after: &ServiceTotals) -> Self {
        let grown = |before: &[(&'static str, u64)], after: &[(&'static str, u64)]| {
            let pairs = before.iter().zip(after);
            let grown = pairs.map(|((_, before), (word, after))| (*word, after.saturating_sub(*before)));
            grown.filter(|(_, n)| *n > 0).map(|(word, n)| (word.to_owned(), n)).collect()
        };
        let times =
            before.times.iter().zip(&after.times).map(|(before, after)| after.saturating_sub(*before));
        Self {
            verdicts: grown(&before.verdicts, &after.verdicts),
            failures: grown(&before.failures, &after.failures),
            rules: BTreeMap::new(),
            times: times.enumerate().filter(|(_, n)| *n > 0).collect(),
        }
    }

    pub(super) fn add_rule(&mut self, id: InstructionId, figures: RuleFigures) {
        if figures != RuleFigures::default()
            && (self.rules.len() < RULES_MAX || self.rules.contains_key(&id.0))
        {
            let rule = self.rules.entry(id.0).or_default();
            rule.matched += figures.matched;
            rule.failed += figures.failed;
        }
    }

    /// Returns an upper bound of a quantile of the times of injects, in microseconds.
    pub fn time(&self, per_mille: u64) -> Option<u64> {
        quantile(self.times.iter().map(|(class, n)| (*class, *n)), per_mille)
    }

    fn add(&mut self, other: &Self) {
        for (word, n) in &other.verdicts {
            *self.verdicts.entry(word.clone()).or_default() += n;
        }
        for (word, n) in &other.failures {
            *self.failures.entry(word.clone()).or_default() += n;
        }
        for (class, n) in &other.times {
            *self.times.entry((*class).min(N_CLASSES - 1)).or_default() += n;
        }
        for (id, figures) in &other.rules {
            self.add_rule(InstructionId(*id), *figures);
        }
    }
}

impl RuleFigures {
    pub(super) fn from_counts(counts: &OutcomeCounts) -> Self {
        let (matched, failed) = counts.counted();
        Self { matched, failed }
    }

    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            matched: self.matched.saturating_sub(before.matched),
            failed: self.failed.saturating_sub(before.failed),
        }
    }
}

impl Steps {
    pub(super) const fn new(length: StepLength) -> Self {
        Self { length, steps: VecDeque::new() }
    }

    /// Creates steps from those that were kept, in any order.
    pub(super) fn from_kept(length: StepLength, kept: BTreeMap<i64, StepFigures>) -> Self {
        let mut steps = Self { length, steps: kept.into_iter().collect() };
        steps.remove_old();
        steps
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = (i64, &StepFigures)> {
        self.steps.iter().map(|(number, figures)| (*number, figures))
    }

    /// Adds figures to the step of this time. A clock that was set back adds to the step it shows.
    pub(super) fn add(&mut self, at: DateTime<Utc>, figures: &StepFigures) {
        let number = at.timestamp().div_euclid(self.length.seconds());
        match self.steps.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(index) => {
                if let Some((_, step)) = self.steps.get_mut(index) {
                    step.add(figures);
                }
            }
            // An empty step would tell nothing.
            Err(_) if *figures == StepFigures::default() => {}
            Err(index) => {
                self.steps.insert(index, (number, figures.clone()));
                self.remove_old();
            }
        }
    }

    pub(super) fn between(
        &self,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Vec<(DateTime<Utc>, StepFigures)> {
        let begins =
            |number: i64| DateTime::from_timestamp(number * self.length.seconds(), 0).unwrap_or_default();
        let steps = self.steps.iter().map(|(number, figures)| (begins(*number), figures));
        steps.filter(|(at, _)| (from..to).contains(at)).map(|(at, figures)| (at, figures.clone())).collect()
    }

    /// Removes the steps that are older than what is kept.
    fn remove_old(&mut self) {
        let n_kept = i64::try_from(self.length.n_kept()).unwrap_or(i64::MAX);
        let Some(last) = self.steps.back().map(|(number, _)| *number) else { return };
        while self.steps.front().is_some_and(|(number, _)| *number <= last - n_kept) {
            self.steps.pop_front();
        }
    }
}
