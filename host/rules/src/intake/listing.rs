//! Queries for instructions and lists.

use std::iter;
use std::num::NonZeroUsize;
use std::sync::Arc;

use tollgate_engine::registry::{CountedMismatch, FailedRun, Lists, RuleInForce, RuleSet};
use tollgate_history::QueryEstimate;
use tollgate_model::instruction::{Instruction, InstructionId, InstructionSource, InstructionStatus};
use tollgate_model::sequence::Sequence;

use crate::intake::tree::TreeKind;
use crate::intake::{BroadMatch, FailedScript, Intake, RulePipeline};

/// An instruction with its state.
#[derive(Debug, Clone)]
pub struct ListedInstruction {
    /// The instruction.
    pub instruction: Arc<Instruction>,
    /// Whether transactions are judged by it.
    pub status: InstructionStatus,
    /// Error in the newer content of its file, which is not in force.
    pub refused_change: Option<FailedScript>,
    /// Counted comparisons of values with incompatible types.
    pub mismatches: Vec<CountedMismatch>,
    /// Estimated cost of what it asks the history; only when it was just saved.
    pub estimate: Option<QueryEstimate>,
    /// How many of the latest transactions it would have matched, if these are most; only when it was just saved.
    pub would_have_matched: Option<BroadMatch>,
    /// Share of what it asks that the history has gathered, from 0 to 1; only while it is activating.
    pub progress: Option<f64>,
}

impl ListedInstruction {
    /// Returns an instruction with this status and nothing else to say about it.
    pub(super) const fn with(instruction: Arc<Instruction>, status: InstructionStatus) -> Self {
        Self {
            instruction,
            status,
            refused_change: None,
            mismatches: Vec::new(),
            estimate: None,
            would_have_matched: None,
            progress: None,
        }
    }
}

/// The instructions that are in force or activating at one moment, by id. What else there is to say about each is looked up
/// when it is read, so a reader of a thousand instructions holds no copies of them.
#[derive(Debug, Clone)]
pub struct ListedInstructions {
    pipeline: Arc<RulePipeline>,
    rule_set: Arc<RuleSet>,
    activating: Arc<[Arc<Instruction>]>,
    /// How many of the rules in force were read.
    n_in_force: usize,
    /// How many of the activating instructions were read.
    n_activating: usize,
}

impl ListedInstructions {
    /// Returns the id of the last of the first `n` instructions, if others follow.
    #[must_use]
    pub fn last_of_first(&self, n: NonZeroUsize) -> Option<InstructionId> {
        let mut read = self.clone();
        let mut ids = iter::from_fn(|| read.advance().map(|next| id_of(next.instruction())));
        let last = ids.nth(n.get() - 1);
        last.filter(|_| ids.next().is_some())
    }

    fn advance(&mut self) -> Option<NextInstruction<'_>> {
        let in_force = self.rule_set.rules.get(self.n_in_force);
        let activating = self.activating.get(self.n_activating);
        let id_in_force = in_force.map(|in_force| id_of(&in_force.rule.instruction));
        match activating {
            Some(activating) if id_in_force.is_none_or(|id| id_of(activating) < id) => {
                self.n_activating += 1;
                return Some(NextInstruction::Activating(activating));
            }
            // The previous version of a changed rule stays active until the new one is.
            Some(activating) if id_in_force == Some(id_of(activating)) => self.n_activating += 1,
            _ => {}
        }
        self.n_in_force += 1;
        in_force.map(NextInstruction::InForce)
    }
}

enum NextInstruction<'l> {
    InForce(&'l RuleInForce),
    Activating(&'l Arc<Instruction>),
}

impl NextInstruction<'_> {
    fn instruction(&self) -> &Arc<Instruction> {
        match self {
            Self::InForce(in_force) => &in_force.rule.instruction,
            Self::Activating(instruction) => instruction,
        }
    }
}

impl Iterator for ListedInstructions {
    type Item = ListedInstruction;

    fn next(&mut self) -> Option<ListedInstruction> {
        let pipeline = Arc::clone(&self.pipeline);
        Some(match self.advance()? {
            NextInstruction::InForce(in_force) => {
                let instruction = Arc::clone(&in_force.rule.instruction);
                let status = InstructionStatus::of_record(&instruction.record);
                ListedInstruction {
                    refused_change: pipeline.refused_change_of(&instruction.record.source),
                    mismatches: in_force.rule.counted_mismatches(),
                    ..ListedInstruction::with(instruction, status)
                }
            }
            NextInstruction::Activating(instruction) => {
                let progress = pipeline.activating.progress_of(id_of(instruction), &pipeline.deps.history);
                let shown = ListedInstruction::with(Arc::clone(instruction), InstructionStatus::Activating);
                ListedInstruction { progress, ..shown }
            }
        })
    }
}

