//! The second form of a script: what was written, before anyone asks whether it makes sense.
//!
//! Conditions and values share one kind of node, because `(` may open either. Nodes lie in one vector and name each
//! other by number; a node stands behind all nodes it is made of. So whoever works through the vector from its
//! beginning has seen the parts before the whole, and no stage recurses over a tree an author has drawn.

#[cfg(test)]
pub(crate) mod outline;

use tollgate_guest_abi::{AggregateFunction, ArithmeticOperator, Comparison, Number, TimeFunction, Verdict};

use crate::span::Span;

/// What the parser understood. What is missing was reported.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) description: Option<Spanned<String>>,
    pub(crate) when: Option<NodeId>,
    pub(crate) then: Then,
    /// The parts of all conditions.
    pub(crate) nodes: Vec<Node>,
}

/// The `then` clause.
#[derive(Debug, Default)]
pub(crate) struct Then {
    pub(crate) verdict: Option<Verdict>,
    pub(crate) score: Option<Spanned<f64>>,
    pub(crate) reason: Option<Spanned<String>>,
}

/// Something and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// The number of a node in [`Rule::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) usize);

/// A condition, a value, or something that could not be read.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// With the parentheses around it, if there are any.
    pub(crate) span: Span,
    /// Whether it stands in parentheses of its own.
    pub(crate) grouped: bool,
    /// Whether it is part of the filter of an aggregate.
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
    /// `$current.` and the path behind it.
    Current(Path),
    Aggregate(AggregateExpr),
    Time(TimeExpr),
    /// Reported already; fits everywhere.
    Invalid,
}

impl NodeKind {
    /// Whether it asks something of values, rather than joining what others ask.
    pub(crate) const fn is_test(&self) -> bool {
        matches!(self, Self::Compare { .. } | Self::Between { .. } | Self::In { .. } | Self::Matches { .. })
    }
}

impl NodeKind {
    /// The nodes it is made of, in the order of the script.
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

/// Keys with dots between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) keys: Vec<String>,
}

/// What stands behind `in`.
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
