//! Operands as numbers: what leaves an `f64` on the stack, NaN for "missing or no number".

use tollgate_guest_abi::imports::Call;
use tollgate_guest_abi::{ArithmeticOperator, FieldType, Operand};
use wasm_encoder::Instruction;

use crate::emit::body::{Body, RIGHT, Unsupported};
use crate::emit::plain_number::plain_number;

impl Body {
    pub(super) fn number(&mut self, operand: &Operand) -> Result<(), Unsupported> {
        match operand {
            Operand::Number(value) => self.float(*value),
            // A literal text counts as it would if it stood in a field.
            Operand::Text(text) => self.float(plain_number(text).unwrap_or(f64::NAN)),
            Operand::Boolean(_) => self.float(f64::NAN),
            Operand::Field(path) => self.read(Call::Number, path),
            Operand::Current(_) => return Err(Unsupported("`$current` outside a filter")),
            Operand::Aggregate(spec) => {
                let slot = self.slots.aggregate(spec);
                self.ask(Call::Aggregate, slot);
            }
            Operand::Time(spec) => {
                if spec.current {
                    return Err(Unsupported("`$current` outside a filter"));
                }
                let slot = self.slots.time(spec);
                self.ask(Call::TimePart, slot);
            }
            Operand::Arithmetic { left, operator, right } => {
                self.number(left)?;
                self.number(right)?;
                self.combine(*operator, right);
            }
            Operand::Negate(inner) => {
                self.number(inner)?;
                self.push(Instruction::F64Neg);
            }
        }
        Ok(())
    }

    fn combine(&mut self, operator: ArithmeticOperator, right: &Operand) {
        match operator {
            ArithmeticOperator::Add => self.push(Instruction::F64Add),
            ArithmeticOperator::Subtract => self.push(Instruction::F64Sub),
            ArithmeticOperator::Multiply => self.push(Instruction::F64Mul),
            ArithmeticOperator::Divide => self.divide(right),
        }
    }

    /// IEEE 754 gives an infinity for division by zero; here it is missing.
    fn divide(&mut self, divisor: &Operand) {
        if matches!(divisor, Operand::Number(value) if *value != 0.0) {
            self.push(Instruction::F64Div);
            return;
        }
        self.push(Instruction::LocalTee(RIGHT));
        self.push(Instruction::F64Div);
        self.float(f64::NAN);
        self.push(Instruction::LocalGet(RIGHT));
        self.float(0.0);
        self.push(Instruction::F64Ne);
        self.push(Instruction::Select);
    }
}

/// Whether it is always a number: `!=` then needs no care for missing values.
pub(super) fn never_missing(operand: &Operand) -> bool {
    match operand {
        Operand::Number(_) | Operand::Aggregate(_) => true,
        Operand::Field(path) => path.field_type() == FieldType::Number,
        Operand::Negate(inner) => never_missing(inner),
        // Infinities can cancel out, and a divisor can be zero.
        Operand::Arithmetic { .. } => false,
        Operand::Text(_) | Operand::Boolean(_) | Operand::Current(_) | Operand::Time(_) => false,
    }
}
