//! Aggregates: one number over past transactions.

use serde::{Deserialize, Serialize};

use crate::{Condition, FieldPath, Window};

/// A function of one field over the transactions of a window that satisfy a filter.
///
/// Equal specs have the same value for a given transaction, in every rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregateSpec {
    /// The function applied to the values.
    pub function: AggregateFunction,
    /// The field of the historical transactions to aggregate; `count` ignores it.
    pub value: FieldPath,
    /// The condition that selects historical transactions.
    pub filter: Condition,
    /// Time range before the event time of the transaction under evaluation, both ends included.
    pub window: Window,
}

/// An aggregate function. Every function returns 0 when no transaction qualifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AggregateFunction {
    /// The number of transactions.
    Count,
    /// The sum, computed exactly in decimal and rounded once.
    Sum,
    /// The mean, computed exactly in decimal and rounded once.
    Avg,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The number of distinct values.
    Distinct,
    /// The sample standard deviation; 0 for fewer than two values.
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

    /// Returns the name used in scripts.
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
