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

use crate::intake::change::{self, VersionContents};
use crate::intake::{Draft, Identity, Intake, IntakeError, RulePipeline, carry_through, off_the_executor};

/// Interval between checks.
const PAUSE: Duration = Duration::from_millis(20);
/// Time after a suspension that failed until the next one.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Checks in a row for which the excess must not have become less: memory is freed for a while after a suspension.
const CHECKS_BEFORE: u32 = 10;

/// A series and the rules that need it.
#[derive(Debug, Default)]
struct NeededSeries {
    n_bytes: usize,
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
                if let Err(error) = carry_through(Arc::clone(&pipeline).suspend()).await {
                    tracing::error!(error = %error, "a rule could not be suspended");
                    sleep(PAUSE_AFTER_FAILURE).await;
                }
            }
        })
    }
}

impl RulePipeline {
    /// Suspends the rules of the API that need the series which came last of the owner whose series take most.
    async fn suspend(self: Arc<Self>) -> Result<(), IntakeError> {
        let _state = self.state.lock().await;
        let current = self.deps.registry.current();
        let chosen = last_of_largest(&current);
        if chosen.is_empty() {
            return Ok(());
        }
        let mut contents = VersionContents::of(&current);
        let quarantine = Quarantine {
            since: self.deps.clock.now(),
            cause: QuarantineCause::Memory,
            reason: "what it asks does not fit into the memory of the history any more".to_owned(),
        };
        for rule in contents.rules.iter_mut().filter(|rule| chosen.contains(&rule.instruction.record.id)) {
            let known = &rule.instruction.record;
            let record = InstructionRecord { quarantine: Some(quarantine.clone()), ..(**known).clone() };
            let pipeline = Arc::clone(&self);
            *rule = off_the_executor(move || pipeline.without_history(&record)).await?;
        }
        change::bring_into_force(&self.deps, current.version, contents).await?;
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
        let draft = Draft::stand_in(&self.deps.sandbox, record)?;
        draft.bind(&self.deps.history, Identity::of(record)).map(Arc::new)
    }
}

/// Returns the rules that need the newest series of the owner whose series take most. Rules of files are never among
/// them, nor is a series that one of them needs.
fn last_of_largest(rule_set: &RuleSet) -> BTreeSet<InstructionId> {
    let mut needed: BTreeMap<usize, NeededSeries> = BTreeMap::new();
    // A suspended rule asks nothing; one in quarantine for another cause keeps what it asks.
    for in_force in &rule_set.rules {
        let rule = &in_force.rule;
        let aggregates = rule.bound.aggregates.iter().map(|query| query.series_use());
        let previous = rule.bound.previous.iter().map(|query| query.series_use());
        for used in aggregates.chain(previous) {
            let series = needed.entry(used.series).or_default();
            series.n_bytes = used.n_bytes;
            let record = &rule.instruction.record;
            series.rules.insert((record.updated_at, record.id), rule.owner().name);
            series.is_protected |= !is_of_the_api(&record.source);
        }
    }
    let free: Vec<&NeededSeries> = needed.values().filter(|series| !series.is_protected).collect();
    let mut by_owner: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for series in &free {
        for owner in series.rules.values().collect::<BTreeSet<_>>() {
            *by_owner.entry(owner).or_default() += series.n_bytes;
        }
    }
    let largest = by_owner.into_iter().max_by_key(|(_, n_bytes)| *n_bytes).map(|(owner, _)| owner);
    let of_largest = free.iter().filter(|series| series.rules.values().any(|owner| Some(owner) == largest));
    // A series came with the oldest rule that needs it.
    let newest = of_largest.max_by_key(|series| series.rules.keys().next().copied());
    newest.map(|series| series.rules.keys().map(|(_, id)| *id).collect()).unwrap_or_default()
}

const fn is_of_the_api(source: &InstructionSource) -> bool {
    matches!(source, InstructionSource::Api | InstructionSource::Upload)
}
