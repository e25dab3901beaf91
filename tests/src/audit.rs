//! Runs `tollgate audit replay` on a home and parses its output.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::home::Home;

/// The outcome of a replay.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The exit code.
    pub code: i32,
    /// Findings, in order.
    pub findings: Vec<Value>,
    /// Summary, from the last line.
    pub summary: Value,
    /// Standard error.
    pub said: String,
}

/// Replays the store of a home; a service may have it open.
///
/// # Panics
/// Panics if the binary cannot be run or writes a line that is not JSON.
#[must_use]
pub fn replay(home: &Home) -> Replayed {
    replay_with(home, &[])
}

/// Replays the store in another directory.
///
/// # Panics
/// Panics in the same cases as [`replay`].
#[must_use]
pub fn replay_in(home: &Home, directory: &Path) -> Replayed {
    replay_with(home, &["--data-dir", &directory.display().to_string()])
}

/// Replays with these arguments.
///
/// # Panics
/// Panics in the same cases as [`replay`].
#[must_use]
pub fn replay_with(home: &Home, arguments: &[&str]) -> Replayed {
    let arguments: Vec<&str> =
        ["audit", "replay", "--json"].into_iter().chain(arguments.iter().copied()).collect();
    let output = home.command(&arguments).stdout(Stdio::piped()).output().expect("the binary can be run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut findings: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    let summary = findings.pop().and_then(|last| last.get("summary").cloned()).unwrap_or_default();
    Replayed { code: output.status.code().unwrap_or(-1), findings, summary, said }
}

impl Replayed {
    /// Returns a number of the summary, or 0.
    #[must_use]
    pub fn number(&self, name: &str) -> u64 {
        self.summary.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// Asserts that every verdict was derived from the store, and returns their number.
    ///
    /// # Panics
    /// Panics if a verdict differs, was taken over or was not derived.
    #[track_caller]
    pub fn all_follow(&self) -> u64 {
        assert!(self.code == 0 && self.findings.is_empty(), "{self:#?}");
        let numbers = ["differ", "taken_over", "not_derived"].map(|name| self.number(name));
        assert_eq!(numbers, [0; 3], "{self:#?}");
        self.number("verdicts")
    }
}
