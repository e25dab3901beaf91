//! Quotes script text in messages: short, on one line, and harmless to terminals and web pages.

/// Longest quotation, in characters.
const QUOTE_CHARS_MAX: usize = 60;

/// Returns the text in backticks. Line ends become blanks, forbidden characters become code points, and a long text is
/// cut.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("`");
    for (n_chars, character) in text.chars().enumerate() {
        if n_chars == QUOTE_CHARS_MAX {
            quoted.push('…');
            break;
        }
        match character {
            '\t' | '\r' | '\n' => quoted.push(' '),
            forbidden if is_forbidden(forbidden) => {
                quoted.push_str(&format!("U+{:04X}", u32::from(forbidden)))
            }
            other => quoted.push(other),
        }
    }
    quoted.push('`');
    quoted
}

/// Returns whether the character is forbidden everywhere in a script, including comments and strings. Forbidden are
/// control characters other than tab and line ends, and characters that change the text direction. The latter can
/// disguise a script.
pub(crate) const fn is_forbidden(character: char) -> bool {
    match character {
        '\t' | '\r' | '\n' => false,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Line and paragraph separators: line ends for some programs only.
        '\u{2028}' | '\u{2029}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_one_short_harmless_line() {
        assert_eq!(quote("amount >\n\t5"), "`amount >  5`");
        assert_eq!(quote("a\u{1b}[31m\u{202e}"), "`aU+001B[31mU+202E`");
        assert_eq!(quote(&"ä".repeat(100)).chars().count(), QUOTE_CHARS_MAX + 3);
    }
}
