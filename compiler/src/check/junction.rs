//! Checks the parts of an `and` or an `or` against each other: repetitions, contradictions and tautologies. The cost is
//! linear in the number of parts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tollgate_guest_abi::{Comparison, Condition, Number, Operand};

use crate::check::compare::is_literal;
use crate::check::range::{Interval, WHOLE};
use crate::check::value_kind::{self, ValueKind};
use crate::check::{ConditionPart, Junction};
use crate::codes::Code;
use crate::diagnostic::{Diagnostics, quote};
use crate::span::Span;

pub(super) fn check(
    script: &str,
    parts: &[ConditionPart],
    junction: Junction,
    findings: &mut Diagnostics<'_>,
) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    let mut known: HashMap<String, KnownFacts> = HashMap::new();
    for part in parts {
        // Nested junctions are skipped: comparing them would cost unbounded work.
        let Some(test) = ComparisonTest::of_condition(&part.condition) else {
            continue;
        };
        if part.written {
            match seen.entry(test.whole) {
                Entry::Occupied(first) => {
                    report_repetition(script, *first.get(), part.span, findings);
                    continue;
                }
                Entry::Vacant(entry) => {
                    entry.insert(part.span);
                }
            }
        }
        let Some(Fact { value, is_number, operator, literal }) = test.fact else {
            continue;
        };
        let known = known.entry(value).or_default();
        let clash = match junction {
            Junction::All => known.and(operator, literal, part.span),
            Junction::Any => known.or(is_number, operator, literal, part.span),
        };
        if let Some(other) = clash {
            report_clash(script, junction, other, part.span, findings);
        }
    }
}

/// A test in a form that can be hashed.
struct ComparisonTest<'c> {
    /// The whole test as JSON.
    whole: String,
    /// The constraint on one value, if the test compares it with a literal.
    fact: Option<Fact<'c>>,
}

struct Fact<'c> {
    value: String,
    /// Whether the value is a number whenever it is present.
    is_number: bool,
    operator: Comparison,
    literal: &'c Operand,
}

impl<'c> ComparisonTest<'c> {
    fn of_condition(condition: &'c Condition) -> Option<Self> {
        if matches!(condition, Condition::All(_) | Condition::Any(_) | Condition::Not(_)) {
            return None;
        }
        // JSON distinguishes all values and can be hashed.
        let whole = serde_json::to_string(condition).ok()?;
        let (value, operator, literal) = match condition {
            Condition::Compare { left, operator, right } if is_literal(right) => (left, *operator, right),
            Condition::Compare { left, operator, right } if is_literal(left) => {
                (right, operator.mirrored(), left)
            }
            _ => return Some(Self { whole, fact: None }),
        };
        let is_number = value_kind::kind_of_operand(value) == ValueKind::Number;
        let value = serde_json::to_string(value).ok()?;
        Some(Self { whole, fact: Some(Fact { value, is_number, operator, literal }) })
    }
}

/// Constraints on one value from the tests so far.
struct KnownFacts {
    /// In an `and`: the range of the value, and the test that last narrowed it.
    range: Interval,
    range_span: Option<Span>,
    /// In an `or`: a range without a lower bound, and one without an upper bound.
    below: Option<(Interval, Span)>,
    above: Option<(Interval, Span)>,
    /// The literal of an earlier `==` test, and of an earlier `!=` test.
    equal: Option<(Operand, Span)>,
    unequal: Option<(Operand, Span)>,
}

impl Default for KnownFacts {
    fn default() -> Self {
        Self { range: WHOLE, range_span: None, below: None, above: None, equal: None, unequal: None }
    }
}

