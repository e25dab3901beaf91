//! A condition as a tree of tests, each with the questions it asks.

use tollgate_guest_abi::{Condition, Operand};
use wasm_encoder::Instruction;

use crate::emit::body::{Ask, Body, Step, Unsupported, each_ask};
use crate::emit::condition::{Chain, EMPTY_CHAIN};
use crate::emit::fused::sets;

/// A condition.
#[derive(Debug)]
pub(super) enum Tree {
    /// Read left to right until one part decides; never empty.
    Chain(Chain, Vec<Tree>),
    Not(Box<Tree>),
    /// All of its questions are asked once it is reached.
    Test(Vec<Operation>),
}

/// One operation of a function.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Step(Step),
    /// Leaves a bit on the stack.
    Bit(Bit),
    /// Keeps what is on the stack as this bit.
    KeepBit(Bit),
    /// Asks, and keeps the answer.
    Learn(Ask),
    /// The same where the answer may be known.
    LearnUnlessKnown(Ask),
}

/// Of an `i64` that has at most one bit: bit `n` is set when the symbol of a field is text `64 × word + n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bit {
    /// The field's slot.
    pub(super) field: i32,
    pub(super) word: i32,
}

impl Operation {
    pub(super) const fn plain(instruction: Instruction<'static>) -> Self {
        Operation::Step(Step::Instruction(instruction))
    }
}

impl Tree {
    pub(super) fn of(condition: &Condition, body: &mut Body) -> Result<Self, Unsupported> {
        match condition {
            Condition::All(parts) => Self::chain(Chain::All, parts, body),
            Condition::Any(parts) => Self::chain(Chain::Any, parts, body),
            Condition::Not(inner) => Ok(Tree::Not(Box::new(Self::of(inner, body)?))),
            Condition::In { value: Operand::Field(path), list, negated } => {
                match sets::test(path, list, *negated, &mut body.slots) {
                    Some(operations) => Ok(Tree::Test(operations)),
                    None => Self::test(condition, body),
                }
            }
            Condition::Compare { .. }
            | Condition::In { .. }
            | Condition::Matches { .. }
            | Condition::Previous(_) => Self::test(condition, body),
        }
    }

    fn chain(chain: Chain, parts: &[Condition], body: &mut Body) -> Result<Self, Unsupported> {
        if parts.is_empty() {
            return Err(EMPTY_CHAIN);
        }
        let parts = parts.iter().map(|part| Self::of(part, body)).collect::<Result<_, _>>()?;
        Ok(Tree::Chain(chain, parts))
    }

    /// As it is tested in a rule alone.
    fn test(condition: &Condition, body: &mut Body) -> Result<Self, Unsupported> {
        body.condition(condition)?;
        let steps = std::mem::take(&mut body.steps);
        Ok(Tree::Test(steps.into_iter().map(Operation::Step).collect()))
    }

    /// Every test of the tree, from left to right.
    pub(super) fn each_test<'t>(&'t self, look_at: &mut impl FnMut(&'t [Operation])) {
        match self {
            Tree::Chain(_, parts) => parts.iter().for_each(|part| part.each_test(look_at)),
            Tree::Not(inner) => inner.each_test(look_at),
            Tree::Test(operations) => look_at(operations),
        }
    }

    /// The test that is reached in any case.
    pub(super) fn first_test(&self) -> &[Operation] {
        match self {
            Tree::Chain(_, parts) => parts.first().map_or(&[], Tree::first_test),
            Tree::Not(inner) => inner.first_test(),
            Tree::Test(operations) => operations,
        }
    }
}

/// Every question of a test, those inside arguments first.
pub(super) fn asks(operations: &[Operation]) -> Vec<&Ask> {
    let mut asks = Vec::new();
    for operation in operations {
        if let Operation::Step(step) = operation {
            each_ask(std::slice::from_ref(step), &mut |ask| asks.push(ask));
        }
    }
    asks
}
