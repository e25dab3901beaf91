//! Migrates rules from Watch, the predecessor of this service: reports differences, and rewrites rules so that they
//! keep their meaning here.
//!
//! ```text
//!  script ──lex, parse──▶ AST ──┬──▶ remarks on differences from Watch
//!                               └──▶ edits by span ──▶ rewritten rule ──compile──▶ accepted, or left to the author
//! ```
//!
//! Two things are rewritten. Aggregates in Watch include the payment under evaluation; here they do not
//! ([`aggregate`]). Watch evaluates `and` and `or` from left to right; here `and` binds tighter ([`order`]). Everything
//! else is reported ([`differences`]) and left unchanged.

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

/// The result of migrating a rule from Watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenScript {
    /// The differences from Watch, in script order.
    pub remarks: Vec<WatchDifference>,
    /// The whole script, rewritten to keep its Watch meaning, except where [`WatchDifference::needs_a_person`] is set.
    /// `None` when no change is needed, or when the rewritten rule does not compile.
    pub script: Option<String>,
}

/// One difference from Watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchDifference {
    /// Start of the affected text.
    pub position: Position,
    /// The affected range in bytes of the script.
    pub span: Range<usize>,
    /// The behaviour of Watch and of this service.
    pub message: String,
    /// The consequence for the rule.
    pub help: String,
    /// Whether the author has to decide; nothing was rewritten for this difference.
    pub needs_a_person: bool,
}

/// Migrates a rule that ran in Watch. Returns `None` when the rule does not compile; [`compile`] reports why.
#[must_use]
pub fn rewrite_script(script: &str, options: &CompileOptions<'_>) -> Option<RewrittenScript> {
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

/// Renders the differences as text for people. `path` is the script's name in the output; `styled` adds terminal
/// colours.
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

#[derive(Clone, Copy)]
struct ParsedScript<'a> {
    script: &'a str,
    rule: &'a Rule,
}

impl<'a> ParsedScript<'a> {
    fn node(self, id: NodeId) -> Option<&'a Node> {
        self.rule.nodes.get(id.0)
    }

    /// Returns a node and all nodes below it.
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

    fn text(self, id: NodeId) -> &'a str {
        self.node(id).map(|node| node.span.text(self.script)).unwrap_or_default()
    }
}

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
    /// Adds a difference that was rewritten, or that needs no change.
    fn note(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.add(span, message.into(), help.into(), false);
    }

    /// Adds a difference that only the author can resolve.
    fn ask(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.add(span, message.into(), help.into(), true);
    }

    fn add(&mut self, span: Span, message: String, help: String, needs_a_person: bool) {
        let is_known = self.remarks.iter().any(|known| known.span == span && known.message == message);
        if !is_known {
            self.remarks.push(FoundDifference { span, message, help, needs_a_person });
        }
    }

    fn finish(mut self, script: &str, options: &CompileOptions<'_>) -> RewrittenScript {
        let rewritten = self.edits.apply(script, Span::new(0, script.len()));
        let changed = (rewritten != script).then_some(rewritten);
        let accepted = changed.filter(|script| compile(script, options).rule.is_some());
        if accepted.is_none() && !self.edits.is_empty() {
            // The rewritten script exceeds a limit, because some parts occur twice in it.
            self.ask(
                Span::new(0, 0),
                "the rewritten rule exceeds a limit of the compiler",
                "split it into several rules, then check them again",
            );
        }
        self.remarks.sort_by_key(|found| found.span.start);
        let lines = LineIndex::new(script);
        let remarks = self.remarks.into_iter().map(|found| found.into_difference(&lines)).collect();
        RewrittenScript { remarks, script: accepted }
    }
}

impl FoundDifference {
    fn into_difference(self, lines: &LineIndex<'_>) -> WatchDifference {
        WatchDifference {
            position: lines.position(self.span.start),
            span: self.span.start..self.span.end,
            message: self.message,
            help: self.help,
            needs_a_person: self.needs_a_person,
        }
    }
}
