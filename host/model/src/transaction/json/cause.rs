//! Explanations of invalid JSON in terms of the sender's mistake.
//!
//! A parser reports only where it stopped. At that point there is often serializer output that JSON does not allow: a
//! byte order mark, `NaN`, a lone surrogate, UTF-16. This module names the mistake and its remedy.

/// Returns the reason why the text is not JSON. The parser stopped at byte `stopped` with the message `said`.
pub(super) fn reason(text: &str, stopped: usize, said: &str) -> String {
    if said.contains("surrogate") || said.contains("end of hex escape") {
        return "a `\\u` escape is half of a surrogate pair and its other half is missing; send whole characters".to_owned();
    }
    if text.starts_with('\u{feff}') {
        return "it begins with a byte order mark (U+FEFF); send it without".to_owned();
    }
    if text.starts_with("[object ") {
        return "it is a JavaScript object converted to text; send the output of JSON.stringify".to_owned();
    }
    if text.bytes().take(2).any(|byte| byte == 0) {
        return "it seems to be in UTF-16 or UTF-32; send it in UTF-8".to_owned();
    }
    if text.get(stopped..).is_some_and(|rest| rest.starts_with('\'')) {
        return format!("{said}: texts and keys must be in quotation marks (`\"`), not in apostrophes");
    }
    let (before, word) = word_at(text, stopped);
    match WORDS.iter().find(|known| **known == word) {
        Some(word) => {
            let field = key_before(before);
            let of = field.map_or_else(String::new, |field| format!(" of `{field}`"));
            format!(
                "the value{of} is `{word}`, which is not valid in JSON; send a number, a text or null, or leave the field out"
            )
        }
        None => said.to_owned(),
    }
}

/// Words that serializers write in place of a value.
const WORDS: [&str; 12] = [
    "NaN",
    "-NaN",
    "nan",
    "Infinity",
    "-Infinity",
    "inf",
    "-inf",
    "undefined",
    "None",
    "nil",
    "True",
    "False",
];

/// Returns the text before the word at this byte, and the word. A parser may stop at any of its letters.
fn word_at(text: &str, stopped: usize) -> (&str, &str) {
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '-';
    let (head, tail) = text.split_at_checked(stopped).unwrap_or((text, ""));
    let before = head.trim_end_matches(is_letter);
    let n_behind = tail.find(|letter| !is_letter(letter)).unwrap_or(tail.len());
    let word = text.get(before.len()..head.len().saturating_add(n_behind)).unwrap_or_default();
    (before, word)
}

/// Returns the key whose value follows this text, if it is short and plain.
fn key_before(text: &str) -> Option<&str> {
    let (_, key) = text.trim_end().strip_suffix(':')?.trim_end().strip_suffix('"')?.rsplit_once('"')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (key.len() <= 64 && key.bytes().all(is_plain)).then_some(key)
}

/// Identifies the encoding of bytes that are not UTF-8, if possible.
pub(super) fn encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("it begins with the byte order mark of UTF-16"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, stopped: usize, said: &str, expected: &str) {
        let reason = reason(text, stopped, said);
        assert!(reason.contains(expected), "{reason}");
    }

    #[test]
    fn a_mistake_of_a_serializer_is_named() {
        check("\u{feff}{}", 0, "expected value", "byte order mark (U+FEFF)");
        check("[object Object]", 1, "expected value", "send the output of JSON.stringify");
        check("{\0\"\0", 1, "key must be a string", "UTF-16");
        check(r#"{"amount": NaN}"#, 11, "expected value", "the value of `amount` is `NaN`");
        check(r#"{"a":{"b-c" : -Infinity}}"#, 14, "invalid number", "of `b-c` is `-Infinity`");
        check("[Infinity]", 1, "expected value", "the value is `Infinity`");
        check(r#"{"a": undefined}"#, 6, "expected value", "`undefined`");
        check(r#"{"a": "\ud800"}"#, 13, "lone leading surrogate in hex escape", "half of a surrogate pair");
        check("{\"a\": 1,}", 8, "trailing comma", "trailing comma");
        check(r#"{"x y": NaN}"#, 8, "expected value", "the value is `NaN`");
    }
}
