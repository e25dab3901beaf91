//! From rules to a body.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use tollgate_compiler::CheckedRule;
use tollgate_compiler::emit::{EmitError, Selection, emit, repetitions};
use tollgate_guest_abi::limits::FUEL_PER_RUN;

use super::{joint, member};
use crate::registry::{BoundModule, BoundRule, FusedBody};
use crate::sandbox::{AdmissionRefusal, Sandbox};

/// More than calling a module takes before its first instruction.
const FUEL_OF_A_CALL: u64 = 16;

/// Rules as large as this, in bytes of their own module or in instructions, stay alone: little is gained by calling them
/// together, and they leave no room for others.
const LARGE: (usize, u32) = (16 * 1024, 1_000);

/// Whether a rule may be put together with others.
pub(super) fn is_fusible(rule: &BoundRule) -> bool {
    let (bytes_max, instructions_max) = LARGE;
    let is_small = rule.instruction.record.module.len() <= bytes_max
        && rule.bound.module.manifest.cost.instructions <= instructions_max;
    rule.checked.is_some() && !rule.is_quarantined() && is_small
}

/// A body of these rules, or several when they are too much for one module; none where they cannot be put together, which
/// is said in the log and changes no answer.
pub(super) fn make(sandbox: &Sandbox, rules: &[&BoundRule], is_full: bool) -> Vec<Arc<FusedBody>> {
    if rules.len() < 2 {
        return Vec::new();
    }
    // What fails here is an optimisation, and must not stand in the way of a rule set.
    match panic::catch_unwind(AssertUnwindSafe(|| body_of(sandbox, rules, is_full))) {
        Ok(Ok(body)) => vec![Arc::new(body)],
        Ok(Err(FusionError::Emit(EmitError::TooLarge { .. } | EmitError::TooComplex { .. }))) => {
            let (left, right) = rules.split_at(rules.len() / 2);
            [make(sandbox, left, true), make(sandbox, right, true)].concat()
        }
        Ok(Err(error)) => {
            tracing::error!(error = %error, rules = rules.len(), "rules are run one by one");
            Vec::new()
        }
        Err(_) => {
            tracing::error!(rules = rules.len(), "putting rules together panicked; they are run one by one");
            Vec::new()
        }
    }
}

/// Why some rules have no body.
#[derive(Debug, thiserror::Error)]
enum FusionError {
    #[error("{0}")]
    Emit(EmitError),
    #[error(transparent)]
    Refused(#[from] AdmissionRefusal),
    #[error("a body asks what no rule asks")]
    Question,
}

impl From<EmitError> for FusionError {
    fn from(error: EmitError) -> Self {
        Self::Emit(error)
    }
}

fn body_of(sandbox: &Sandbox, rules: &[&BoundRule], is_full: bool) -> Result<FusedBody, FusionError> {
    let checked: Vec<CheckedRule> =
        rules.iter().filter_map(|rule| rule.checked.as_deref().map(nameless)).collect();
    let emitted = emit(&checked)?;
    let module = sandbox.admit(&emitted.bytes)?.within(fuel(rules, &checked)?);
    let parts: Vec<&BoundModule> = rules.iter().map(|rule| &*rule.bound).collect();
    let mut bound = BoundModule::of_parts(module, &parts).ok_or(FusionError::Question)?;
    bound.searches = joint::searches(&checked, &bound.module.manifest.needs);
    bound.questions = joint::questions(&checked, &bound);
    let selections = checked.iter().map(|rule| Selection::of(&rule.when));
    Ok(FusedBody {
        members: rules.iter().map(|rule| member(rule)).collect(),
        bound: Arc::new(bound),
        selection: selections.reduce(|left, right| left.or(&right)).unwrap_or_default(),
        is_full,
    })
}

/// Without what people read: of a body nobody asks for it, and it takes room.
fn nameless(rule: &CheckedRule) -> CheckedRule {
    let mut rule = rule.clone();
    rule.entry.description = None;
    rule.entry.reason = String::new();
    rule
}

/// So little that a body runs out of it whenever the module of one of its rules would.
///
/// A script's module pays for its instructions, of which it executes each at most once, and for what the history takes, as
/// often as it asks. The body asks all that the rule asks, each question once: what it pays is at least what the rule pays for
/// the history, divided by how often the rule asks the same.
fn fuel(rules: &[&BoundRule], checked: &[CheckedRule]) -> Result<u64, EmitError> {
    let mut least = FUEL_PER_RUN;
    for (rule, checked) in rules.iter().zip(checked) {
        let own = u64::from(rule.bound.module.manifest.cost.instructions) + FUEL_OF_A_CALL;
        // A rule that asks the history nothing pays for nothing that it could run out by.
        let left = FUEL_PER_RUN.saturating_sub(own).checked_div(repetitions(checked)?.into());
        least = least.min(left.unwrap_or(FUEL_PER_RUN));
    }
    Ok(least)
}
