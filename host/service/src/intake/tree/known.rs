//! What is in force before a change: rules that run, or, at the start, records that are yet to be compiled.

use std::sync::Arc;

use tollgate_engine::registry::{Lists, Rule};
use tollgate_engine::sandbox::{Grant, PAGE_BYTES, Upload};
use tollgate_guest_abi::limits::MEMORY_PAGES_GRANTED_MAX;
use tollgate_model::instruction::{InstructionId, InstructionRecord, QuarantineCause};

use crate::intake::granting::{self, Obstacle};
use crate::intake::tree::compiling::Pace;
use crate::intake::{Draft, HoldBack, Identity, IntakeError, Means};

/// One instruction from before.
#[derive(Debug)]
pub(in crate::intake) enum Known {
    /// It runs.
    InForce(Arc<Rule>),
    /// It was in force when an earlier run ended.
    Stored(Arc<InstructionRecord>),
}

/// All that is in force before a change.
#[derive(Debug)]
pub(in crate::intake) struct Standing {
    pub(in crate::intake) rules: Vec<Known>,
    pub(in crate::intake) lists: Lists,
    /// The last id ever given.
    pub(in crate::intake) last_id: InstructionId,
    pub(in crate::intake) commit: Option<Arc<str>>,
    pub(in crate::intake) pace: Pace,
    pub(in crate::intake) hold_back: HoldBack,
}

/// A script as it is compiled today, or, where this version of the compiler refuses it, as it was compiled before.
fn stored_script(
    means: &Means,
    lists: &Lists,
    record: &InstructionRecord,
    script: &str,
) -> Result<Draft, IntakeError> {
    Draft::compile(&means.sandbox, lists, means.history.zones(), script.to_owned()).or_else(|error| {
        tracing::warn!(rule.name = record.name, error = %error, "its stored module stays in force");
        Draft::stored(&means.sandbox, record)
    })
}

/// A module that was let in before. One that is not granted any more the memory that it begins with is let in all the same,
/// with an obstacle.
fn stored_module(
    means: &Means,
    record: &InstructionRecord,
) -> Result<(Draft, Option<Obstacle>), IntakeError> {
    let granted = granting::budget(means, &record.source).unwrap_or_default();
    let most = Grant { memory_bytes: MEMORY_PAGES_GRANTED_MAX * PAGE_BYTES, ..granted };
    let is_let_in = |grant| Upload::check(&record.module, grant).is_ok();
    let lacks_memory = !is_let_in(granted) && is_let_in(most);
    let draft =
        Draft::upload(&means.artifacts, record.module.clone(), if lacks_memory { most } else { granted })?;
    Ok((draft, lacks_memory.then(Obstacle::of_memory)))
}

impl Known {
    pub(in crate::intake) fn record(&self) -> &Arc<InstructionRecord> {
        match self {
            Known::InForce(rule) => &rule.instruction.record,
            Known::Stored(record) => record,
        }
    }

    /// The rule as it was. What is not granted any more, or cannot be run any more, is held in quarantine.
    ///
    /// # Errors
    /// Those that pass: by them nothing is decided.
    pub(in crate::intake) fn rule(&self, means: &Means, lists: &Lists) -> Result<Arc<Rule>, IntakeError> {
        let record = match self {
            Known::InForce(rule) => return Ok(Arc::clone(rule)),
            Known::Stored(record) => record,
        };
        let bind = |draft: Draft, obstacle| {
            let quarantine = granting::quarantine(means, record, draft.manifest(), obstacle);
            draft.bind(&means.history, Identity { quarantine, ..Identity::of(record) })
        };
        let made = match &record.script {
            Some(script) => stored_script(means, lists, record, script).map(|draft| (draft, None)),
            None => stored_module(means, record),
        };
        let rule = made.and_then(|(draft, obstacle)| bind(draft, obstacle)).or_else(|error| {
            if error.passes() {
                return Err(error);
            }
            let obstacle = Obstacle { cause: QuarantineCause::Module, reason: error.to_string() };
            bind(Draft::stand_in(&means.sandbox, record)?, Some(obstacle))
        });
        rule.map(Arc::new)
    }
}
