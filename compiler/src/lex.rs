//! The first stage: splits a script into tokens.
//!
//! ```text
//!  script ──▶ [lex] ──▶ tokens ──▶ parse …
//! ```
//!
//! Lexing cannot fail. Text that is not a token is reported here and becomes [`TokenKind::Invalid`]. The parser accepts
//! that token and does not report it again.

mod forbidden;
mod foreign;
mod number;
mod string;
mod token;

use logos::Logos as _;

use crate::codes::Code;
use crate::diagnostic::{Diagnostics, is_forbidden, quote};
use crate::span::{BYTE_ORDER_MARK, Span};

pub(crate) use string::unescape;
use token::{LexError, Raw};
pub(crate) use token::{Token, TokenKind};

/// Returns the tokens of a script; the last one, and only that one, is [`TokenKind::End`].
pub(crate) fn lex(script: &str, findings: &mut Diagnostics<'_>) -> Vec<Token> {
    forbidden::report_all(script, findings);
    let n_skipped = if script.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let mut tokens = Vec::new();
    let mut lexer = Raw::lexer(script.get(n_skipped..).unwrap_or_default());
    while let Some(raw) = lexer.next() {
        let mut span = Span::new(lexer.span().start + n_skipped, lexer.span().end + n_skipped);
        let kind = match raw {
            Ok(raw) => settle(raw, script, span, tokens.last(), findings),
            Err(LexError::Unterminated) => {
                findings
                    .report(Code::UnterminatedString, span, || "unterminated string".to_owned())
                    .help(|| "close it with the same quote character".to_owned());
                Some(TokenKind::Unterminated)
            }
            Err(LexError::Stray) => {
                let n_more = string::typographic_length(span.text(script), lexer.remainder());
                lexer.bump(n_more);
                span.end += n_more;
                stray(script, span, &mut tokens, findings)
            }
        };
        let reported = !matches!(raw, Ok(Raw::Token(_) | Raw::Number)) || kind == Some(TokenKind::Invalid);
        tokens.extend(kind.map(|kind| Token { kind, span, reported }));
    }
    // The end position excludes trailing blanks.
    let end = script.trim_end_matches([' ', '\t', '\r', '\n']).len().max(n_skipped);
    tokens.push(Token { kind: TokenKind::End, span: Span::new(end, end), reported: false });
    tokens
}

/// Returns the token kind of a well-formed lexeme; `None` when it is dropped.
fn settle(
    raw: Raw,
    script: &str,
    span: Span,
    before: Option<&Token>,
    findings: &mut Diagnostics<'_>,
) -> Option<TokenKind> {
    match raw {
        Raw::Number => {
            let is_key = before.is_some_and(|token| token.kind == TokenKind::Dot);
            Some(number::settle(script, span, is_key, findings))
        }
        Raw::Foreign => foreign::settle(script, span, findings),
        Raw::Token(kind) => Some(kind),
    }
}

/// Handles characters that belong to no token. Adjacent ones give one diagnostic; forbidden ones are already reported.
fn stray(
    script: &str,
    span: Span,
    tokens: &mut [Token],
    findings: &mut Diagnostics<'_>,
) -> Option<TokenKind> {
    if span.text(script).chars().all(is_forbidden) {
        return None;
    }
    if let Some(before) = tokens.last_mut()
        && before.kind == TokenKind::Invalid
        && before.span.end == span.start
    {
        before.span.end = span.end;
        return None;
    }
    let text = script.get(span.start..).unwrap_or_default();
    let character = text.chars().next().map(String::from).unwrap_or_default();
    findings
        .report(Code::UnexpectedCharacter, span, || format!("unexpected character {}", show(&character)))
        .help_if(|| cure(&character));
    Some(TokenKind::Invalid)
}

/// Unusual blanks and zero-width characters.
const INVISIBLE: &str = "\u{a0}\u{ad}\u{200b}\u{200c}\u{200d}\u{202f}\u{2060}\u{3000}\u{feff}";

fn show(character: &str) -> String {
    match character.chars().next() {
        Some(first) if INVISIBLE.contains(first) => format!("U+{:04X}", u32::from(first)),
        _ => quote(character),
    }
}

fn cure(character: &str) -> Option<String> {
    let cure = match character {
        "“" | "”" | "„" | "‘" | "’" => "texts are written in straight quotes: \"…\" or '…'",
        invisible if INVISIBLE.contains(invisible) => {
            "the character is invisible: delete it, or write a plain space"
        }
        "–" | "—" | "−" => "write a plain `-`",
        "≥" => "write `>=`",
        "≤" => "write `<=`",
        "≠" => "write `!=`",
        "`" => "texts are written in quotes: \"…\" or '…'",
        other if other.chars().all(char::is_alphabetic) => {
            "names consist of the letters a to z, digits and `_`; texts, and keys with other letters, are written in \
             quotes: \"…\", `metadata.\"…\"`"
        }
        _ => return None,
    };
    Some(cure.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(script: &str) -> String {
        let mut findings = Diagnostics::new(script);
        let tokens = lex(script, &mut findings);
        let mut outline = String::new();
        for Token { kind, span, .. } in tokens {
            let position = findings.position(span.start);
            outline.push_str(&format!(
                "{}:{} {kind:?} {:?}\n",
                position.line,
                position.column,
                span.text(script)
            ));
        }
        for diagnostic in findings.into_diagnostics() {
            outline.push_str(&format!("{} {}\n", diagnostic.code, diagnostic.headline()));
        }
        outline
    }

    #[test]
    fn tokens_are_as_recorded() {
        crate::golden::check_all("lex", "tokens", outline);
    }
}
