//! The one function of a module while it is being written.
//!
//! Calls are noted by their row in the import table; which index a call gets, and which fields are worth keeping in a
//! local, is known only when the last rule has been written. [`Body::finish`] settles both and counts the cost on the
//! same walk.

use std::collections::BTreeMap;

use tollgate_guest_abi::imports::{Call, ValueType};
use tollgate_guest_abi::{Condition, Cost, FieldPath, Needs};
use wasm_encoder::{BlockType, Instruction, ValType};

use crate::emit::slots::Slots;

/// A form that no script can have.
#[derive(Debug)]
pub(super) struct Unsupported(pub(super) &'static str);

/// Holds the left side of a comparison while both sides are needed twice.
pub(super) const LEFT: u32 = 0;
/// Holds the right side of a comparison, or a divisor.
pub(super) const RIGHT: u32 = 1;
/// [`LEFT`] and [`RIGHT`]; locals for kept fields come behind them.
const N_SCRATCH: u32 = 2;
/// Most fields kept in locals. The host refuses functions with more than 256 locals.
const KEPT_MAX: usize = 200;

/// One step of the function.
#[derive(Debug)]
enum Step {
    Instruction(Instruction<'static>),
    /// A call whose arguments are on the stack.
    Call(Call),
    /// A question about one field: its answer may be kept.
    Read(Call, i32),
}

/// The function so far, and what it asks about.
#[derive(Debug, Default)]
pub(super) struct Body {
    steps: Vec<Step>,
    pub(super) slots: Slots,
}

/// The finished function.
#[derive(Debug)]
pub(super) struct Code {
    /// Rows of the import table it calls, in table order: call `n` is function `n` of the module.
    pub(super) calls: Vec<Call>,
    /// Its locals, in groups of one type.
    pub(super) locals: Vec<(u32, ValType)>,
    pub(super) instructions: Vec<Instruction<'static>>,
    pub(super) needs: Needs,
    pub(super) cost: Cost,
}

impl Body {
    /// Adds a rule: its condition, moved to its bit of the answer.
    pub(super) fn rule(&mut self, bit: usize, when: &Condition) -> Result<(), Unsupported> {
        self.condition(when)?;
        self.push(Instruction::I64ExtendI32U);
        if bit > 0 {
            #[expect(clippy::cast_possible_wrap, reason = "a bit of an i64")]
            self.push(Instruction::I64Const(bit as i64));
            self.push(Instruction::I64Shl);
            self.push(Instruction::I64Or);
        }
        Ok(())
    }

    pub(super) fn push(&mut self, instruction: Instruction<'static>) {
        self.steps.push(Step::Instruction(instruction));
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

    /// Calls the host with what is on the stack.
    pub(super) fn call(&mut self, call: Call) {
        self.steps.push(Step::Call(call));
    }

    /// Calls the host with a slot behind what is on the stack.
    pub(super) fn call_with(&mut self, call: Call, slot: i32) {
        self.integer(slot);
        self.call(call);
    }

    /// `number`, `symbol` or `kind` of a field.
    pub(super) fn read(&mut self, call: Call, field: &FieldPath) {
        let slot = self.slots.field(field);
        self.steps.push(Step::Read(call, slot));
    }

    /// Settles calls and locals.
    pub(super) fn finish(self) -> Code {
        let kept = Kept::of(&self.steps);
        let calls = calls_in(&self.steps);
        let mut writer = Writer { calls: &calls, kept: &kept, instructions: Vec::new(), n_calls: 0 };
        writer.keep();
        for step in self.steps {
            writer.step(step);
        }
        writer.instructions.push(Instruction::End);
        let cost = Cost {
            instructions: count(writer.instructions.len()),
            host_calls: writer.n_calls,
            history_lookups: count(self.slots.n_history_lookups()),
        };
        let instructions = writer.instructions;
        let locals = kept.locals();
        Code { calls, locals, instructions, needs: self.slots.into_needs(), cost }
    }
}

/// A count that is far below the limit of its type: no module is larger than 64 KiB.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The rows of the import table these steps call, in table order.
fn calls_in(steps: &[Step]) -> Vec<Call> {
    let used = |call: &Call| {
        steps.iter().any(|step| match step {
            Step::Call(used) | Step::Read(used, _) => used == call,
            Step::Instruction(_) => false,
        })
    };
    Call::ALL.into_iter().filter(used).collect()
}

/// Reads that are asked for more than once: they are made once, in front, and kept in locals.
///
/// A read has no effect and costs a few nanoseconds, so making one that a short circuit would have skipped changes
/// nothing. Questions to the history are never moved in front.
#[derive(Debug)]
struct Kept {
    locals: BTreeMap<(Call, i32), u32>,
    n_floats: u32,
}

impl Kept {
    fn of(steps: &[Step]) -> Self {
        let mut n_reads: BTreeMap<(Call, i32), usize> = BTreeMap::new();
        for step in steps {
            if let Step::Read(call, slot) = step {
                *n_reads.entry((*call, *slot)).or_default() += 1;
            }
        }
        let repeated = n_reads.into_iter().filter(|&(_, n)| n > 1).map(|(read, _)| read).take(KEPT_MAX);
        // Map order puts `number`, the first row of the table, in front: so floats come first.
        let locals: BTreeMap<_, _> = repeated.zip(N_SCRATCH..).collect();
        let n_floats = locals.keys().filter(|(call, _)| call.import().result == Some(ValueType::F64)).count();
        Self { locals, n_floats: count(n_floats) }
    }

    fn locals(&self) -> Vec<(u32, ValType)> {
        let n_integers = count(self.locals.len()) - self.n_floats;
        let mut groups = vec![(N_SCRATCH + self.n_floats, ValType::F64)];
        if n_integers > 0 {
            groups.push((n_integers, ValType::I32));
        }
        groups
    }
}

struct Writer<'a> {
    calls: &'a [Call],
    kept: &'a Kept,
    instructions: Vec<Instruction<'static>>,
    n_calls: u32,
}

impl Writer<'_> {
    fn keep(&mut self) {
        for (&(call, slot), &local) in &self.kept.locals {
            self.read(call, slot);
            self.instructions.push(Instruction::LocalSet(local));
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Instruction(instruction) => self.instructions.push(instruction),
            Step::Call(call) => self.call(call),
            Step::Read(call, slot) => match self.kept.locals.get(&(call, slot)) {
                Some(&local) => self.instructions.push(Instruction::LocalGet(local)),
                None => self.read(call, slot),
            },
        }
    }

    fn read(&mut self, call: Call, slot: i32) {
        self.instructions.push(Instruction::I32Const(slot));
        self.call(call);
    }

    fn call(&mut self, call: Call) {
        // Imports are the module's only functions before `evaluate`, in the order of `calls`.
        let index = self.calls.iter().take_while(|used| **used != call).count();
        self.instructions.push(Instruction::Call(count(index)));
        self.n_calls += 1;
    }
}
