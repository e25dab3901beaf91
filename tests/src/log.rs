//! The standard error of the service, read line by line.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The log of one process. It grows until the process ends.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<(Vec<String>, IsOver)>,
    grew: Condvar,
}

type IsOver = bool;

impl Shared {
    fn lines(&self) -> MutexGuard<'_, (Vec<String>, IsOver)> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Reads a pipe to its end on a separate thread.
    #[must_use]
    pub fn new(pipe: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
                writer.lines().0.push(text);
                writer.grew.notify_all();
                line.clear();
            }
            writer.lines().1 = true;
            writer.grew.notify_all();
        });
        Self { shared, reader: Some(reader) }
    }

    /// Returns all lines so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.shared.lines().0.clone()
    }

    /// Waits for a line for which `find` returns a value; `None` if the log or the time ends first.
    pub fn wait_for<T>(&self, within: Duration, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + within;
        let mut lines = self.shared.lines();
        let mut seen = 0;
        loop {
            if let Some(found) = lines.0.iter().skip(seen).find_map(|line| find(line)) {
                return Some(found);
            }
            seen = lines.0.len();
            let left = deadline.saturating_duration_since(Instant::now());
            if lines.1 || left.is_zero() {
                return None;
            }
            lines = self.shared.grew.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for the end of the pipe, which follows the end of the process.
    pub fn finish(&mut self) {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Returns the fields of a log line in either log format; `None` if the line is not a JSON object.
#[must_use]
pub fn fields(line: &str) -> Option<Value> {
    let entry: Value = serde_json::from_str(line).ok()?;
    if !entry.is_object() {
        return None;
    }
    Some(entry.get("fields").filter(|fields| fields.is_object()).cloned().unwrap_or(entry))
}

/// Returns the message of a log line, or an empty string.
#[must_use]
pub fn message(line: &str) -> String {
    let message = fields(line).and_then(|fields| fields.get("message")?.as_str().map(str::to_owned));
    message.unwrap_or_default()
}
