//! A client of `POST /inject/batch` that reads answers while it sends lines, or does not.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Upper bound for any answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A batch that is open in both directions.
pub(super) struct OpenBatch {
    pub(super) sender: LineSender,
    pub(super) answers: Answers,
}

/// Sends the lines of a batch, in chunks.
pub(super) struct LineSender(TcpStream);

/// The answers of a batch, as they arrive.
pub(super) struct Answers {
    lines: BufReader<Chunks>,
    has_head: bool,
}

/// The chunks of a response, without their frames.
struct Chunks {
    stream: BufReader<TcpStream>,
    n_left: usize,
}

impl OpenBatch {
    pub(super) fn begin(address: &str) -> Self {
        Self::begin_with(address, "")
    }

    /// Begins with these header lines besides the usual ones.
    pub(super) fn begin_with(address: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(ANSWER_TIMEOUT)).unwrap();
        let head = format!(
            "POST /inject/batch HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-ndjson\r\n\
             Transfer-Encoding: chunked\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let chunks = Chunks { stream: BufReader::new(stream.try_clone().unwrap()), n_left: 0 };
        let answers = Answers { lines: BufReader::new(chunks), has_head: false };
        Self { sender: LineSender(stream), answers }
    }
}

impl LineSender {
    /// Sends these lines. Returns whether the service took them in time.
    pub(super) fn send(&mut self, lines: &str) -> bool {
        let frame = format!("{:x}\r\n{lines}\r\n", lines.len());
        self.0.write_all(frame.as_bytes()).is_ok()
    }

    /// Sends these lines and the end of the body, unless the connection ends before.
    pub(super) fn send_all(mut self, lines: &[String]) {
        if lines.chunks(50).all(|lines| self.send(&lines.concat())) {
            self.end();
        }
    }

    /// Sets how long a call of [`LineSender::send`] waits for the service.
    pub(super) fn wait_for(&self, patience: Duration) {
        self.0.set_write_timeout(Some(patience)).unwrap();
    }

    /// Ends the body.
    pub(super) fn end(&mut self) {
        self.0.write_all(b"0\r\n\r\n").ok();
    }
}

impl Answers {
    /// Returns the status of the next head of a response.
    pub(super) fn status(&mut self) -> Option<u16> {
        self.lines.get_mut().read_head()
    }
}

impl Iterator for Answers {
    type Item = Value;

    /// Returns the next answer, or `None` at the end of the response or of the connection.
    fn next(&mut self) -> Option<Value> {
        if !self.has_head {
            self.has_head = true;
            assert_eq!(self.status()?, 200);
        }
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(_) if line.ends_with('\n') => Some(serde_json::from_str(&line).unwrap()),
            Ok(_) => None,
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof) => {
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

impl Chunks {
    /// Returns the status of the response, whose head this reads.
    fn read_head(&mut self) -> Option<u16> {
        let mut status = None;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            status = status.or_else(|| line.split(' ').nth(1)?.parse().ok());
            if line == "\r\n" {
                return status;
            }
        }
    }
}

impl std::io::Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.n_left == 0 {
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            self.n_left = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
            if self.n_left == 0 {
                return Ok(0);
            }
        }
        let end = buffer.len().min(self.n_left);
        let n_read = self.stream.read(&mut buffer[..end])?;
        self.n_left -= n_read;
        if self.n_left == 0 && n_read > 0 {
            self.stream.read_exact(&mut [0; 2])?;
        }
        Ok(n_read)
    }
}
