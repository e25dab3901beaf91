//! What is in force before a change: rules that run, or, at the start, records that are yet to be compiled.

use std::sync::Arc;

use tollgate_engine::registry::{BoundRule, Lists};
use tollgate_engine::sandbox::CheckedUpload;
use tollgate_guest_abi::limits::MEMORY_PAGES_GRANTED_MAX;
use tollgate_model::instruction::{Grant, InstructionId, InstructionRecord, PAGE_BYTES, QuarantineCause};

use crate::intake::granting::{self, GrantRefusal};
use crate::intake::tree::compiling::CompileThreads;
use crate::intake::{Draft, HoldBack, Identity, IntakeDeps, IntakeError};

/// One instruction from before.
#[derive(Debug)]
pub(in crate::intake) enum KnownInstruction {
    /// It runs.
    InForce(Arc<BoundRule>),
    /// It was in force when an earlier run ended.
    Stored(Arc<InstructionRecord>),
}

/// All that is in force before a change.
#[derive(Debug)]
pub(in crate::intake) struct CurrentRules {
    pub(in crate::intake) rules: Vec<KnownInstruction>,
    pub(in crate::intake) lists: Lists,
    /// The last id ever given.
    pub(in crate::intake) last_id: InstructionId,
    pub(in crate::intake) commit: Option<Arc<str>>,
    pub(in crate::intake) pace: CompileThreads,
    pub(in crate::intake) hold_back: HoldBack,
}

/// A script as it is compiled today, or, where this version of the compiler refuses it, as it was compiled before.
fn stored_script(
    deps: &IntakeDeps,
    lists: &Lists,
    record: &InstructionRecord,
    script: &str,
) -> Result<Draft, IntakeError> {
    Draft::compile(&deps.sandbox, lists, deps.history.zones(), script.to_owned()).or_else(|error| {
        tracing::warn!(rule.name = record.name, error = %error, "its stored module stays in force");
        Draft::stored(&deps.sandbox, record)
    })
}

/// A module that was let in before. One that is not granted any more the memory that it begins with is let in all the same,
/// with an obstacle.
fn stored_module(
    deps: &IntakeDeps,
    record: &InstructionRecord,
) -> Result<(Draft, Option<GrantRefusal>), IntakeError> {
    let granted = granting::budget(deps, &record.source).unwrap_or_default();
    let most = Grant { memory_bytes: MEMORY_PAGES_GRANTED_MAX * PAGE_BYTES, ..granted };
    let is_let_in = |grant| CheckedUpload::check(&record.module, grant).is_ok();
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

    /// The rule as it was. What is not granted any more, or cannot be run any more, is held in quarantine.
    ///
    /// # Errors
    /// Those that pass: by them nothing is decided.
    pub(in crate::intake) fn rule(
        &self,
        deps: &IntakeDeps,
        lists: &Lists,
    ) -> Result<Arc<BoundRule>, IntakeError> {
        let record = match self {
            KnownInstruction::InForce(rule) => return Ok(Arc::clone(rule)),
            KnownInstruction::Stored(record) => record,
        };
        let bind = |draft: Draft, obstacle| {
            let quarantine = granting::quarantine(deps, record, draft.manifest(), obstacle);
            draft.bind(&deps.history, Identity { quarantine, ..Identity::of(record) })
        };
        let made = match &record.script {
            Some(script) => stored_script(deps, lists, record, script).map(|draft| (draft, None)),
            None => stored_module(deps, record),
        };
        let rule = made.and_then(|(draft, obstacle)| bind(draft, obstacle)).or_else(|error| {
            if error.passes() {
                return Err(error);
            }
            let obstacle = GrantRefusal { cause: QuarantineCause::Module, reason: error.to_string() };
            bind(Draft::stand_in(&deps.sandbox, record)?, Some(obstacle))
        });
        rule.map(Arc::new)
    }
}
