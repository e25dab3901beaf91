//! Quarantine and release of rules that keep failing or cost too much.
//!
//! Each makes a new version of the rule set, so the version of a verdict identifies the rules that were run.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tollgate_engine::evaluation::{DisplacedRules, FailingRule, FaultReport, RuleFault};
use tollgate_engine::registry::BoundRule;
use tollgate_engine::sandbox::{AdmissionRefusal, manifest_of};
use tollgate_guest_abi::limits::SUSTAINED_FUEL;
use tollgate_model::background::in_background;
use tollgate_model::instruction::{
    ContentDigest, Instruction, InstructionId, InstructionRecord, Quarantine, QuarantineCause,
};

use crate::intake::change::{self, RuleChange, rules_of};
use crate::intake::tree::KnownInstruction;
use crate::intake::{
    Intake, IntakeError, RulePipeline, estimating, granting, off_the_executor, run_detached,
};

impl Intake {
    /// Quarantines every rule reported as failing, until the channel closes.
    pub fn quarantine_failing(&self, mut reports: UnboundedReceiver<FaultReport>) -> JoinHandle<()> {
        let pipeline = Arc::clone(&self.pipeline);
        tokio::spawn(async move {
            while let Some(FaultReport { mut failing, displaced }) = reports.recv().await {
                if let Some(displaced) = displaced {
                    failing.extend(pipeline.to_follow(displaced).await);
                }
                let ids: Vec<InstructionId> = failing.iter().map(|failing| failing.id).collect();
                let done = run_detached(Arc::clone(&pipeline).quarantine(failing)).await;
                let Err(error) = done else { continue };
                for id in ids {
                    tracing::error!(instruction.id = id.0, error = %error, "a failing rule could not be quarantined and stays in force");
                    // It will be reported again.
                    pipeline.deps.breakers.forgive(id);
                }
            }
        })
    }

    /// Releases a rule from quarantine and returns its instruction; does nothing if it is not quarantined.
    ///
    /// # Errors
    /// [`IntakeError::NotFound`], [`IntakeError::Unavailable`], [`IntakeError::NotGranted`] if the policy does not
    /// grant its needs or the change, and [`IntakeError::ModuleRefused`] if its module is no longer admitted.
    pub async fn release(&self, id: InstructionId) -> Result<Arc<Instruction>, IntakeError> {
        run_detached(Arc::clone(&self.pipeline).release(id)).await
    }
}

impl RulePipeline {
    /// Returns the displaced rules that are to be quarantined with those that displaced them. A report on a rule set that
    /// is not in force any more comes too late.
    async fn to_follow(&self, displaced: DisplacedRules) -> Vec<FailingRule> {
        if !Arc::ptr_eq(&displaced.rule_set, &self.deps.registry.current()) {
            return Vec::new();
        }
        let sandbox = self.deps.sandbox.clone();
        let measured = in_background(move || displaced.to_blame(&sandbox)).await;
        let measured = measured.map_err(|error| error.to_string());
        match measured.and_then(|blamed| blamed.map_err(|error| error.to_string())) {
            Ok(blamed) => blamed,
            Err(error) => {
                tracing::error!(error, "the cost of displaced rules could not be measured");
                Vec::new()
            }
        }
    }

    async fn quarantine(self: Arc<Self>, failing: Vec<FailingRule>) -> Result<(), IntakeError> {
        let quarantines: HashMap<InstructionId, (ContentDigest, Quarantine)> = failing
            .into_iter()
            .map(|failing| (failing.id, (failing.digest, self.quarantine_for(failing.fault))))
            .collect();
        let _state = self.state.lock().await;
        let changed = self
            .change_quarantine(|instruction| {
                let (digest, quarantine) = quarantines.get(&instruction.record.id)?;
                let is_concerned = instruction.digest == *digest && instruction.record.quarantine.is_none();
                is_concerned.then(|| Some(quarantine.clone()))
            })
            .await?;
        for instruction in changed {
            tracing::error!(
                instruction.id = instruction.record.id.0,
                rule.name = instruction.entry.name,
                reason = instruction.record.quarantine.as_ref().map_or("", |quarantine| &quarantine.reason),
                "a rule is in quarantine; transactions are held for review in its place"
            );
        }
        Ok(())
    }

    fn quarantine_for(&self, fault: RuleFault) -> Quarantine {
        let (cause, reason) = match fault {
            RuleFault::Failures { last, n_failures, n_runs } => (
                QuarantineCause::Failures,
                format!(
                    "it failed on {n_failures} of its last {n_runs} runs, the last time as `{}`",
                    last.as_str()
                ),
            ),
            RuleFault::SustainedCost { mean_fuel } => (
                QuarantineCause::SustainedCost,
                format!(
                    "the rules of its owner cost more than {SUSTAINED_FUEL} units of fuel on average while transactions \
                     waited, of which it cost {mean_fuel}"
                ),
            ),
            RuleFault::DisplacedCost { fuel } => (
                QuarantineCause::SustainedCost,
                format!(
                    "it did not run because rules of its owner that are in quarantine now used up the fuel of a \
                     transaction, of which it would have cost {fuel} units: too much to take their place"
                ),
            ),
        };
        Quarantine { since: self.deps.clock.now(), cause, reason }
    }

