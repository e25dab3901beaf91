//! Quotes input in messages of the service.

/// Maximum length of a quotation, in characters.
const QUOTED_CHARACTERS_MAX: usize = 100;

/// Returns the text in backticks, with control characters escaped and a long text truncated.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("`");
    let mut characters = text.chars();
    for character in characters.by_ref().take(QUOTED_CHARACTERS_MAX) {
        match character {
            '"' | '\'' => quoted.push(character),
            _ => quoted.extend(character.escape_debug()),
        }
    }
    if characters.next().is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(quoted(text), expected);
    }

    #[test]
    fn a_quotation_is_one_short_harmless_line() {
        check("transaction.applied", "`transaction.applied`");
        check("it's \"Zoë\"", "`it's \"Zoë\"`");
        check("a\r\n\x1b[31m\0\u{202e}b", r"`a\r\n\u{1b}[31m\0\u{202e}b`");
        check(&"ä".repeat(100), &format!("`{}`", "ä".repeat(100)));
        check(&"ä".repeat(101), &format!("`{}…`", "ä".repeat(100)));
    }
}
