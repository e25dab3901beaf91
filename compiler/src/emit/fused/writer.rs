//! Operations to instructions: which local holds what, and which index a call has.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_guest_abi::imports::Call;
use wasm_encoder::{BlockType, Instruction, ValType};

use crate::emit::body::{Ask, N_SCRATCH, Question, Step, count, index};
use crate::emit::fused::plan::Plan;
use crate::emit::fused::tree::{Bit, Operation};

/// Instructions, and what they need around them.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) calls: Vec<Call>,
    pub(super) locals: Vec<(u32, ValType)>,
    pub(super) instructions: Vec<Instruction<'static>>,
}

/// Writes the function.
pub(super) fn write(plan: &Plan, operations: &[Operation]) -> Written {
    let mut writer = Writer {
        calls: plan.calls().into_iter().collect(),
        locals: Locals::of(plan, operations),
        instructions: Vec::new(),
    };
    for operation in operations {
        writer.operation(operation);
    }
    writer.instructions.push(Instruction::End);
    Written { calls: writer.calls, locals: writer.locals.groups, instructions: writer.instructions }
}

/// Where answers are kept. Locals begin as 0.
#[derive(Debug)]
struct Locals {
    answers: BTreeMap<Question, u32>,
    /// 1 when the answer is known; only of questions of which a place cannot tell otherwise.
    flags: BTreeMap<Question, u32>,
    bits: BTreeMap<Bit, u32>,
    groups: Vec<(u32, ValType)>,
}

impl Locals {
    /// Scratch, then floats, integers, flags, bits.
    fn of(plan: &Plan, operations: &[Operation]) -> Self {
        let (floats, integers): (Vec<_>, Vec<_>) =
            plan.kept().partition(|question| question.answer() == ValType::F64);
        let flagged: BTreeSet<Question> = operations
            .iter()
            .filter_map(|operation| match operation {
                Operation::LearnUnlessKnown(ask) => Some(ask.question),
                _ => None,
            })
            .collect();
        let n_floats = N_SCRATCH + count(floats.len());
        let n_integers = count(integers.len() + flagged.len());
        let n_bits = count(plan.bits.len());
        let mut next = N_SCRATCH..;
        let answers = floats.into_iter().chain(integers).zip(&mut next).collect();
        let flags = flagged.into_iter().zip(&mut next).collect();
        let bits = plan.bits.iter().copied().zip(&mut next).collect();
        let mut groups = vec![(n_floats, ValType::F64), (n_integers, ValType::I32), (n_bits, ValType::I64)];
        groups.retain(|(n, _)| *n > 0);
        Self { answers, flags, bits, groups }
    }
}

struct Writer {
    calls: Vec<Call>,
    locals: Locals,
    instructions: Vec<Instruction<'static>>,
}

impl Writer {
    fn push(&mut self, instruction: Instruction<'static>) {
        self.instructions.push(instruction);
    }

    /// Every local that an operation names was given a place by the same plan.
    fn local(&mut self, local: Option<u32>, access: fn(u32) -> Instruction<'static>) {
        self.instructions.extend(local.map(access));
    }

    fn operation(&mut self, operation: &Operation) {
        match operation {
            Operation::Step(step) => self.step(step),
            Operation::Bit(bit) => self.local(self.locals.bits.get(bit).copied(), Instruction::LocalGet),
            Operation::KeepBit(bit) => self.local(self.locals.bits.get(bit).copied(), Instruction::LocalSet),
            Operation::Learn(ask) => self.learn(ask),
            Operation::LearnUnlessKnown(ask) => {
                self.local(self.locals.flags.get(&ask.question).copied(), Instruction::LocalGet);
                self.push(Instruction::I32Eqz);
                self.push(Instruction::If(BlockType::Empty));
                self.learn(ask);
                self.push(Instruction::End);
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Instruction(instruction) => self.push(instruction.clone()),
            Step::Call(question) => self.call(*question),
            Step::Ask(ask) => match self.locals.answers.get(&ask.question) {
                Some(&answer) => self.push(Instruction::LocalGet(answer)),
                None => self.ask(ask),
            },
        }
    }

    fn learn(&mut self, ask: &Ask) {
        self.ask(ask);
        let question = ask.question;
        self.local(self.locals.answers.get(&question).copied(), Instruction::LocalSet);
        if let Some(&flag) = self.locals.flags.get(&question) {
            self.push(Instruction::I32Const(1));
            self.push(Instruction::LocalSet(flag));
        }
    }

    fn ask(&mut self, Ask { question, argument }: &Ask) {
        for step in argument {
            self.step(step);
        }
        self.call(*question);
    }

    fn call(&mut self, question: Question) {
        self.instructions.extend(question.constants().map(Instruction::I32Const));
        self.push(Instruction::Call(index(&self.calls, question.call)));
    }
}
