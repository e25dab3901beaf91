//! The third stage: checks an AST and lowers it to a valid rule.
//!
//! ```text
//!  … parse ──▶ AST ──▶ [check] ──▶ checked rule ──emit──▶ module
//! ```
//!
//! Nodes are lowered in vector order, so the parts of a condition are lowered before the condition and nothing
//! recurses. A node with a reported error becomes [`Lowered::Invalid`], which is accepted everywhere without another
//! diagnostic. This stage also warns about tests that compile but are probably mistakes; see [`foregone`] and
//! [`junction`].

mod aggregate;
mod arithmetic;
mod caseless;
mod compare;
mod condition;
mod field;
mod foregone;
mod junction;
mod list;
mod lookup;
mod pattern;
mod previous;
mod range;
mod rule;
mod time;
mod time_part;
mod value_kind;
mod vocabulary;

use std::collections::BTreeSet;

use tollgate_guest_abi::limits::CONDITION_DEPTH_MAX;
use tollgate_guest_abi::{AggregateSpec, Condition, Operand, PreviousSpec};

use crate::CompileOptions;
use crate::ast::{Node, NodeId, NodeKind, Rule};
use crate::checked::CheckedRule;
use crate::codes::Code;
use crate::diagnostic::{Diagnostics, quote};
use crate::span::Span;
use field::UnknownField;

/// Returns the rule if the script has no error. Errors and warnings are added to `findings`.
pub(crate) fn check(
    script: &str,
    rule: &Rule,
    options: &CompileOptions<'_>,
    findings: &mut Diagnostics<'_>,
) -> Option<CheckedRule> {
    let mut checker = Checker {
        script,
        nodes: &rule.nodes,
        named_lists: options.named_lists,
        zones: options.zones,
        currencies: options.currencies,
        lowered: Vec::with_capacity(rule.nodes.len()),
        unknown_fields: Vec::new(),
        aggregates: Vec::new(),
        previous: Vec::new(),
        patterns: Vec::new(),
        findings,
    };
    for node in &rule.nodes {
        let lowered = checker.lower(node);
        checker.lowered.push(lowered);
    }
    checker.rule(rule)
}

struct Checker<'c, 's> {
    script: &'c str,
    nodes: &'c [Node],
    named_lists: Option<&'c BTreeSet<String>>,
    zones: Option<&'c BTreeSet<String>>,
    currencies: Option<&'c BTreeSet<String>>,
    /// The lowered form of each node so far. A parent takes its children out.
    lowered: Vec<Lowered>,
    unknown_fields: Vec<UnknownField>,
    /// The distinct history lookups and patterns of the rule.
    aggregates: Vec<AggregateSpec>,
    previous: Vec<PreviousSpec>,
    patterns: Vec<String>,
    findings: &'c mut Diagnostics<'s>,
}

enum Lowered {
    Condition(PartialCondition),
    Value(CheckedValue),
    /// Already reported, or taken by the parent node.
    Invalid,
}

/// A condition that may still be merged into an enclosing junction of its kind.
enum PartialCondition {
    Joined(Junction, Vec<ConditionPart>),
    One(ConditionPart),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Junction {
    /// `and`
    All,
    /// `or`
    Any,
}

struct ConditionPart {
    condition: Condition,
    span: Span,
    depth: usize,
    /// Whether the script contains it in this form; only then can it be reported as a repetition.
    written: bool,
    /// Locations of its tests; see [`CheckedRule::tests`].
    tests: Vec<Span>,
}

struct CheckedValue {
    operand: Operand,
    span: Span,
    depth: usize,
}

impl ConditionPart {
    fn test(mut condition: Condition, span: Span, depth: usize) -> Self {
        caseless::in_small_letters(&mut condition);
        Self { condition, span, depth, written: true, tests: vec![span] }
    }
}

impl Checker<'_, '_> {
    fn lower(&mut self, node: &Node) -> Lowered {
        let lowered = match &node.kind {
            NodeKind::Any(parts) => self.any(parts, node.span),
            NodeKind::All(parts) => self.join(Junction::All, parts),
            NodeKind::Not(part) => self.not(*part, node.span),
            NodeKind::Compare { left, operator, right } => self.compare(*left, *operator, *right, node.span),
            NodeKind::Between { value, low, high } => self.between(*value, *low, *high, node.span),
            NodeKind::In { value, list, negated } => self.in_list(*value, list, *negated, node.span),
            NodeKind::Matches { value, pattern, negated } => {
                self.matches(*value, pattern.as_ref(), *negated, node.span)
            }
            NodeKind::Previous(previous) => self.previous_transaction(previous, node.span),
            NodeKind::Arithmetic { left, operator, right } => {
                self.arithmetic(*left, *operator, *right, node.span)
            }
            NodeKind::Negate(part) => self.negate(*part, node.span),
            NodeKind::Number(number) => value(Operand::Number(number.clone()), node.span),
            NodeKind::Text(text) => value(Operand::Text(text.clone()), node.span),
            NodeKind::Boolean(boolean) => value(Operand::Boolean(*boolean), node.span),
            NodeKind::Field(path) => {
                let path = self.field(path, node.span);
                value(Operand::Field(path), node.span)
            }
            NodeKind::Current(path) => {
                let path = self.field(path, node.span);
                let operand = if node.in_filter { Operand::Current(path) } else { Operand::Field(path) };
                value(operand, node.span)
            }
            NodeKind::Aggregate(aggregate) => self.aggregate(aggregate, node.span),
            NodeKind::Time(time) => self.time(time, node),
            NodeKind::Invalid => None,
        };
        lowered.unwrap_or(Lowered::Invalid)
    }

