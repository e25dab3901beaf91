//! The same transactions in DuckDB. It runs in a child process, because as a library it would dominate the build of
//! this crate.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tollgate_model::transaction::Transaction;

use crate::sqlite::{Question, cents};

/// Path of the child's program.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ask_duckdb.py");
/// Environment variable with the Python to use; it must have the package `duckdb`.
const PYTHON: &str = "DUCKDB_PYTHON";

/// A DuckDB with all transactions in one table in arrival order, which lets it skip data outside a window.
#[derive(Debug)]
pub struct DuckDb {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    version: String,
}

/// The result of one query.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// Number of transactions.
    pub count: i64,
    /// Sum of their amounts, in cents.
    pub cents: i64,
    /// Duration, measured in the child.
    pub took: Duration,
}

impl DuckDb {
    /// Starts DuckDB and loads it through a file in this directory.
    ///
    /// # Errors
    /// Returns an error if no Python with DuckDB is available or the file cannot be written.
    pub fn fill(directory: &Path, transactions: impl Iterator<Item = Transaction>) -> anyhow::Result<Self> {
        let path = directory.join("transactions.csv");
        write(&path, transactions)?;
        let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".into());
        let mut command = Command::new(python);
        command.arg(PROGRAM).arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let questions = child.stdin.take().context("the child has no input")?;
        let answers = BufReader::new(child.stdout.take().context("the child has no output")?);
        let mut duckdb = Self { child, questions, answers, version: String::new() };
        duckdb.version = duckdb.line().context("`python3 -m pip install duckdb` provides what is missing")?;
        Ok(duckdb)
    }

    /// Returns the version and the number of rows.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Counts and sums the rows of a query.
    ///
    /// # Errors
    /// Returns an error if the child does not respond.
    pub fn ask(&mut self, column: &str, question: &Question) -> anyhow::Result<Answer> {
        writeln!(self.questions, "{column}\t{}\t{}\t{}", question.key, question.from, question.to)?;
        let line = self.line()?;
        let mut words = line.split_whitespace();
        let mut number = || anyhow::Ok(words.next().context("a number is missing")?.parse::<i64>()?);
        let (count, cents, nanoseconds) = (number()?, number()?, number()?);
        Ok(Answer { count, cents, took: Duration::from_nanos(nanoseconds.unsigned_abs()) })
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        anyhow::ensure!(self.answers.read_line(&mut line)? > 0, "DuckDB ended");
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        // The child may have exited already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn write(path: &Path, transactions: impl Iterator<Item = Transaction>) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let text = |field: &Option<Arc<str>>| field.as_deref().unwrap_or_default().to_owned();
    for transaction in transactions {
        let (source, destination) = (text(&transaction.source), text(&transaction.destination));
        writeln!(file, "{source},{destination},{},{}", transaction.timestamp.micros(), cents(&transaction)?)?;
    }
    Ok(file.flush()?)
}
