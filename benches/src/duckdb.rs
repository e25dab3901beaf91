//! The same transactions in DuckDB, which runs in a child process: as a library it would be most of this crate's build.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tollgate_model::transaction::Transaction;

use crate::sqlite::{Question, cents};

/// The program of the child.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ask_duckdb.py");
/// A variable with the Python to run it by, one that has the package `duckdb`.
const PYTHON: &str = "DUCKDB_PYTHON";

/// A DuckDB with all transactions in one table, in the order of their arrival, by which it can skip what no window needs.
#[derive(Debug)]
pub struct DuckDb {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    version: String,
}

/// What DuckDB says of one question.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// How many transactions.
    pub count: i64,
    /// The sum of their amounts, in cents.
    pub cents: i64,
    /// How long it took, by the clock of the child.
    pub took: Duration,
}

impl DuckDb {
    /// Starts one and loads it, through a file in this directory.
    ///
    /// # Errors
    /// When there is no Python with DuckDB, or the file cannot be written.
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

    /// Its version, and how many rows it holds.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Counts and sums what the question is about.
    ///
    /// # Errors
    /// When the child does not answer.
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
        // It may be gone already; nothing is lost with it.
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
