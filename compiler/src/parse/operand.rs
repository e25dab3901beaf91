//! Parses operands: literals, fields and calls.

use crate::ast::{NodeId, NodeKind};
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::lex::{TokenKind, unescape};
use crate::parse::Parser;
use crate::parse::path::DollarReference;
use crate::span::{Position, Span};

impl Parser<'_, '_> {
    /// Parses a literal, a field or a call. Signs and parentheses are already handled.
    pub(super) fn operand(&mut self) -> NodeId {
        let token = self.peek(0);
        match token.kind {
            TokenKind::Number => {
                self.take();
                let value = self.number_at(token.span);
                self.add(NodeKind::Number(value), token.span)
            }
            TokenKind::Text | TokenKind::SingleQuoted => self.text(),
            TokenKind::True | TokenKind::False => {
                self.take();
                self.add(NodeKind::Boolean(token.kind == TokenKind::True), token.span)
            }
            TokenKind::Dollar => self.reference_operand(),
            TokenKind::Name if self.peek(1).kind == TokenKind::LeftParenthesis => self.call(),
            TokenKind::Name | TokenKind::Description => match self.path() {
                Some(path) => self.add(NodeKind::Field(path.value), path.span),
                None => self.invalid(token.span),
            },
            TokenKind::Invalid | TokenKind::Unterminated => {
                self.take();
                self.invalid(token.span)
            }
            _ => self.no_operand(token.span),
        }
    }

    /// Parses a string: a literal text, unless it is a quoted `$current` path.
    fn text(&mut self) -> NodeId {
        let span = self.take().span;
        let value = unescape(span.text(self.script));
        match self.quoted_current(&value, span) {
            None => self.add(NodeKind::Text(value), span),
            Some(Some(path)) => self.add(NodeKind::Current(path), span),
            Some(None) => self.invalid(span),
        }
    }

    fn reference_operand(&mut self) -> NodeId {
        let first = self.span();
        match self.reference() {
            Some(DollarReference::Current(path)) => self.add(NodeKind::Current(path), self.since(first)),
            Some(DollarReference::Named(name)) => {
                self.complain_at(Code::ListAsValue, name.span, || {
                    format!("{} is a named list, not a value", quote(&format!("${}", name.value)))
                })
                .help(|| format!("use it with `in` or `not_in`: `source in ${}`", name.value));
                self.invalid(name.span)
            }
            None => self.invalid(first),
        }
    }

    /// Reports a missing operand. A token that can continue the condition is not consumed.
    fn no_operand(&mut self, span: Span) -> NodeId {
        let starts_with_point = self.kind() == TokenKind::Dot && self.peek(1).kind == TokenKind::Number;
        let is_reserved = self.kind().is_word() && self.infix(0).is_none() && !self.at_clause();
        self.expected(Code::ExpectedOperand, "a value or a condition").help_if(|| {
            if starts_with_point {
                Some("write a digit before the point: `0.5`".to_owned())
            } else if is_reserved {
                Some("that word is reserved; it can be used as a name only after a dot".to_owned())
            } else {
                None
            }
        });
        let goes_on = matches!(self.kind(), TokenKind::RightParenthesis | TokenKind::Comma);
        if !goes_on && !self.at_clause() && self.infix(0).is_none() {
            self.take();
            if starts_with_point {
                self.take();
            }
            // An error at the next token would be a consequence of this one.
            self.complained_at = Some(self.next);
        }
        self.invalid(Span::new(span.start, span.start))
    }

    /// Reports an unclosed parenthesis at the end of its condition.
    pub(super) fn unclosed_parenthesis(&mut self, opening: Span) {
        let Position { line, column } = self.findings.position(opening.start);
        self.expected(Code::MissingClosingParenthesis, "`)`")
            .help(|| format!("the `(` at line {line}, column {column} is not closed"));
        self.skip_until(|parser| {
            let in_call = parser.n_calls > 0;
            parser.at_clause()
                || parser.kind() == TokenKind::RightParenthesis
                || (in_call && parser.kind() == TokenKind::Comma)
        });
        self.take_if(TokenKind::RightParenthesis);
    }
}
