//! What is asked how often, and what is asked in any case.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_guest_abi::imports::Call;

use crate::emit::body::{BodyStep, HostCall, PreparedCall, each_call};
use crate::emit::fused::tree::{ConditionTree, SymbolBit, WasmOperation, asks};

/// What the rules of a slice ask about.
#[derive(Debug, Default)]
pub(super) struct SlicePlan {
    /// In how many places each question stands.
    n_places: BTreeMap<HostCall, usize>,
    /// The bits that some test looks at.
    pub(super) bits: BTreeSet<SymbolBit>,
    /// Questions that are asked whatever the transaction is: some rule begins with them.
    pub(super) certain: BTreeSet<HostCall>,
    /// Those of them that stand in several places, and are no reads, in an order in which they can be asked.
    pub(super) in_front: Vec<PreparedCall>,
    /// Questions that are asked where they stand: which calls, and how many places.
    called: BTreeSet<Call>,
    n_called: usize,
}

impl SlicePlan {
    pub(super) fn of(trees: &[ConditionTree]) -> Self {
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
                        // Making a bit takes two looks at the symbol.
                        *self.n_places.entry(symbol).or_default() += 2;
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
        let n_places = self.n_places.entry(*question).or_default();
        *n_places += 1;
        // Wherever the question is asked, it is asked once, and so is what its argument asks.
        if *n_places == 1 {
            argument.iter().for_each(|step| self.count_step(step));
        }
    }

    /// Whether its answer is kept in a local: a question with one place is asked there.
    pub(super) fn is_kept(&self, question: HostCall) -> bool {
        self.n_places.get(&question).is_some_and(|&n| n > 1)
    }

    /// The questions whose answers are kept.
    pub(super) fn kept(&self) -> impl Iterator<Item = HostCall> {
        self.n_places.iter().filter(|&(_, &n)| n > 1).map(|(&question, _)| question)
    }

    /// Every call that some question is.
    pub(super) fn calls(&self) -> BTreeSet<Call> {
        self.n_places.keys().map(|question| question.call).chain(self.called.iter().copied()).collect()
    }

    /// The most questions that one run asks.
    pub(super) fn n_questions(&self) -> usize {
        self.n_places.len() + self.n_called
    }
}
