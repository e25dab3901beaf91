//! Translates operations to instructions: assigns locals and call indices.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_guest_abi::imports::Call;
use wasm_encoder::{BlockType, Instruction, ValType};

use crate::emit::body::{BodyStep, HostCall, N_SCRATCH, PreparedCall, count, index};
use crate::emit::fused::operation::{SymbolBit, WasmOperation};
use crate::emit::fused::plan::SlicePlan;

#[derive(Debug)]
pub(super) struct WrittenCode {
    pub(super) calls: Vec<Call>,
    pub(super) locals: Vec<(u32, ValType)>,
    pub(super) instructions: Vec<Instruction<'static>>,
}

pub(super) fn write(plan: &SlicePlan, operations: &[WasmOperation]) -> WrittenCode {
    let mut writer = FusedWriter {
        calls: plan.calls().into_iter().collect(),
        locals: AnswerLocals::new(plan, operations),
        instructions: Vec::new(),
    };
    for operation in operations {
        writer.operation(operation);
    }
    writer.instructions.push(Instruction::End);
    WrittenCode { calls: writer.calls, locals: writer.locals.groups, instructions: writer.instructions }
}

/// Locals of the results. WebAssembly initializes locals to 0.
#[derive(Debug)]
struct AnswerLocals {
    answers: BTreeMap<HostCall, u32>,
    /// 1 when the result is known; only for calls whose state varies by path.
    flags: BTreeMap<HostCall, u32>,
    bits: BTreeMap<SymbolBit, u32>,
    groups: Vec<(u32, ValType)>,
}

impl AnswerLocals {
    /// Assigns locals in the order scratch, floats, integers, flags, bits.
    fn new(plan: &SlicePlan, operations: &[WasmOperation]) -> Self {
        let (floats, integers): (Vec<_>, Vec<_>) =
            plan.kept().partition(|question| question.answer() == ValType::F64);
        let flagged: BTreeSet<HostCall> = operations
            .iter()
            .filter_map(|operation| match operation {
                WasmOperation::LearnUnlessKnown(ask) => Some(ask.question),
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

struct FusedWriter {
    calls: Vec<Call>,
    locals: AnswerLocals,
    instructions: Vec<Instruction<'static>>,
}

impl FusedWriter {
    fn push(&mut self, instruction: Instruction<'static>) {
        self.instructions.push(instruction);
    }

    /// INVARIANT: the same plan assigned every local that an operation uses.
    fn local(&mut self, local: Option<u32>, access: fn(u32) -> Instruction<'static>) {
        self.instructions.extend(local.map(access));
    }

    fn operation(&mut self, operation: &WasmOperation) {
        match operation {
            WasmOperation::Step(step) => self.step(step),
            WasmOperation::Bit(bit) => self.local(self.locals.bits.get(bit).copied(), Instruction::LocalGet),
            WasmOperation::KeepBit(bit) => {
                self.local(self.locals.bits.get(bit).copied(), Instruction::LocalSet)
            }
            WasmOperation::Learn(ask) => self.learn(ask),
            WasmOperation::LearnUnlessKnown(ask) => {
                self.local(self.locals.flags.get(&ask.question).copied(), Instruction::LocalGet);
                self.push(Instruction::I32Eqz);
                self.push(Instruction::If(BlockType::Empty));
                self.learn(ask);
                self.push(Instruction::End);
            }
        }
    }

    fn step(&mut self, step: &BodyStep) {
        match step {
            BodyStep::Instruction(instruction) => self.push(instruction.clone()),
            BodyStep::Call(question) => self.call(*question),
            BodyStep::Ask(ask) => match self.locals.answers.get(&ask.question) {
                Some(&answer) => self.push(Instruction::LocalGet(answer)),
                None => self.ask(ask),
            },
        }
    }

    fn learn(&mut self, ask: &PreparedCall) {
        self.ask(ask);
        let question = ask.question;
        self.local(self.locals.answers.get(&question).copied(), Instruction::LocalSet);
        if let Some(&flag) = self.locals.flags.get(&question) {
            self.push(Instruction::I32Const(1));
            self.push(Instruction::LocalSet(flag));
        }
    }

    fn ask(&mut self, PreparedCall { question, argument }: &PreparedCall) {
        for step in argument {
            self.step(step);
        }
        self.call(*question);
    }

    fn call(&mut self, question: HostCall) {
        self.instructions.extend(question.constants().map(Instruction::I32Const));
        self.push(Instruction::Call(index(&self.calls, question.call)));
    }
}
