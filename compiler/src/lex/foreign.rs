//! Operators of other languages. Each is reported with its equivalent and then replaced by the intended token, so that
//! the rest of the script is parsed as intended.

use crate::codes::Code;
use crate::diagnostic::{Diagnostics, quote};
use crate::lex::TokenKind;
use crate::span::Span;

/// Returns the intended token; `None` for a sign without meaning.
pub(super) fn settle(script: &str, span: Span, findings: &mut Diagnostics<'_>) -> Option<TokenKind> {
    let lexeme = span.text(script);
    let (kind, cure) = match lexeme {
        "=" | "===" => (Some(TokenKind::Equal), "write `==`"),
        "!==" | "<>" => (Some(TokenKind::NotEqual), "write `!=`"),
        "=>" => (Some(TokenKind::GreaterOrEqual), "write `>=`"),
        "=<" => (Some(TokenKind::LessOrEqual), "write `<=`"),
        "!" => (Some(TokenKind::Not), "write `not`"),
        "&" | "&&" => (Some(TokenKind::And), "write `and`"),
        "|" | "||" => (Some(TokenKind::Or), "write `or`"),
        "[" => (Some(TokenKind::LeftParenthesis), "lists are written in parentheses: `(\"a\", \"b\")`"),
        "]" => (Some(TokenKind::RightParenthesis), "lists are written in parentheses: `(\"a\", \"b\")`"),
        ";" => (None, "delete it: the language has no semicolons"),
        _ => (Some(TokenKind::Invalid), "the arithmetic operators are `+`, `-`, `*` and `/`"),
    };
    findings
        .report(Code::ForeignOperator, span, || format!("{} is not part of this language", quote(lexeme)))
        .help(|| cure.to_owned());
    kind
}
