//! The lines of a body that is read while its answer is written.

use axum::body::{Body, Bytes};

use crate::body::{next_piece, too_large};
use crate::error::ApiError;

/// The lines of a body. Blank lines are counted and left out.
#[derive(Debug)]
pub(super) struct Lines {
    body: Body,
    /// The bytes that arrived and are not part of a line yet.
    piece: Bytes,
    /// The beginning of the line that `piece` goes on with; of a line that is too long, not all of it.
    begun: Vec<u8>,
    is_too_long: bool,
    bytes_max: usize,
    number: u64,
    has_ended: bool,
}

/// A line, without its end, or the reason why it cannot be read.
#[derive(Debug)]
pub(super) struct BatchLine {
    /// Its number, counted from 1.
    pub(super) number: u64,
    pub(super) text: Result<Bytes, ApiError>,
}

impl Lines {
    /// Returns the lines of a body, of which each has at most `bytes_max` bytes.
    pub(super) const fn new(body: Body, bytes_max: usize) -> Self {
        Self {
            body,
            piece: Bytes::new(),
            begun: Vec::new(),
            is_too_long: false,
            bytes_max,
            number: 0,
            has_ended: false,
        }
    }

    /// Waits for the first piece of the body, or its end. A client that sent `Expect` begins to send only then.
    ///
    /// # Errors
    /// When the body ends before it is complete.
    pub(super) async fn arrive(&mut self) -> Result<(), ApiError> {
        match next_piece(&mut self.body).await? {
            Some(piece) => self.piece = piece,
            None => self.has_ended = true,
        }
        Ok(())
    }

    /// Returns the number of the last line that ended, blank or not.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Returns what is left of the body.
    pub(super) fn into_body(self) -> Body {
        self.body
    }

    /// Returns the next line, or `None` at the end. If this is dropped while it waits, nothing is lost. After the error that
    /// ends a body, it returns `None`.
    pub(super) async fn next(&mut self) -> Option<BatchLine> {
        loop {
            while let Some(end) = self.piece.iter().position(|byte| *byte == b'\n') {
                let part = self.piece.split_to(end + 1).slice(..end);
                if let Some(line) = self.end_line(part) {
                    return Some(line);
                }
            }
            let part = std::mem::take(&mut self.piece);
            self.go_on_with(&part);
            if self.has_ended {
                return None;
            }
            match next_piece(&mut self.body).await {
                Ok(Some(piece)) => self.piece = piece,
                Ok(None) => {
                    self.has_ended = true;
                    return self.end_line(Bytes::new());
                }
                Err(error) => {
                    self.has_ended = true;
                    self.begun.clear();
                    return Some(BatchLine { number: self.number + 1, text: Err(error) });
                }
            }
        }
    }

    fn go_on_with(&mut self, part: &[u8]) {
        self.is_too_long |= self.begun.len() + part.len() > self.bytes_max;
        if !self.is_too_long {
            self.begun.extend_from_slice(part);
        }
    }

    /// Ends a line with this part. Returns `None` if it is blank.
    fn end_line(&mut self, part: Bytes) -> Option<BatchLine> {
        self.number += 1;
        let text = if self.begun.is_empty() && !self.is_too_long && part.len() <= self.bytes_max {
            part
        } else {
            self.go_on_with(&part);
            Bytes::from(std::mem::take(&mut self.begun))
        };
        let is_blank = text.iter().all(u8::is_ascii_whitespace);
        let text =
            if std::mem::take(&mut self.is_too_long) { Err(too_large(self.bytes_max)) } else { Ok(text) };
        (!is_blank || text.is_err()).then_some(BatchLine { number: self.number, text })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    /// Checks the lines of a body that arrives in pieces of any size; `!` is one that is too long.
    #[track_caller]
    fn check(body: &str, expected: &[(u64, &str)]) {
        for size in 1..=body.len().max(1) {
            let pieces: Vec<Bytes> = body.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
            let pieces = stream::iter(pieces).map(Ok::<_, std::io::Error>);
            let mut lines = Lines::new(Body::from_stream(pieces), 8);
            let mut found = Vec::new();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            while let Some(line) = runtime.block_on(lines.next()) {
                let text = line
                    .text
                    .map_or_else(|_| "!".to_owned(), |text| String::from_utf8(text.to_vec()).unwrap());
                found.push((line.number, text));
            }
            let found: Vec<(u64, &str)> =
                found.iter().map(|(number, text)| (*number, text.as_str())).collect();
            assert_eq!(found, expected, "{body:?} in pieces of {size}");
        }
    }

    #[test]
    fn lines_are_the_same_however_a_body_arrives() {
        check("", &[]);
        check("{}", &[(1, "{}")]);
        check("{}\n", &[(1, "{}")]);
        check("{}\n[]", &[(1, "{}"), (2, "[]")]);
        check("\n \r\n{}\r\n\n[]\n\n", &[(3, "{}\r"), (5, "[]")]);
        check("12345678\n123456789\n1\n", &[(1, "12345678"), (2, "!"), (3, "1")]);
        check("1234567890123456789", &[(1, "!")]);
        check("              \n1", &[(1, "!"), (2, "1")]);
    }
}
