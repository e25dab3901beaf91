//! Emits the function of a single rule. Host calls are made in place, in the author's order; only repeated reads are
//! made at the start.
//!
//! Call indices and the fields worth caching in locals are known only after the whole condition is built. [`code`]
//! determines both and counts the cost.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_guest_abi::imports::Call;
use tollgate_guest_abi::{Condition, Cost};
use wasm_encoder::{Instruction, ValType};

use crate::emit::body::{
    BodyBuilder, BodyStep, FunctionCode, HostCall, N_SCRATCH, PreparedCall, Unsupported, count, each_ask,
    each_call, index,
};

/// Most reads cached in locals. The host refuses functions with more than 256 locals.
const KEPT_MAX: usize = 200;

/// Emits the function that returns whether the condition holds.
pub(super) fn code(when: &Condition) -> Result<FunctionCode, Unsupported> {
    let mut body = BodyBuilder::default();
    body.condition(when)?;
    body.push(Instruction::I64ExtendI32U);
    let kept = CachedReads::new(&body.steps);
    let mut used = BTreeSet::new();
    each_ask(&body.steps, &mut |ask| {
        used.insert(ask.question.call);
    });
    each_call(&body.steps, &mut |question| {
        used.insert(question.call);
    });
    let calls: Vec<Call> = used.into_iter().collect();
    let mut writer = SingleRuleWriter { calls: &calls, kept: &kept, instructions: Vec::new(), n_calls: 0 };
    writer.keep();
    writer.steps(&body.steps);
    writer.instructions.push(Instruction::End);
    let cost = Cost {
        instructions: count(writer.instructions.len()),
        host_calls: writer.n_calls,
        history_lookups: count(body.slots.n_history_lookups()),
    };
    let instructions = writer.instructions;
    let locals = kept.locals();
    Ok(FunctionCode { calls, locals, instructions, needs: body.slots.into_needs(), cost })
}

/// Returns the number of occurrences of the most frequent history lookup.
pub(super) fn repetitions(when: &Condition) -> Result<u32, Unsupported> {
    let mut body = BodyBuilder::default();
    body.condition(when)?;
    let mut n_uses: BTreeMap<(bool, i32), u32> = BTreeMap::new();
    let mut count = |question: HostCall| {
        question.lookups().for_each(|lookup| *n_uses.entry(lookup).or_default() += 1);
    };
    each_ask(&body.steps, &mut |ask| count(ask.question));
    each_call(&body.steps, &mut count);
    Ok(n_uses.into_values().max().unwrap_or_default())
}

/// Reads with several uses: they are made once, at the start, and cached in locals.
///
/// A read has no effect and costs a few nanoseconds. Making one that a short circuit would have skipped is therefore
/// harmless. History lookups are never moved.
#[derive(Debug)]
struct CachedReads {
    locals: BTreeMap<HostCall, u32>,
    n_floats: u32,
}

impl CachedReads {
    fn new(steps: &[BodyStep]) -> Self {
        let mut n_reads: BTreeMap<HostCall, usize> = BTreeMap::new();
        each_ask(steps, &mut |ask| {
            if ask.question.is_read() {
                *n_reads.entry(ask.question).or_default() += 1;
            }
        });
        let repeated = n_reads.into_iter().filter(|&(_, n)| n > 1).map(|(read, _)| read).take(KEPT_MAX);
        // Floats first, because locals are declared in groups of one type.
        let (floats, integers): (Vec<_>, Vec<_>) =
            repeated.partition(|question| question.answer() == ValType::F64);
        let locals: BTreeMap<_, _> = floats.into_iter().chain(integers).zip(N_SCRATCH..).collect();
        let n_floats = locals.keys().filter(|question| question.answer() == ValType::F64).count();
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

struct SingleRuleWriter<'a> {
    calls: &'a [Call],
    kept: &'a CachedReads,
    instructions: Vec<Instruction<'static>>,
    n_calls: u32,
}

impl SingleRuleWriter<'_> {
    fn keep(&mut self) {
        for (&question, &local) in &self.kept.locals {
            self.call(question);
            self.instructions.push(Instruction::LocalSet(local));
        }
    }

    fn steps(&mut self, steps: &[BodyStep]) {
        for step in steps {
            match step {
                BodyStep::Instruction(instruction) => self.instructions.push(instruction.clone()),
                BodyStep::Call(question) => self.call(*question),
                BodyStep::Ask(PreparedCall { question, argument }) => match self.kept.locals.get(question) {
                    Some(&local) => self.instructions.push(Instruction::LocalGet(local)),
                    None => {
                        self.steps(argument);
                        self.call(*question);
                    }
                },
            }
        }
    }

    fn call(&mut self, question: HostCall) {
        self.instructions.extend(question.constants().map(Instruction::I32Const));
        self.instructions.push(Instruction::Call(index(self.calls, question.call)));
        self.n_calls += 1;
    }
}
