//! The position in the token stream: peeking, taking and reporting.

use crate::ast::Spanned;
use crate::codes::Code;
use crate::diagnostic::{DiagnosticBuilder, quote};
use crate::lex::{Token, TokenKind, unescape};
use crate::parse::Parser;
use crate::span::Span;

impl Parser<'_, '_> {
    /// Returns the token `ahead` positions ahead; beyond the end, the end token.
    pub(super) fn peek(&self, ahead: usize) -> Token {
        let last = self.tokens.last().copied();
        let end = last.unwrap_or(Token { kind: TokenKind::End, span: Span::default(), reported: false });
        self.tokens.get(self.next + ahead).copied().unwrap_or(end)
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.peek(0).kind
    }

    pub(super) fn span(&self) -> Span {
        self.peek(0).span
    }

    pub(super) fn lexeme(&self) -> &str {
        self.span().text(self.script)
    }

    /// Takes the token. The end token is never taken.
    pub(super) fn take(&mut self) -> Token {
        let token = self.peek(0);
        if token.kind != TokenKind::End {
            self.next += 1;
        }
        token
    }

    pub(super) fn take_if(&mut self, kind: TokenKind) -> Option<Token> {
        (self.kind() == kind).then(|| self.take())
    }

    /// Returns whether the token `ahead` positions ahead is this contextual keyword, ignoring case.
    pub(super) fn is_word(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek(ahead);
        token.kind == TokenKind::Name && token.span.text(self.script).eq_ignore_ascii_case(word)
    }

    pub(super) fn take_string(&mut self) -> Option<Spanned<String>> {
        self.kind().is_string().then(|| {
            let token = self.take();
            Spanned { value: unescape(token.span.text(self.script)), span: token.span }
        })
    }

    /// Returns the span from the beginning of `first` to the end of the token taken last.
    pub(super) fn since(&self, first: Span) -> Span {
        let last = self.next.checked_sub(1).and_then(|last| self.tokens.get(last));
        first.to(last.map_or(first, |token| if token.span.end < first.end { first } else { token.span }))
    }

    pub(super) fn found(&self) -> String {
        match self.kind() {
            TokenKind::End => "the end of the script".to_owned(),
            _ => quote(self.lexeme()),
        }
    }

    /// Reports an error at the token, unless it was already reported here or by the lexer.
    pub(super) fn complain(
        &mut self,
        code: Code,
        message: impl FnOnce(&Self) -> String,
    ) -> DiagnosticBuilder<'_> {
        if !self.may_complain() {
            return DiagnosticBuilder::none();
        }
        self.complained_at = Some(self.next);
        let message = message(self);
        let span = self.span();
        self.findings.report(code, span, || message)
    }

    /// Reports the usual error: what was expected, and what was found.
    pub(super) fn expected(&mut self, code: Code, what: &str) -> DiagnosticBuilder<'_> {
        self.complain(code, |parser| format!("expected {what}, found {}", parser.found()))
    }

    /// Reports an error about text already parsed.
    pub(super) fn complain_at(
        &mut self,
        code: Code,
        span: Span,
        message: impl FnOnce() -> String,
    ) -> DiagnosticBuilder<'_> {
        if self.abandoned { DiagnosticBuilder::none() } else { self.findings.report(code, span, message) }
    }

    fn may_complain(&self) -> bool {
        let before = self.next.checked_sub(1).and_then(|before| self.tokens.get(before));
        // An unclosed string has consumed everything that seems to be missing at the end.
        let swallowed = self.kind() == TokenKind::End
            && before.is_some_and(|before| before.kind == TokenKind::Unterminated);
        !self.peek(0).reported && !swallowed && !self.abandoned && self.complained_at != Some(self.next)
    }
}
