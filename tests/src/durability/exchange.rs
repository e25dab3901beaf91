//! An independent reader of the format that [`journal`](super::journal) writes.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;

/// A request and its response.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// Journal line of the request.
    pub(super) asked: usize,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: String,
    pub(super) answer: Option<ReceivedAnswer>,
}

/// A response.
#[derive(Debug, Clone)]
pub(super) struct ReceivedAnswer {
    /// Journal line of the response.
    pub(super) line: usize,
    pub(super) status: u16,
    pub(super) text: String,
}

/// Reads the journal incrementally.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    offset: u64,
    n_lines: usize,
}

impl Exchange {
    /// Returns the response if it was a success.
    pub(super) fn granted(&self) -> Option<&ReceivedAnswer> {
        self.answer.as_ref().filter(|answer| (200..300).contains(&answer.status))
    }

    /// Parses the body as JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("bodies of the traffic are JSON")
    }
}

impl Reader {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, offset: 0, n_lines: 0 }
    }

    /// Adds the lines written since the last call.
    pub(super) fn read_on(&mut self, exchanges: &mut BTreeMap<u64, Exchange>) {
        let mut file = File::open(&self.path).expect("the journal is there");
        file.seek(SeekFrom::Start(self.offset)).expect("a file can be read from anywhere");
        let mut text = String::new();
        let n_bytes = file.read_to_string(&mut text).expect("the journal is text");
        self.offset += n_bytes as u64;
        for line in text.lines() {
            self.n_lines += 1;
            take(line, self.n_lines, exchanges).expect("a line of the journal has its form");
        }
    }
}

fn take(text: &str, line: usize, exchanges: &mut BTreeMap<u64, Exchange>) -> Option<()> {
    let mut parts = text.splitn(5, '\t');
    let number = parts.next()?.parse().ok()?;
    match parts.next()? {
        "ask" => {
            let [method, path, body] = [parts.next()?, parts.next()?, parts.next()?].map(str::to_owned);
            exchanges.insert(number, Exchange { asked: line, method, path, body, answer: None });
        }
        "got" => {
            let status = parts.next()?.parse().ok()?;
            let text = serde_json::from_str(parts.next()?).ok()?;
            exchanges.get_mut(&number)?.answer = Some(ReceivedAnswer { line, status, text });
        }
        _ => return None,
    }
    Some(())
}
