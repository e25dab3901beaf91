//! A journal of requests and responses. Each line is synced before anything else happens.
//!
//! ```text
//!  17 TAB ask TAB POST TAB /inject TAB {"transaction_id":…}
//!  17 TAB got TAB 200 TAB "{\"transaction_id\":…}"
//! ```
//!
//! A request without a second line got no response. Lines are in the order of events: a response in an earlier line was
//! received
//! before any request in a later line was sent.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::answer::Answer;

/// An append-only file in its own folder.
#[derive(Debug)]
pub(super) struct Journal {
    directory: TempDir,
    file: Mutex<File>,
    next: AtomicU64,
}

impl Journal {
    pub(super) fn new() -> Self {
        let directory = TempDir::new().expect("a temporary folder can be made");
        let path = directory.path().join("journal");
        let file = OpenOptions::new().append(true).create_new(true).open(path).expect("a file can be made");
        Self { directory, file: Mutex::new(file), next: AtomicU64::new(1) }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    /// Records a request before it is sent and returns its number.
    pub(super) fn ask(&self, method: &str, path: &str, body: &str) -> u64 {
        assert!(!body.contains(['\n', '\t']), "a body stands on one line");
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.put(&format!("{number}\task\t{method}\t{path}\t{body}\n"));
        number
    }

    /// Records the response to a request.
    pub(super) fn got(&self, number: u64, answer: &Answer) {
        let text = serde_json::to_string(&answer.text()).expect("a text is JSON");
        self.put(&format!("{number}\tgot\t{}\t{text}\n", answer.status));
    }

    fn put(&self, line: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).expect("the journal can be written");
    }
}
