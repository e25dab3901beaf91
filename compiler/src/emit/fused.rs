//! The function of several rules: whatever they ask about is asked at most once.
//!
//! ```text
//!  conditions ──tree──▶ tests and their questions ──plan──▶ what is asked by whom ──sequence──▶ operations ──writer──▶ code
//! ```
//!
//! **One body for all rules of the slice, one body for a module.** `evaluate` answers with the bits of an `i64`, so a module
//! answers for 64 rules at most; several bodies in a module would need further exports, or a memory to answer in, and the
//! contract has neither. Nor would they gain much: what is saved is saved within a body, and a prototype's bodies of 64
//! rules were as fast as longer ones. As before the module has no memory and no global that changes: answers are kept in
//! locals, and nothing of one transaction can be left for the next.
//!
//! **Cheap questions in front.** Fields that are read more than once are read before anything else, whether or not a short
//! circuit would have skipped them; so are the questions with which some rule begins in any case. What is known then is
//! compared without branches, and joined by `and` and `or` of bits, up to [`EAGER_MAX`] tests at a time.
//!
//! **Dear questions where the author asks them.** An aggregate, a previous transaction, a list, a pattern, a part of a time,
//! or a relation of two fields is asked when the first rule reaches it, and not at all when none does: exactly those
//! questions are asked that the modules of the single rules would ask together, so that a question that fails fails for
//! both. Where it may have been asked before, a flag tells:
//!
//! ```text
//!  block (result i32)
//!    i32.const 0
//!    …tests of what is known, joined…    i32.eqz   br_if 0
//!    drop
//!    local.get $asked   i32.eqz
//!    if   …question…  local.set $answer   i32.const 1  local.set $asked   end
//!    …tests of the answer and of what else is known…
//!  end
//! ```
//!
//! A list that is written in the script, of texts that no number or date-time can equal, is not asked about: the
//! symbol of the field becomes a bit, and the list a mask ([`sets`]).
//!
//! One rule alone is written by [`single_rule`](crate::emit::single_rule), so that the modules that are stored do not change.
//!
//! What is slow to compile is bounded as it is in modules by strangers: locals, blocks and bytes of the function. A slice
//! over these limits is refused and can be split.

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

/// Most tests that are computed without a look at whether the first of them has decided already.
const EAGER_MAX: usize = 16;

/// The function that answers with a bit per rule.
pub(super) fn code(rules: &[CheckedRule]) -> Result<FunctionCode, EmitError> {
    let mut body = BodyBuilder::default();
    sets::number_texts(rules, &mut body.slots);
    let trees: Vec<ConditionTree> = rules
        .iter()
        .map(|rule| {
            ConditionTree::of(&rule.when, &mut body).map_err(|form| EmitError::unsupported(rule, &form))
        })
        .collect::<Result<_, _>>()?;
    let plan = SlicePlan::of(&trees);
    let mut sequence = FunctionBuilder::of(&plan);
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

/// Refuses what would be slow to compile.
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
        ("blocks within one another", deepest, BLOCK_DEPTH_MAX),
        ("bytes of instructions", bytes.len(), BODY_BYTES_MAX),
    ] {
        if n > n_max {
            return Err(EmitError::TooComplex { what, n, n_max });
        }
    }
    Ok(())
}
