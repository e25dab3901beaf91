//! Builds a body from rules.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use tollgate_compiler::CheckedRule;
use tollgate_compiler::emit::{EmitError, Selection, emit, repetitions};
use tollgate_guest_abi::limits::FUEL_PER_RUN;

use super::{Admit, joint, member};
use crate::registry::{BoundModule, BoundRule, FUEL_OF_A_CALL, FusedBody};
use crate::sandbox::AdmissionRefusal;

/// Fuel of a rule that its lookups leave to everything else. A body is given up when one of its rules might use more.
pub(crate) const FUEL_BESIDE_LOOKUPS: u64 = 200_000;

/// Rules above this size, in bytes of their module or in instructions, are not fused: it saves little, and leaves no
/// room for others.
const LARGE: (usize, u32) = (16 * 1024, 1_000);

pub(super) fn is_fusible(rule: &BoundRule) -> bool {
    let (bytes_max, instructions_max) = LARGE;
    let is_small = rule.instruction.record.module.len() <= bytes_max
        && rule.bound.module.manifest.cost.instructions <= instructions_max;
    rule.instruction.checked.is_some() && !rule.is_quarantined() && is_small
}

/// Builds a body from these rules, or several if they exceed the limits of one module. Returns none if they cannot be
/// fused; the error is logged and changes no answer.
pub(super) fn make(admit: Admit<'_>, rules: &[&BoundRule], is_full: bool) -> Vec<Arc<FusedBody>> {
    if rules.len() < 2 {
        return Vec::new();
    }
    // Fusion is an optimisation, so its failure must not prevent a rule set.
    match panic::catch_unwind(AssertUnwindSafe(|| body_of(admit, rules, is_full))) {
        Ok(Ok(body)) => vec![Arc::new(body)],
        Ok(Err(FusionError::Emit(EmitError::TooLarge { .. } | EmitError::TooComplex { .. }))) => {
            let (left, right) = rules.split_at(rules.len() / 2);
            [make(admit, left, true), make(admit, right, true)].concat()
        }
        Ok(Err(error)) => {
            tracing::error!(error = %error, rules = rules.len(), "rules cannot be fused; they are run one by one");
            Vec::new()
        }
        Err(_) => {
            tracing::error!(rules = rules.len(), "fusing rules panicked; they are run one by one");
            Vec::new()
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum FusionError {
    #[error("{0}")]
    Emit(EmitError),
    #[error(transparent)]
    Refused(#[from] AdmissionRefusal),
    #[error("a fused body makes a query that none of its rules makes")]
    Question,
}

impl From<EmitError> for FusionError {
    fn from(error: EmitError) -> Self {
        Self::Emit(error)
    }
}

fn body_of(admit: Admit<'_>, rules: &[&BoundRule], is_full: bool) -> Result<FusedBody, FusionError> {
    let checked: Vec<CheckedRule> =
        rules.iter().filter_map(|rule| rule.instruction.checked.as_deref().map(nameless)).collect();
    let emitted = emit(&checked)?;
    let module = admit(&emitted.bytes)?.within(fuel(rules, &checked)?);
    let parts: Vec<&BoundModule> = rules.iter().map(|rule| &*rule.bound).collect();
    let mut bound = BoundModule::of_parts(module, &parts).ok_or(FusionError::Question)?;
    bound.searches = joint::searches(&checked, &bound.module.manifest.needs);
    bound.questions = joint::questions(&checked, &bound);
    let selections = checked.iter().map(|rule| Selection::of_condition(&rule.when));
    Ok(FusedBody {
        members: rules.iter().map(|rule| member(rule)).collect(),
        bound: Arc::new(bound),
        selection: selections.reduce(|left, right| left.or(&right)).unwrap_or_default(),
        is_full,
    })
}

/// Removes the texts meant for people, which a body does not use.
fn nameless(rule: &CheckedRule) -> CheckedRule {
    let mut rule = rule.clone();
    rule.entry.description = None;
    rule.entry.reason = String::new();
    rule
}

/// The fuel limit of a body: low enough that it runs out whenever the module of one of its rules would.
///
/// A script's module pays for each instruction at most once, and for every history query. The body makes each distinct
/// query once. It therefore pays at least the rule's cost for the history, divided by the number of repetitions.
fn fuel(rules: &[&BoundRule], checked: &[CheckedRule]) -> Result<u64, EmitError> {
    let mut least = FUEL_PER_RUN;
    for (rule, checked) in rules.iter().zip(checked) {
        let own = u64::from(rule.bound.module.manifest.cost.instructions) + FUEL_OF_A_CALL;
        // A rule without history queries cannot run out of fuel.
        let left = (FUEL_PER_RUN - FUEL_BESIDE_LOOKUPS).saturating_sub(own);
        let left = left.checked_div(repetitions(checked)?.into());
        least = least.min(left.unwrap_or(FUEL_PER_RUN));
    }
    Ok(least)
}
