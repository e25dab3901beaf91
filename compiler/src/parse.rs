//! The second stage: parses tokens into an AST.
//!
//! ```text
//!  script ──lex──▶ tokens ──▶ [parse] ──▶ AST ──▶ check …
//! ```
//!
//! Parsing cannot fail: an error is reported, and parsing resumes at the next safe position. Each mistake is reported
//! once; a token that has been reported is not reported again. Depth and size are bounded here, which protects all
//! later stages.

mod aggregate;
mod call;
mod cursor;
mod expression;
mod list;
mod operand;
mod path;
mod previous;
mod recovery;
mod rule;
mod then;
mod time;

use tollgate_guest_abi::limits::{NESTING_MAX, NODES_MAX};

use crate::ast::{Node, NodeId, NodeKind, Rule};
use crate::codes::Code;
use crate::diagnostic::Diagnostics;
use crate::lex::Token;
use crate::span::Span;

pub(crate) fn parse(script: &str, tokens: &[Token], findings: &mut Diagnostics<'_>) -> Rule {
    let mut parser = Parser {
        script,
        tokens,
        next: 0,
        rule: Rule::default(),
        n_nodes: 0,
        depth: 0,
        in_filter: false,
        n_calls: 0,
        complained_at: None,
        abandoned: false,
        findings,
    };
    parser.script();
    parser.rule
}

struct Parser<'p, 's> {
    script: &'p str,
    tokens: &'p [Token],
    /// Index of the next token.
    next: usize,
    rule: Rule,
    /// Nodes and list items so far.
    n_nodes: usize,
    /// Number of enclosing parentheses, `not`, signs and filters.
    depth: usize,
    in_filter: bool,
    /// Number of enclosing calls.
    n_calls: usize,
    /// Index of the token reported last.
    complained_at: Option<usize>,
    /// Whether a limit was exceeded. The rest of the script is then neither parsed nor reported.
    abandoned: bool,
    findings: &'p mut Diagnostics<'s>,
}

impl Parser<'_, '_> {
    /// Adds a node. Its parts must exist already.
    fn add(&mut self, kind: NodeKind, span: Span) -> NodeId {
        self.count_node(span);
        self.rule.nodes.push(Node { kind, span, grouped: false, in_filter: self.in_filter });
        NodeId(self.rule.nodes.len() - 1)
    }

    fn invalid(&mut self, span: Span) -> NodeId {
        self.add(NodeKind::Invalid, span)
    }

    /// Counts a node or a list item; abandons parsing at the limit.
    fn count_node(&mut self, span: Span) {
        self.n_nodes += 1;
        if self.n_nodes > NODES_MAX && !self.abandoned {
            self.findings
                .report(Code::ConditionTooLarge, span, || {
                    format!("the condition is too large: it has more than {NODES_MAX} parts")
                })
                .help(|| "split the rule, or move long lists into named lists".to_owned());
            self.abandon();
        }
    }

    /// Enters `n_levels` levels of nesting; abandons parsing at the limit. Returns `false` if parsing was abandoned.
    fn enter(&mut self, n_levels: usize, span: Span) -> bool {
        self.depth += n_levels;
        if self.depth > NESTING_MAX && !self.abandoned {
            self.findings
                .report(Code::NestedTooDeeply, span, || {
                    format!("nested too deeply: at most {NESTING_MAX} levels of parentheses, `not` and signs")
                })
                .help(|| "split the condition into several rules".to_owned());
            self.abandon();
        }
        !self.abandoned
    }

    fn leave(&mut self, n_levels: usize) {
        self.depth -= n_levels;
    }

    fn abandon(&mut self) {
        self.abandoned = true;
        self.next = self.tokens.len() - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lex::lex;

    fn outline(script: &str) -> String {
        let mut findings = Diagnostics::new(script);
        let tokens = lex(script, &mut findings);
        let rule = parse(script, &tokens, &mut findings);
        let mut outline = crate::ast::outline::outline(&rule);
        for diagnostic in findings.into_diagnostics() {
            outline.push_str(&format!("{} {}\n", diagnostic.code, diagnostic.headline()));
        }
        outline
    }

    #[test]
    fn trees_are_as_recorded() {
        crate::golden::check_all("parse", "ast", outline);
    }
}
