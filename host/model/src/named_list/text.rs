//! The text format of a list: one entry per line, with comments.
//!
//! ```text
//!  acc-1                      an entry, trimmed
//!  # since May                a comment: `#` at the start of a line
//!  acc-2 # OFAC               an entry and a comment: `#` with a blank before it, and a blank or the line end after it
//!  WALMART #1234              an entry
//!  "#1234"                    an entry that cannot be written plainly, as a JSON string: `#1234`
//! ```
//!
//! Under the first [`Semantics`], every `#` begins a comment, and quotation marks have no special meaning.

use std::borrow::Cow;
use std::fmt;

use tollgate_guest_abi::Semantics;

use super::format::{self, numbered};

/// Separators between the columns of a table.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// Returns the entries of a text, in order.
pub fn entries(text: &str, semantics: Semantics) -> impl Iterator<Item = Cow<'_, str>> {
    without_mark(text).lines().filter_map(move |line| entry_of(line, semantics))
}

/// Returns the first entry of the lines that begin at this byte or later, and where the line after it begins; `None` if
/// there is none. Read so, a long list needs no copy of its entries.
#[must_use]
pub fn entry_from(text: &str, from: usize, semantics: Semantics) -> Option<(Cow<'_, str>, usize)> {
    let mut begin = from.max(text.len() - without_mark(text).len());
    for line in text.get(begin..)?.split_inclusive('\n') {
        begin += line.len();
        if let Some(entry) = line.lines().next().and_then(|line| entry_of(line, semantics)) {
            return Some((entry, begin));
        }
    }
    None
}

/// Writes entries as the text of a list.
pub fn text_of<'e>(entries: impl IntoIterator<Item = &'e str>) -> String {
    let mut text = String::new();
    for entry in entries {
        text.push_str(&line_of(entry));
        text.push('\n');
    }
    text
}

/// A line of a list and what it is read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLine<'t> {
    /// Number of the line, from 1.
    pub number: usize,
    /// The line as written.
    pub text: &'t str,
    /// The entry; `None` for a comment or an empty line.
    pub entry: Option<Cow<'t, str>>,
}

/// Returns every line with the entry that it is read as.
pub fn read_lines(text: &str) -> impl Iterator<Item = ReadLine<'_>> {
    numbered(without_mark(text)).map(|(number, text)| ReadLine {
        number,
        text,
        entry: entry_of(text, Semantics::CURRENT),
    })
}

/// Returns the numbers, from 1, of the lines that the first and the current [`Semantics`] read differently.
pub fn lines_read_differently(text: &str) -> impl Iterator<Item = usize> {
    let is_other = |line: &str| entry_of(line, Semantics::V1) != entry_of(line, Semantics::CURRENT);
    numbered(without_mark(text)).filter(move |(_, line)| is_other(line)).map(|(number, _)| number)
}

/// Returns whether a comment line states that the list is empty on purpose.
#[must_use]
pub fn is_empty_on_purpose(text: &str) -> bool {
    says(text, "empty on purpose")
}

/// Returns whether a comment line states that entries were removed on purpose.
#[must_use]
pub fn is_shorter_on_purpose(text: &str) -> bool {
    says(text, "shorter on purpose") || is_empty_on_purpose(text)
}

/// Returns the entry lines that contain invisible characters, each with the first such character.
pub fn invisible_characters(text: &str) -> impl Iterator<Item = (usize, char)> {
    numbered(without_mark(text)).filter_map(|(number, line)| {
        let entry = entry_of(line, Semantics::CURRENT)?;
        invisible_character(&entry).map(|character| (number, character))
    })
}

/// Returns the first character of an entry that is not seen.
fn invisible_character(entry: &str) -> Option<char> {
    let invisible = entry.char_indices().find(|(offset, character)| {
        let is_inside = *offset > 0 && offset + character.len_utf8() < entry.len();
        is_invisible(*character) && !(is_inside && is_joiner(*character))
    });
    invisible.map(|(_, character)| character)
}

