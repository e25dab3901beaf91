//! The contents of a service's files, read from a copy of the database and its WAL. The reader is Debian's `sqlite3`, a
//! separate build of SQLite in a separate process.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test it serves"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::programs::sqlite;

/// Queries, each under a heading. Tables only grow at the end, except `instructions` and `members`.
const QUESTIONS: &str = "\
.print =integrity
PRAGMA integrity_check;
PRAGMA foreign_key_check;
.print =transactions
SELECT json_array(sequence, transaction_id, hex(fingerprint), event_micros, accepted_micros, rule_set_version, body, assessment)
  FROM transactions ORDER BY sequence;
.print =updates
SELECT json_array(sequence, target, before, after) FROM status_updates ORDER BY sequence;
.print =late
SELECT json_array(sequence, target, assessment) FROM late_verdicts ORDER BY sequence;
.print =versions
SELECT version FROM rule_sets ORDER BY version;
.print =instructions
SELECT json_array(id, name, removed_in) FROM instructions ORDER BY id;
.print =members
SELECT json_array(instruction_id, since_version, until_version) FROM rule_set_members ORDER BY since_version, instruction_id;
.print =ids
SELECT transaction_id FROM transactions GROUP BY transaction_id HAVING count(*) > 1;
";

/// The output of `sqlite3`, by part.
#[derive(Debug, Default)]
pub(super) struct Stored {
    parts: BTreeMap<String, String>,
}

/// A transaction with its assessment.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Row {
    pub(super) sequence: u64,
    pub(super) id: String,
    _fingerprint: String,
    pub(super) event_micros: i64,
    pub(super) accepted_micros: i64,
    pub(super) rule_set_version: u64,
    pub(super) body: String,
    pub(super) assessment: String,
}

/// A status update.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Update {
    pub(super) sequence: u64,
    pub(super) target: u64,
    pub(super) before: Option<String>,
    pub(super) after: String,
}

/// A rule, current or removed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Instruction {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) removed_in: Option<u64>,
}

/// The range of versions in which a rule was in force.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Member {
    pub(super) instruction_id: i64,
    pub(super) since: u64,
    pub(super) until: Option<u64>,
}

impl Stored {
    /// Reads the database of a data directory that no service has open. The directory is not changed.
    ///
    /// # Errors
    /// Returns the error message of `sqlite3`.
    pub(super) fn read(data: &Path) -> Result<Self, String> {
        let copy = TempDir::new().expect("a temporary folder can be made");
        for name in ["tollgate.db", "tollgate.db-wal"] {
            match fs::copy(data.join(name), copy.path().join(name)) {
                Err(error) if name == "tollgate.db" => return Err(format!("no database: {error}")),
                _ => {}
            }
        }
        let said = ask(&copy.path().join("tollgate.db"), QUESTIONS)?;
        let mut parts: BTreeMap<String, String> = BTreeMap::new();
        let mut part = String::new();
        for line in said.lines() {
            match line.strip_prefix('=') {
                Some(heading) => heading.clone_into(&mut part),
                None => {
                    let text = parts.entry(part.clone()).or_default();
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        Ok(Self { parts })
    }

    /// Returns the text of a part.
    pub(super) fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// Parses the lines of a part after its first `n_bytes`.
    pub(super) fn rows<T: DeserializeOwned>(&self, name: &str, n_bytes: usize) -> Vec<T> {
        let text = self.part(name).get(n_bytes..).unwrap_or_default();
        let row = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        text.lines().map(row).collect()
    }
}

/// Runs queries on a database with `sqlite3`.
///
/// # Errors
/// Returns the error message of `sqlite3`.
pub(super) fn ask(database: &Path, questions: &str) -> Result<String, String> {
    let mut command = sqlite(database);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("sqlite3 can be run");
    let mut input = process.stdin.take().expect("its input is piped");
    // A process that fails early closes its input early; its error message is reported below.
    let _ = input.write_all(questions.as_bytes());
    drop(input);
    let output = process.wait_with_output().expect("sqlite3 can be waited for");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() || !complaint.is_empty() {
        return Err(format!("sqlite3: {complaint}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
