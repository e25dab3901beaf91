//! Checks `and`, `or` and `not`. Partial conditions are merged, and finished once nothing can be merged into them.

use tollgate_guest_abi::Condition;

use crate::ast::{NodeId, NodeKind};
use crate::check::{Checker, ConditionPart, Junction, Lowered, PartialCondition, junction};
use crate::codes::Code;
use crate::span::Span;

/// Length of the longest condition that a help text repeats, in bytes.
const READING_BYTES_MAX: usize = 160;

impl Checker<'_, '_> {
    pub(super) fn any(&mut self, ids: &[NodeId], span: Span) -> Option<Lowered> {
        self.report_mixture(ids, span);
        self.join(Junction::Any, ids)
    }

    /// Merges the parts into one partial condition, flattening nested ones of the same kind. Returns `None` when a part
    /// is not a condition, after checking all parts.
    pub(super) fn join(&mut self, junction: Junction, ids: &[NodeId]) -> Option<Lowered> {
        let mut parts = Vec::new();
        let mut is_whole = true;
        for &id in ids {
            let joined = match self.take_condition(id) {
                Some(PartialCondition::Joined(inner, parts)) if inner == junction => Some(parts),
                Some(other) => self.finish(other).map(|part| vec![part]),
                None => None,
            };
            is_whole &= joined.is_some();
            parts.extend(joined.unwrap_or_default());
        }
        is_whole.then_some(Lowered::Condition(PartialCondition::Joined(junction, parts)))
    }

    pub(super) fn not(&mut self, id: NodeId, span: Span) -> Option<Lowered> {
        let draft = self.take_condition(id)?;
        let ConditionPart { condition, depth, tests, .. } = self.finish(draft)?;
        let (condition, depth) = match condition {
            Condition::Not(inner) => (*inner, depth - 1),
            condition => (Condition::Not(Box::new(condition)), self.above(depth, span)?),
        };
        Some(Lowered::Condition(PartialCondition::One(ConditionPart {
            condition,
            span,
            depth,
            written: true,
            tests,
        })))
    }

    /// Turns a partial condition into a condition. All parts are known here, so they are checked against each other.
    pub(super) fn finish(&mut self, draft: PartialCondition) -> Option<ConditionPart> {
        let (junction, parts) = match draft {
            PartialCondition::One(part) => return Some(part),
            PartialCondition::Joined(junction, parts) => (junction, parts),
        };
        let (first, last) = (parts.first()?.span, parts.last()?.span);
        junction::check(self.script, &parts, junction, self.findings);
        let depth = self.above(parts.iter().map(|part| part.depth).max().unwrap_or(0), first.to(last))?;
        let tests = parts.iter().flat_map(|part| part.tests.iter().copied()).collect();
        let conditions = parts.into_iter().map(|part| part.condition).collect();
        let condition = match junction {
            Junction::All => Condition::All(conditions),
            Junction::Any => Condition::Any(conditions),
        };
        Some(ConditionPart { condition, span: first.to(last), depth, written: true, tests })
    }

    /// Warns about `a or b and c` and shows how it is parsed.
    fn report_mixture(&mut self, ids: &[NodeId], span: Span) {
        let is_bare_all = |id: &&NodeId| {
            self.nodes.get(id.0).is_some_and(|node| matches!(node.kind, NodeKind::All(_)) && !node.grouped)
        };
        let bare: Vec<Span> =
            ids.iter().filter(is_bare_all).filter_map(|id| Some(self.nodes.get(id.0)?.span)).collect();
        let Some(first) = bare.first() else {
            return;
        };
        let reading = reading(self.script, span, &bare);
        self.findings
            .report(Code::MixedConnectives, *first, || "`and` binds tighter than `or`".to_owned())
            .help(|| match reading {
                Some(reading) => {
                    format!("this is read as `{reading}`: add the parentheses to make it explicit")
                }
                None => "the tests joined by `and` are grouped first: add parentheses to make it explicit"
                    .to_owned(),
            });
    }
}

/// Returns the condition on one line with explicit parentheses; `None` when it is too long or contains a comment.
fn reading(script: &str, span: Span, bare: &[Span]) -> Option<String> {
    let text = span.text(script);
    if text.len() > READING_BYTES_MAX || text.contains('#') || text.contains("//") {
        return None;
    }
    let mut reading = String::new();
    let mut from = span.start;
    for group in bare {
        reading.push_str(script.get(from..group.start)?);
        reading.push('(');
        reading.push_str(group.text(script));
        reading.push(')');
        from = group.end;
    }
    reading.push_str(script.get(from..span.end)?);
    Some(reading.split_whitespace().collect::<Vec<_>>().join(" "))
}
