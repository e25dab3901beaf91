//! Operations of a fused function, before its locals are chosen.

use wasm_encoder::Instruction;

use crate::emit::body::{BodyStep, PreparedCall};

#[derive(Debug, Clone)]
pub(super) enum WasmOperation {
    Step(BodyStep),
    /// Pushes a bit.
    Bit(SymbolBit),
    /// Pops a value into this bit.
    KeepBit(SymbolBit),
    /// Makes the call and keeps the result.
    Learn(PreparedCall),
    /// Makes the call unless its result is known, and keeps the result.
    LearnUnlessKnown(PreparedCall),
}

/// A word of a symbol set, an `i64` with at most one bit set. Bit `n` is set when the field's symbol is text `64 × word
/// + n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SymbolBit {
    pub(super) field: i32,
    pub(super) word: i32,
}

impl WasmOperation {
    pub(super) const fn plain(instruction: Instruction<'static>) -> Self {
        WasmOperation::Step(BodyStep::Instruction(instruction))
    }
}