/// Returns whether a character is a control, or default ignorable in Unicode.
const fn is_invisible(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether writing systems or emoji require the character.
const fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Returns the column separator if the lines resemble a table: several lines with the same number of separators.
#[must_use]
pub fn separator_of_columns(text: &str) -> Option<char> {
    SEPARATORS.into_iter().find(|separator| {
        let mut counts = entries(text, Semantics::CURRENT).map(|entry| entry.matches(*separator).count());
        let first = counts.next().unwrap_or(0);
        let mut others = counts.peekable();
        first > 0 && others.peek().is_some() && others.all(|count| count == first)
    })
}

/// A reason why an entry may not be what its author meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// A list file would read the entry otherwise.
    ReadAs(Option<String>),
    /// The whole entry is in quotation marks, which belong to it.
    Quoted,
    /// It looks like a row of a table, with this separator.
    Row(char),
    /// It has a character that is not seen.
    Invisible(char),
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadAs(Some(entry)) => write!(
                f,
                "it is one entry as it stands; as a line of a list file it would be the entry `{}`: send the list as \
                 `text/plain`, or send that entry",
                entry.escape_debug()
            ),
            Self::ReadAs(None) => f.write_str(
                "it is one entry as it stands; as a line of a list file it would be a comment or empty: send the list \
                 as `text/plain`, or leave it out",
            ),
            Self::Quoted => f.write_str("the quotation marks are part of the entry; leave them out if they are not meant"),
            Self::Row(separator) => write!(
                f,
                "it looks like a row of a table with `{}` between columns; send the column that is meant",
                separator.escape_debug()
            ),
            Self::Invisible(character) => {
                write!(f, "it has the invisible character U+{:04X}; remove it if it is not meant", u32::from(*character))
            }
        }
    }
}

/// Returns what is odd about an entry that is taken as it is; `is_table` is the answer of [`is_table`] for its list.
#[must_use]
pub fn oddity_of_entry(entry: &str, is_table: bool) -> Option<Oddity> {
    let as_line = entry_of(entry, Semantics::CURRENT);
    if let Some(character) = invisible_character(entry) {
        return Some(Oddity::Invisible(character));
    }
    if as_line.as_deref() != Some(entry) {
        return Some(Oddity::ReadAs(as_line.map(Cow::into_owned)));
    }
    oddity_of_line(entry, is_table)
}

/// Returns what is odd about an entry that was read from a line.
#[must_use]
pub fn oddity_of_line(entry: &str, is_table: bool) -> Option<Oddity> {
    if let Some(character) = invisible_character(entry) {
        return Some(Oddity::Invisible(character));
    }
    if entry.len() > 1 && entry.starts_with('"') && entry.ends_with('"') {
        return Some(Oddity::Quoted);
    }
    let separator = SEPARATORS.into_iter().find(|separator| entry.contains(*separator));
    // A comma with a blank after it stands in names of people and companies.
    let is_row = |separator: &char| is_table || *separator != ',' || has_bare_comma(entry);
    separator.filter(is_row).map(Oddity::Row)
}

/// Returns whether entries resemble the rows of a table: each has the same number of separators.
pub fn is_table<'e>(entries: impl Iterator<Item = &'e str> + Clone) -> bool {
    SEPARATORS.into_iter().any(|separator| has_columns(entries.clone(), separator))
}

fn has_columns<T: AsRef<str>>(entries: impl Iterator<Item = T>, separator: char) -> bool {
    let mut counts = entries.map(|entry| entry.as_ref().matches(separator).count());
    let first = counts.next().unwrap_or(0);
    first > 0 && counts.all(|count| count == first)
}

fn has_bare_comma(entry: &str) -> bool {
    entry.split(',').skip(1).any(|behind| !behind.is_empty() && !behind.starts_with(char::is_whitespace))
}

