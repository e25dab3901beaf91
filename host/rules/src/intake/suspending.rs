//! Suspension of rules whose history no longer fits into memory.
//!
//! Entries of the history go to the spill file first. Keys and precomputed sums stay in memory. When they alone exceed
//! the limit, rules of the API are suspended until the rest fits, before any transaction is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tollgate_engine::registry::{BoundRule, RuleSet};
use tollgate_model::instruction::{
    InstructionId, InstructionRecord, InstructionSource, Quarantine, QuarantineCause,
};

use crate::intake::change::{self, RuleChange};
use crate::intake::{Draft, Identity, Intake, IntakeError, RulePipeline, off_the_executor, run_detached};

/// Interval between checks.
const PAUSE: Duration = Duration::from_millis(20);
/// Time after a suspension that failed until the next one.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Checks in a row for which the excess must not have become less: memory is freed for a while after a suspension.
const CHECKS_BEFORE: u32 = 10;

/// A series and the rules that need it.
#[derive(Debug, Default)]
struct NeededSeries {
    n_kept_bytes: usize,
    /// The rules, by age, with their owners.
    rules: BTreeMap<(DateTime<Utc>, InstructionId), Arc<str>>,
    /// Whether a rule that must not be suspended needs it.
    is_protected: bool,
}

impl Intake {
    /// Suspends rules of the API while the history exceeds its memory limit with what cannot leave memory. Ends with
    /// the returned task.
    pub fn guard_memory(&self) -> JoinHandle<()> {
        let pipeline = Arc::clone(&self.pipeline);
        tokio::spawn(async move {
            let mut pauses = interval(PAUSE);
            pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let history = &pipeline.deps.history;
            let (mut least, mut n_checks) = (usize::MAX, 0);
            loop {
                pauses.tick().await;
                history.discard_old_sample();
                let excess = history.kept_excess();
                n_checks = if excess == 0 || excess < least { 0 } else { n_checks + 1 };
                least = if excess == 0 { usize::MAX } else { least.min(excess) };
                if n_checks < CHECKS_BEFORE {
                    continue;
                }
                (least, n_checks) = (usize::MAX, 0);
                if let Err(error) = run_detached(Arc::clone(&pipeline).suspend()).await {
                    tracing::error!(error = %error, "a rule could not be suspended");
                    sleep(PAUSE_AFTER_FAILURE).await;
                }
            }
        })
    }
}

impl RulePipeline {
    /// Suspends the rules of the API that give back most, of the owner whose series take most.
    async fn suspend(self: Arc<Self>) -> Result<(), IntakeError> {
        let _state = self.state.lock().await;
        let current = self.deps.registry.current();
        let chosen = most_to_give_back(&needed_by(&current));
        if chosen.is_empty() {
            return Ok(());
        }
        let mut change = RuleChange::default();
        let quarantine = Quarantine {
            since: self.deps.clock.now(),
            cause: QuarantineCause::Memory,
            reason: "what it asks does not fit into the memory of the history any more".to_owned(),
        };
        for rule in chosen.iter().filter_map(|id| current.rule(*id)) {
            let known = &rule.instruction.record;
            let record = InstructionRecord { quarantine: Some(quarantine.clone()), ..(**known).clone() };
            let pipeline = Arc::clone(&self);
            change.replace.push(off_the_executor(move || pipeline.without_history(&record)).await?);
        }
        change::bring_into_force(&self.deps, change).await?;
        for id in chosen {
            tracing::error!(
                instruction.id = id.0,
                "a rule is suspended: the history has no memory for what it asks; transactions are held for review in its place"
            );
        }
        Ok(())
    }

    /// Returns a placeholder for a rule, which asks the history nothing.
    fn without_history(&self, record: &InstructionRecord) -> Result<Arc<BoundRule>, IntakeError> {
        let draft = Draft::placeholder(&self.deps.sandbox, record)?;
        draft.bind(&self.deps.history, Identity::from_record(record)).map(Arc::new)
    }
}

