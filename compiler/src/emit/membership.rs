//! Emits `in` and `not_in`.

use tollgate_guest_abi::imports::{Call, operand as reference, relation};
use tollgate_guest_abi::{FieldType, Item, ListSource, Number, Operand};
use wasm_encoder::{BlockType, Instruction, ValType};

use crate::emit::body::{BodyBuilder, LEFT, Unsupported};
use crate::emit::operand::Precision;

/// Most numbers of a list that are compared one by one; for more, a lookup by the host is cheaper.
pub(super) const INLINE_ITEMS_MAX: usize = 8;

impl BodyBuilder {
    pub(super) fn membership(
        &mut self,
        value: &Operand,
        list: &ListSource,
        negated: bool,
    ) -> Result<(), Unsupported> {
        match value {
            Operand::Field(path) if path.field_type() != FieldType::Number => {
                let (field, list) = (self.slots.field(path), self.slots.list(list));
                self.ask_both(Call::Member, field, list);
                self.answers(negated);
            }
            Operand::Text(text) => self.text_in(text, list, negated),
            // A boolean equals the same items as its text form.
            Operand::Boolean(true) => self.text_in("true", list, negated),
            Operand::Boolean(false) => self.text_in("false", list, negated),
            number => match inline_numbers(list) {
                Some(numbers) => self.among(number, &numbers, negated)?,
                None => self.number_in(number, list, negated)?,
            },
        }
        Ok(())
    }

    fn number_in(&mut self, number: &Operand, list: &ListSource, negated: bool) -> Result<(), Unsupported> {
        let list = self.slots.list(list);
        match self.reference(number).filter(|_| Precision::of_operand(number) != Precision::Double) {
            Some(operand) => self.ask_both(Call::MemberOperand, operand, list),
            None => self.ask_of_number(Call::MemberNumber, number, list)?,
        }
        self.answers(negated);
        Ok(())
    }

    fn text_in(&mut self, text: &str, list: &ListSource, negated: bool) {
        let (text, list) = (self.slots.text(text), self.slots.list(list));
        self.ask_both(Call::MemberText, text, list);
        self.answers(negated);
    }

    /// Tests whether the number is in the list; both `in` and `not_in` are false for a missing number.
    fn among(&mut self, value: &Operand, numbers: &[Number], negated: bool) -> Result<(), Unsupported> {
        self.comparable(value)?;
        self.push(Instruction::LocalSet(LEFT));
        self.integer(0);
        let precision = Precision::of_operand(value);
        for number in numbers {
            let double = if precision == Precision::Double { number.to_f64() } else { number.comparable() };
            self.push(Instruction::LocalGet(LEFT));
            self.float(double);
            self.push(Instruction::F64Eq);
            if precision == Precision::Exact && !number.is_short() {
                self.push_exact_equality(value, number);
            }
            self.push(Instruction::I32Or);
        }
        if negated {
            self.push(Instruction::I32Eqz);
            self.push(Instruction::LocalGet(LEFT));
            self.push(Instruction::LocalGet(LEFT));
            self.push(Instruction::F64Eq);
            self.push(Instruction::I32And);
        }
        Ok(())
    }

    /// Tests whether a value equals the number exactly, given on the stack whether their doubles are equal.
    fn push_exact_equality(&mut self, value: &Operand, number: &Number) {
        let literal = reference::of(reference::NUMBER, self.slots.text(number.as_str()));
        let Some(value) = self.reference(value) else { return };
        self.push(Instruction::If(BlockType::Result(ValType::I32)));
        self.call(Call::RelateOperands, value, literal);
        self.integer(relation::EQUAL);
        self.push(Instruction::I32And);
        self.push(Instruction::Else);
        self.integer(0);
        self.push(Instruction::End);
    }
}

/// Returns the items that a number can equal, if all are constant and few.
fn inline_numbers(list: &ListSource) -> Option<Vec<Number>> {
    let ListSource::Items(items) = list else {
        return None;
    };
    let mut numbers = Vec::new();
    for item in items {
        match item {
            Item::Number(number) => numbers.push(number.clone()),
            Item::Text(text) => numbers.extend(Number::from_plain(text)),
            Item::Boolean(_) => {}
            Item::Current(_) => return None,
        }
    }
    (numbers.len() <= INLINE_ITEMS_MAX).then_some(numbers)
}
