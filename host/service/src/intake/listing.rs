//! Queries for instructions and lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_engine::registry::{CountedMismatch, FailedRun, Lists, RuleSet};
use tollgate_history::QueryEstimate;
use tollgate_model::instruction::{Instruction, InstructionId, InstructionStatus};
use tollgate_model::sequence::Sequence;

use crate::intake::tree::TreeKind;
use crate::intake::{BroadMatch, FailedScript, Intake};

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

impl Intake {
    /// Returns the instructions that are in force or activating, by id.
    #[must_use]
    pub fn instructions(&self) -> Vec<ListedInstruction> {
        // In this order an instruction that comes into force meanwhile is seen twice instead of never.
        let activating = self.pipeline.activating.all();
        let rule_set = self.pipeline.deps.registry.current();
        let refused = self.refused_by_path();
        let refused_change = |instruction: &Instruction| {
            let source = &instruction.record.source;
            refused.get(&(TreeKind::of(source)?, source.path()?.to_owned())).cloned()
        };
        let mut listed: Vec<ListedInstruction> = rule_set
            .rules
            .iter()
            .map(|in_force| ListedInstruction {
                status: InstructionStatus::of(&in_force.rule.instruction.record),
                refused_change: refused_change(&in_force.rule.instruction),
                instruction: Arc::clone(&in_force.rule.instruction),
                mismatches: in_force.rule.counted_mismatches(),
                estimate: None,
                would_have_matched: None,
                progress: None,
            })
            .collect();
        for instruction in activating {
            let id = instruction.record.id;
            // The previous version of a changed rule stays active until the new one is.
            if let Err(place) = listed.binary_search_by_key(&id, |known| known.instruction.record.id) {
                let progress = self.pipeline.activating.progress_of(id, &self.pipeline.deps.history);
                let shown = ListedInstruction::with(instruction, InstructionStatus::Activating);
                listed.insert(place, ListedInstruction { progress, ..shown });
            }
        }
        listed
    }

    fn refused_by_path(&self) -> BTreeMap<(TreeKind, String), FailedScript> {
        let failed = self.pipeline.failed.lock();
        let of_place = |(place, files): (&TreeKind, &Vec<FailedScript>)| {
            let place = *place;
            files.iter().map(move |file| ((place, file.path.clone()), file.clone())).collect::<Vec<_>>()
        };
        failed.iter().flat_map(of_place).collect()
    }

    /// Returns one instruction.
    #[must_use]
    pub fn instruction(&self, id: InstructionId) -> Option<ListedInstruction> {
        self.instructions().into_iter().find(|listed| listed.instruction.record.id == id)
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
