//! Raw requests that no proper client sends, and their first response.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::answer::Answer;

/// Upper bound for any response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Writes these bytes, leaves the connection open, and reads one response; `None` if the service closes without one.
///
/// # Panics
/// Panics if the service cannot be reached.
#[must_use]
pub fn exchange(address: &str, request: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).expect("the service takes connections");
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("a timeout can be set");
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).expect("a timeout can be set");
    // A service that rejects early closes early. Only the response matters, not the unsent bytes.
    let _ = stream.write_all(request);
    answer(&mut BufReader::new(stream))
}

/// Returns a request with a body. Content length and host are set unless `headers` contains them.
#[must_use]
pub fn request(address: &str, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let has = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let mut text = format!("{line} HTTP/1.1\r\n");
    if !has("host") {
        text.push_str(&format!("Host: {address}\r\n"));
    }
    if !has("content-length") && !has("transfer-encoding") && !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Parses all complete responses in these bytes.
#[must_use]
pub fn answers(mut bytes: &[u8]) -> Vec<Answer> {
    std::iter::from_fn(|| answer(&mut bytes)).collect()
}

/// A connection on which raw requests are written in sequence.
#[derive(Debug)]
pub struct Wire {
    stream: BufReader<TcpStream>,
}

impl Wire {
    /// Connects.
    ///
    /// # Panics
    /// Panics if the service cannot be reached.
    #[must_use]
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the service takes connections");
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("a timeout can be set");
        stream.set_write_timeout(Some(ANSWER_TIMEOUT)).expect("a timeout can be set");
        Self { stream: BufReader::new(stream) }
    }

    /// Writes bytes. Returns whether the system accepted them.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Reads one response; `None` if the service closes without one.
    pub fn answer(&mut self) -> Option<Answer> {
        answer(&mut self.stream)
    }

    /// Whether the service leaves the connection open for this long without sending.
    ///
    /// # Panics
    /// Panics if the timeout cannot be set.
    pub fn stays_open(&mut self, patience: Duration) -> bool {
        let wait = |stream: &TcpStream, patience| stream.set_read_timeout(Some(patience));
        wait(self.stream.get_ref(), patience).expect("a timeout can be set");
        let came = self.stream.fill_buf().map_err(|error| error.kind());
        let stays = matches!(came, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut));
        wait(self.stream.get_ref(), ANSWER_TIMEOUT).expect("a timeout can be set");
        stays
    }

    /// Waits for the end of the connection. Returns whether the service closed it without sending more.
    pub fn poll_closed(&mut self) -> bool {
        self.stream.fill_buf().is_ok_and(<[u8]>::is_empty)
    }
}

fn answer(stream: &mut impl BufRead) -> Option<Answer> {
    let status = line(stream)?.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    while let Some(header) = line(stream).filter(|header| !header.is_empty()) {
        let (name, value) = header.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    let n_bytes = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    stream.take(n_bytes).read_to_end(&mut answer.body).ok()?;
    Some(answer)
}

fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let n_read = stream.read_line(&mut line).ok()?;
    (n_read > 0).then(|| line.trim_end().to_owned())
}
