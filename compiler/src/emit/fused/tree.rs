//! Conditions as trees of tests, each with its host calls.

use tollgate_guest_abi::{Condition, Operand};

use crate::emit::body::{BodyBuilder, PreparedCall, Unsupported, each_ask};
use crate::emit::condition::{Connective, EMPTY_CHAIN};
use crate::emit::fused::operation::WasmOperation;
use crate::emit::fused::sets;

#[derive(Debug)]
pub(super) enum ConditionTree {
    /// Evaluated left to right until one part decides; never empty.
    Chain(Connective, Vec<ConditionTree>),
    Not(Box<ConditionTree>),
    /// A test; reaching it makes all of its host calls.
    Test(Vec<WasmOperation>),
}

impl ConditionTree {
    pub(super) fn from_condition(condition: &Condition, body: &mut BodyBuilder) -> Result<Self, Unsupported> {
        match condition {
            Condition::All(parts) => Self::chain(Connective::All, parts, body),
            Condition::Any(parts) => Self::chain(Connective::Any, parts, body),
            Condition::Not(inner) => Ok(ConditionTree::Not(Box::new(Self::from_condition(inner, body)?))),
            Condition::In { value: Operand::Field(path), list, negated } => {
                match sets::test(path, list, *negated, &mut body.slots) {
                    Some(operations) => Ok(ConditionTree::Test(operations)),
                    None => Self::test(condition, body),
                }
            }
            Condition::Compare { .. }
            | Condition::In { .. }
            | Condition::Matches { .. }
            | Condition::Previous(_) => Self::test(condition, body),
        }
    }

    fn chain(chain: Connective, parts: &[Condition], body: &mut BodyBuilder) -> Result<Self, Unsupported> {
        if parts.is_empty() {
            return Err(EMPTY_CHAIN);
        }
        let parts = parts.iter().map(|part| Self::from_condition(part, body)).collect::<Result<_, _>>()?;
        Ok(ConditionTree::Chain(chain, parts))
    }

    /// Builds the same test as for a single rule.
    fn test(condition: &Condition, body: &mut BodyBuilder) -> Result<Self, Unsupported> {
        body.condition(condition)?;
        let steps = std::mem::take(&mut body.steps);
        Ok(ConditionTree::Test(steps.into_iter().map(WasmOperation::Step).collect()))
    }

    pub(super) fn each_test<'t>(&'t self, look_at: &mut impl FnMut(&'t [WasmOperation])) {
        match self {
            ConditionTree::Chain(_, parts) => parts.iter().for_each(|part| part.each_test(look_at)),
            ConditionTree::Not(inner) => inner.each_test(look_at),
            ConditionTree::Test(operations) => look_at(operations),
        }
    }

    /// Returns the test that is always reached.
    pub(super) fn first_test(&self) -> &[WasmOperation] {
        match self {
            ConditionTree::Chain(_, parts) => parts.first().map_or(&[], ConditionTree::first_test),
            ConditionTree::Not(inner) => inner.first_test(),
            ConditionTree::Test(operations) => operations,
        }
    }
}

/// Returns every host call of a test, those in arguments first.
pub(super) fn asks(operations: &[WasmOperation]) -> Vec<&PreparedCall> {
    let mut asks = Vec::new();
    for operation in operations {
        if let WasmOperation::Step(step) = operation {
            each_ask(std::slice::from_ref(step), &mut |ask| asks.push(ask));
        }
    }
    asks
}
