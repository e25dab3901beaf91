//! Detection of identifiers that look identical but differ.
//!
//! `acc-1` with a zero width space or a trailing blank differs from `acc-1` in every list, key and comparison. To a
//! reader both look the same. A new request with such an identifier is refused unless the operator allows it. A report
//! from a ledger is accepted and counted.
//!
//! ```text
//!  text ──ASCII, no control, no blank at its ends?──▶ clear
//!    └──otherwise──▶ every suspicious character ──▶ a joiner or selector with a visible effect? ──▶ clear
//!                                                      └──otherwise──▶ UnclearCharacter
//! ```

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

/// A character of an identifier that is invisible, or that changes the display of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnclearCharacter {
    character: char,
    /// Position, counted from 1, in characters.
    index: usize,
    n_characters: usize,
    fault: IdentifierFault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdentifierFault {
    /// It controls a device, a line or the direction of text.
    Control,
    Invisible,
    /// It is a blank at an end.
    BlankAtEnd,
}

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
const TEXT_SELECTOR: char = '\u{fe0e}';
const EMOJI_SELECTOR: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

/// The Unicode names of characters found in identifiers.
const NAMES: [(char, &str); 26] = [
    ('\t', "tab"),
    ('\n', "line feed"),
    ('\r', "carriage return"),
    (' ', "space"),
    ('\u{1b}', "escape"),
    ('\u{7f}', "delete"),
    ('\u{85}', "next line"),
    ('\u{a0}', "no-break space"),
    ('\u{ad}', "soft hyphen"),
    ('\u{34f}', "combining grapheme joiner"),
    ('\u{61c}', "Arabic letter mark"),
    ('\u{180e}', "Mongolian vowel separator"),
    ('\u{200b}', "zero width space"),
    (ZERO_WIDTH_NON_JOINER, "zero width non-joiner"),
    (ZERO_WIDTH_JOINER, "zero width joiner"),
    ('\u{200e}', "left-to-right mark"),
    ('\u{200f}', "right-to-left mark"),
    ('\u{2028}', "line separator"),
    ('\u{2029}', "paragraph separator"),
    ('\u{202e}', "right-to-left override"),
    ('\u{202f}', "narrow no-break space"),
    ('\u{2060}', "word joiner"),
    ('\u{3000}', "ideographic space"),
    ('\u{3164}', "Hangul filler"),
    (EMOJI_SELECTOR, "variation selector-16"),
    ('\u{feff}', "zero width no-break space, the byte order mark"),
];

/// A class of characters, from the Unicode tables in `regex`.
struct CharacterClass(LazyLock<Option<Regex>>);

impl CharacterClass {
    const fn new(compile: fn() -> Option<Regex>) -> Self {
        Self(LazyLock::new(compile))
    }

    fn has(&self, character: char) -> bool {
        // INVARIANT: every class compiles, which a test verifies. Otherwise it would contain no character.
        self.0.as_ref().is_some_and(|class| class.is_match(character.encode_utf8(&mut [0; 4])))
    }
}

/// Invisible characters.
static INVISIBLE: CharacterClass =
    CharacterClass::new(|| Regex::new(r"\p{Default_Ignorable_Code_Point}").ok());
