//! Sanitizes texts of untrusted authors for display.

/// Whether a character is harmless in displayed text: no control character other than tab and line ends, and none that
/// changes the writing direction.
pub(super) const fn is_plain(character: char) -> bool {
    match character {
        '\t' | '\r' | '\n' => true,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        _ => true,
    }
}

/// Returns the text on one line, with U+FFFD for every character that is not plain.
pub(super) fn cleaned(text: &str) -> String {
    let clean = |character| match character {
        '\t' | '\r' | '\n' => ' ',
        character if is_plain(character) => character,
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.chars().map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_an_untrusted_module_shows_what_it_says() {
        for (text, expected) in [
            ("burst of payments", "burst of payments"),
            ("größer als 1 000 €", "größer als 1 000 €"),
            ("two\nlines\tand more", "two lines and more"),
            ("\u{1b}[31mred\u{7}", "\u{fffd}[31mred\u{fffd}"),
            ("evil\u{202e}txt.exe", "evil\u{fffd}txt.exe"),
            ("\u{2028}\u{85}\0", "\u{fffd}\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(cleaned(text), expected);
        }
    }
}
