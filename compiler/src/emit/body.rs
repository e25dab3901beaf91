//! Intermediate form of conditions: instructions and host calls.
//!
//! The writer of the function decides later whether a host call is made in place or its result is read from a local.
//! [`single_rule`](crate::emit::single_rule) and [`fused`](crate::emit::fused) are the two writers.

use tollgate_guest_abi::imports::{Call, ValueType, operand as reference};
use tollgate_guest_abi::{Cost, FieldPath, Needs, Operand};
use wasm_encoder::{BlockType, Instruction, ValType};

use crate::emit::slots::SlotTable;

/// A form that no script can produce.
#[derive(Debug)]
pub(super) struct Unsupported(pub(super) &'static str);

/// Local for the left side of a comparison when both sides are needed twice.
pub(super) const LEFT: u32 = 0;
/// Local for the right side of a comparison, or for a divisor.
pub(super) const RIGHT: u32 = 1;
/// Number of scratch locals: [`LEFT`] and [`RIGHT`]. Locals for results follow them.
pub(super) const N_SCRATCH: u32 = 2;

/// A host call with its slots. Equal calls have equal results within one evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostCall {
    pub(super) call: Call,
    /// One slot per argument, also for a computed number. The second is 0 when there is one argument.
    pub(super) slots: [i32; 2],
}

/// A host call, and the steps that compute its argument if that is a number.
#[derive(Debug, Clone)]
pub(super) struct PreparedCall {
    pub(super) question: HostCall,
    pub(super) argument: Vec<BodyStep>,
}

#[derive(Debug, Clone)]
pub(super) enum BodyStep {
    Instruction(Instruction<'static>),
    /// A host call whose result may be cached; leaves the result on the stack.
    Ask(PreparedCall),
    /// A host call made in place each time; used where it is rarely reached.
    Call(HostCall),
}

#[derive(Debug, Default)]
pub(super) struct BodyBuilder {
    pub(super) steps: Vec<BodyStep>,
    pub(super) slots: SlotTable,
}

#[derive(Debug)]
pub(super) struct FunctionCode {
    /// The imports it calls, in table order: call `n` is function `n` of the module.
    pub(super) calls: Vec<Call>,
    /// Locals, in groups of one type.
    pub(super) locals: Vec<(u32, ValType)>,
    pub(super) instructions: Vec<Instruction<'static>>,
    pub(super) needs: Needs,
    pub(super) cost: Cost,
}

impl HostCall {
    /// Returns whether this reads one field: a call of a few nanoseconds that has no effect.
    pub(super) const fn is_read(self) -> bool {
        matches!(self.call, Call::Number | Call::Symbol | Call::Kind | Call::Comparable)
    }

    /// Returns the history lookups that the call makes: `true` for a previous transaction, and the slot.
    pub(super) fn lookups(self) -> impl Iterator<Item = (bool, i32)> {
        let of_operand = |operand: i32| (operand % 4 == reference::AGGREGATE).then_some((false, operand / 4));
        let [first, second] = self.slots;
        let both = match self.call {
            Call::Aggregate | Call::ComparableAggregate => [Some((false, first)), None],
            Call::Previous => [Some((true, first)), None],
            Call::MemberOperand => [of_operand(first), None],
            Call::RelateOperands => [of_operand(first), of_operand(second)],
            _ => [None, None],
        };
        both.into_iter().flatten()
    }

    /// Returns the slots pushed before the call, after a computed number.
    pub(super) fn constants(self) -> impl Iterator<Item = i32> {
        let params = self.call.import().params.iter();
        params.zip(self.slots).filter(|(param, _)| **param == ValueType::I32).map(|(_, slot)| slot)
    }

    pub(super) fn answer(self) -> ValType {
        match self.call.import().result {
            Some(ValueType::F64) => ValType::F64,
            Some(ValueType::I32) | None => ValType::I32,
        }
    }
}

impl BodyBuilder {
    pub(super) fn push(&mut self, instruction: Instruction<'static>) {
        self.steps.push(BodyStep::Instruction(instruction));
    }

    pub(super) fn integer(&mut self, value: i32) {
        self.push(Instruction::I32Const(value));
    }

    pub(super) fn float(&mut self, value: f64) {
        self.push(Instruction::F64Const(value.into()));
    }

    pub(super) fn block(&mut self) {
        self.push(Instruction::Block(BlockType::Result(ValType::I32)));
    }

    /// Adds a cacheable host call with one slot.
    pub(super) fn ask(&mut self, call: Call, slot: i32) {
        self.ask_both(call, slot, 0);
    }

    pub(super) fn ask_both(&mut self, call: Call, first: i32, second: i32) {
        let question = HostCall { call, slots: [first, second] };
        self.steps.push(BodyStep::Ask(PreparedCall { question, argument: Vec::new() }));
    }

    /// Adds an in-place host call with two operands or slots.
    pub(super) fn call(&mut self, call: Call, first: i32, second: i32) {
        self.steps.push(BodyStep::Call(HostCall { call, slots: [first, second] }));
    }

    /// Adds a cacheable host call with a computed number and a slot.
    pub(super) fn ask_of_number(
        &mut self,
        call: Call,
        number: &Operand,
        slot: i32,
    ) -> Result<(), Unsupported> {
        let before = std::mem::take(&mut self.steps);
        let computed = self.number(number);
        let argument = std::mem::replace(&mut self.steps, before);
        computed?;
        let question = HostCall { call, slots: [self.slots.computed(number), slot] };
        self.steps.push(BodyStep::Ask(PreparedCall { question, argument }));
        Ok(())
    }

    /// Adds `number`, `symbol` or `kind` of a field.
    pub(super) fn read(&mut self, call: Call, field: &FieldPath) {
        let slot = self.slots.field(field);
        self.ask(call, slot);
    }
}

/// Visits every in-place host call of these steps.
pub(super) fn each_call(steps: &[BodyStep], look_at: &mut impl FnMut(HostCall)) {
    for step in steps {
        match step {
            BodyStep::Instruction(_) => {}
            BodyStep::Ask(ask) => each_call(&ask.argument, look_at),
            BodyStep::Call(question) => look_at(*question),
        }
    }
}

/// Visits every cacheable host call of these steps, those in arguments first.
pub(super) fn each_ask<'s>(steps: &'s [BodyStep], look_at: &mut impl FnMut(&'s PreparedCall)) {
    for step in steps {
        if let BodyStep::Ask(ask) = step {
            each_ask(&ask.argument, look_at);
            look_at(ask);
        }
    }
}

/// Converts a count; the limit of 64 KiB per module keeps it far below the maximum.
pub(super) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Returns the index of an imported function: imports precede `evaluate`, in the order of `calls`.
pub(super) fn index(calls: &[Call], call: Call) -> u32 {
    count(calls.iter().take_while(|used| **used != call).count())
}
