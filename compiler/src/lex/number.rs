//! Numbers: digits with an optional fraction. Other lexemes that begin with a digit are reported with a suggestion.

use tollgate_guest_abi::limits::NUMBER_DIGITS_MAX;

use crate::codes::Code;
use crate::diagnostic::{Diagnostics, quote};
use crate::lex::TokenKind;
use crate::span::Span;

/// Returns the token of a lexeme that begins with a digit. After a dot it was probably meant as a key.
pub(super) fn settle(script: &str, span: Span, is_key: bool, findings: &mut Diagnostics<'_>) -> TokenKind {
    let lexeme = span.text(script);
    let (whole, fraction) = lexeme.split_once('.').unwrap_or((lexeme, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        findings.report(Code::MalformedNumber, span, || format!("malformed number {}", quote(lexeme))).help(
            || {
                if is_key {
                    format!("a key that begins with a digit is written in quotes: `\"{lexeme}\"`")
                } else {
                    cure(lexeme).to_owned()
                }
            },
        );
        return TokenKind::Invalid;
    }
    // Leading and trailing zeros do not count.
    let n_digits = whole.trim_start_matches('0').len() + fraction.trim_end_matches('0').len();
    if n_digits > NUMBER_DIGITS_MAX {
        findings.report(Code::NumberTooLong, span, || {
            format!("a number has at most {NUMBER_DIGITS_MAX} digits, this one has {n_digits}")
        });
        return TokenKind::Invalid;
    }
    TokenKind::Number
}

fn cure(lexeme: &str) -> &'static str {
    if lexeme.ends_with('.') {
        "write digits after the point, or delete the point"
    } else if lexeme.starts_with("0x") || lexeme.starts_with("0X") {
        "numbers are decimal: `255`, not `0xff`"
    } else if lexeme.contains('_') {
        "write the digits without `_`"
    } else if lexeme.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E')) {
        "write the number out in digits with at most one point: `1000`, `0.5`"
    } else {
        "a number is digits, optionally with a point between them; a name cannot begin with a digit"
    }
}