fn says(text: &str, words: &str) -> bool {
    let comment = |line: &str| Some(line.trim().strip_prefix('#')?.trim().to_ascii_lowercase());
    without_mark(text).lines().filter_map(comment).any(|comment| comment.starts_with(words))
}

fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

fn entry_of(line: &str, semantics: Semantics) -> Option<Cow<'_, str>> {
    if semantics.is_first() {
        let entry = line.split_once('#').map_or(line, |(before, _)| before).trim();
        return (!entry.is_empty()).then_some(Cow::Borrowed(entry));
    }
    if let Some(entry) = quoted_entry(line) {
        return Some(Cow::Owned(entry));
    }
    let entry = plain_entry(line);
    (!entry.is_empty()).then_some(Cow::Borrowed(entry))
}

/// Returns the entry of a line, if it has one.
pub(super) fn entry_of_line(line: &str) -> Option<Cow<'_, str>> {
    entry_of(line, Semantics::CURRENT)
}

fn plain_entry(line: &str) -> &str {
    let line = line.trim();
    let begins = |(offset, _): &(usize, &str)| {
        let (before, behind) =
            (line.get(..*offset).unwrap_or_default(), line.get(offset + 1..).unwrap_or_default());
        before.is_empty()
            || before.ends_with(char::is_whitespace)
                && (behind.is_empty() || behind.starts_with(char::is_whitespace))
    };
    match line.match_indices('#').find(begins) {
        Some((offset, _)) => line.get(..offset).unwrap_or_default().trim_end(),
        None => line,
    }
}

/// Returns the entry of a line that is a JSON string, if a plain line could not express it.
fn quoted_entry(line: &str) -> Option<String> {
    let line = line.trim();
    if !line.starts_with('"') {
        return None;
    }
    let mut strings = serde_json::Deserializer::from_str(line).into_iter::<String>();
    let entry = strings.next()?.ok()?;
    let behind = line.get(strings.byte_offset()..)?;
    let is_alone =
        behind.is_empty() || behind.starts_with(char::is_whitespace) && plain_entry(behind).is_empty();
    (is_alone && needs_quotes(&entry)).then_some(entry)
}

/// Returns the line without surrounding whitespace, or its entry if it is quoted.
pub(super) fn without_quotes(line: &str) -> Cow<'_, str> {
    quoted_entry(line).map_or(Cow::Borrowed(line.trim()), Cow::Owned)
}

/// Returns whether a plain line with this text would be read differently or rejected.
fn needs_quotes(entry: &str) -> bool {
    entry.starts_with(['[', '{', '<', '\u{feff}'])
        || entry.contains(['\n', '\r', '\0'])
        || plain_entry(entry) != entry
        || quoted_entry(entry).is_some()
        || format::check_any(entry).is_err()
}