/// Characters that control a line or a device.
static CONTROL: CharacterClass = CharacterClass::new(|| Regex::new(r"[\p{Cc}\p{Zl}\p{Zp}]").ok());
/// Characters that a selector can display as emoji, and that a joiner can combine.
static PICTURE: CharacterClass =
    CharacterClass::new(|| Regex::new(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{RI}]").ok());
/// Letters of scripts in which a joiner changes the shape of its neighbors.
static JOINED_LETTER: CharacterClass = CharacterClass::new(|| {
    Regex::new(
        r"[\p{L}&&[\p{Adlam}\p{Arabic}\p{Bengali}\p{Devanagari}\p{Gujarati}\p{Gurmukhi}\p{Kannada}\p{Khmer}\p{Malayalam}\p{Mandaic}\p{Manichaean}\p{Mongolian}\p{Myanmar}\p{Nko}\p{Oriya}\p{Hanifi_Rohingya}\p{Sinhala}\p{Sogdian}\p{Syriac}\p{Tamil}\p{Telugu}\p{Tibetan}]]",
    )
    .ok()
});
/// Combining marks on the preceding letter.
static MARK: CharacterClass =
    CharacterClass::new(|| Regex::new(r"[\p{M}--\p{Default_Ignorable_Code_Point}]").ok());

/// Returns the first character that makes a text ambiguous to a reader, or `None`.
pub(in crate::transaction) fn unclear_character(text: &str) -> Option<UnclearCharacter> {
    if is_plain(text) {
        return None;
    }
    let characters: Vec<char> = text.chars().collect();
    let n_characters = characters.len();
    let fault_at = |(index, character): (usize, &char)| {
        let is_end = index == 0 || index + 1 == n_characters;
        let fault = match *character {
            blank if is_end && is_blank(blank) => IdentifierFault::BlankAtEnd,
            control if is_control(control) || CONTROL.has(control) => IdentifierFault::Control,
            invisible if INVISIBLE.has(invisible) && !is_seen(&characters, index) => {
                IdentifierFault::Invisible
            }
            _ => return None,
        };
        Some(UnclearCharacter { character: *character, index: index + 1, n_characters, fault })
    };
    characters.iter().enumerate().find_map(fault_at)
}

/// Returns whether the text is printable ASCII without blanks at its ends, as nearly every identifier is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !text.starts_with(' ') && !text.ends_with(' ')
}

/// Returns whether a character is a Unicode blank or the braille blank.
fn is_blank(character: char) -> bool {
    (character.is_whitespace() && !CONTROL.has(character)) || character == '\u{2800}'
}

/// Returns a text without the blanks at its ends.
#[inline]
pub(in crate::transaction) fn without_blanks_at_ends(text: &str) -> &str {
    let is_visible = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let bytes = text.as_bytes();
    if is_visible(bytes.first()) && is_visible(bytes.last()) { text } else { text.trim_matches(is_blank) }
}

/// Returns whether a joiner or selector has a visible effect at this position.
fn is_seen(characters: &[char], index: usize) -> bool {
    let at = |index: Option<usize>| index.and_then(|index| characters.get(index)).copied();
    let (before, after) = (at(index.checked_sub(1)), at(index.checked_add(1)));
    match at(Some(index)) {
        Some(ZERO_WIDTH_JOINER) if is_picture_before(characters, index) => {
            after.is_some_and(|next| PICTURE.has(next))
        }
        Some(ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER) => {
            is_letter_before(characters, index) && after.is_some_and(|next| JOINED_LETTER.has(next))
        }
        Some(TEXT_SELECTOR | EMOJI_SELECTOR) => match before {
            Some('0'..='9' | '#' | '*') => after == Some(KEYCAP),
            Some(picture) => PICTURE.has(picture),
            None => false,
        },
        _ => false,
    }
}

/// Returns whether an emoji, optionally with its selector, precedes the position.
fn is_picture_before(characters: &[char], index: usize) -> bool {
    let mut before = characters.iter().take(index).rev();
    match before.next() {
        Some(&EMOJI_SELECTOR) => before.next().is_some_and(|picture| PICTURE.has(*picture)),
        Some(picture) => PICTURE.has(*picture),
        None => false,
    }
}

/// Returns whether a letter, optionally with marks, precedes the position.
fn is_letter_before(characters: &[char], index: usize) -> bool {
    let mut before = characters.iter().take(index).rev().skip_while(|mark| MARK.has(**mark));
    before.next().is_some_and(|letter| JOINED_LETTER.has(*letter))
}

impl fmt::Display for UnclearCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { character, index, n_characters, fault } = self;
        let fault = match fault {
            IdentifierFault::Control => "a control character",
            IdentifierFault::Invisible => "an invisible character",
            IdentifierFault::BlankAtEnd => "a blank at its start or end",
        };
        write!(f, "{fault}, U+{:04X}", u32::from(*character))?;
        if let Some((_, name)) = NAMES.iter().find(|(named, _)| named == character) {
            write!(f, " ({name})")?;
        }
        write!(f, " as character {index} of {n_characters}")
    }
}

/// Returns whether a character controls a device or the direction of text.
pub(in crate::transaction) fn is_control(character: char) -> bool {
    character.is_control() || is_bidi_control(character)
}

/// Returns whether a character reorders the surrounding text, which can make two ids look the same.
const fn is_bidi_control(character: char) -> bool {
    matches!(
        character,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests;