/// Returns the series that the rules in force need.
fn needed_by(rule_set: &RuleSet) -> Vec<NeededSeries> {
    let mut needed: BTreeMap<usize, NeededSeries> = BTreeMap::new();
    // A suspended rule asks nothing; one in quarantine for another cause keeps what it asks.
    for in_force in &rule_set.rules {
        let rule = &in_force.rule;
        let aggregates = rule.bound.aggregates.iter().map(|query| query.series_use());
        let previous = rule.bound.previous.iter().map(|query| query.series_use());
        for used in aggregates.chain(previous) {
            let series = needed.entry(used.series).or_default();
            series.n_kept_bytes = used.n_kept_bytes;
            let record = &rule.instruction.record;
            series.rules.insert((record.updated_at, record.id), rule.owner().name);
            series.is_protected |= !is_of_the_api(&record.source);
        }
    }
    needed.into_values().collect()
}

/// Returns the rules whose suspension gives back most for each of them, of the owner whose series take most. The rules
/// that share a series are suspended together, because it is needed until the last of them is. Rules of files are never
/// among them, nor is a series that one of them needs. Of rules that give back as much, the newest are chosen.
fn most_to_give_back(needed: &[NeededSeries]) -> BTreeSet<InstructionId> {
    let free: Vec<&NeededSeries> = needed.iter().filter(|series| !series.is_protected).collect();
    let mut by_owner: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for series in &free {
        for owner in series.rules.values().collect::<BTreeSet<_>>() {
            *by_owner.entry(owner).or_default() += series.n_kept_bytes;
        }
    }
    let largest = by_owner.into_iter().max_by_key(|(_, n_bytes)| *n_bytes).map(|(owner, _)| owner);
    let of_largest = free.iter().filter(|series| series.rules.values().any(|owner| Some(owner) == largest));
    let chosen = of_largest.max_by_key(|series| {
        let given_back: usize =
            free.iter().filter(|other| other.is_freed_with(series)).map(|freed| freed.n_kept_bytes).sum();
        // A series came with the oldest rule that needs it.
        (given_back / series.rules.len().max(1), series.rules.keys().next().copied())
    });
    chosen.map(|series| series.rules.keys().map(|(_, id)| *id).collect()).unwrap_or_default()
}

impl NeededSeries {
    /// Returns whether nothing needs it once the rules of another series are suspended.
    fn is_freed_with(&self, other: &Self) -> bool {
        self.rules.keys().all(|rule| other.rules.contains_key(rule))
    }
}

const fn is_of_the_api(source: &InstructionSource) -> bool {
    matches!(source, InstructionSource::Api | InstructionSource::Upload)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series: its memory, the rules that need it (in the order in which they came) with their owners, and whether it
    /// is protected.
    fn series(n_kept_bytes: usize, rules: &[(i64, &str)], is_protected: bool) -> NeededSeries {
        let at = |id| DateTime::from_timestamp(id, 0).unwrap();
        let rules = rules.iter().map(|(id, owner)| ((at(*id), InstructionId(*id)), Arc::from(*owner)));
        NeededSeries { n_kept_bytes, rules: rules.collect(), is_protected }
    }

    #[track_caller]
    fn check(needed: &[NeededSeries], expected: &[i64]) {
        let chosen: Vec<i64> = most_to_give_back(needed).into_iter().map(|id| id.0).collect();
        assert_eq!(chosen, expected);
    }

    #[test]
    fn the_old_rule_that_needs_all_the_memory_is_suspended_before_small_young_ones() {
        let mut needed = vec![series(1_000_000, &[(1, "api")], false)];
        needed.extend((2..8).map(|id| series(2_000, &[(id, "api")], false)));
        check(&needed, &[1]);
        check(&needed[1..], &[7]);
        check(&[], &[]);
    }

    #[test]
    fn a_rule_gives_back_all_the_series_that_it_alone_needs() {
        for (n_shared_bytes, expected) in [(60, &[4][..]), (1_000, &[1, 2])] {
            let needed = [
                series(100, &[(3, "api")], false),
                series(60, &[(4, "api")], false),
                series(50, &[(4, "api")], false),
                series(n_shared_bytes, &[(1, "api"), (2, "api")], false),
            ];
            check(&needed, expected);
        }
    }

    #[test]
    fn a_series_that_the_rule_of_a_file_needs_is_not_released() {
        let file = series(900, &[(1, "file"), (2, "api")], true);
        check(&[file, series(10, &[(3, "api")], false)], &[3]);
    }

    #[test]
    fn the_owner_whose_series_take_most_goes_first() {
        let needed = [
            series(100, &[(1, "api")], false),
            series(80, &[(2, "uploads")], false),
            series(90, &[(3, "uploads")], false),
        ];
        check(&needed, &[3]);
    }
}