pub(super) fn line_of(entry: &str) -> Cow<'_, str> {
    if needs_quotes(entry) {
        serde_json::to_string(entry).map_or(Cow::Borrowed(entry), Cow::Owned)
    } else {
        Cow::Borrowed(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, under_1: Option<&str>, under_2: Option<&str>) {
        assert_eq!(entry_of(line, Semantics::V1).as_deref(), under_1, "{line:?}, under 1");
        assert_eq!(entry_of(line, Semantics::V2).as_deref(), under_2, "{line:?}, under 2");
    }

    #[test]
    fn a_comment_begins_at_the_start_or_between_blanks() {
        for (line, entry) in [
            ("acc-1", Some("acc-1")),
            ("  acc 1\t", Some("acc 1")),
            ("acc-1 # OFAC", Some("acc-1")),
            ("acc-1\t#\tOFAC", Some("acc-1")),
            ("acc-1 #", Some("acc-1")),
            ("# a comment", None),
            ("  #a comment", None),
            ("#", None),
            ("", None),
            (" \t", None),
        ] {
            check(line, entry, entry);
        }
        check("WALMART #1234", Some("WALMART"), Some("WALMART #1234"));
        check("SHELL 57#", Some("SHELL 57"), Some("SHELL 57#"));
        check("a#b # c #d", Some("a"), Some("a#b"));
        check("\"quoted\"", Some("\"quoted\""), Some("\"quoted\""));
        check("\"#1234\"", Some("\""), Some("#1234"));
        check("\"#1234\" # a shop", Some("\""), Some("#1234"));
        check("\"a # b\"", Some("\"a"), Some("a # b"));
    }

    #[test]
    fn entries_are_read_one_by_one_as_all_at_once() {
        for text in [
            "",
            "a",
            "\u{feff}a\r\n\r\n# comment\n\u{feff}b\n  c # d\ne\r",
            "\n\n",
            "\"#1\"\nä\n\n",
            "\u{feff}",
        ] {
            for semantics in [Semantics::V1, Semantics::CURRENT] {
                let mut from = 0;
                let one_by_one = std::iter::from_fn(|| {
                    let (entry, after) = entry_from(text, from, semantics)?;
                    from = after;
                    Some(entry)
                });
                let one_by_one: Vec<_> = one_by_one.collect();
                assert_eq!(one_by_one, entries(text, semantics).collect::<Vec<_>>(), "{text:?}");
            }
        }
    }

    #[test]
    fn every_entry_has_a_line() {
        let entries = [
            "a",
            "#1",
            "a # b",
            "a #",
            "a\nb",
            "a\r",
            " a ",
            "\"#1\"",
            "\"a\"",
            "\"",
            "a\"b",
            "[x]",
            "{",
            "<b>",
            "\u{feff}a",
            "version https://git-lfs",
            "=======",
            "\\#",
            "\"\\\"#1\\\"\"",
            "\u{a0}a",
            "a\u{2028}",
        ];
        let controls = "\u{1}".repeat(1024);
        let entries: Vec<&str> = entries.into_iter().chain([&*controls]).collect();
        let text = text_of(entries.iter().copied());
        assert_eq!(super::entries(&text, Semantics::V2).collect::<Vec<_>>(), entries);
        assert_eq!(format::check(&text), Ok(()));
        assert_eq!(text_of(["a b", "a#b", "\"a\""]), "a b\na#b\n\"a\"\n");
    }

    #[test]
    fn lines_that_are_read_differently_are_known_by_their_numbers() {
        let text = "\u{feff}a\nWALMART #1234\na # b\n\n# c\nSHELL 57#\n";
        assert_eq!(lines_read_differently(text).collect::<Vec<_>>(), [2, 6]);
    }

    #[test]
    fn invisible_characters_are_found_with_their_lines() {
        let text = "\u{feff}a\n# \u{200b}\nacc\u{200b}-1\nne\u{200c}m\nacc-2\u{ad}\na\tb\n\u{200d}x\n";
        let found: Vec<_> = invisible_characters(text).collect();
        assert_eq!(found, [(3, '\u{200b}'), (5, '\u{ad}'), (6, '\t'), (7, '\u{200d}')]);
    }

    #[test]
    fn a_table_among_lists_is_recognised() {
        for (text, separator) in [
            ("a,1\n# why\nb,2\n", Some(',')),
            ("a;1;x\nb;2;y\n", Some(';')),
            ("a\t1\nb\t2\n", Some('\t')),
            ("a,1\n", None),
            ("Smith, John\nAnna\n", None),
            ("a\nb\n", None),
            ("", None),
        ] {
            assert_eq!(separator_of_columns(text), separator, "{text:?}");
        }
    }

    #[test]
    fn a_comment_says_that_a_list_is_empty_on_purpose() {
        for text in ["# empty on purpose", "a\n  #Empty on purpose, since May\n"] {
            assert!(is_empty_on_purpose(text), "{text:?}");
        }
        for text in ["", "#\n", "empty on purpose", "# not empty on purpose"] {
            assert!(!is_empty_on_purpose(text), "{text:?}");
        }
    }
}
