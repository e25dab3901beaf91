//! Strings: `"…"` and `'…'`. A backslash escapes the next character. Only before the quote and another backslash is it
//! removed, so that a pattern can be written with one backslash or with two.

/// Returns how many bytes of `rest` belong to a string whose opening quote is before it, including the closing quote;
/// `None` if unclosed.
pub(super) fn length_to_close(rest: &str, quote: char) -> Option<usize> {
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == quote {
            return Some(at + quote.len_utf8());
        }
        if character == '\\' {
            characters.next();
        }
    }
    None
}

/// Returns how many bytes of `rest` belong to a text in typographic quotes, after the `opening` one. Returns 0 if it is
/// not closed on the same line.
pub(super) fn typographic_length(opening: &str, rest: &str) -> usize {
    let closing: &[char] = match opening {
        "“" | "„" => &['”', '“'],
        "‘" | "‚" => &['’', '‘'],
        "«" => &['»'],
        _ => return 0,
    };
    let line = rest.split('\n').next().unwrap_or_default();
    let closed = line.char_indices().find(|(_, character)| closing.contains(character));
    closed.map_or(0, |(at, character)| at + character.len_utf8())
}

/// Returns the value of a string token: the lexeme without quotes, with the escaped quote and `\\` unescaped.
pub(crate) fn unescape(lexeme: &str) -> String {
    let mut characters = lexeme.chars();
    let Some(quote) = characters.next() else {
        return String::new();
    };
    let mut text = String::with_capacity(lexeme.len());
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped) if escaped == quote || escaped == '\\' => text.push(escaped),
                Some(other) => text.extend(['\\', other]),
                None => text.push('\\'),
            },
            end if end == quote => break,
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lexeme: &str, text: &str) {
        assert_eq!(unescape(lexeme), text, "{lexeme}");
        let mut characters = lexeme.chars();
        let quote = characters.next().unwrap();
        assert_eq!(length_to_close(characters.as_str(), quote), Some(lexeme.len() - 1));
    }

    #[test]
    fn only_the_quote_and_the_backslash_are_escapes() {
        check(r#""""#, "");
        check(r#""a \"b\" c""#, r#"a "b" c"#);
        check(r#""\d""#, r"\d");
        check(r#""\\d""#, r"\d");
        check(r#""\\\\""#, r"\\");
        check(r#""\n\ä""#, r"\n\ä");
        check(r#""it's""#, "it's");
        check(r#"'it\'s'"#, "it's");
        check(r#"'say \"hi\"'"#, r#"say \"hi\""#);
        check("\"two\nlines\"", "two\nlines");
    }

    #[test]
    fn an_escaped_quote_closes_nothing() {
        assert_eq!(length_to_close(r#"abc\""#, '"'), None);
        assert_eq!(length_to_close(r"abc\", '"'), None);
        assert_eq!(length_to_close("", '"'), None);
    }
}
