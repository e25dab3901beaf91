//! One number over past transactions.

use serde::{Deserialize, Serialize};

use crate::{Condition, FieldPath, Window};

/// What is asked of the history: a function of one field over the transactions of a window that satisfy a filter.
///
/// Two equal specs have one answer per transaction, whoever asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregateSpec {
    /// How the values become one number.
    pub function: AggregateFunction,
    /// The field of the historical transactions it is computed over; `count` does not look at it.
    pub value: FieldPath,
    /// Which historical transactions take part.
    pub filter: Condition,
    /// How far back, from the event time of the transaction under evaluation, both ends included.
    pub window: Window,
}

/// How many values become one. Without a transaction in the window every function gives 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AggregateFunction {
    /// How many transactions.
    Count,
    /// Exact in decimal, rounded once.
    Sum,
    /// Exact in decimal, rounded once.
    Avg,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// How many different values.
    Distinct,
    /// Sample standard deviation; 0 for fewer than two values.
    Stddev,
}

impl AggregateFunction {
    /// Every function.
    pub const ALL: [AggregateFunction; 7] = [
        AggregateFunction::Count,
        AggregateFunction::Sum,
        AggregateFunction::Avg,
        AggregateFunction::Min,
        AggregateFunction::Max,
        AggregateFunction::Distinct,
        AggregateFunction::Stddev,
    ];

    /// As scripts write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Avg => "avg",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
            AggregateFunction::Distinct => "distinct",
            AggregateFunction::Stddev => "stddev",
        }
    }
}
