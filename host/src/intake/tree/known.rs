//! What is in force before a change: rules that run, or, at the start, records that are yet to be compiled.

use std::sync::Arc;

use crate::instruction::{InstructionId, InstructionRecord};
use crate::intake::tree::compiling::Pace;
use crate::intake::{Draft, Identity, IntakeError, Means, granting};
use crate::registry::{Lists, Rule};

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
            Some(script) => Draft::compile(&means.sandbox, lists, script.clone()).or_else(|error| {
                tracing::warn!(rule.name = record.name, error = %error, "its stored module stays in force");
                Draft::stored(&means.sandbox, record)
            }),
            None => {
                // What is not granted any more is known by its manifest, which has to be read first.
                let grant = granting::budget(means, &record.source).unwrap_or_default();
                Draft::upload(&means.artifacts, record.module.clone(), grant)
            }
        };
        let rule = draft.and_then(|draft| {
            let quarantine = granting::quarantine(means, record, draft.manifest());
            draft.bind(&means.history, Identity { quarantine, ..Identity::of(record) })
        });
        rule.map(Arc::new).map_err(halt)
    }
}
