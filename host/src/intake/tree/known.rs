//! What is in force before a change: rules that run, or, at the start, records that are yet to be compiled.

use std::sync::Arc;

use crate::instruction::{InstructionId, InstructionRecord};
use crate::intake::tree::compiling::Pace;
use crate::intake::{Draft, Identity, IntakeError, Means};
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

/// A stored instruction that can neither be compiled nor taken as it was compiled before.
#[derive(Debug, thiserror::Error)]
#[error("the stored instruction `{name}` cannot be brought into force: {reason}")]
pub(in crate::intake) struct Stuck {
    pub(in crate::intake) name: String,
    pub(in crate::intake) reason: String,
}

impl Known {
    pub(in crate::intake) fn record(&self) -> &InstructionRecord {
        match self {
            Known::InForce(rule) => &rule.instruction.record,
            Known::Stored(record) => record,
        }
    }

    /// The rule as it was. A stored one is compiled anew, or, where this version of the compiler refuses it, taken as it was
    /// compiled before.
    pub(in crate::intake) fn rule(&self, means: &Means, lists: &Lists) -> Result<Arc<Rule>, Stuck> {
        let record = match self {
            Known::InForce(rule) => return Ok(Arc::clone(rule)),
            Known::Stored(record) => record,
        };
        let stuck = |error: IntakeError| Stuck { name: record.name.clone(), reason: error.to_string() };
        let draft = Draft::compile(&means.sandbox, lists, record.script.clone()).or_else(|error| {
            tracing::warn!(rule.name = record.name, error = %error, "its stored module stays in force");
            Draft::stored(&means.sandbox, record)
        });
        let rule = draft.and_then(|draft| draft.bind(&means.history, Identity::of(record)));
        rule.map(Arc::new).map_err(stuck)
    }
}