impl KnownFacts {
    /// Adds a test that must also hold. Returns an earlier test that contradicts it.
    fn and(&mut self, operator: Comparison, literal: &Operand, span: Span) -> Option<Span> {
        if let Operand::Number(number) = literal
            && let Some(range) = range_of(operator, number)
        {
            let both = self.range.and(range);
            if both.is_empty() {
                return self.range_span;
            }
            if both != self.range {
                self.range_span = Some(span);
            }
            self.range = both;
        }
        match operator {
            Comparison::Equal => {
                let other = self.equal.as_ref().filter(|(equal, _)| differ(equal, literal));
                let same = self.unequal.as_ref().filter(|(unequal, _)| unequal == literal);
                let clash = other.or(same).map(|&(_, span)| span);
                self.equal.get_or_insert((literal.clone(), span));
                clash
            }
            Comparison::NotEqual => {
                let clash = self.equal.as_ref().filter(|(equal, _)| equal == literal).map(|&(_, span)| span);
                self.unequal = Some((literal.clone(), span));
                clash
            }
            _ => None,
        }
    }

    /// Adds an alternative test. Returns an earlier test that, together with it, covers every value.
    fn or(&mut self, is_number: bool, operator: Comparison, literal: &Operand, span: Span) -> Option<Span> {
        if operator == Comparison::NotEqual {
            let same = self.equal.as_ref().filter(|(equal, _)| equal == literal);
            let other = self.unequal.as_ref().filter(|(unequal, _)| differ(unequal, literal));
            let clash = same.or(other).map(|&(_, span)| span);
            self.unequal.get_or_insert((literal.clone(), span));
            return clash;
        }
        if operator == Comparison::Equal {
            let clash =
                self.unequal.as_ref().filter(|(unequal, _)| unequal == literal).map(|&(_, span)| span);
            self.equal = Some((literal.clone(), span));
            return clash;
        }
        let Operand::Number(number) = literal else {
            return None;
        };
        // A text that is not a number has no order.
        if !is_number {
            return None;
        }
        let range = range_of(operator, number)?;
        let is_below = range.low == f64::NEG_INFINITY;
        let (same_side, other_side) =
            if is_below { (&mut self.below, &self.above) } else { (&mut self.above, &self.below) };
        same_side.get_or_insert((range, span));
        other_side.as_ref().filter(|(other, _)| other.covers_all_with(range)).map(|&(_, span)| span)
    }
}

/// Returns the range of a comparison with a number that its double represents uniquely.
fn range_of(operator: Comparison, number: &Number) -> Option<Interval> {
    if number.is_short() { Interval::of_comparison(operator, number.to_f64()) } else { None }
}

/// Returns whether no value can equal both.
fn differ(left: &Operand, right: &Operand) -> bool {
    match (left, right) {
        // In an `and`, two different short numbers never get here: their ranges have clashed already.
        (Operand::Number(left), Operand::Number(right)) => left != right,
        (Operand::Text(left), Operand::Text(right)) => left != right,
        (Operand::Boolean(left), Operand::Boolean(right)) => left != right,
        _ => false,
    }
}

fn report_repetition(script: &str, first: Span, again: Span, findings: &mut Diagnostics<'_>) {
    let position = findings.position(first.start);
    findings
        .report(Code::RepeatedCondition, again, || format!("{} is repeated", quote(again.text(script))))
        .help(|| format!("the first occurrence is at line {}, column {}", position.line, position.column));
}

fn report_clash(script: &str, junction: Junction, first: Span, second: Span, findings: &mut Diagnostics<'_>) {
    let text = quote(second.text(script));
    // The two bounds of a `between` share one location.
    if first == second {
        findings
            .report(Code::NeverTrue, second, || format!("{text} is never true"))
            .help(|| "the lower bound comes first".to_owned());
        return;
    }
    let first = quote(first.text(script));
    match junction {
        Junction::All => findings
            .report(Code::NeverTrue, second, || format!("{first} and {text} are never true together"))
            .help(|| "this `and` is never true: did you mean `or`?".to_owned()),
        Junction::Any => findings
            .report(Code::AlwaysTrue, second, || {
                format!("one of {first} and {text} is always true when the value is present")
            })
            .help(|| "this `or` is always true when the value is present: did you mean `and`?".to_owned()),
    }
}
