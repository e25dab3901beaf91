//! From rules to a body.

use std::sync::Arc;

use tollgate_compiler::CheckedRule;
use tollgate_compiler::emit::{EmitError, EmittedModule, emit};
use tollgate_guest_abi::limits::FUEL_PER_RUN;

use super::member;
use crate::registry::{Body, Bound, Rule};
use crate::sandbox::Sandbox;

/// More than calling a module takes before its first instruction.
const FUEL_OF_A_CALL: u64 = 16;

/// A body of these rules, or several when they are too much for one module; none where they cannot be put together, which
/// is said in the log and changes no answer.
pub(super) fn make(sandbox: &Sandbox, rules: &[&Rule], is_full: bool) -> Vec<Arc<Body>> {
    if rules.len() < 2 {
        return Vec::new();
    }
    let checked: Vec<CheckedRule> =
        rules.iter().filter_map(|rule| Some((**rule.checked.as_ref()?).clone())).collect();
    match emit(&checked) {
        Ok(module) => body_of(sandbox, rules, &module, is_full).into_iter().map(Arc::new).collect(),
        Err(EmitError::TooLarge { .. } | EmitError::TooComplex { .. }) => {
            let (left, right) = rules.split_at(rules.len() / 2);
            [make(sandbox, left, true), make(sandbox, right, true)].concat()
        }
        Err(error) => {
            tracing::error!(error = %error, rules = rules.len(), "rules are run one by one");
            Vec::new()
        }
    }
}

fn body_of(sandbox: &Sandbox, rules: &[&Rule], emitted: &EmittedModule, is_full: bool) -> Option<Body> {
    let module = match sandbox.admit(&emitted.bytes) {
        Ok(module) => module.within(fuel(rules)),
        Err(refusal) => {
            tracing::error!(error = %refusal, rules = rules.len(), "rules are run one by one");
            return None;
        }
    };
    let parts: Vec<&Bound> = rules.iter().map(|rule| &*rule.bound).collect();
    let Some(bound) = Bound::of_parts(module, &parts) else {
        tracing::error!(rules = rules.len(), "a body asks what no rule asks; its rules are run one by one");
        return None;
    };
    Some(Body { members: rules.iter().map(|rule| member(rule)).collect(), bound: Arc::new(bound), is_full })
}

/// So little that a body runs out of it whenever the module of one of its rules would: what the history takes is the same for
/// both, since a body asks all that its rules ask, and the instructions of the rules are left out of it.
fn fuel(rules: &[&Rule]) -> u64 {
    let instructions = |rule: &&Rule| u64::from(rule.bound.module.manifest.cost.instructions);
    let dearest = rules.iter().map(instructions).max().unwrap_or_default();
    FUEL_PER_RUN.saturating_sub(dearest + FUEL_OF_A_CALL)
}
