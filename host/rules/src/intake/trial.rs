//! Trial of a new rule on the latest stored transactions, which tells whether it would stop most of them.
//!
//! ```text
//!  log: the last 5,000 numbers ──▶ a history of its own ──▶ the rule alone ──▶ matches among the last 1,000 transactions
//! ```
//!
//! A window that reaches further back than the log that is read counts what is in it. The trial changes nothing, and holds
//! up no transaction.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::registry::RuleSet;
use tollgate_guest_abi::{Verdict, VerdictSeverity};
use tollgate_history::{History, PastItem};
use tollgate_model::assessment::RuleOutcome;
use tollgate_model::background::processor_time;
use tollgate_model::instruction::{Instruction, InstructionId, InstructionSource};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_store::{LogEntry, StoreError};

use crate::intake::{Draft, Identity, IntakeDeps, IntakeError, RulePipeline, granting, off_the_executor};
use tollgate_telemetry::logs::ErrorChain;

/// Transactions that the rule judges.
const JUDGED_MAX: usize = 1_000;
/// With fewer transactions there is no answer.
const JUDGED_MIN: usize = 100;
/// Numbers of the log that are read for a rule that asks the history.
const LOG_MAX: u64 = 5_000;
const BATCH: u64 = 256;
/// Total size of the transactions that are read.
const BYTES_MAX: usize = 16 << 20;
/// How much time of a processor the rule may take. Others on a busy machine do not shorten a trial.
const PROCESSOR_TIME_MAX: Duration = Duration::from_millis(250);
/// How long a trial may take.
const TIME_MAX: Duration = Duration::from_secs(2);
/// Trials at a time; others wait.
pub(super) const TRIALS_MAX: usize = 1;

/// Whether the author of a change knows that the rule would stop most transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confirmation {
    /// Nothing is known.
    #[default]
    Missing,
    /// The author confirms the change.
    Given,
}

/// A rule that would have matched more than half of the latest transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BroadMatch {
    /// Transactions that it would have matched.
    pub n_matched: usize,
    /// Transactions that it judged.
    pub n_judged: usize,
}

impl fmt::Display for BroadMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.n_matched, self.n_judged)
    }
}

/// A rule to be tried: a copy that takes no part in anything else.
#[derive(Debug)]
pub(super) struct Trial {
    draft: Draft,
}

/// Returns whether transactions are held or stopped by this verdict.
const fn stops(verdict: Verdict) -> bool {
    matches!(verdict.severity(), VerdictSeverity::Review | VerdictSeverity::Block)
}

impl RulePipeline {
    /// Returns a trial of the rule; `None` if its verdict stops nothing.
    pub(super) fn trial_of(
        &self,
        draft: &Draft,
        source: &InstructionSource,
    ) -> Result<Option<Trial>, IntakeError> {
        if !stops(draft.verdict()) {
            return Ok(None);
        }
        Ok(Some(Trial { draft: draft.admitted_again(&self.deps, source)? }))
    }

    /// Tries a rule before it is saved, if the operator has broad rules confirmed.
    ///
    /// # Errors
    /// [`IntakeError::Unconfirmed`], and [`IntakeError::Unavailable`] if the store cannot be read.
    pub(super) async fn hold_if_broad(
        self: &Arc<Self>,
        draft: &Draft,
        source: &InstructionSource,
        confirmation: Confirmation,
    ) -> Result<(), IntakeError> {
        if !self.deps.confirms_broad_rules || confirmation == Confirmation::Given {
            return Ok(());
        }
        let Some(trial) = self.trial_of(draft, source)? else { return Ok(()) };
        match self.run_trial(trial).await? {
            Some(broad) => Err(IntakeError::Unconfirmed(broad)),
            None => Ok(()),
        }
    }

    /// Tries a rule that is saved. A failure is logged, because the rule is in force without the answer.
    pub(super) async fn breadth_of(self: &Arc<Self>, instruction: &Arc<Instruction>) -> Option<BroadMatch> {
        if !stops(instruction.entry.verdict) {
            return None;
        }
        let (pipeline, instruction) = (Arc::clone(self), Arc::clone(instruction));
        let draft = off_the_executor(move || saved_draft(&pipeline.deps, &instruction)).await;
        let tried = match draft {
            Ok(draft) => self.run_trial(Trial { draft }).await,
            Err(error) => Err(error),
        };
        tried.unwrap_or_else(|error| {
            tracing::warn!(error = %error, "a new rule could not be tried on the latest transactions");
            None
        })
    }

    /// Returns how many of the latest transactions the rule matches, if these are more than half.
    pub(super) async fn run_trial(self: &Arc<Self>, trial: Trial) -> Result<Option<BroadMatch>, IntakeError> {
        let _one_at_a_time = self.trials.acquire().await.map_err(|_| IntakeError::Unavailable)?;
        let n_numbers = if trial.draft.asks_the_history() { LOG_MAX } else { JUDGED_MAX as u64 };
        let entries = latest(&self.deps, n_numbers).await.map_err(|error| {
            tracing::error!(error = %ErrorChain(&error), "the log cannot be read for the trial of a rule");
            IntakeError::Unavailable
        })?;
        let pipeline = Arc::clone(self);
        off_the_executor(move || try_rule(&pipeline.deps, trial, entries)).await
    }
}

