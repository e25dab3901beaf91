//! Compiles literal lists to bit sets of symbols.
//!
//! A field is in a list of texts when the bit of its symbol is in the list's mask. This requires that each text equals
//! only itself, which is not so for date-times and for texts that are numbers; see the table of
//! [`comparison`](crate::emit::comparison).

use std::collections::BTreeMap;

use tollgate_guest_abi::imports::{Call, kind};
use tollgate_guest_abi::{Condition, FieldPath, FieldType, Item, ListSource, Number, Operand};
use wasm_encoder::Instruction;

use crate::CheckedRule;
use crate::emit::body::{BodyStep, HostCall, PreparedCall};
use crate::emit::fused::operation::{SymbolBit, WasmOperation};
use crate::emit::membership::INLINE_ITEMS_MAX;
use crate::emit::slots::SlotTable;

/// Most texts of a list that become symbols; a longer list is left to the host.
const TEXTS_MAX: usize = 64;
/// Number of texts in one word of a set.
const WORD_BITS: i32 = 64;

/// The values of a list, for a field that is neither a number nor a date-time.
struct EqualitySet<'l> {
    texts: Vec<&'l str>,
    numbers: Vec<f64>,
}

impl<'l> EqualitySet<'l> {
    /// Returns `None` when only the host can decide membership.
    fn new(path: &FieldPath, list: &'l ListSource) -> Option<Self> {
        let ListSource::Items(items) = list else { return None };
        if matches!(path.field_type(), FieldType::Number | FieldType::Time) {
            return None;
        }
        let mut known = Self { texts: Vec::new(), numbers: Vec::new() };
        for item in items {
            match item {
                Item::Text(text) if Number::from_plain(text).is_none() => known.texts.push(text),
                // A boolean equals its text form.
                Item::Boolean(true) => known.texts.push("true"),
                Item::Boolean(false) => known.texts.push("false"),
                Item::Number(number) if number.is_short() => known.numbers.push(number.to_f64()),
                Item::Number(_) | Item::Text(_) | Item::Current(_) => return None,
            }
        }
        let is_short = known.texts.len() <= TEXTS_MAX && known.numbers.len() <= INLINE_ITEMS_MAX;
        is_short.then_some(known)
    }
}

/// Assigns slots to the texts of all lists that become sets, grouped by field, so that few words hold them.
pub(super) fn number_texts(rules: &[CheckedRule], slots: &mut SlotTable) {
    let mut by_field = BTreeMap::new();
    rules.iter().for_each(|rule| gather(&rule.when, &mut by_field));
    for texts in by_field.values().flatten() {
        slots.text(texts);
    }
}

fn gather<'c>(condition: &'c Condition, by_field: &mut BTreeMap<&'c FieldPath, Vec<&'c str>>) {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().for_each(|part| gather(part, by_field));
        }
        Condition::Not(inner) => gather(inner, by_field),
        Condition::In { value: Operand::Field(path), list, .. } => {
            if let Some(items) = EqualitySet::new(path, list) {
                by_field.entry(path).or_default().extend(items.texts);
            }
        }
        Condition::In { .. }
        | Condition::Compare { .. }
        | Condition::Matches { .. }
        | Condition::Previous(_) => {}
    }
}

/// Returns a membership test without a list lookup; `None` when that is not possible.
pub(super) fn test(
    path: &FieldPath,
    list: &ListSource,
    negated: bool,
    slots: &mut SlotTable,
) -> Option<Vec<WasmOperation>> {
    let items = EqualitySet::new(path, list)?;
    let field = slots.field(path);
    let texts: Vec<i32> = items.texts.iter().map(|text| slots.text(text)).collect();
    let mut operations = Vec::new();
    match texts.as_slice() {
        [] => operations.push(WasmOperation::plain(Instruction::I32Const(0))),
        [text] => {
            operations.push(read(Call::Symbol, field));
            operations.push(WasmOperation::plain(Instruction::I32Const(*text)));
            operations.push(WasmOperation::plain(Instruction::I32Eq));
        }
        texts => among(field, texts, &mut operations),
    }
    for number in items.numbers {
        operations.push(read(Call::Comparable, field));
        operations.push(WasmOperation::plain(Instruction::F64Const(number.into())));
        operations.push(WasmOperation::plain(Instruction::F64Eq));
        operations.push(WasmOperation::plain(Instruction::I32Or));
    }
    if negated {
        operations.push(WasmOperation::plain(Instruction::I32Eqz));
        operations.push(read(Call::Kind, field));
        operations.push(WasmOperation::plain(Instruction::I32Const(kind::MISSING)));
        operations.push(WasmOperation::plain(Instruction::I32Ne));
        operations.push(WasmOperation::plain(Instruction::I32And));
    }
    Some(operations)
}

fn among(field: i32, texts: &[i32], operations: &mut Vec<WasmOperation>) {
    let mut masks: BTreeMap<i32, i64> = BTreeMap::new();
    for text in texts {
        *masks.entry(text / WORD_BITS).or_default() |= 1 << (text % WORD_BITS);
    }
    for (n, (word, mask)) in masks.into_iter().enumerate() {
        operations.push(WasmOperation::Bit(SymbolBit { field, word }));
        operations.push(WasmOperation::plain(Instruction::I64Const(mask)));
        operations.push(WasmOperation::plain(Instruction::I64And));
        if n > 0 {
            operations.push(WasmOperation::plain(Instruction::I64Or));
        }
    }
    operations.push(WasmOperation::plain(Instruction::I64Const(0)));
    operations.push(WasmOperation::plain(Instruction::I64Ne));
}

/// Computes a symbol bit; 0 for a symbol in another word and for a field that equals none of the texts.
pub(super) fn make(bit: SymbolBit) -> [WasmOperation; 12] {
    let plain = WasmOperation::plain;
    [
        plain(Instruction::I64Const(1)),
        read(Call::Symbol, bit.field),
        plain(Instruction::I64ExtendI32U),
        plain(Instruction::I64Shl),
        plain(Instruction::I64Const(0)),
        read(Call::Symbol, bit.field),
        plain(Instruction::I32Const(WORD_BITS.ilog2().cast_signed())),
        plain(Instruction::I32ShrS),
        plain(Instruction::I32Const(bit.word)),
        plain(Instruction::I32Eq),
        plain(Instruction::Select),
        WasmOperation::KeepBit(bit),
    ]
}

fn read(call: Call, field: i32) -> WasmOperation {
    let question = HostCall { call, slots: [field, 0] };
    WasmOperation::Step(BodyStep::Ask(PreparedCall { question, argument: Vec::new() }))
}