    /// Takes a child that must be a condition. Returns `None` after reporting that it is not.
    fn take_condition(&mut self, id: NodeId) -> Option<PartialCondition> {
        match self.take(id) {
            Lowered::Condition(draft) => Some(draft),
            Lowered::Value(value) => {
                self.not_a_condition(id, &value);
                None
            }
            Lowered::Invalid => None,
        }
    }

    /// Takes a child that must be a value. Returns `None` after reporting that it is not.
    fn take_value(&mut self, id: NodeId) -> Option<CheckedValue> {
        match self.take(id) {
            Lowered::Value(value) => Some(value),
            Lowered::Condition(_) => {
                let span = self.nodes.get(id.0).map(|node| node.span).unwrap_or_default();
                self.findings
                    .report(Code::NotAValue, span, || {
                        format!("{} is a condition, not a value", quote(span.text(self.script)))
                    })
                    .help(|| {
                        "conditions are combined with `and`, `or` and `not`; they cannot be compared"
                            .to_owned()
                    });
                None
            }
            Lowered::Invalid => None,
        }
    }

    fn take(&mut self, id: NodeId) -> Lowered {
        self.lowered.get_mut(id.0).map_or(Lowered::Invalid, |slot| std::mem::replace(slot, Lowered::Invalid))
    }

    fn not_a_condition(&mut self, id: NodeId, value: &CheckedValue) {
        let text = value.span.text(self.script);
        let what = match &value.operand {
            Operand::Aggregate(_) => "an aggregate",
            Operand::Time(_) => "a time function",
            Operand::Field(_) | Operand::Current(_) => "a field",
            Operand::Number(_) | Operand::Text(_) | Operand::Boolean(_) => "a literal",
            Operand::Arithmetic { .. } | Operand::Negate(_) => "a number",
        };
        let example = value_kind::example_test(&value.operand);
        let span = self.nodes.get(id.0).map_or(value.span, |node| node.span);
        self.findings
            .report(Code::NotACondition, span, || format!("{} is {what}, not a condition", quote(text)))
            .help(|| format!("compare it with something: {}", quote(&format!("{text} {example}"))));
    }

    /// Returns the depth one level above children of this depth. Returns `None` after reporting that the limit is
    /// exceeded.
    fn above(&mut self, depth: usize, span: Span) -> Option<usize> {
        if depth < CONDITION_DEPTH_MAX {
            return Some(depth + 1);
        }
        self.findings
            .report(Code::NestedTooDeeply, span, || {
                format!("nested too deeply: at most {CONDITION_DEPTH_MAX} levels of conditions and operators")
            })
            .help(|| "split the condition into several rules".to_owned());
        None
    }
}

#[expect(clippy::unnecessary_wraps, reason = "one of the arms that may have nothing to give")]
fn value(operand: Operand, span: Span) -> Option<Lowered> {
    Some(Lowered::Value(CheckedValue { operand, span, depth: 1 }))
}

#[cfg(test)]
mod tests {
    use crate::{CompileOptions, compile, render};

    fn rule(script: &str) -> String {
        let compilation = compile(script, &CompileOptions::default());
        let drawn = render(script, "rule.ws", &compilation.diagnostics, false);
        let rule = compilation.rule.map(|rule| serde_json::to_string_pretty(&rule).unwrap() + "\n");
        format!("{}{drawn}", rule.unwrap_or_default())
    }

    #[test]
    fn rules_are_as_recorded() {
        crate::golden::check_all("check", "rule.json", rule);
    }

    #[test]
    fn complaints_are_as_recorded() {
        crate::golden::check_all("errors", "errors", rule);
    }
}
