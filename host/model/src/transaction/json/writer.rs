//! Conversion of [`Json`] to text, as given or in canonical form.

use std::fmt::{self, Write};

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::{Json, JsonNumber};

/// Number of keys sorted without a heap allocation.
const KEYS_INLINE: usize = 32;

impl fmt::Display for Json {
    /// Writes compact JSON with the original digits and order of keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(self, Spelling::AsGiven))
    }
}

impl fmt::Display for JsonNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Json {
    /// Works only with the serializers of serde_json; no other format can carry the original digits.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(text_of(self, Spelling::AsGiven))
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

/// The spelling of equivalent values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transaction) enum Spelling {
    /// Original digits and order of keys.
    AsGiven,
    /// Keys sorted, numbers as plain decimals.
    Canonical,
}

/// An object written member by member without whitespace, in the order of insertion.
#[derive(Debug)]
pub(in crate::transaction) struct ObjectText {
    text: String,
    spelling: Spelling,
}

impl ObjectText {
    pub(in crate::transaction) fn with_capacity(n_bytes: usize, spelling: Spelling) -> Self {
        let mut text = String::with_capacity(n_bytes);
        text.push('{');
        Self { text, spelling }
    }

    pub(in crate::transaction) fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        write_text(&mut self.text, value);
    }

    pub(in crate::transaction) fn boolean(&mut self, key: &str, value: bool) {
        self.key(key);
        self.text.push_str(word(value));
    }

    pub(in crate::transaction) fn number(&mut self, key: &str, value: &JsonNumber) {
        self.key(key);
        write_number(&mut self.text, value, self.spelling);
    }

    pub(in crate::transaction) fn json(&mut self, key: &str, value: &Json) {
        self.key(key);
        write(&mut self.text, value, self.spelling);
    }

    pub(in crate::transaction) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }

    fn key(&mut self, key: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        write_text(&mut self.text, key);
        self.text.push(':');
    }
}

pub(super) fn text_of(json: &Json, spelling: Spelling) -> String {
    let mut text = String::new();
    write(&mut text, json, spelling);
    text
}

fn write(out: &mut String, json: &Json, spelling: Spelling) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Boolean(boolean) => out.push_str(word(*boolean)),
        Json::Number(number) => write_number(out, number, spelling),
        Json::WideNumber(text) => out.push_str(text),
        Json::Text(text) => write_text(out, text),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item, spelling);
            }
            out.push(']');
        }
        Json::Object(entries) if spelling == Spelling::Canonical => {
            let mut sorted: SmallVec<[&(Box<str>, Json); KEYS_INLINE]> = entries.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| key);
            write_entries(out, sorted.into_iter(), spelling);
        }
        Json::Object(entries) => write_entries(out, entries.iter(), spelling),
    }
}

fn write_entries<'a>(
    out: &mut String,
    entries: impl Iterator<Item = &'a (Box<str>, Json)>,
    spelling: Spelling,
) {
    out.push('{');
    for (index, (key, value)) in entries.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(out, key);
        out.push(':');
        write(out, value, spelling);
    }
    out.push('}');
}

const fn word(boolean: bool) -> &'static str {
    if boolean { "true" } else { "false" }
}

fn write_number(out: &mut String, number: &JsonNumber, spelling: Spelling) {
    match spelling {
        Spelling::AsGiven => out.push_str(&number.text),
        Spelling::Canonical => write_to(out, format_args!("{}", number.value)),
    }
}

/// Escapes only what RFC 8259 requires.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    // Few texts contain anything to escape.
    if text.bytes().any(must_escape) {
        write_with_escapes(out, text);
    } else {
        out.push_str(text);
    }
    out.push('"');
}

#[cold]
fn write_with_escapes(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => write_to(out, format_args!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
}

const fn must_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

fn write_to(out: &mut String, what: fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(what);
}
