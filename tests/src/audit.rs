//! `tollgate audit replay` on a home: what it says, line by line.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::home::Home;

/// What came of a replay.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The exit code.
    pub code: i32,
    /// What was found, in order.
    pub findings: Vec<Value>,
    /// The last line.
    pub summary: Value,
    /// What it said besides.
    pub said: String,
}

/// Replays the store of a home, whoever has it open.
///
/// # Panics
/// When it cannot be run, or says something that is no JSON.
#[must_use]
pub fn replay(home: &Home) -> Replayed {
    replay_with(home, &[])
}

/// Replays what lies in another directory.
///
/// # Panics
/// As [`replay`].
#[must_use]
pub fn replay_in(home: &Home, directory: &Path) -> Replayed {
    replay_with(home, &["--data-dir", &directory.display().to_string()])
}

/// Replays with these arguments.
///
/// # Panics
/// As [`replay`].
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
    /// A number of the summary.
    #[must_use]
    pub fn number(&self, name: &str) -> u64 {
        self.summary.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// Every verdict follows from what is stored, and nothing had to be believed; how many there are.
    ///
    /// # Panics
    /// When that is not so.
    #[track_caller]
    pub fn all_follow(&self) -> u64 {
        assert!(self.code == 0 && self.findings.is_empty(), "{self:#?}");
        let numbers = ["differ", "taken_over", "not_derived"].map(|name| self.number(name));
        assert_eq!(numbers, [0; 3], "{self:#?}");
        self.number("verdicts")
    }
}
