//! Rules of Watch, the service whose rule language this one grew out of: what is read otherwise here, and the rule that
//! means here what the carried over one meant there.
//!
//! ```text
//!  script ──lex, parse──▶ AST ──┬──▶ remarks: what Watch did otherwise
//!                               └──▶ edits by span ──▶ the rewritten rule ──compile──▶ accepted, or left to a person
//! ```
//!
//! Two things are rewritten. An aggregate of Watch includes the payment under evaluation, here it does not
//! ([`aggregate`]). And Watch reads `and` and `or` from left to right, here `and` binds tighter ([`order`]). All else is
//! told ([`differences`]) and left as it stands.

mod aggregate;
mod differences;
mod edit;
mod membership;
mod order;
#[cfg(test)]
mod tests;

use std::ops::Range;

use annotate_snippets::Level;

use crate::ast::{Node, NodeId, Rule};
use crate::diagnostic::Diagnostics;
use crate::render::{MarkedText, draw};
use crate::span::{LineIndex, Position, Span};
use crate::{CompileOptions, compile, lex, parse};
use edit::Edits;

/// A rule of Watch, looked at from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedOver {
    /// The differences from Watch, in the order of the script.
    pub remarks: Vec<WatchDifference>,
    /// The whole script so that it means here what it meant there, as far as [`WatchDifference::needs_a_person`] does not say
    /// otherwise; `None` when it can stay as it is.
    pub script: Option<String>,
}

/// One thing that Watch did otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchDifference {
    /// Where it stands.
    pub position: Position,
    /// The same in bytes of the script.
    pub span: Range<usize>,
    /// The behaviour of Watch, and that of this service.
    pub message: String,
    /// The consequence for the rule.
    pub help: String,
    /// Whether the author has to decide: nothing was rewritten for it.
    pub needs_a_person: bool,
}

/// Looks at a rule as one that ran in Watch. `None` when it does not compile: then the diagnostics of [`compile`] come
/// first.
#[must_use]
pub fn carry_over(script: &str, options: &CompileOptions<'_>) -> Option<CarriedOver> {
    compile(script, options).rule?;
    let mut findings = Diagnostics::new(script);
    let rule = parse::parse(script, &lex::lex(script, &mut findings), &mut findings);
    let tree = ParsedScript { script, rule: &rule };
    let mut work = DifferenceCollector { remarks: Vec::new(), edits: Edits::default() };
    differences::remark(tree, &mut work);
    order::rewrite(tree, &mut work);
    aggregate::rewrite(tree, &mut work);
    Some(work.finish(script, options))
}

/// The remarks of a script as a text for people; `path` is what they know the script by. With `styled`, colours for a
/// terminal.
#[must_use]
pub fn render_remarks(script: &str, path: &str, remarks: &[WatchDifference], styled: bool) -> String {
    let drawings: Vec<String> =
        remarks.iter().map(|remark| draw(script, path, &drawing(remark), styled)).collect();
    drawings.join("\n")
}

fn drawing(remark: &WatchDifference) -> MarkedText<'_> {
    MarkedText {
        level: if remark.needs_a_person { Level::WARNING } else { Level::NOTE },
        id: "from-watch",
        span: remark.span.clone(),
        message: &remark.message,
        help: Some(&remark.help),
    }
}

/// The AST of a script and its text.
#[derive(Clone, Copy)]
struct ParsedScript<'a> {
    script: &'a str,
    rule: &'a Rule,
}

impl<'a> ParsedScript<'a> {
    fn node(self, id: NodeId) -> Option<&'a Node> {
        self.rule.nodes.get(id.0)
    }

    /// The nodes that a node is made of, itself included.
    fn below(self, id: NodeId) -> Vec<(NodeId, &'a Node)> {
        let mut below = Vec::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let Some(node) = self.node(id) else { continue };
            below.push((id, node));
            open.extend(node.kind.parts());
        }
        below
    }

    /// A node as it is written, its parentheses included.
    fn text(self, id: NodeId) -> &'a str {
        self.node(id).map(|node| node.span.text(self.script)).unwrap_or_default()
    }
}

/// The differences found so far.
struct DifferenceCollector {
    remarks: Vec<FoundDifference>,
    edits: Edits,
}

struct FoundDifference {
    span: Span,
    message: String,
    help: String,
    needs_a_person: bool,
}

impl DifferenceCollector {
    /// Something that was rewritten, or that needs nothing.
    fn note(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.add(span, message.into(), help.into(), false);
    }

    /// Something that only the author can decide.
    fn ask(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.add(span, message.into(), help.into(), true);
    }

    fn add(&mut self, span: Span, message: String, help: String, needs_a_person: bool) {
        let is_known = self.remarks.iter().any(|known| known.span == span && known.message == message);
        if !is_known {
            self.remarks.push(FoundDifference { span, message, help, needs_a_person });
        }
    }

    fn finish(mut self, script: &str, options: &CompileOptions<'_>) -> CarriedOver {
        let rewritten = self.edits.apply(script, Span::new(0, script.len()));
        let changed = (rewritten != script).then_some(rewritten);
        let accepted = changed.filter(|script| compile(script, options).rule.is_some());
        if accepted.is_none() && !self.edits.is_empty() {
            // Over a limit: the parts that had to be written twice made it too large.
            self.ask(
                Span::new(0, 0),
                "the rule rewritten to mean the same here is over a limit of the compiler",
                "split it into several rules, then check them again",
            );
        }
        self.remarks.sort_by_key(|found| found.span.start);
        let lines = LineIndex::of(script);
        let remarks = self.remarks.into_iter().map(|found| found.place(&lines)).collect();
        CarriedOver { remarks, script: accepted }
    }
}

impl FoundDifference {
    fn place(self, lines: &LineIndex<'_>) -> WatchDifference {
        WatchDifference {
            position: lines.position(self.span.start),
            span: self.span.start..self.span.end,
            message: self.message,
            help: self.help,
            needs_a_person: self.needs_a_person,
        }
    }
}
