//! Who notices that a rule keeps failing.
//!
//! A streak begins with a failure that is the rule's own fault and ends with the first answer. A rule is reported when its
//! streak has gone through as many transactions of different sources as here, or through so many of whatever source: a few
//! crafted transactions do not reach either, and among ordinary traffic a good rule answers in between.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::instruction::{ContentDigest, InstructionId};

use crate::evaluation::RuleOutcomes;
use crate::registry::{RuleInForce, RuleSet};

/// Failures in a row for different sources after which a rule is reported.
pub const SOURCES_MAX: usize = 32;
/// Failures in a row after which it is reported, whatever the sources.
pub const FAILURES_MAX: u64 = 1_000;

/// A rule that keeps failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingRule {
    /// Which.
    pub id: InstructionId,
    /// Of which module: another one under the same id is not guilty.
    pub digest: ContentDigest,
    /// How it failed last.
    pub failure: RuleFailure,
    /// How often in a row.
    pub n_failures: u64,
}

/// The rules that failed when they were asked last, and how often in a row.
#[derive(Debug)]
pub struct Breakers {
    streaks: Mutex<HashMap<InstructionId, FailureStreak>>,
    /// How many streaks there are, for those who only want to know that there is none.
    n_streaks: AtomicUsize,
    reports: UnboundedSender<FailingRule>,
    hasher: ahash::RandomState,
}

#[derive(Debug)]
struct FailureStreak {
    digest: ContentDigest,
    n_failures: u64,
    /// Hashes of different sources.
    sources: SmallVec<[u64; 4]>,
    /// After how many it was reported last; 0 when it was not.
    reported_at: u64,
}

impl Breakers {
    /// Without a streak; each rule that keeps failing is reported to the receiver.
    #[must_use]
    pub fn new() -> (Self, UnboundedReceiver<FailingRule>) {
        let (reports, failing) = unbounded_channel();
        let hasher = ahash::RandomState::new();
        (Self { streaks: Mutex::default(), n_streaks: AtomicUsize::new(0), reports, hasher }, failing)
    }

    /// Takes note of how the rules of a set fared on a transaction from this source.
    pub fn note(&self, rule_set: &RuleSet, outcomes: &RuleOutcomes, source: Option<&str>) {
        let failed =
            |outcome: &RuleOutcome| matches!(outcome, RuleOutcome::Failed(failure) if counts(*failure));
        if self.n_streaks.load(Ordering::Relaxed) == 0
            && !outcomes.noted().any(|(_, outcome)| failed(outcome))
        {
            return;
        }
        let source = self.hasher.hash_one(source);
        let mut streaks = self.streaks.lock();
        for (place, outcome) in outcomes.noted() {
            let &RuleOutcome::Failed(failure) = outcome else { continue };
            if !counts(failure) {
                continue;
            }
            let Some(in_force) = rule_set.rules.get(place) else { continue };
            let instruction = &in_force.rule.instruction;
            let (id, digest) = (instruction.record.id, instruction.digest);
            let streak = streaks.entry(id).or_insert_with(|| FailureStreak::of(digest));
            if streak.digest != digest {
                *streak = FailureStreak::of(digest);
            }
            // Time is also the machine's: by it alone nobody is reported soon.
            let source = (failure != RuleFailure::Timeout).then_some(source);
            if let Some(n_failures) = streak.grow(source) {
                self.reports.send(FailingRule { id, digest, failure, n_failures }).ok();
            }
        }
        streaks.retain(|id, _| goes_on(rule_set, outcomes, *id));
        self.n_streaks.store(streaks.len(), Ordering::Relaxed);
    }

    /// Forgets what is known of a rule: somebody has looked at it.
    pub fn forgive(&self, id: InstructionId) {
        let mut streaks = self.streaks.lock();
        streaks.remove(&id);
        self.n_streaks.store(streaks.len(), Ordering::Relaxed);
    }
}

/// Whether a row of failures of this rule is not over.
fn goes_on(rule_set: &RuleSet, outcomes: &RuleOutcomes, id: InstructionId) -> bool {
    let id_of = |in_force: &RuleInForce| in_force.rule.instruction.record.id;
    // Of rules that are gone nobody will hear again.
    let Ok(place) = rule_set.rules.binary_search_by_key(&id, id_of) else { return false };
    match outcomes.of(place) {
        // It was heard: whoever lets it run again begins anew.
        RuleOutcome::Failed(RuleFailure::Quarantined) => false,
        // Whatever it was, nobody knows what it would have said.
        RuleOutcome::Failed(_) => true,
        RuleOutcome::Matched | RuleOutcome::MatchedSaying(_) | RuleOutcome::NotMatched => false,
    }
}

/// Whether a failure is one of a row.
fn counts(failure: RuleFailure) -> bool {
    failure.is_own_fault() || failure == RuleFailure::Timeout
}

impl FailureStreak {
    fn of(digest: ContentDigest) -> Self {
        Self { digest, n_failures: 0, sources: SmallVec::new(), reported_at: 0 }
    }

    /// One more failure; how many there were, once they are enough.
    fn grow(&mut self, source: Option<u64>) -> Option<u64> {
        self.n_failures += 1;
        let is_new = |source: &u64| self.sources.len() < SOURCES_MAX && !self.sources.contains(source);
        if let Some(source) = source.filter(is_new) {
            self.sources.push(source);
        }
        let is_enough = self.sources.len() >= SOURCES_MAX || self.n_failures >= FAILURES_MAX;
        // Once, and again when nothing came of it.
        let is_due = self.reported_at == 0 || self.n_failures - self.reported_at >= FAILURES_MAX;
        if !is_enough || !is_due {
            return None;
        }
        self.reported_at = self.n_failures;
        Some(self.n_failures)
    }
}

#[cfg(test)]
mod tests;
