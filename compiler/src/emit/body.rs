//! Conditions as steps: instructions, and questions to the host between them.
//!
//! What a question becomes is settled later, by who writes the function: a call where it stands, or a local that holds
//! the answer. [`single_rule`](crate::emit::single_rule) and [`fused`](crate::emit::fused) are those two.

use tollgate_guest_abi::imports::{Call, ValueType, operand as reference};
use tollgate_guest_abi::{Cost, FieldPath, Needs, Operand};
use wasm_encoder::{BlockType, Instruction, ValType};

use crate::emit::slots::SlotTable;

/// A form that no script can have.
#[derive(Debug)]
pub(super) struct Unsupported(pub(super) &'static str);

/// Holds the left side of a comparison while both sides are needed twice.
pub(super) const LEFT: u32 = 0;
/// Holds the right side of a comparison, or a divisor.
pub(super) const RIGHT: u32 = 1;
/// [`LEFT`] and [`RIGHT`]; locals for answers come behind them.
pub(super) const N_SCRATCH: u32 = 2;

/// A call to the host with its slots: the same question has the same answer however often it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostCall {
    pub(super) call: Call,
    /// One for each argument; a computed number has one as well. The second is 0 where there is one argument.
    pub(super) slots: [i32; 2],
}

/// A question, and how its argument is computed if that is a number.
#[derive(Debug, Clone)]
pub(super) struct PreparedCall {
    pub(super) question: HostCall,
    pub(super) argument: Vec<BodyStep>,
}

/// One step of a condition.
#[derive(Debug, Clone)]
pub(super) enum BodyStep {
    Instruction(Instruction<'static>),
    /// Leaves the answer on the stack.
    Ask(PreparedCall),
    /// The same, asked where it stands each time it is reached: for what is seldom reached.
    Call(HostCall),
}

/// The steps so far, and what they ask about.
#[derive(Debug, Default)]
pub(super) struct BodyBuilder {
    pub(super) steps: Vec<BodyStep>,
    pub(super) slots: SlotTable,
}

/// The finished function.
#[derive(Debug)]
pub(super) struct FunctionCode {
    /// Rows of the import table it calls, in table order: call `n` is function `n` of the module.
    pub(super) calls: Vec<Call>,
    /// Its locals, in groups of one type.
    pub(super) locals: Vec<(u32, ValType)>,
    pub(super) instructions: Vec<Instruction<'static>>,
    pub(super) needs: Needs,
    pub(super) cost: Cost,
}

impl HostCall {
    /// A look at one field: it takes the host a few nanoseconds, and says nothing that a rule could wait for.
    pub(super) const fn is_read(self) -> bool {
        matches!(self.call, Call::Number | Call::Symbol | Call::Kind | Call::Comparable)
    }

    /// The aggregate or the previous transaction that it asks the history about.
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

    /// The slots that are pushed before the call, behind a computed number.
    pub(super) fn constants(self) -> impl Iterator<Item = i32> {
        let params = self.call.import().params.iter();
        params.zip(self.slots).filter(|(param, _)| **param == ValueType::I32).map(|(_, slot)| slot)
    }

    /// What the answer is.
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

    /// Asks about a slot.
    pub(super) fn ask(&mut self, call: Call, slot: i32) {
        self.ask_both(call, slot, 0);
    }

    /// Asks about two slots.
    pub(super) fn ask_both(&mut self, call: Call, first: i32, second: i32) {
        let question = HostCall { call, slots: [first, second] };
        self.steps.push(BodyStep::Ask(PreparedCall { question, argument: Vec::new() }));
    }

    /// Asks about two operands or slots where this stands, whatever is known already.
    pub(super) fn call(&mut self, call: Call, first: i32, second: i32) {
        self.steps.push(BodyStep::Call(HostCall { call, slots: [first, second] }));
    }

    /// Asks about a number that is computed and a slot.
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

    /// `number`, `symbol` or `kind` of a field.
    pub(super) fn read(&mut self, call: Call, field: &FieldPath) {
        let slot = self.slots.field(field);
        self.ask(call, slot);
    }
}

/// Every question of these steps that is asked where it stands.
pub(super) fn each_call(steps: &[BodyStep], look_at: &mut impl FnMut(HostCall)) {
    for step in steps {
        match step {
            BodyStep::Instruction(_) => {}
            BodyStep::Ask(ask) => each_call(&ask.argument, look_at),
            BodyStep::Call(question) => look_at(*question),
        }
    }
}

/// Every question of these steps that is asked once, those inside arguments first.
pub(super) fn each_ask<'s>(steps: &'s [BodyStep], look_at: &mut impl FnMut(&'s PreparedCall)) {
    for step in steps {
        if let BodyStep::Ask(ask) = step {
            each_ask(&ask.argument, look_at);
            look_at(ask);
        }
    }
}

/// A count that is far below the limit of its type: no module is larger than 64 KiB.
pub(super) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The index of an imported function: imports are a module's only functions before `evaluate`, in the order of `calls`.
pub(super) fn index(calls: &[Call], call: Call) -> u32 {
    count(calls.iter().take_while(|used| **used != call).count())
}
