//! The last step before the queue: keeps any event on one line, safe for terminals, and of bounded length.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Map, Value};

use crate::request_ids::RequestIds;

/// Maximum length of a line that is passed on unchanged, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Bytes kept of each text of a longer line.
const TEXT_BYTES_KEPT: usize = 2 * 1024;

/// Receives one formatted event per write and escapes characters that must not occur in a line.
///
/// `\u001b` is readable in JSON and in text, so both formats use the same escapes. JSON contains such characters only
/// inside its strings.
pub(super) struct EscapedLine<W> {
    inner: W,
}

impl<W> EscapedLine<W> {
    pub(super) const fn new(inner: W) -> Self {
        Self { inner }
    }
}

impl<W: Write> Write for EscapedLine<W> {
    /// Writes the whole line at once, so that lines of several threads do not mix.
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let event = buffer.strip_suffix(b"\n").unwrap_or(buffer);
        if RequestIds::are_known() {
            let mut line = bounded(&String::from_utf8_lossy(event));
            RequestIds::add_to(&mut line);
            line.push('\n');
            self.inner.write_all(line.as_bytes())?;
        } else if event.len() <= LINE_BYTES_MAX && event.len() < buffer.len() && event.iter().all(is_plain) {
            self.inner.write_all(buffer)?;
        } else {
            let mut line = bounded(&String::from_utf8_lossy(event));
            line.push('\n');
            self.inner.write_all(line.as_bytes())?;
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Returns whether a byte is printable ASCII, as in nearly all events.
const fn is_plain(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Returns an event with escapes, truncated if it is too long.
fn bounded(event: &str) -> String {
    if event.len() > LINE_BYTES_MAX { shortened(event) } else { escaped(event) }
}

fn escaped(event: &str) -> String {
    let mut line = String::with_capacity(event.len() + 1);
    for character in event.chars() {
        if must_be_escaped(character) {
            // Writing to a string cannot fail, and every such character is below 0x10000.
            let _ = write!(line, "\\u{:04x}", u32::from(character));
        } else {
            line.push(character);
        }
    }
    line
}

/// Returns whether a character is a control character, a line separator or a direction mark.
fn must_be_escaped(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Truncates each text of an event that is too long; a JSON object stays valid.
fn shortened(event: &str) -> String {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(event) else {
        return escaped(&beginning(event, LINE_BYTES_MAX));
    };
    let fields = fields.into_iter().map(|(name, value)| match value {
        Value::String(text) => (name, Value::String(beginning(&text, TEXT_BYTES_KEPT))),
        other => (name, other),
    });
    escaped(&Value::Object(fields.collect()).to_string())
}

/// Returns at most `bytes_max` bytes of a text, with a note of how many were left out.
fn beginning(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default();
    format!("{kept}… ({} bytes left out)", text.len() - kept.len())
}
