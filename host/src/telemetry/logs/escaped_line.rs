//! The last step before standard error: whatever is in an event, a line stays one line and harmless on a terminal.

use std::fmt::Write as _;
use std::io::{self, Write};

/// Takes one formatted event per write and escapes what must not stand in a line.
///
/// `\u001b` reads the same in a JSON text and to a person, so both formats are escaped alike; outside its strings a
/// line of JSON has no such character.
pub(super) struct EscapedLine<W> {
    inner: W,
}

impl<W> EscapedLine<W> {
    pub(super) const fn new(inner: W) -> Self {
        Self { inner }
    }
}

impl<W: Write> Write for EscapedLine<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let event = String::from_utf8_lossy(buffer);
        let event = event.strip_suffix('\n').unwrap_or(&event);
        let mut line = String::with_capacity(event.len() + 1);
        for character in event.chars() {
            if must_be_escaped(character) {
                // Writing to a string cannot fail, and every such character is below 0x10000.
                let _ = write!(line, "\\u{:04x}", u32::from(character));
            } else {
                line.push(character);
            }
        }
        line.push('\n');
        // One write for the whole line, so that lines of several threads do not mix.
        self.inner.write_all(line.as_bytes())?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Control characters, line ends of any script, and the marks that turn the direction of reading.
fn must_be_escaped(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
