//! Emits operands as numbers: each leaves an `f64` on the stack; NaN for a missing value or a non-number.
//!
//! | precision | operands |
//! |---|---|
//! | nearest double | arithmetic, `avg`, `stddev` |
//! | exact, at most 15 digits | short literals, `count`, `distinct`, time functions |
//! | exact, any number of digits | fields, long literals, `sum`, `min`, `max` |
//!
//! Two numbers compare by their nearest doubles when one side is in the first row. Otherwise they compare exactly, by
//! [comparable doubles](tollgate_guest_abi::comparable_double). Only two numbers of the third row can share such a
//! double.

use tollgate_guest_abi::imports::{Call, operand as reference};
use tollgate_guest_abi::{AggregateFunction, ArithmeticOperator, FieldType, Number, Operand};
use wasm_encoder::Instruction;

use crate::emit::body::{BodyBuilder, RIGHT, Unsupported};

impl BodyBuilder {
    pub(super) fn number(&mut self, operand: &Operand) -> Result<(), Unsupported> {
        match operand {
            Operand::Number(value) => self.float(value.to_f64()),
            // A literal text has the same numeric value as a field with that text.
            Operand::Text(text) => {
                self.float(Number::from_plain(text).map_or(f64::NAN, |number| number.to_f64()))
            }
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

    /// Pushes the operand as the double that compares exactly with short numbers.
    pub(super) fn comparable(&mut self, operand: &Operand) -> Result<(), Unsupported> {
        match operand {
            Operand::Number(value) => self.float(value.comparable()),
            Operand::Field(path) => self.read(Call::Comparable, path),
            Operand::Aggregate(spec) if Precision::of_operand(operand) == Precision::Exact => {
                let slot = self.slots.aggregate(spec);
                self.ask(Call::ComparableAggregate, slot);
            }
            other => self.number(other)?,
        }
        Ok(())
    }

    /// Returns the operand in the encoding for exact comparison by the host; `None` when the host cannot compare it.
    pub(super) fn reference(&mut self, operand: &Operand) -> Option<i32> {
        Some(match operand {
            Operand::Field(path) => reference::of(reference::FIELD, self.slots.field(path)),
            Operand::Number(number) => reference::of(reference::NUMBER, self.slots.text(number.as_str())),
            Operand::Aggregate(spec) => reference::of(reference::AGGREGATE, self.slots.aggregate(spec)),
            Operand::Time(spec) if !spec.current => reference::of_time(self.slots.time(spec)),
            _ => return None,
        })
    }

    fn combine(&mut self, operator: ArithmeticOperator, right: &Operand) {
        match operator {
            ArithmeticOperator::Add => self.push(Instruction::F64Add),
            ArithmeticOperator::Subtract => self.push(Instruction::F64Sub),
            ArithmeticOperator::Multiply => self.push(Instruction::F64Mul),
            ArithmeticOperator::Divide => self.divide(right),
        }
    }

    /// Emits a division; division by zero yields NaN (missing) instead of the IEEE 754 infinity.
    fn divide(&mut self, divisor: &Operand) {
        if matches!(divisor, Operand::Number(value) if value.to_f64() != 0.0) {
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

/// The precision of an operand's numeric value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    /// The nearest double only.
    Double,
    /// Exact, with at most 15 significant digits.
    Short,
    /// Exact, with any number of digits.
    Exact,
}

impl Precision {
    pub(super) fn of_operand(operand: &Operand) -> Self {
        match operand {
            Operand::Number(number) if number.is_short() => Self::Short,
            Operand::Number(_) | Operand::Field(_) => Self::Exact,
            Operand::Aggregate(spec) => match spec.function {
                AggregateFunction::Count | AggregateFunction::Distinct => Self::Short,
                AggregateFunction::Sum | AggregateFunction::Min | AggregateFunction::Max => Self::Exact,
                AggregateFunction::Avg | AggregateFunction::Stddev => Self::Double,
            },
            Operand::Time(_) => Self::Short,
            Operand::Arithmetic { .. } | Operand::Negate(_) => Self::Double,
            Operand::Text(_) | Operand::Boolean(_) | Operand::Current(_) => Self::Double,
        }
    }
}

/// Returns whether the operand is always a number, so that `!=` needs no check for missing values.
pub(super) fn never_missing(operand: &Operand) -> bool {
    match operand {
        Operand::Number(_) | Operand::Aggregate(_) => true,
        Operand::Field(path) => path.field_type() == FieldType::Number,
        Operand::Negate(inner) => never_missing(inner),
        // Infinities can cancel out to NaN, and a divisor can be zero.
        Operand::Arithmetic { .. } => false,
        Operand::Text(_) | Operand::Boolean(_) | Operand::Current(_) | Operand::Time(_) => false,
    }
}
