//! Where reading goes on after a mistake.

use crate::ast::{NodeId, NodeKind};
use crate::lex::TokenKind;
use crate::parse::Parser;

impl Parser<'_, '_> {
    /// Whether a clause, or the end of the rule, begins here. `description` is also a field, so it needs its string;
    /// inside a call `when` begins a filter.
    pub(super) fn at_clause(&self) -> bool {
        match self.kind() {
            TokenKind::Then | TokenKind::Rule | TokenKind::RightBrace | TokenKind::End => true,
            TokenKind::When => self.n_calls == 0,
            TokenKind::Description => self.n_calls == 0 && self.peek(1).kind.is_string(),
            _ => false,
        }
    }

    /// A condition ended where it should not have: a value at its very end was going to be a test, and is not to be
    /// blamed for being none.
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

    /// Goes on to the next clause or the end of the rule.
    pub(super) fn skip_to_clause(&mut self) {
        self.skip_until(Parser::at_clause);
    }

    /// Goes on to the next `and` or `or`, or to the next clause.
    pub(super) fn skip_to_connective(&mut self) {
        self.skip_until(|parser| {
            parser.at_clause() || matches!(parser.kind(), TokenKind::And | TokenKind::Or)
        });
    }

    /// Goes on to the parenthesis that closes one already read, and takes it; stops before the next clause.
    pub(super) fn skip_past_parenthesis(&mut self) {
        self.skip_until(|parser| parser.at_clause() || parser.kind() == TokenKind::RightParenthesis);
        self.take_if(TokenKind::RightParenthesis);
    }

    /// Goes on to a comma or the end of what is in brackets here; stops before the next clause.
    pub(super) fn skip_to_comma(&mut self) {
        self.skip_until(|parser| {
            parser.at_clause() || matches!(parser.kind(), TokenKind::Comma | TokenKind::RightParenthesis)
        });
    }

    /// Goes on to the first place where `stop` holds outside all brackets that are opened on the way. `then`, `rule` and
    /// the end of the script stop it inside of them too: nobody means them to stand there.
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
