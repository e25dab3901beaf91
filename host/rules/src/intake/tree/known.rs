//! Instructions in force before a change: running rules, or stored records at startup.

use std::sync::Arc;

use tollgate_engine::registry::{BoundRule, Lists, RuleSet};
use tollgate_engine::sandbox::CheckedModule;
use tollgate_guest_abi::limits::MEMORY_PAGES_GRANTED_MAX;
use tollgate_model::instruction::{
    Grant, InstructionId, InstructionRecord, InstructionStatus, PAGE_BYTES, QuarantineCause,
};

use crate::intake::granting::{self, GrantRefusal};
use crate::intake::new_sources::RefusedFiles;
use crate::intake::tree::compiling::CompileThreads;
use crate::intake::{Draft, HoldBack, Identity, IntakeDeps, IntakeError, KnownNames};

#[derive(Debug)]
pub(in crate::intake) enum KnownInstruction {
    /// A running rule.
    InForce(Arc<BoundRule>),
    /// A record that was in force when an earlier run ended.
    Stored(Arc<InstructionRecord>),
}

/// Rules and lists in force before a change.
#[derive(Debug)]
pub(in crate::intake) struct CurrentRules {
    /// The rule set that the change applies to. At a start it has no rules yet.
    pub(in crate::intake) base: Arc<RuleSet>,
    pub(in crate::intake) rules: Vec<KnownInstruction>,
    pub(in crate::intake) last_id: InstructionId,
    pub(in crate::intake) pace: CompileThreads,
    pub(in crate::intake) hold_back: HoldBack,
    pub(in crate::intake) refused: RefusedFiles,
}

/// Compiles a stored script. If this version of the compiler refuses it, its stored module is used.
fn stored_script(
    deps: &IntakeDeps,
    lists: &Lists,
    record: &InstructionRecord,
    script: &str,
) -> Result<Draft, IntakeError> {
    Draft::compile(&deps.artifacts, KnownNames::new(deps, lists), script.to_owned()).or_else(|error| {
        tracing::warn!(rule.name = record.name, error = %error, "this version does not accept a stored script; its stored module stays in force");
        Draft::stored(&deps.artifacts, record)
    })
}

/// Admits a stored module. If its initial memory exceeds the present grant, it is admitted with a reason for
/// quarantine.
fn stored_module(
    deps: &IntakeDeps,
    record: &InstructionRecord,
) -> Result<(Draft, Option<GrantRefusal>), IntakeError> {
    let granted = granting::budget(deps, &record.source).unwrap_or_default();
    let most = Grant { memory_bytes: MEMORY_PAGES_GRANTED_MAX * PAGE_BYTES, ..granted };
    let is_let_in = |grant| CheckedModule::check(&record.module, grant).is_ok();
    let lacks_memory = !is_let_in(granted) && is_let_in(most);
    let draft =
        Draft::upload(&deps.artifacts, record.module.clone(), if lacks_memory { most } else { granted })?;
    Ok((draft, lacks_memory.then(GrantRefusal::of_memory)))
}

impl KnownInstruction {
    pub(in crate::intake) fn record(&self) -> &Arc<InstructionRecord> {
        match self {
            KnownInstruction::InForce(rule) => &rule.instruction.record,
            KnownInstruction::Stored(record) => record,
        }
    }

    /// Returns the rule. One that is no longer granted, or can no longer run, is quarantined.
    ///
    /// # Errors
    /// Only temporary errors.
    pub(in crate::intake) fn rule(
        &self,
        deps: &IntakeDeps,
        lists: &Lists,
    ) -> Result<Arc<BoundRule>, IntakeError> {
        match self {
            KnownInstruction::InForce(rule) => Ok(Arc::clone(rule)),
            KnownInstruction::Stored(record) => bound(deps, record, draft(deps, lists, record)),
        }
    }
}

/// A draft, with a reason to quarantine it if there is one.
pub(super) type MadeDraft = Result<(Draft, Option<GrantRefusal>), IntakeError>;

/// Makes the draft of a stored rule.
pub(super) fn draft(deps: &IntakeDeps, lists: &Lists, record: &InstructionRecord) -> MadeDraft {
    if InstructionStatus::of_record(record) == InstructionStatus::Suspended || record.is_refused_file() {
        return Ok((Draft::placeholder(&deps.sandbox, record)?, None));
    }
    match &record.script {
        Some(script) => stored_script(deps, lists, record, script).map(|draft| (draft, None)),
        None => stored_module(deps, record),
    }
}

/// Returns the rule of a draft; a placeholder in quarantine if it has none.
///
/// # Errors
/// Only temporary errors.
pub(super) fn bound(
    deps: &IntakeDeps,
    record: &InstructionRecord,
    made: MadeDraft,
) -> Result<Arc<BoundRule>, IntakeError> {
    let bind = |draft: Draft, obstacle| {
        let quarantine = granting::quarantine(deps, record, draft.manifest(), obstacle);
        draft.bind(&deps.history, Identity { quarantine, ..Identity::from_record(record) })
    };
    let rule = made.and_then(|(draft, obstacle)| bind(draft, obstacle)).or_else(|error| {
        if error.passes() {
            return Err(error);
        }
        let obstacle = GrantRefusal { cause: QuarantineCause::Module, reason: error.to_string() };
        bind(Draft::placeholder(&deps.sandbox, record)?, Some(obstacle))
    });
    rule.map(Arc::new)
}
