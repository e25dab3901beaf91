//! `in` and `not_in`.

use tollgate_guest_abi::imports::Call;
use tollgate_guest_abi::{FieldType, Item, List, Operand};
use wasm_encoder::Instruction;

use crate::emit::body::{Body, LEFT, Unsupported};
use crate::emit::plain_number::plain_number;

/// Most numbers a list may have to be compared one by one; the host's look-up is cheaper beyond.
pub(super) const INLINE_ITEMS_MAX: usize = 8;

impl Body {
    pub(super) fn membership(
        &mut self,
        value: &Operand,
        list: &List,
        negated: bool,
    ) -> Result<(), Unsupported> {
        match value {
            Operand::Field(path) if path.field_type() != FieldType::Number => {
                let (field, list) = (self.slots.field(path), self.slots.list(list));
                self.ask_both(Call::Member, field, list);
                self.answers(negated);
            }
            Operand::Text(text) => self.text_in(text, list, negated),
            // A boolean equals what its word equals.
            Operand::Boolean(true) => self.text_in("true", list, negated),
            Operand::Boolean(false) => self.text_in("false", list, negated),
            number => {
                if let Some(numbers) = inline_numbers(list) {
                    self.number(number)?;
                    self.among(&numbers, negated);
                } else {
                    let list = self.slots.list(list);
                    self.ask_of_number(Call::MemberNumber, number, list)?;
                    self.answers(negated);
                }
            }
        }
        Ok(())
    }

    fn text_in(&mut self, text: &str, list: &List, negated: bool) {
        let (text, list) = (self.slots.text(text), self.slots.list(list));
        self.ask_both(Call::MemberText, text, list);
        self.answers(negated);
    }

    /// Whether the number on the stack is one of these; of a missing number neither `in` nor `not_in` holds.
    fn among(&mut self, numbers: &[f64], negated: bool) {
        self.push(Instruction::LocalSet(LEFT));
        self.integer(0);
        for number in numbers {
            self.push(Instruction::LocalGet(LEFT));
            self.float(*number);
            self.push(Instruction::F64Eq);
            self.push(Instruction::I32Or);
        }
        if negated {
            self.push(Instruction::I32Eqz);
            self.push(Instruction::LocalGet(LEFT));
            self.push(Instruction::LocalGet(LEFT));
            self.push(Instruction::F64Eq);
            self.push(Instruction::I32And);
        }
    }
}

/// The items a number can be equal to, when they are all known now and few.
fn inline_numbers(list: &List) -> Option<Vec<f64>> {
    let List::Items(items) = list else {
        return None;
    };
    let mut numbers = Vec::new();
    for item in items {
        match item {
            Item::Number(number) => numbers.push(*number),
            Item::Text(text) => numbers.extend(plain_number(text)),
            Item::Boolean(_) => {}
            Item::Current(_) => return None,
        }
    }
    (numbers.len() <= INLINE_ITEMS_MAX).then_some(numbers)
}
