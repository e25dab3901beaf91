//! Orders the operations of the function.

use std::collections::BTreeSet;

use wasm_encoder::{BlockType, Instruction, ValType};

use crate::emit::body::{HostCall, PreparedCall};
use crate::emit::condition::Connective;
use crate::emit::fused::operation::WasmOperation;
use crate::emit::fused::plan::SlicePlan;
use crate::emit::fused::tree::{ConditionTree, asks};
use crate::emit::fused::{EAGER_MAX, sets};

#[derive(Debug)]
pub(super) struct FunctionBuilder<'p> {
    plan: &'p SlicePlan,
    operations: Vec<WasmOperation>,
    /// Calls whose results are known here on every path.
    known: BTreeSet<HostCall>,
    /// Calls whose results are known here on some path.
    asked: BTreeSet<HostCall>,
}

impl<'p> FunctionBuilder<'p> {
    /// Starts with the calls that are made up front.
    pub(super) fn new(plan: &'p SlicePlan) -> Self {
        let mut operations: Vec<WasmOperation> = plan
            .kept()
            .filter(|question| question.is_read())
            .map(|question| WasmOperation::Learn(PreparedCall { question, argument: Vec::new() }))
            .collect();
        operations.extend(plan.bits.iter().flat_map(|bit| sets::make(*bit)));
        operations.extend(plan.in_front.iter().cloned().map(WasmOperation::Learn));
        Self { plan, operations, known: plan.certain.clone(), asked: BTreeSet::new() }
    }

    /// Adds a rule: its condition, shifted to its bit of the result.
    pub(super) fn rule(&mut self, bit: usize, tree: &ConditionTree) {
        self.tree(tree);
        self.push(Instruction::I64ExtendI32U);
        if bit > 0 {
            #[expect(clippy::cast_possible_wrap, reason = "a bit of an i64")]
            self.push(Instruction::I64Const(bit as i64));
            self.push(Instruction::I64Shl);
            self.push(Instruction::I64Or);
        }
    }

    pub(super) fn into_operations(self) -> Vec<WasmOperation> {
        self.operations
    }

    fn push(&mut self, instruction: Instruction<'static>) {
        self.operations.push(WasmOperation::plain(instruction));
    }

    /// Adds a condition; leaves 0 or 1 on the stack.
    fn tree(&mut self, tree: &ConditionTree) {
        match tree {
            ConditionTree::Chain(chain, parts) => self.chain(*chain, parts),
            ConditionTree::Not(inner) => {
                self.tree(inner);
                self.push(Instruction::I32Eqz);
            }
            ConditionTree::Test(operations) => {
                asks(operations).into_iter().for_each(|ask| self.learn(ask));
                self.operations.extend(operations.iter().cloned());
            }
        }
    }

    /// Makes a shared result available before it is used.
    fn learn(&mut self, ask: &PreparedCall) {
        let question = ask.question;
        if question.is_read() || !self.known.insert(question) || !self.plan.is_kept(question) {
            return;
        }
        self.operations.push(if self.asked.insert(question) {
            // There are no backward branches, so a call with no earlier use cannot have been made.
            WasmOperation::Learn(ask.clone())
        } else {
            WasmOperation::LearnUnlessKnown(ask.clone())
        });
    }

    /// Adds one block, as for a single rule. Consecutive parts that use only known results are evaluated together.
    fn chain(&mut self, chain: Connective, parts: &[ConditionTree]) {
        let groups = self.groups(parts);
        let Some((last, before)) = groups.split_last() else { return };
        if before.is_empty() {
            self.group(chain, last);
            return;
        }
        self.push(Instruction::Block(BlockType::Result(ValType::I32)));
        self.push(Instruction::I32Const(chain.decided()));
        let mut known_in_any_case = None;
        for group in before {
            self.group(chain, group);
            known_in_any_case.get_or_insert_with(|| self.known.clone());
            if matches!(chain, Connective::All) {
                self.push(Instruction::I32Eqz);
            }
            self.push(Instruction::BrIf(0));
        }
        self.push(Instruction::Drop);
        self.group(chain, last);
        self.push(Instruction::End);
        self.known = known_in_any_case.unwrap_or_default();
    }

    fn group(&mut self, chain: Connective, parts: &[ConditionTree]) {
        for (n, part) in parts.iter().enumerate() {
            self.tree(part);
            if n > 0 {
                self.push(match chain {
                    Connective::All => Instruction::I32And,
                    Connective::Any => Instruction::I32Or,
                });
            }
        }
    }

    /// Splits the parts into groups: any part, followed by parts that use only results known by then.
    fn groups<'t>(&self, parts: &'t [ConditionTree]) -> Vec<&'t [ConditionTree]> {
        let mut groups = Vec::new();
        let mut known = self.known.clone();
        let mut rest = parts;
        while let Some((first, others)) = rest.split_first() {
            let mut n_tests = n_known_tests(first, &known).unwrap_or(1);
            known.extend(asks(first.first_test()).into_iter().map(|ask| ask.question));
            let n_others = others
                .iter()
                .take_while(|part| {
                    let more = n_known_tests(part, &known);
                    n_tests = n_tests.saturating_add(more.unwrap_or(EAGER_MAX));
                    n_tests <= EAGER_MAX
                })
                .count();
            let (group, behind) = rest.split_at(1 + n_others);
            groups.push(group);
            rest = behind;
        }
        groups
    }
}

/// Returns the number of tests if all of them use only known results or read fields.
fn n_known_tests(tree: &ConditionTree, known: &BTreeSet<HostCall>) -> Option<usize> {
    match tree {
        ConditionTree::Chain(_, parts) => parts.iter().map(|part| n_known_tests(part, known)).sum(),
        ConditionTree::Not(inner) => n_known_tests(inner, known),
        ConditionTree::Test(operations) => asks(operations)
            .into_iter()
            .all(|ask| ask.question.is_read() || known.contains(&ask.question))
            .then_some(1),
    }
}