    async fn release(self: Arc<Self>, id: InstructionId) -> Result<Arc<Instruction>, IntakeError> {
        let state = self.state.lock().await;
        let known = self.deps.registry.current();
        let rule = known.rule(id).ok_or(IntakeError::NotFound(id))?;
        let instruction = Arc::clone(&rule.instruction);
        if instruction.record.quarantine.is_some() {
            self.deps.policy.check_change(&instruction.record.source)?;
        }
        if rule.bound.module.is_placeholder() {
            // Other changes go on while the history gathers what the rule asks.
            drop(state);
            return self.revive(&instruction.record).await;
        }
        if instruction.record.quarantine.is_some() {
            granting::check_again(&self.deps, &instruction.record.source, &rule.bound.module)?;
        }
        let released = self
            .change_quarantine(|instruction| {
                (instruction.record.id == id && instruction.record.quarantine.is_some()).then_some(None)
            })
            .await?;
        let Some(released) = released.into_iter().next() else { return Ok(instruction) };
        self.deps.breakers.forgive(id);
        tracing::info!(instruction.id = id.0, rule.name = released.entry.name, "a rule is out of quarantine");
        Ok(released)
    }

    /// Replaces a placeholder by the rule, whose module is admitted again.
    async fn revive(&self, record: &InstructionRecord) -> Result<Arc<Instruction>, IntakeError> {
        let turns = self.turns.turn_of(&self.deps.policy.owner_of(&record.source).name);
        let _turn = turns.fill.lock().await;
        // Never closed.
        let _fill = self.fills.acquire().await.ok();
        let (deps, lists) = (Arc::clone(&self.deps), self.deps.registry.current().lists.clone());
        let revived = InstructionRecord { quarantine: None, ..record.clone() };
        self.deps.artifacts.remove_refusal(&record.module);
        let rule = off_the_executor(move || {
            if let Ok(Some(manifest)) = manifest_of(&revived.module) {
                granting::check(&deps, &revived.source, &manifest)?;
                estimating::check_room(&deps, &lists, &manifest)?;
            }
            KnownInstruction::Stored(Arc::new(revived)).rule(&deps, &lists)
        });
        let rule = rule.await?;
        if let Some(Quarantine { reason, .. }) = &rule.instruction.record.quarantine {
            let message = format!("{reason}; remove the instruction, or save another");
            return Err(match record.quarantine.as_ref().map(|before| before.cause) {
                Some(QuarantineCause::Memory) => IntakeError::NoRoom(None),
                _ => IntakeError::ModuleRefused(AdmissionRefusal::of_compilation(&message)),
            });
        }
        let instruction = Arc::clone(&rule.instruction);
        let _state = self.state.lock().await;
        let current = self.deps.registry.current();
        let known = current.rule(record.id).ok_or(IntakeError::NotFound(record.id))?;
        if *known.instruction.record != *record {
            // Another release or change came first.
            return Ok(Arc::clone(&known.instruction));
        }
        let change = RuleChange { replace: vec![rule], ..RuleChange::default() };
        change::bring_into_force(&self.deps, change).await?;
        tracing::info!(instruction.id = record.id.0, rule.name = record.name, "a rule is out of quarantine");
        Ok(instruction)
    }

    /// Sets the quarantine of the rules for which `quarantine_of` returns one, or none, in a new version of the rule set.
    /// Returns them as they are now.
    async fn change_quarantine(
        &self,
        quarantine_of: impl Fn(&Instruction) -> Option<Option<Quarantine>>,
    ) -> Result<Vec<Arc<Instruction>>, IntakeError> {
        let (mut change, mut changed) = (RuleChange::default(), Vec::new());
        for rule in rules_of(&self.deps.registry.current()) {
            let Some(quarantine) = quarantine_of(&rule.instruction) else { continue };
            let record = InstructionRecord { quarantine, ..(*rule.instruction.record).clone() };
            let instruction =
                Arc::new(Instruction { record: Arc::new(record), ..(*rule.instruction).clone() });
            let rule = BoundRule { instruction: Arc::clone(&instruction), ..(**rule).clone() };
            change.replace.push(Arc::new(rule));
            changed.push(instruction);
        }
        if !changed.is_empty() {
            change::bring_into_force(&self.deps, change).await?;
        }
        Ok(changed)
    }
}
