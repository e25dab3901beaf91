//! Error recovery: skips to a position where parsing can resume.

use crate::ast::{NodeId, NodeKind};
use crate::lex::TokenKind;
use crate::parse::Parser;

impl Parser<'_, '_> {
    /// Returns whether a clause or the end of the rule begins here. `description` is also a field, so it counts only
    /// before a string. Inside a call `when` begins a filter.
    pub(super) fn at_clause(&self) -> bool {
        match self.kind() {
            TokenKind::Then | TokenKind::Rule | TokenKind::RightBrace | TokenKind::End => true,
            TokenKind::When => self.n_calls == 0,
            TokenKind::Description => self.n_calls == 0 && self.peek(1).kind.is_string(),
            _ => false,
        }
    }

    /// Invalidates an unfinished value at the end of a condition, which would have become a test. Otherwise the
    /// checker would also report that it is not a condition.
    pub(super) fn distrust_end_of(&mut self, mut id: NodeId) {
        while let Some(node) = self.rule.nodes.get_mut(id.0) {
            match &node.kind {
                NodeKind::Any(parts) | NodeKind::All(parts) => match parts.last() {
                    Some(&last) => id = last,
                    None => return,
                },
                NodeKind::Not(part) => id = *part,
                NodeKind::Compare { .. }
                | NodeKind::Between { .. }
                | NodeKind::In { .. }
                | NodeKind::Matches { .. }
                | NodeKind::Previous(_) => return,
                _ => {
                    node.kind = NodeKind::Invalid;
                    return;
                }
            }
        }
    }

    pub(super) fn skip_to_clause(&mut self) {
        self.skip_until(Parser::at_clause);
    }

    pub(super) fn skip_to_connective(&mut self) {
        self.skip_until(|parser| {
            parser.at_clause() || matches!(parser.kind(), TokenKind::And | TokenKind::Or)
        });
    }

    /// Skips past the closing parenthesis of an open one; stops before the next clause.
    pub(super) fn skip_past_parenthesis(&mut self) {
        self.skip_until(|parser| parser.at_clause() || parser.kind() == TokenKind::RightParenthesis);
        self.take_if(TokenKind::RightParenthesis);
    }

    /// Skips to a comma or the end of the enclosing brackets; stops before the next clause.
    pub(super) fn skip_to_comma(&mut self) {
        self.skip_until(|parser| {
            parser.at_clause() || matches!(parser.kind(), TokenKind::Comma | TokenKind::RightParenthesis)
        });
    }

    /// Skips to the first position where `stop` holds outside any bracket opened on the way. `then`, `rule` and the end
    /// of the script also stop it inside brackets, where they cannot be intended.
    pub(super) fn skip_until(&mut self, stop: impl Fn(&Self) -> bool) {
        let mut n_open = 0_usize;
        loop {
            let hard_stop = matches!(self.kind(), TokenKind::Then | TokenKind::Rule | TokenKind::End);
            if hard_stop || (n_open == 0 && stop(self)) {
                return;
            }
            match self.take().kind {
                TokenKind::LeftParenthesis | TokenKind::LeftBrace => n_open += 1,
                TokenKind::RightParenthesis | TokenKind::RightBrace => n_open = n_open.saturating_sub(1),
                _ => {}
            }
        }
    }
}