impl RulePipeline {
    /// Returns the error in the newer content of the file that an instruction came from, which is not in force.
    fn refused_change_of(&self, source: &InstructionSource) -> Option<FailedScript> {
        let (kind, path) = (TreeKind::of_source(source)?, source.path()?);
        let failed = self.failed.lock();
        failed.get(&kind)?.iter().rfind(|file| file.path == path).cloned()
    }
}

fn id_of(instruction: &Instruction) -> InstructionId {
    instruction.record.id
}

impl Intake {
    /// Returns the instructions that are in force or activating, by id.
    #[must_use]
    pub fn instructions(&self) -> ListedInstructions {
        self.instructions_after(InstructionId(0))
    }

    /// Returns the instructions with a greater id that are in force or activating, by id.
    #[must_use]
    pub fn instructions_after(&self, id: InstructionId) -> ListedInstructions {
        // In this order an instruction that comes into force meanwhile is seen in one of both at least.
        let activating = self.pipeline.activating.all();
        let rule_set = self.pipeline.deps.registry.current();
        let n_in_force = rule_set.rules.partition_point(|in_force| id_of(&in_force.rule.instruction) <= id);
        let n_activating = activating.partition_point(|instruction| id_of(instruction) <= id);
        ListedInstructions {
            pipeline: Arc::clone(&self.pipeline),
            rule_set,
            activating: activating.into(),
            n_in_force,
            n_activating,
        }
    }

    /// Returns one instruction.
    #[must_use]
    pub fn instruction(&self, id: InstructionId) -> Option<ListedInstruction> {
        let mut from_it = self.instructions_after(InstructionId(id.0.saturating_sub(1)));
        from_it.next().filter(|listed| listed.instruction.record.id == id)
    }

    /// Returns the rule set in force.
    #[must_use]
    pub fn rule_set(&self) -> Arc<RuleSet> {
        self.pipeline.deps.registry.current()
    }

    /// Returns the ids and names of the rules in force.
    #[must_use]
    pub fn names(&self) -> Vec<(InstructionId, String)> {
        let rule_set = self.pipeline.deps.registry.current();
        let records = rule_set.rules.iter().map(|in_force| &in_force.rule.instruction.record);
        records.map(|record| (record.id, record.name.clone())).collect()
    }

    /// Returns the numbers of the transactions that a rule matched last; `None` if it is not known.
    #[must_use]
    pub fn latest_matches(&self, id: InstructionId) -> Option<Vec<Sequence>> {
        let rule_set = self.pipeline.deps.registry.current();
        let mut rules = rule_set.rules.iter().map(|in_force| &in_force.rule);
        match rules.find(|rule| rule.instruction.record.id == id) {
            Some(rule) => Some(rule.outcomes.latest_matches()),
            None => self.instruction(id).map(|_| Vec::new()),
        }
    }

    /// Returns the latest failed runs of a rule, the last one first.
    #[must_use]
    pub fn latest_failures(&self, id: InstructionId) -> Vec<FailedRun> {
        let rule_set = self.pipeline.deps.registry.current();
        let mut rules = rule_set.rules.iter().map(|in_force| &in_force.rule);
        let rule = rules.find(|rule| rule.instruction.record.id == id);
        rule.map(|rule| rule.outcomes.latest_failures()).unwrap_or_default()
    }

    /// Returns the lists in force.
    #[must_use]
    pub fn lists(&self) -> Lists {
        self.pipeline.deps.registry.current().lists.clone()
    }

    /// Returns the ids and names of the rules in force that look into a named list.
    #[must_use]
    pub fn users_of_list(&self, name: &str) -> Vec<(InstructionId, String)> {
        let rule_set = self.pipeline.deps.registry.current();
        let rules = rule_set.rules.iter().map(|in_force| &in_force.rule);
        let users = rules.filter(|rule| rule.bound.named_lists.iter().any(|known| known == name));
        users.map(|rule| (rule.instruction.record.id, rule.instruction.record.name.clone())).collect()
    }

    /// Returns rule files and lists whose present content is not in force.
    #[must_use]
    pub fn failed_files(&self) -> Vec<FailedScript> {
        self.pipeline.failed.lock().values().flatten().cloned().collect()
    }

    /// Returns the number of [`Intake::failed_files`].
    #[must_use]
    pub fn n_refused_files(&self) -> usize {
        self.pipeline.failed.lock().values().map(Vec::len).sum()
    }
}
