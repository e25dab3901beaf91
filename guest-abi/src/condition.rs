//! Conditions after checking: names are resolved and types are settled.
//!
//! Rules and the filters of aggregates share this tree. In a rule, [`Operand::Field`] reads the transaction under
//! evaluation, and [`Operand::Current`] does not occur. In a filter, [`Operand::Field`] reads the historical
//! transaction and [`Operand::Current`] the one under evaluation. A filter contains no aggregate and no
//! previous-transaction lookup.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::imports::relation;
use crate::{AggregateSpec, FieldPath, Number, PreviousSpec, TimeSpec};

/// A boolean test of a transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// True when every part holds; evaluated left to right, stopping at the first that does not.
    All(Vec<Condition>),
    /// True when at least one part holds; evaluated left to right, stopping at the first that does.
    Any(Vec<Condition>),
    /// True when the inner condition does not hold.
    Not(Box<Condition>),
    /// Compares two values. False when either is missing.
    Compare {
        /// The left operand.
        left: Operand,
        /// The comparison operator.
        operator: Comparison,
        /// The right operand.
        right: Operand,
    },
    /// Tests whether a value is in a list (`negated`: not in it). False when the value or the list is missing.
    In {
        /// The value to look up.
        value: Operand,
        /// The list.
        list: ListSource,
        /// Whether the operator is `not_in`.
        negated: bool,
    },
    /// Tests whether a pattern is found in a value (`negated`: not found). False when the value is missing.
    Matches {
        /// The value to search.
        value: Operand,
        /// The pattern, unanchored, for the linear-time engine.
        pattern: String,
        /// Whether the operator is `not_regex`.
        negated: bool,
    },
    /// True when a matching historical transaction exists.
    Previous(PreviousSpec),
}

/// A comparison operator.
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
    /// Returns the operator that holds for `(b, a)` exactly when this one holds for `(a, b)`.
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

    /// Returns the bits of [`relation`]; the operator holds when any of them is set.
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

    /// Returns whether this is an ordering operator: neither `==` nor `!=`.
    #[must_use]
    pub const fn is_order(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::NotEqual)
    }

    /// Returns the spelling used in scripts.
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

/// A value in a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operand {
    /// A literal number.
    Number(Number),
    /// A literal text.
    Text(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A field of the transaction that the condition tests.
    Field(FieldPath),
    /// In a filter only: a field of the transaction under evaluation.
    Current(FieldPath),
    /// In a rule only: an aggregate over past transactions.
    Aggregate(Box<AggregateSpec>),
    /// A part of a date-time, as a number.
    Time(TimeSpec),
    /// An arithmetic operation. Missing when either side is missing or not a number.
    Arithmetic {
        /// The left operand.
        left: Box<Operand>,
        /// The arithmetic operator.
        operator: ArithmeticOperator,
        /// The right operand.
        right: Box<Operand>,
    },
    /// A number with its sign inverted.
    Negate(Box<Operand>),
}

/// An arithmetic operator.
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
    /// `/`; division by zero yields a missing value.
    #[serde(rename = "/")]
    Divide,
}

impl ArithmeticOperator {
    /// Applies the operator to two numbers; NaN represents a missing number.
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

/// The list operand of `in`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListSource {
    /// Items written in the script; never empty.
    Items(Vec<Item>),
    /// A field of the transaction under evaluation: the elements of an array, or a single value as a one-item list.
    Current(FieldPath),
    /// A named list stored with the rules. Until it is set, the rule fails; under [`Semantics::V1`] the list is
    /// missing.
    ///
    /// [`Semantics::V1`]: crate::Semantics::V1
    Named(String),
}

/// One item of a list, or the value of a match pair.
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
