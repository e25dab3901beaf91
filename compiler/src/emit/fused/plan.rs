//! Counts the uses of each host call and finds those that are always made.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_guest_abi::imports::Call;

use crate::emit::body::{BodyStep, HostCall, PreparedCall, each_call};
use crate::emit::fused::operation::{SymbolBit, WasmOperation};
use crate::emit::fused::tree::{ConditionTree, asks};

/// The host calls of a slice of rules.
#[derive(Debug, Default)]
pub(super) struct SlicePlan {
    /// Number of places that use each call.
    n_uses: BTreeMap<HostCall, usize>,
    /// Symbol bits used by some test.
    pub(super) bits: BTreeSet<SymbolBit>,
    /// Calls that are always made, because some rule begins with them.
    pub(super) certain: BTreeSet<HostCall>,
    /// Calls of `certain` with several uses, other than reads, in an order in which they can be made.
    pub(super) in_front: Vec<PreparedCall>,
    /// In-place calls: the imports, and the number of places.
    called: BTreeSet<Call>,
    n_called: usize,
}

impl SlicePlan {
    pub(super) fn new(trees: &[ConditionTree]) -> Self {
        let mut plan = SlicePlan::default();
        for tree in trees {
            tree.each_test(&mut |operations| plan.count(operations));
        }
        for tree in trees {
            for ask in asks(tree.first_test()) {
                let question = ask.question;
                if plan.certain.insert(question) && plan.is_kept(question) && !question.is_read() {
                    plan.in_front.push(ask.clone());
                }
            }
        }
        plan
    }

    fn count(&mut self, operations: &[WasmOperation]) {
        for operation in operations {
            match operation {
                WasmOperation::Step(step) => self.count_step(step),
                WasmOperation::Bit(bit) => {
                    if self.bits.insert(*bit) {
                        let symbol = HostCall { call: Call::Symbol, slots: [bit.field, 0] };
                        // Computing a bit reads the symbol twice.
                        *self.n_uses.entry(symbol).or_default() += 2;
                    }
                }
                WasmOperation::KeepBit(_) | WasmOperation::Learn(_) | WasmOperation::LearnUnlessKnown(_) => {}
            }
        }
    }

    fn count_step(&mut self, step: &BodyStep) {
        each_call(std::slice::from_ref(step), &mut |question| {
            self.called.insert(question.call);
            self.n_called += 1;
        });
        let BodyStep::Ask(PreparedCall { question, argument }) = step else { return };
        let n_uses = self.n_uses.entry(*question).or_default();
        *n_uses += 1;
        // Each call is made once, so the calls in its argument are made once too.
        if *n_uses == 1 {
            argument.iter().for_each(|step| self.count_step(step));
        }
    }

    /// Returns whether the result is kept in a local. A call with a single use is made in place.
    pub(super) fn is_kept(&self, question: HostCall) -> bool {
        self.n_uses.get(&question).is_some_and(|&n| n > 1)
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = HostCall> {
        self.n_uses.iter().filter(|&(_, &n)| n > 1).map(|(&question, _)| question)
    }

    pub(super) fn calls(&self) -> BTreeSet<Call> {
        self.n_uses.keys().map(|question| question.call).chain(self.called.iter().copied()).collect()
    }

    /// Returns the most host calls of one run.
    pub(super) fn n_questions(&self) -> usize {
        self.n_uses.len() + self.n_called
    }
}
