//! One instruction with a bound module.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tollgate_compiler::{Position, position};
use tollgate_history::History;
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::instruction::{ContentDigest, Instruction, InstructionRecord, RuleOwner};
use tollgate_model::sequence::Sequence;

use crate::registry::{BindError, BoundModule, CostBound, Mismatch, Mismatches};
use crate::sandbox::{AdmittedModule, FailureDetail};

/// The longest displayed text of a test, in characters.
const TEST_CHARS_MAX: usize = 120;

/// A mismatch with its location and count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedMismatch {
    /// Position of the test in the script.
    pub position: Position,
    /// Text of the test on one line, cut after 120 characters.
    pub test: String,
    /// The mismatch.
    pub mismatch: Mismatch,
    /// Count; 1,000 means 1,000 or more.
    pub count: u64,
}

/// An instruction with the contents of its slots. Rule sets that contain it share it.
#[derive(Debug, Clone)]
pub struct BoundRule {
    /// The instruction.
    pub instruction: Arc<Instruction>,
    /// The bound module.
    pub bound: Arc<BoundModule>,
    /// Mismatch counts of its tests.
    pub mismatches: Arc<Mismatches>,
    /// Transactions that it matched, and on which it failed, since its instruction came into force or the service
    /// started. A rule that replaces another one continues its counts.
    pub outcomes: Arc<OutcomeCounts>,
}

/// Matches of a rule whose places are kept.
pub const MATCHES_KEPT: usize = 50;

/// Counts of the outcomes of a rule.
#[derive(Debug)]
pub struct OutcomeCounts {
    n_matched: AtomicU64,
    n_failed: AtomicU64,
    /// Sequence numbers of the latest matches, each at its number modulo the length; 0 where there is none.
    latest: [AtomicU64; MATCHES_KEPT],
    failed: Mutex<FailedRuns>,
    /// Numbers of matches in earlier runs of the service, the highest first.
    earlier: OnceLock<Box<[Sequence]>>,
}

/// The latest failed runs of a rule.
#[derive(Debug, Default)]
struct FailedRuns {
    /// Digest of the module that failed last.
    digest: Option<ContentDigest>,
    runs: VecDeque<FailedRun>,
}

/// Failed runs of a rule that are kept.
const FAILURES_KEPT: usize = 10;

/// A run of a rule that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRun {
    /// The transaction.
    pub sequence: Sequence,
    /// The kind of failure.
    pub failure: RuleFailure,
    /// Where and why it failed; `None` if the rule was not run.
    pub detail: Option<FailureDetail>,
}

impl Default for OutcomeCounts {
    fn default() -> Self {
        let latest = [const { AtomicU64::new(0) }; MATCHES_KEPT];
        let (n_matched, n_failed) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { n_matched, n_failed, latest, failed: Mutex::default(), earlier: OnceLock::new() }
    }
}

impl OutcomeCounts {
    /// Counts the outcome for the transaction with this number.
    pub fn count(&self, outcome: &RuleOutcome, sequence: Sequence) {
        match outcome {
            RuleOutcome::NotMatched => {}
            RuleOutcome::Matched | RuleOutcome::MatchedSaying(_) => {
                let n_before = self.n_matched.fetch_add(1, Ordering::Relaxed);
                let index = usize::try_from(n_before).unwrap_or_default() % MATCHES_KEPT;
                if let Some(latest) = self.latest.get(index) {
                    latest.store(sequence.0, Ordering::Relaxed);
                }
            }
            RuleOutcome::Failed(_) => {
                self.n_failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Keeps a failed run of the module with this digest. Returns whether it is the first one of the module.
    pub fn note_failure(&self, digest: ContentDigest, run: FailedRun) -> bool {
        let mut failed = self.failed.lock();
        let is_first = failed.digest.replace(digest) != Some(digest);
        if failed.runs.len() == FAILURES_KEPT {
            failed.runs.pop_front();
        }
        failed.runs.push_back(run);
        is_first
    }

    /// Returns the latest failed runs, at most 10, the last one first.
    #[must_use]
    pub fn latest_failures(&self) -> Vec<FailedRun> {
        self.failed.lock().runs.iter().rev().cloned().collect()
    }

    /// Notes the numbers of matches in earlier runs of the service, the highest first. Only the first call counts.
    pub fn note_earlier_matches(&self, numbers: &[Sequence]) {
        self.earlier.set(numbers.iter().copied().take(MATCHES_KEPT).collect()).ok();
    }

    /// Returns the numbers of the transactions that it matched last, at most 50, the highest first. Some may not be
    /// stored yet, or never be.
    #[must_use]
    pub fn latest_matches(&self) -> Vec<Sequence> {
        let numbers = self.latest.iter().map(|number| Sequence(number.load(Ordering::Relaxed)));
        let mut numbers: Vec<Sequence> = numbers.filter(|number| number.0 > 0).collect();
        numbers.extend(self.earlier.get().into_iter().flatten());
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        numbers.dedup();
        numbers.truncate(MATCHES_KEPT);
        numbers
    }

    /// Returns the numbers of matches and of failures.
    #[must_use]
    pub fn counted(&self) -> (u64, u64) {
        (self.n_matched.load(Ordering::Relaxed), self.n_failed.load(Ordering::Relaxed))
    }
}

impl BoundRule {
    /// Resolves the needs of the manifest; the history starts to maintain what it needs to answer.
    ///
    /// # Errors
    /// The first need that cannot be met.
    pub fn bind(
        instruction: Arc<Instruction>,
        module: AdmittedModule,
        history: &History,
    ) -> Result<Self, BindError> {
        let bound = Arc::new(BoundModule::bind(module, history)?);
        Ok(Self { instruction, bound, mismatches: Arc::default(), outcomes: Arc::default() })
    }

    /// Returns the mismatches of its tests, with their positions in the script.
    #[must_use]
    pub fn counted_mismatches(&self) -> Vec<CountedMismatch> {
        let script = self.instruction.record.script.as_deref().unwrap_or_default();
        let tests = self.instruction.checked.as_ref().map_or(&[][..], |checked| &checked.tests);
        let counted = self.mismatches.counted().into_iter();
        let placed = counted.filter_map(|(mismatch, count)| {
            let span = tests.get(mismatch.test)?.clone();
            let position = position(script, span.start);
            let words = script.get(span)?.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(CountedMismatch { position, test: shortened(words), mismatch, count })
        });
        placed.collect()
    }

    /// Sets the owner. Returns the rule unchanged if it has this owner.
    #[must_use]
    pub fn owned_by(self, owner: Option<&RuleOwner>) -> Self {
        if self.instruction.record.owner.as_ref() == owner {
            return self;
        }
        let record =
            InstructionRecord { owner: owner.cloned(), ..InstructionRecord::clone(&self.instruction.record) };
        let instruction = Instruction { record: Arc::new(record), ..Instruction::clone(&self.instruction) };
        Self { instruction: Arc::new(instruction), ..self }
    }

    /// Returns a bound of what the rule costs, if it was compiled from a script.
    #[must_use]
    pub fn cost_bound(&self) -> CostBound {
        CostBound::of_rule(self)
    }

    /// Returns the owner of the rule; all rules without a recorded owner have the same.
    #[must_use]
    pub fn owner(&self) -> RuleOwner {
        self.instruction.record.owner.clone().unwrap_or_default()
    }

    /// Whether the rule is quarantined and does not run.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.instruction.record.quarantine.is_some()
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(TEST_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
