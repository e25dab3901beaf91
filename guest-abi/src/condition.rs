//! A condition after checking: names resolved, types settled, values in place.
//!
//! The same tree says when a rule matches and which past transactions an aggregate counts. In a rule, a
//! [`Operand::Field`] is read from the transaction under evaluation, and [`Operand::Current`] does not occur. In a
//! filter, a [`Operand::Field`] is read from the historical transaction and [`Operand::Current`] from the one under
//! evaluation, and there is no aggregate and no previous transaction.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::imports::relation;
use crate::{AggregateSpec, FieldPath, Number, PreviousSpec, TimeSpec};

/// Something true or false of a transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Every one holds; read left to right, the rest is skipped once one does not.
    All(Vec<Condition>),
    /// At least one holds; read left to right, the rest is skipped once one does.
    Any(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// Two values stand in this relation. False when either is missing.
    Compare {
        /// What stands left of the operator.
        left: Operand,
        /// The relation.
        operator: Comparison,
        /// What stands right of it.
        right: Operand,
    },
    /// A value is in a list (`negated`: is there and in it nowhere). False when the value or the list is missing.
    In {
        /// The value looked for.
        value: Operand,
        /// Where.
        list: ListSource,
        /// `not_in`
        negated: bool,
    },
    /// A pattern is found in a value (`negated`: the value is there and has it nowhere). False when it is missing.
    Matches {
        /// The value searched.
        value: Operand,
        /// A pattern of the linear-time engine, unanchored.
        pattern: String,
        /// `not_regex`
        negated: bool,
    },
    /// A historical transaction like this one exists.
    Previous(PreviousSpec),
}

/// The six relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// `==`
    #[serde(rename = "==")]
    Equal,
    /// `!=`
    #[serde(rename = "!=")]
    NotEqual,
    /// `<`
    #[serde(rename = "<")]
    Less,
    /// `<=`
    #[serde(rename = "<=")]
    LessOrEqual,
    /// `>`
    #[serde(rename = ">")]
    Greater,
    /// `>=`
    #[serde(rename = ">=")]
    GreaterOrEqual,
}

impl Comparison {
    /// The relation that holds of `(b, a)` exactly when this one holds of `(a, b)`.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        match self {
            Comparison::Equal => Comparison::Equal,
            Comparison::NotEqual => Comparison::NotEqual,
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        }
    }

    /// The bits of [`relation`] any of which makes it hold.
    #[must_use]
    pub const fn relation_bits(self) -> i32 {
        match self {
            Comparison::Equal => relation::EQUAL,
            Comparison::NotEqual => relation::NOT_EQUAL,
            Comparison::Less => relation::LESS,
            Comparison::LessOrEqual => relation::LESS | relation::LEVEL,
            Comparison::Greater => relation::GREATER,
            Comparison::GreaterOrEqual => relation::GREATER | relation::LEVEL,
        }
    }

    /// Whether it is one of order: neither `==` nor `!=`.
    #[must_use]
    pub const fn is_order(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::NotEqual)
    }

    /// As scripts write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// A value to compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operand {
    /// A literal number.
    Number(Number),
    /// A literal text.
    Text(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A field of the transaction the condition is about.
    Field(FieldPath),
    /// In a filter only: a field of the transaction under evaluation.
    Current(FieldPath),
    /// In a rule only: one number over past transactions.
    Aggregate(Box<AggregateSpec>),
    /// A part of a date-time, as a number.
    Time(TimeSpec),
    /// Two numbers combined. Missing when either is missing or not a number.
    Arithmetic {
        /// What stands left of the operator.
        left: Box<Operand>,
        /// How they combine.
        operator: ArithmeticOperator,
        /// What stands right of it.
        right: Box<Operand>,
    },
    /// A number with its sign turned.
    Negate(Box<Operand>),
}

/// The four operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArithmeticOperator {
    /// `+`
    #[serde(rename = "+")]
    Add,
    /// `-`
    #[serde(rename = "-")]
    Subtract,
    /// `*`
    #[serde(rename = "*")]
    Multiply,
    /// `/`; by zero it is missing.
    #[serde(rename = "/")]
    Divide,
}

impl ArithmeticOperator {
    /// Combines two numbers; NaN stands for a missing one.
    #[must_use]
    pub fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            ArithmeticOperator::Add => left + right,
            ArithmeticOperator::Subtract => left - right,
            ArithmeticOperator::Multiply => left * right,
            ArithmeticOperator::Divide if right == 0.0 => f64::NAN,
            ArithmeticOperator::Divide => left / right,
        }
    }
}

/// Where `in` looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListSource {
    /// Written in the script; never empty.
    Items(Vec<Item>),
    /// A field of the transaction under evaluation: the elements of an array, or a single value as a list of one.
    Current(FieldPath),
    /// A named list kept beside the rules; missing when nobody set it.
    Named(String),
}

/// One value of a list or of a match pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// A literal number.
    Number(Number),
    /// A literal text.
    Text(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A field of the transaction under evaluation.
    Current(FieldPath),
}
