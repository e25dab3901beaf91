//! What is in force before a change: rules that run, or, at the start, records that are yet to be compiled.

use std::sync::Arc;

use tollgate_guest_abi::limits::MEMORY_PAGES_GRANTED_MAX;

use crate::instruction::{InstructionId, InstructionRecord};
use crate::intake::tree::compiling::Pace;
use crate::intake::{Draft, Identity, IntakeError, Means, granting};
use crate::registry::{Lists, Rule};
use crate::sandbox::{Grant, PAGE_BYTES};

/// One instruction from before.
#[derive(Debug)]
pub(in crate::intake) enum Known {
    /// It runs.
    InForce(Arc<Rule>),
    /// It was in force when an earlier run ended.
    Stored(InstructionRecord),
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
}

/// Why there is no next rule set at all.
#[derive(Debug, thiserror::Error)]
pub(in crate::intake) enum Halt {
    /// A stored instruction can neither be compiled nor taken as it was compiled before, or its module is not let in any more.
    #[error("the stored instruction `{name}` cannot be brought into force: {reason}")]
    Stuck { name: String, reason: String },
    /// Something that a rule needs is not to be had now. It passes: nothing is decided by it.
    #[error(transparent)]
    ForNow(IntakeError),
}

/// A module that was let in before, and whether it is granted still the memory that it begins with. If not, it is let in all
/// the same, to be held in quarantine.
fn stored_module(means: &Means, record: &InstructionRecord) -> Result<(Draft, bool), IntakeError> {
    let granted = granting::budget(means, &record.source).unwrap_or_default();
    let upload = |grant| Draft::upload(&means.artifacts, record.module.clone(), grant);
    match upload(granted) {
        Ok(draft) => Ok((draft, true)),
        Err(IntakeError::ModuleRefused(_)) => {
            let memory_bytes = MEMORY_PAGES_GRANTED_MAX * PAGE_BYTES;
            Ok((upload(Grant { memory_bytes, ..granted })?, false))
        }
        Err(error) => Err(error),
    }
}

impl Known {
    pub(in crate::intake) fn record(&self) -> &InstructionRecord {
        match self {
            Known::InForce(rule) => &rule.instruction.record,
            Known::Stored(record) => record,
        }
    }

    /// The rule as it was. A stored script is compiled anew, or, where this version of the compiler refuses it, taken as it
    /// was compiled before; a stored module is admitted again.
    pub(in crate::intake) fn rule(&self, means: &Means, lists: &Lists) -> Result<Arc<Rule>, Halt> {
        let record = match self {
            Known::InForce(rule) => return Ok(Arc::clone(rule)),
            Known::Stored(record) => record,
        };
        let halt = |error: IntakeError| match error {
            error if error.passes() => Halt::ForNow(error),
            error => Halt::Stuck { name: record.name.clone(), reason: error.to_string() },
        };
        let draft = match &record.script {
            Some(script) => Draft::compile(&means.sandbox, lists, script.clone())
                .or_else(|error| {
                    tracing::warn!(rule.name = record.name, error = %error, "its stored module stays in force");
                    Draft::stored(&means.sandbox, record)
                })
                .map(|draft| (draft, true)),
            None => stored_module(means, record),
        };
        let rule = draft.and_then(|(draft, has_memory)| {
            let quarantine = granting::quarantine(means, record, draft.manifest(), has_memory);
            draft.bind(&means.history, Identity { quarantine, ..Identity::of(record) })
        });
        rule.map(Arc::new).map_err(halt)
    }
}