/// Admits a saved rule once more, to be run on its own.
fn saved_draft(deps: &IntakeDeps, instruction: &Instruction) -> Result<Draft, IntakeError> {
    let record = &instruction.record;
    match record.script {
        Some(_) => Draft::stored(&deps.artifacts, record),
        None => {
            Draft::upload(&deps.artifacts, record.module.clone(), granting::budget(deps, &record.source)?)
        }
    }
}

/// Reads the end of the log, by batches from the last one.
async fn latest(deps: &IntakeDeps, n_numbers: u64) -> Result<Vec<LogEntry>, StoreError> {
    let last = deps.store.last_sequence().await?;
    let first = Sequence(last.0.saturating_sub(n_numbers));
    let (mut batches, mut through, mut n_bytes) = (Vec::new(), last, 0);
    while through > first && n_bytes < BYTES_MAX {
        let after = Sequence(through.0.saturating_sub(BATCH)).max(first);
        let batch = deps.store.log(after, through).await?;
        n_bytes += batch.iter().map(bytes_of).sum::<usize>();
        batches.push(batch);
        through = after;
    }
    Ok(batches.into_iter().rev().flatten().collect())
}

fn bytes_of(entry: &LogEntry) -> usize {
    match entry {
        LogEntry::Accepted(record) => record.body.len(),
        LogEntry::Updated(_, body) => body.len(),
        LogEntry::JudgedDeferred(late) => late.verdict.body.len(),
    }
}

fn try_rule(
    deps: &IntakeDeps,
    Trial { draft }: Trial,
    entries: Vec<LogEntry>,
) -> Result<Option<BroadMatch>, IntakeError> {
    let n_accepted = entries.iter().filter(|entry| matches!(entry, LogEntry::Accepted(_))).count();
    let mut n_skipped = n_accepted.saturating_sub(JUDGED_MAX);
    let mut trier = RuleTrier::new(deps, draft)?;
    let begun = Instant::now();
    for entry in entries {
        match entry {
            LogEntry::Accepted(record) => {
                let Ok(transaction) = Transaction::from_stored(&record.body) else { continue };
                let transaction = Arc::new(transaction);
                match n_skipped.checked_sub(1) {
                    Some(left) => n_skipped = left,
                    None => trier.judge(&transaction, record.sequence),
                }
                let sequence = record.sequence;
                trier.history.restore_item(PastItem::Accepted { sequence, transaction: &transaction });
            }
            LogEntry::Updated(update, body) => {
                let Ok(accepted) = Transaction::from_stored(&body) else { continue };
                let before = &accepted.with_status(update.before.as_deref());
                let after = &accepted.with_status(Some(&update.after));
                let (sequence, target) = (update.sequence, update.target);
                trier.history.restore_item(PastItem::Updated { sequence, target, before, after });
            }
            LogEntry::JudgedDeferred(_) => {}
        }
        if trier.time_left.is_zero() || begun.elapsed() > TIME_MAX {
            break;
        }
    }
    let found = trier.found;
    let is_broad = found.n_judged >= JUDGED_MIN && found.n_matched * 2 > found.n_judged;
    Ok(is_broad.then_some(found))
}

/// A rule alone, on a history of its own.
struct RuleTrier {
    history: History,
    rule_set: Arc<RuleSet>,
    evaluator: Evaluator,
    /// Time of a processor.
    time_left: Duration,
    found: BroadMatch,
}

impl RuleTrier {
    fn new(deps: &IntakeDeps, draft: Draft) -> Result<Self, IntakeError> {
        let current = deps.registry.current();
        let history = History::new().in_zones(Arc::clone(&current.zones));
        let identity = Identity::new(InstructionId(1), InstructionSource::Api, deps.clock.now());
        let rule = draft.bind(&history, identity)?;
        let rule_set = RuleSet::new(0, vec![Arc::new(rule)], current.lists.clone());
        Ok(Self {
            history,
            rule_set: Arc::new(rule_set.in_zones(Arc::clone(&current.zones))),
            evaluator: Evaluator::new(deps.sandbox.clone()),
            time_left: PROCESSOR_TIME_MAX,
            found: BroadMatch { n_matched: 0, n_judged: 0 },
        })
    }

    fn judge(&mut self, transaction: &Arc<Transaction>, as_of: Sequence) {
        let begun = processor_time();
        let outcomes = self.evaluator.evaluate(&self.rule_set, transaction, as_of);
        self.time_left = self.time_left.saturating_sub(processor_time().saturating_sub(begun));
        self.found.n_judged += 1;
        self.found.n_matched += usize::from(is_match(outcomes.outcome_of(0)));
    }
}

const fn is_match(outcome: &RuleOutcome) -> bool {
    matches!(outcome, RuleOutcome::Matched | RuleOutcome::MatchedSaying(_))
}
