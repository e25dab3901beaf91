//! Emits comparisons, by the kinds of their two sides.
//!
//! | | number | field | text, boolean |
//! |---|---|---|---|
//! | **number** | as `f64` | as `f64`, and `kind(field)` for `!=` | as `f64` if the text is one, else unequal |
//! | **field** | mirrored | `relate_operands` | `symbol`, or `relate_operands` where numbers or times may be meant |
//!
//! "Number" is every operand that is always computed as one: a literal, an aggregate, a time function, arithmetic, and
//! `amount`. When both numbers may have more than 15 digits and their doubles are equal, `relate_operands` compares
//! them.

use tollgate_guest_abi::imports::{Call, kind, operand as reference};
use tollgate_guest_abi::{Comparison, FieldPath, FieldType, Number, Operand};
use wasm_encoder::{BlockType, Instruction, ValType};

use crate::emit::body::{BodyBuilder, LEFT, RIGHT, Unsupported};
use crate::emit::operand::{Precision, never_missing};

enum ComparisonSide<'a> {
    Number(&'a Operand),
    Field(&'a FieldPath),
    Text(&'a str),
}

impl<'a> ComparisonSide<'a> {
    fn of_operand(operand: &'a Operand) -> Self {
        match operand {
            Operand::Field(path) if path.field_type() != FieldType::Number => ComparisonSide::Field(path),
            Operand::Text(text) => ComparisonSide::Text(text),
            // A boolean equals its text form. Neither has an order.
            Operand::Boolean(true) => ComparisonSide::Text("true"),
            Operand::Boolean(false) => ComparisonSide::Text("false"),
            number => ComparisonSide::Number(number),
        }
    }
}

impl BodyBuilder {
    pub(super) fn compare(
        &mut self,
        left: &Operand,
        operator: Comparison,
        right: &Operand,
    ) -> Result<(), Unsupported> {
        match (ComparisonSide::of_operand(left), ComparisonSide::of_operand(right)) {
            (ComparisonSide::Number(left), ComparisonSide::Number(right)) => {
                self.numbers(left, operator, right)
            }
            (ComparisonSide::Number(number), ComparisonSide::Field(field)) => {
                self.number_to_field(number, operator, field)
            }
            (ComparisonSide::Field(field), ComparisonSide::Number(number)) => {
                self.number_to_field(number, operator.mirrored(), field)
            }
            (ComparisonSide::Number(number), ComparisonSide::Text(text)) => {
                self.number_to_text(number, operator, text)
            }
            (ComparisonSide::Text(text), ComparisonSide::Number(number)) => {
                self.number_to_text(number, operator.mirrored(), text)
            }
            (ComparisonSide::Field(_), ComparisonSide::Field(_)) => self.related(left, operator, right),
            (ComparisonSide::Field(field), ComparisonSide::Text(text)) => {
                self.field_to_text(field, operator, text);
                Ok(())
            }
            (ComparisonSide::Text(text), ComparisonSide::Field(field)) => {
                self.field_to_text(field, operator.mirrored(), text);
                Ok(())
            }
            (ComparisonSide::Text(_), ComparisonSide::Text(_)) => {
                Err(Unsupported("a comparison of two literals"))
            }
        }
    }

    fn numbers(&mut self, left: &Operand, operator: Comparison, right: &Operand) -> Result<(), Unsupported> {
        match (Precision::of_operand(left), Precision::of_operand(right)) {
            (Precision::Double, _) | (_, Precision::Double) => {
                self.number(left)?;
                self.number(right)?;
            }
            (Precision::Exact, Precision::Exact) => return self.exact(left, operator, right, None),
            _ => {
                self.comparable(left)?;
                self.comparable(right)?;
            }
        }
        if operator == Comparison::NotEqual && !(never_missing(left) && never_missing(right)) {
            self.less_or_greater();
        } else {
            self.push(float_comparison(operator));
        }
        Ok(())
    }

    /// Compares two numbers with any number of digits: by their doubles where these differ, else by the host. Without
    /// an aggregate the host always compares them. `field` is the side that may be a non-number.
    fn exact(
        &mut self,
        left: &Operand,
        operator: Comparison,
        right: &Operand,
        field: Option<&FieldPath>,
    ) -> Result<(), Unsupported> {
        let counts = |operand: &Operand| matches!(operand, Operand::Aggregate(_));
        if !counts(left) && !counts(right) {
            return self.related(left, operator, right);
        }
        self.comparable(left)?;
        self.comparable(right)?;
        self.push(Instruction::LocalSet(RIGHT));
        self.push(Instruction::LocalTee(LEFT));
        self.push(Instruction::LocalGet(RIGHT));
        self.push(Instruction::F64Eq);
        self.push(Instruction::If(BlockType::Result(ValType::I32)));
        let (left, right) = self.references(left, right)?;
        self.call(Call::RelateOperands, left, right);
        self.holds(operator);
        self.push(Instruction::Else);
        match (operator, field) {
            (Comparison::Equal, _) => self.integer(0),
            (Comparison::NotEqual, None) => self.integer(1),
            (Comparison::NotEqual, Some(field)) => self.field_is_there(field),
            _ => {
                self.push(Instruction::LocalGet(LEFT));
                self.push(Instruction::LocalGet(RIGHT));
                self.push(float_comparison(operator));
            }
        }
        self.push(Instruction::End);
        Ok(())
    }

    fn related(&mut self, left: &Operand, operator: Comparison, right: &Operand) -> Result<(), Unsupported> {
        let (left, right) = self.references(left, right)?;
        self.ask_both(Call::RelateOperands, left, right);
        self.holds(operator);
        Ok(())
    }

    fn references(&mut self, left: &Operand, right: &Operand) -> Result<(i32, i32), Unsupported> {
        let both = self.reference(left).zip(self.reference(right));
        both.ok_or(Unsupported("an exact comparison of a computed value"))
    }

    /// Emits `!=` of two numbers on the stack; false when either is NaN.
    fn less_or_greater(&mut self) {
        self.push(Instruction::LocalSet(RIGHT));
        self.push(Instruction::LocalTee(LEFT));
        self.push(Instruction::LocalGet(RIGHT));
        self.push(Instruction::F64Lt);
        self.push(Instruction::LocalGet(LEFT));
        self.push(Instruction::LocalGet(RIGHT));
        self.push(Instruction::F64Gt);
        self.push(Instruction::I32Or);
    }

    fn number_to_field(
        &mut self,
        number: &Operand,
        operator: Comparison,
        field: &FieldPath,
    ) -> Result<(), Unsupported> {
        let read = match Precision::of_operand(number) {
            Precision::Exact => {
                let other = Operand::Field(field.clone());
                return self.exact(number, operator, &other, Some(field));
            }
            Precision::Short => Call::Comparable,
            Precision::Double => Call::Number,
        };
        if operator == Comparison::NotEqual {
            return self.number_unlike_field(number, read, field);
        }
        self.comparable(number)?;
        self.read(read, field);
        self.push(float_comparison(operator));
        Ok(())
    }

    /// Tests that both sides are present and differ. A non-numeric text, a boolean and a structure are unequal to every
    /// number, so NaN alone does not decide.
    fn number_unlike_field(
        &mut self,
        number: &Operand,
        read: Call,
        field: &FieldPath,
    ) -> Result<(), Unsupported> {
        self.comparable(number)?;
        if never_missing(number) {
            self.read(read, field);
            self.push(Instruction::F64Ne);
        } else {
            self.push(Instruction::LocalTee(LEFT));
            self.read(read, field);
            self.push(Instruction::F64Ne);
            self.push_presence_test(LEFT);
            self.push(Instruction::I32And);
        }
        self.field_is_there(field);
        self.push(Instruction::I32And);
        Ok(())
    }

    fn number_to_text(
        &mut self,
        number: &Operand,
        operator: Comparison,
        text: &str,
    ) -> Result<(), Unsupported> {
        if let Some(value) = Number::from_plain(text) {
            return self.numbers(number, operator, &Operand::Number(value));
        }
        if operator == Comparison::NotEqual && !never_missing(number) {
            self.number(number)?;
            self.push(Instruction::LocalSet(LEFT));
            self.push_presence_test(LEFT);
        } else {
            self.integer(i32::from(operator == Comparison::NotEqual));
        }
        Ok(())
    }

    fn field_to_text(&mut self, field: &FieldPath, operator: Comparison, text: &str) {
        if field.field_type() == FieldType::Time || Number::from_plain(text).is_some() {
            let field = reference::of(reference::FIELD, self.slots.field(field));
            let text = reference::of(reference::TEXT, self.slots.text(text));
            self.ask_both(Call::RelateOperands, field, text);
            self.holds(operator);
            return;
        }
        match operator {
            Comparison::Equal => {
                self.symbol_against(field, text);
                self.push(Instruction::I32Eq);
            }
            Comparison::NotEqual => {
                self.symbol_against(field, text);
                self.push(Instruction::I32Ne);
                self.field_is_there(field);
                self.push(Instruction::I32And);
            }
            // Texts are ordered only when both are numbers, and this one is not.
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
                self.integer(0)
            }
        }
    }

    fn symbol_against(&mut self, field: &FieldPath, text: &str) {
        self.read(Call::Symbol, field);
        let text = self.slots.text(text);
        self.integer(text);
    }

    /// Tests whether the operator is among the relations on the stack.
    fn holds(&mut self, operator: Comparison) {
        self.integer(operator.relation_bits());
        self.push(Instruction::I32And);
        self.integer(0);
        self.push(Instruction::I32Ne);
    }

    fn push_presence_test(&mut self, local: u32) {
        self.push(Instruction::LocalGet(local));
        self.push(Instruction::LocalGet(local));
        self.push(Instruction::F64Eq);
    }

    fn field_is_there(&mut self, field: &FieldPath) {
        self.read(Call::Kind, field);
        self.integer(kind::MISSING);
        self.push(Instruction::I32Ne);
    }
}

const fn float_comparison(operator: Comparison) -> Instruction<'static> {
    match operator {
        Comparison::Equal => Instruction::F64Eq,
        Comparison::NotEqual => Instruction::F64Ne,
        Comparison::Less => Instruction::F64Lt,
        Comparison::LessOrEqual => Instruction::F64Le,
        Comparison::Greater => Instruction::F64Gt,
        Comparison::GreaterOrEqual => Instruction::F64Ge,
    }
}
