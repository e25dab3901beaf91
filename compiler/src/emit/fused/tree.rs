//! A condition as a tree of tests, each with the questions it asks.

use tollgate_guest_abi::{Condition, Operand};
use wasm_encoder::Instruction;

use crate::emit::body::{BodyBuilder, BodyStep, PreparedCall, Unsupported, each_ask};
use crate::emit::condition::{Connective, EMPTY_CHAIN};
use crate::emit::fused::sets;

/// A condition.
#[derive(Debug)]
pub(super) enum ConditionTree {
    /// Read left to right until one part decides; never empty.
    Chain(Connective, Vec<ConditionTree>),
    Not(Box<ConditionTree>),
    /// All of its questions are asked once it is reached.
    Test(Vec<WasmOperation>),
}

/// One operation of a function.
#[derive(Debug, Clone)]
pub(super) enum WasmOperation {
    Step(BodyStep),
    /// Leaves a bit on the stack.
    Bit(SymbolBit),
    /// Keeps what is on the stack as this bit.
    KeepBit(SymbolBit),
    /// Asks, and keeps the answer.
    Learn(PreparedCall),
    /// The same where the answer may be known.
    LearnUnlessKnown(PreparedCall),
}

/// Of an `i64` that has at most one bit: bit `n` is set when the symbol of a field is text `64 × word + n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SymbolBit {
    /// The field's slot.
    pub(super) field: i32,
    pub(super) word: i32,
}

impl WasmOperation {
    pub(super) const fn plain(instruction: Instruction<'static>) -> Self {
        WasmOperation::Step(BodyStep::Instruction(instruction))
    }
}

impl ConditionTree {
    pub(super) fn of(condition: &Condition, body: &mut BodyBuilder) -> Result<Self, Unsupported> {
        match condition {
            Condition::All(parts) => Self::chain(Connective::All, parts, body),
            Condition::Any(parts) => Self::chain(Connective::Any, parts, body),
            Condition::Not(inner) => Ok(ConditionTree::Not(Box::new(Self::of(inner, body)?))),
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
        let parts = parts.iter().map(|part| Self::of(part, body)).collect::<Result<_, _>>()?;
        Ok(ConditionTree::Chain(chain, parts))
    }

    /// As it is tested in a rule alone.
    fn test(condition: &Condition, body: &mut BodyBuilder) -> Result<Self, Unsupported> {
        body.condition(condition)?;
        let steps = std::mem::take(&mut body.steps);
        Ok(ConditionTree::Test(steps.into_iter().map(WasmOperation::Step).collect()))
    }

    /// Every test of the tree, from left to right.
    pub(super) fn each_test<'t>(&'t self, look_at: &mut impl FnMut(&'t [WasmOperation])) {
        match self {
            ConditionTree::Chain(_, parts) => parts.iter().for_each(|part| part.each_test(look_at)),
            ConditionTree::Not(inner) => inner.each_test(look_at),
            ConditionTree::Test(operations) => look_at(operations),
        }
    }

    /// The test that is reached in any case.
    pub(super) fn first_test(&self) -> &[WasmOperation] {
        match self {
            ConditionTree::Chain(_, parts) => parts.first().map_or(&[], ConditionTree::first_test),
            ConditionTree::Not(inner) => inner.first_test(),
            ConditionTree::Test(operations) => operations,
        }
    }
}

/// Every question of a test, those inside arguments first.
pub(super) fn asks(operations: &[WasmOperation]) -> Vec<&PreparedCall> {
    let mut asks = Vec::new();
    for operation in operations {
        if let WasmOperation::Step(step) = operation {
            each_ask(std::slice::from_ref(step), &mut |ask| asks.push(ask));
        }
    }
    asks
}
