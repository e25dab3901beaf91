//! Rewrites `a or b and c`: Watch joins from left to right, `(a or b) and c`; here it is `a or (b and c)`.

use crate::ast::{NodeId, NodeKind};
use crate::from_watch::{DifferenceCollector, ParsedScript};
use crate::span::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestConnective {
    And,
    Or,
}

/// Returns the tests of the condition in script order, each with the connective before it. The connective of the first
/// test has no meaning.
pub(super) fn tests(tree: ParsedScript<'_>) -> Vec<(TestConnective, NodeId)> {
    let Some(root) = tree.rule.when else { return Vec::new() };
    let parts = match tree.node(root).map(|node| (&node.kind, node.grouped)) {
        Some((NodeKind::Any(parts), false)) => parts.clone(),
        _ => vec![root],
    };
    let mut tests = Vec::new();
    for part in parts {
        match tree.node(part).map(|node| (&node.kind, node.grouped)) {
            Some((NodeKind::All(inner), false)) => {
                let joints =
                    std::iter::once(TestConnective::Or).chain(std::iter::repeat(TestConnective::And));
                tests.extend(joints.zip(inner.iter().copied()));
            }
            _ => tests.push((TestConnective::Or, part)),
        }
    }
    tests
}

/// Adds parentheses so that the tests are grouped as in Watch.
pub(super) fn rewrite(tree: ParsedScript<'_>, work: &mut DifferenceCollector) {
    let tests = tests(tree);
    let is_read_otherwise = tests
        .iter()
        .skip(1)
        .zip(tests.iter().skip(2))
        .any(|pair| (pair.0.0, pair.1.0) == (TestConnective::Or, TestConnective::And));
    if !is_read_otherwise {
        return;
    }
    let spans: Vec<Span> = tests.iter().filter_map(|(_, id)| Some(tree.node(*id)?.span)).collect();
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return };
    let joints: Vec<TestConnective> = tests.iter().skip(1).map(|(joint, _)| *joint).collect();
    // The tests before a change of connective form a group.
    for ((joint, next), span) in joints.iter().zip(joints.iter().skip(1)).zip(spans.iter().skip(1)) {
        if joint != next {
            work.edits.insert(first.start, "(");
            work.edits.insert(span.end, ")");
        }
    }
    work.note(
        first.to(*last),
        "Watch evaluated these tests from left to right; here `and` binds tighter than `or`",
        "the rewritten rule has parentheses that keep the grouping of Watch",
    );
}
