//! Emits the function of several rules; each cacheable host call is made at most once.
//!
//! ```text
//!  conditions ──tree──▶ tests, host calls ──plan──▶ which calls are shared ──sequence──▶ operations ──writer──▶ code
//! ```
//!
//! **One function per module.** `evaluate` returns the bits of an `i64`, which limits a module to 64 rules. Several
//! functions would need more exports, or a memory for their results, and the contract has neither. They would also gain
//! nothing: calls are shared only within a function, and a prototype with several functions of 64 rules was no faster.
//! Results are kept in locals, so no state outlives a transaction.
//!
//! **Cheap calls first.** Fields that are read more than once are read at the start, even if a short circuit would have
//! skipped them. The shared calls with which some rule always begins follow. Tests of known results are computed
//! without branches and joined by bitwise `and` and `or`, up to [`EAGER_MAX`] tests at a time.
//!
//! **Expensive calls in the author's order.** These are aggregates, previous transactions, lists, patterns, parts of
//! times and relations of two fields. Each is evaluated when the first rule reaches it, or not at all. The fused
//! module makes exactly the expensive calls that the single-rule modules would make together, so a failing call fails
//! for both. Where a call may already have been made, a flag records it:
//!
//! ```text
//!  block (result i32)
//!    i32.const 0
//!    …tests of known results, joined…    i32.eqz   br_if 0
//!    drop
//!    local.get $called   i32.eqz
//!    if   …host call…  local.set $result   i32.const 1  local.set $called   end
//!    …tests of this and other known results…
//!  end
//! ```
//!
//! A literal list is not looked up by the host if none of its texts can equal a number or a date-time. The symbol of
//! the field becomes a bit, and the list a mask ([`sets`]).
//!
//! A single rule is emitted by [`single_rule`](crate::emit::single_rule), so that stored modules do not change.
//!
//! Compile time is bounded by the limits for untrusted modules: locals, blocks and bytes of the function. A slice over
//! these limits is refused and can be split.

mod operation;
mod plan;
mod sequence;
mod sets;
mod tree;
mod writer;

use tollgate_guest_abi::Cost;
use tollgate_guest_abi::limits::{BLOCK_DEPTH_MAX, BLOCKS_MAX, BODY_BYTES_MAX, LOCALS_MAX};
use wasm_encoder::{Encode as _, Instruction};

use crate::CheckedRule;
use crate::emit::EmitError;
use crate::emit::body::{BodyBuilder, FunctionCode, count};
use plan::SlicePlan;
use sequence::FunctionBuilder;
use tree::ConditionTree;

/// Most tests computed without checking whether the chain is already decided.
const EAGER_MAX: usize = 16;

pub(super) fn code(rules: &[CheckedRule]) -> Result<FunctionCode, EmitError> {
    let mut body = BodyBuilder::default();
    sets::number_texts(rules, &mut body.slots);
    let trees: Vec<ConditionTree> = rules
        .iter()
        .map(|rule| {
            ConditionTree::from_condition(&rule.when, &mut body)
                .map_err(|form| EmitError::unsupported(rule, &form))
        })
        .collect::<Result<_, _>>()?;
    let plan = SlicePlan::new(&trees);
    let mut sequence = FunctionBuilder::new(&plan);
    for (bit, tree) in trees.iter().enumerate() {
        sequence.rule(bit, tree);
    }
    let written = writer::write(&plan, &sequence.into_operations());
    check_limits(&written.instructions, &written.locals)?;
    let cost = Cost {
        instructions: count(written.instructions.len()),
        host_calls: count(plan.n_questions()),
        history_lookups: count(body.slots.n_history_lookups()),
    };
    Ok(FunctionCode {
        calls: written.calls,
        locals: written.locals,
        instructions: written.instructions,
        needs: body.slots.into_needs(),
        cost,
    })
}

/// Refuses functions that would be slow to compile.
fn check_limits(
    instructions: &[Instruction<'static>],
    locals: &[(u32, wasm_encoder::ValType)],
) -> Result<(), EmitError> {
    let (mut n_blocks, mut depth, mut deepest) = (0, 0_usize, 0);
    let mut bytes = Vec::new();
    for instruction in instructions {
        match instruction {
            Instruction::Block(_) | Instruction::If(_) => {
                n_blocks += 1;
                depth += 1;
                deepest = deepest.max(depth);
            }
            Instruction::End => depth = depth.saturating_sub(1),
            _ => {}
        }
        instruction.encode(&mut bytes);
    }
    let n_locals: u32 = locals.iter().map(|(n, _)| n).sum();
    for (what, n, n_max) in [
        ("locals", n_locals as usize, LOCALS_MAX as usize),
        ("blocks", n_blocks, BLOCKS_MAX),
        ("nested blocks", deepest, BLOCK_DEPTH_MAX),
        ("bytes of instructions", bytes.len(), BODY_BYTES_MAX),
    ] {
        if n > n_max {
            return Err(EmitError::TooComplex { what, n, n_max });
        }
    }
    Ok(())
}
