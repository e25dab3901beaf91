//! The abstract syntax tree: the parsed form of a script, before any semantic check.
//!
//! Conditions and values share one node type, because `(` may open either. Nodes are stored in one vector and refer to
//! each other by index.
//!
//! INVARIANT: a node comes after all nodes it contains. A stage that processes the vector in order sees the parts
//! before the whole and needs no recursion over a tree of arbitrary depth.

#[cfg(test)]
pub(crate) mod outline;

use tollgate_guest_abi::{AggregateFunction, ArithmeticOperator, Comparison, Number, TimeFunction, Verdict};

use crate::span::Span;

/// The parsed rule. Missing parts have been reported.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) description: Option<Spanned<String>>,
    pub(crate) when: Option<NodeId>,
    pub(crate) then: Then,
    pub(crate) nodes: Vec<Node>,
}

/// The `then` clause.
#[derive(Debug, Default)]
pub(crate) struct Then {
    pub(crate) verdict: Option<Verdict>,
    pub(crate) score: Option<Spanned<f64>>,
    pub(crate) reason: Option<Spanned<String>>,
}

/// A value with its location in the script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// The index of a node in [`Rule::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) usize);

/// A condition, a value, or an unreadable part.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// The location, including any enclosing parentheses.
    pub(crate) span: Span,
    /// Whether the node has its own parentheses.
    pub(crate) grouped: bool,
    /// Whether the node is part of an aggregate's filter.
    pub(crate) in_filter: bool,
}

#[derive(Debug)]
pub(crate) enum NodeKind {
    Any(Vec<NodeId>),
    All(Vec<NodeId>),
    Not(NodeId),
    Compare {
        left: NodeId,
        operator: Comparison,
        right: NodeId,
    },
    Between {
        value: NodeId,
        low: NodeId,
        high: NodeId,
    },
    In {
        value: NodeId,
        list: ListExpr,
        negated: bool,
    },
    Matches {
        value: NodeId,
        pattern: Option<Spanned<String>>,
        negated: bool,
    },
    Previous(PreviousExpr),
    Arithmetic {
        left: NodeId,
        operator: ArithmeticOperator,
        right: NodeId,
    },
    Negate(NodeId),
    Number(Number),
    Text(String),
    Boolean(bool),
    Field(Path),
    /// `$current.` followed by a path.
    Current(Path),
    Aggregate(AggregateExpr),
    Time(TimeExpr),
    /// An already reported error; accepted in any context.
    Invalid,
}

impl NodeKind {
    /// Returns whether the node is a test of values rather than a combination of other conditions.
    pub(crate) const fn is_test(&self) -> bool {
        matches!(self, Self::Compare { .. } | Self::Between { .. } | Self::In { .. } | Self::Matches { .. })
    }
}

impl NodeKind {
    /// Returns the child nodes, in script order.
    pub(crate) fn parts(&self) -> Vec<NodeId> {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.clone(),
            Self::Not(part) | Self::Negate(part) => vec![*part],
            Self::Compare { left, operator: _, right } | Self::Arithmetic { left, operator: _, right } => {
                vec![*left, *right]
            }
            Self::Between { value, low, high } => vec![*value, *low, *high],
            Self::In { value, .. } | Self::Matches { value, .. } => vec![*value],
            Self::Aggregate(aggregate) => vec![aggregate.filter],
            Self::Previous(_)
            | Self::Number(_)
            | Self::Text(_)
            | Self::Boolean(_)
            | Self::Field(_)
            | Self::Current(_)
            | Self::Time(_)
            | Self::Invalid => Vec::new(),
        }
    }
}

/// Dotted keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) keys: Vec<String>,
}

/// The list operand of `in`.
#[derive(Debug)]
pub(crate) enum ListExpr {
    Items(Vec<Spanned<ListItem>>),
    Current(Path),
    Named(Spanned<String>),
    Invalid,
}

/// An item of a list, or the value of a match pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ListItem {
    Number(Number),
    Text(String),
    Boolean(bool),
    Current(Path),
}

/// `sum(metadata.fee when …, "P1D")`
#[derive(Debug)]
pub(crate) struct AggregateExpr {
    pub(crate) function: AggregateFunction,
    pub(crate) value: Option<Spanned<Path>>,
    pub(crate) filter: NodeId,
    pub(crate) window: Option<Spanned<String>>,
}

/// `hour_of_day(timestamp, "Africa/Lagos")`
#[derive(Debug)]
pub(crate) struct TimeExpr {
    pub(crate) function: TimeFunction,
    pub(crate) field: Spanned<Path>,
    /// Whether the field was written with `$current.`.
    pub(crate) current: bool,
    pub(crate) zone: Option<Spanned<String>>,
}

/// `previous_transaction(within: …, match: {…})`
#[derive(Debug, Default)]
pub(crate) struct PreviousExpr {
    pub(crate) window: Option<Spanned<String>>,
    pub(crate) pairs: Vec<(Spanned<Path>, Spanned<ListItem>)>,
}
