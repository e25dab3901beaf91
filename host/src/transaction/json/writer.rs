//! [`Json`] to text: as it was given, or in its one canonical spelling.

use std::borrow::Cow;
use std::fmt::{self, Write};

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Json, Number};

impl fmt::Display for Json {
    /// Compact; keys in the order and numbers with the digits given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self, &AsGiven)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Json {
    /// For serde_json's serialisers only: no other format can carry the digits as given.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_string()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

pub(super) fn canonical(json: &Json) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, json, &Canonical);
    text
}

/// The two choices in which the spellings differ.
trait Spelling {
    fn number<'a>(&self, number: &'a Number) -> Cow<'a, str>;
    fn entries<'a>(&self, entries: &'a [(Box<str>, Json)]) -> impl Iterator<Item = &'a (Box<str>, Json)>;
}

struct AsGiven;

impl Spelling for AsGiven {
    fn number<'a>(&self, number: &'a Number) -> Cow<'a, str> {
        Cow::Borrowed(&number.text)
    }

    fn entries<'a>(&self, entries: &'a [(Box<str>, Json)]) -> impl Iterator<Item = &'a (Box<str>, Json)> {
        entries.iter()
    }
}

struct Canonical;

impl Spelling for Canonical {
    fn number<'a>(&self, number: &'a Number) -> Cow<'a, str> {
        Cow::Owned(number.value.to_string())
    }

    fn entries<'a>(&self, entries: &'a [(Box<str>, Json)]) -> impl Iterator<Item = &'a (Box<str>, Json)> {
        let mut sorted: Vec<_> = entries.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| key);
        sorted.into_iter()
    }
}

fn write<W: Write, S: Spelling>(out: &mut W, json: &Json, spelling: &S) -> fmt::Result {
    match json {
        Json::Null => out.write_str("null"),
        Json::Boolean(true) => out.write_str("true"),
        Json::Boolean(false) => out.write_str("false"),
        Json::Number(number) => out.write_str(&spelling.number(number)),
        Json::Text(text) => write_text(out, text),
        Json::Array(items) => {
            out.write_char('[')?;
            for (index, item) in items.iter().enumerate() {
                write_comma(out, index)?;
                write(out, item, spelling)?;
            }
            out.write_char(']')
        }
        Json::Object(entries) => {
            out.write_char('{')?;
            for (index, (key, value)) in spelling.entries(entries).enumerate() {
                write_comma(out, index)?;
                write_text(out, key)?;
                out.write_char(':')?;
                write(out, value, spelling)?;
            }
            out.write_char('}')
        }
    }
}

fn write_comma<W: Write>(out: &mut W, index: usize) -> fmt::Result {
    if index > 0 { out.write_char(',') } else { Ok(()) }
}

/// Quoted; only what RFC 8259 wants escaped is.
fn write_text<W: Write>(out: &mut W, text: &str) -> fmt::Result {
    let must_escape = |character: char| matches!(character, '"' | '\\' | '\0'..='\u{1f}');
    out.write_char('"')?;
    for run in text.split_inclusive(must_escape) {
        match run.char_indices().next_back() {
            Some((plain_bytes, last)) if must_escape(last) => {
                out.write_str(run.get(..plain_bytes).unwrap_or_default())?;
                write_escaped(out, last)?;
            }
            _ => out.write_str(run)?,
        }
    }
    out.write_char('"')
}

fn write_escaped<W: Write>(out: &mut W, character: char) -> fmt::Result {
    match character {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        _ => write!(out, "\\u{:04x}", u32::from(character)),
    }
}
