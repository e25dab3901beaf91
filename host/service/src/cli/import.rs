//! `tollgate import`: sends the transactions of files to a running service, which judges them in order, or adds them to the
//! history alone.
//!
//! ```text
//!  file ─▶ decompress ─▶ rows ─▶ POST /inject/batch ─▶ verdict or error of each row
//!                          ▲                               │
//!                          └── begins after the last row ◀─ FILE.import
//! ```

mod parquet_rows;
mod progress_file;
mod report;
mod row;
mod rows;
mod sending;
mod table;
mod table_reader;

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use chrono::Utc;
use clap::Args;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tollgate_links::outbound::{HeaderValue, PeerAddress, Protocol, TrustStore};
use tollgate_model::secret::Secret;
use tollgate_model::transaction::{InjectRequest, RequestOptions, RequestSettings};
use tollgate_telemetry::config::{Settings, load_dotenv, process_environment};

use super::healthcheck::reachable;
use super::offline::run_here;
use crate::cli::say;
use progress_file::{ImportProgress, ProgressFile};
use report::Report;
use row::{ImportFileError, ImportRow};
use rows::{BytesRead, RowFormat};
use sending::{BatchEnd, Destination, NO_ID, SettledRow};
use table::TableColumns;

/// Time in which a service that no longer answers is asked again.
const RETRIED_FOR: Duration = Duration::from_secs(60);
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
/// Time after which the progress is written again.
const BETWEEN_WRITES: Duration = Duration::from_secs(1);
/// Rows that are read ahead together, and how often.
const ROWS_READ: usize = 128;
const PARTS_READ: usize = 16;

/// Exit codes: a row was refused, and the import did not come to its end.
const REFUSED: u8 = 1;
const ENDED_EARLY: u8 = 2;

/// Arguments of `tollgate import`.
#[derive(Debug, Args)]
pub(super) struct ImportArguments {
    /// Files with a transaction on each line in JSON, or in each row of a table or Parquet file; lines and tables whose names
    /// end with .gz or .zst are decompressed
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Address of the service [default: that of the settings on this machine]
    #[arg(long, value_name = "URL", value_parser = secret)]
    url: Option<Secret>,
    /// How the files are written [default: by their names, .ndjson, .jsonl, .json, .csv or .parquet]
    #[arg(long)]
    format: Option<RowFormat>,
    /// Fields and the columns of a table that they are in, such as transaction_id=Id,meta_data.device_id=Device; columns with
    /// the name of a field need not be named, and FIELD= leaves one out
    #[arg(long, value_name = "FIELD=COLUMN,…", value_delimiter = ',', value_parser = column)]
    columns: Vec<(String, String)>,
    /// Character between the columns of a table; \t is a tab
    #[arg(long, default_value = ",", value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: u8,
    /// Beginning of the ids KEY:ROW of rows without transaction_id; without it such rows are refused. A key is for one file
    #[arg(long, value_name = "KEY", value_parser = key)]
    key: Option<String>,
    /// Add the transactions to the history without verdicts and alerts; each needs created_at
    #[arg(long)]
    history_only: bool,
    /// Check every row as the service would, and send none
    #[arg(long)]
    dry_run: bool,
}

/// Imports files one after the other. Returns the exit code: 0 if every row was taken, 1 if some were refused, 2 if the import
/// ended early.
pub(super) fn import(asked: &ImportArguments) -> u8 {
    let imported = run_here(async {
        if asked.key.is_some() && asked.files.len() > 1 {
            bail!("--key is for one file: rows of two files would get the same ids");
        }
        let settings = settings()?;
        let importing = Importing {
            asked,
            columns: TableColumns { named: asked.columns.clone(), delimiter: asked.delimiter },
            requests: settings.requests,
        };
        let restriction =
            settings.requests.restriction_of_times().filter(|_| asked.history_only && asked.dry_run);
        if let Some(setting) = restriction {
            bail!("--history-only stores transactions at their times, which {setting} restricts");
        }
        let destination = if asked.dry_run { None } else { Some(destination(asked, &settings)?) };
        importing.all(destination.as_ref()).await
    });
    match imported {
        Some(Ok(0)) => 0,
        Some(Ok(_)) => REFUSED,
        Some(Err(error)) => {
            say(&format!("error: {error:#}"));
            ENDED_EARLY
        }
        None => ENDED_EARLY,
    }
}

fn settings() -> anyhow::Result<Settings> {
    load_dotenv()?;
    Ok(Settings::read(process_environment)?)
}

fn destination(asked: &ImportArguments, settings: &Settings) -> anyhow::Result<Destination> {
    let service = match &asked.url {
        Some(url) => url.expose().trim_end_matches('/').to_owned(),
        None => format!("http://{}", std::net::SocketAddr::new(reachable(settings.host), settings.port)),
    };
    let query = if asked.history_only { "?history_only=true" } else { "" };
    let url = Secret::new(format!("{service}/inject/batch{query}"));
    let address = PeerAddress::read(&url, None, Protocol::Http);
    let key = asked.key.as_deref().map(|key| HeaderValue::from_str(&format!("\"{key}\""))).transpose();
    Ok(Destination {
        trust: TrustStore::of_the_system()?,
        address: address.context("--url")?,
        is_history_only: asked.history_only,
        key: key.context("--key")?,
    })
}

struct Importing<'a> {
    asked: &'a ImportArguments,
    columns: TableColumns,
    requests: RequestSettings,
}

impl Importing<'_> {
    /// Imports every file, or checks them without a destination. Returns how many rows were refused.
    async fn all(&self, destination: Option<&Destination>) -> anyhow::Result<u64> {
        let mut written = Vec::new();
        let mut n_refused = 0;
        for path in &self.asked.files {
            let name = path.display().to_string();
            n_refused += match destination {
                None => self.check(path),
                Some(destination) => {
                    let file = ProgressFile::of(path, self.options(destination));
                    let file = file.map_err(ImportFileError::Io).with_context(|| name.clone())?;
                    let imported = self.import(path, &file, destination).await;
                    written.push(file);
                    imported
                }
            }
            .with_context(|| name)?;
        }
        // A command that is repeated after its end imports everything again.
        written.iter().for_each(ProgressFile::remove);
        Ok(n_refused)
    }

    /// Returns a digest of everything that decides about the rows, besides the file.
    fn options(&self, destination: &Destination) -> String {
        let ImportArguments { format, key, .. } = self.asked;
        let all = format!("{format:?} {key:?} {:?} {}", self.columns, destination.address.uri());
        tollgate_model::instruction::ContentDigest::of_bytes(all.as_bytes()).to_string()
    }

    async fn import(
        &self,
        path: &Path,
        file: &ProgressFile,
        destination: &Destination,
    ) -> anyhow::Result<u64> {
        let mut progress =
            file.read().with_context(|| file.path().display().to_string())?.unwrap_or_default();
        let mut report = Report::begin(path)?;
        if progress.row > 0 {
            report.say(&format!("going on after row {}", progress.row));
        }
        let (mut last_answer, mut last_write) = (None, Instant::now());
        let mut fails_since: Option<Instant> = None;
        while !progress.is_complete {
            let (parts, reading) = self.read_from(path, progress.row + 1, report.read());
            let settle = |row: SettledRow| {
                last_answer = Some(Instant::now());
                progress.note(&row);
                report.note(&row, &progress);
                if last_write.elapsed() > BETWEEN_WRITES {
                    last_write = Instant::now();
                    report.keep(file, &progress);
                }
            };
            let end = sending::send(destination, parts, settle).await;
            let read = reading.join().unwrap_or_else(|_| bail!("the reader has panicked"));
            if file.is_outdated(path) {
                bail!("it was changed while it was imported; run the command again to import what it is now");
            }
            // An answer after the last failure ended it.
            fails_since = fails_since.filter(|since| last_answer.is_none_or(|last| last < *since));
            match end {
                BatchEnd::Complete => {
                    progress.is_complete = read.is_ok();
                    report.keep(file, &progress);
                    read?;
                }
                BatchEnd::Interrupted(why)
                    if last_answer.is_some()
                        && fails_since.get_or_insert_with(Instant::now).elapsed() < RETRIED_FOR =>
                {
                    report.say(&format!("{why}; trying again after row {}", progress.row));
                    tokio::time::sleep(BETWEEN_TRIES).await;
                }
                BatchEnd::Interrupted(why) | BatchEnd::Impossible(why) => {
                    report.keep(file, &progress);
                    bail!(
                        "{why}; {} rows have their answer, and the same command goes on after them",
                        progress.n_answered()
                    );
                }
            }
        }
        report.end(&progress);
        Ok(progress.refused)
    }

    /// Reads the rows of a file from this number on, on a thread of its own.
    fn read_from(
        &self,
        path: &Path,
        first: u64,
        read: BytesRead,
    ) -> (Receiver<Vec<ImportRow>>, JoinHandle<anyhow::Result<()>>) {
        let (sender, parts) = mpsc::channel(PARTS_READ);
        let (path, format, columns) = (path.to_owned(), self.asked.format, self.columns.clone());
        let reading = thread::spawn(move || {
            read.restart();
            send_parts(rows::open(&path, format, &columns, &read)?, first, &sender)?;
            Ok(())
        });
        (parts, reading)
    }

    /// Checks every row as the service would when it is sent. Returns how many would be refused.
    fn check(&self, path: &Path) -> anyhow::Result<u64> {
        let mut report = Report::begin(path)?;
        let mut progress = ImportProgress::default();
        for row in rows::open(path, self.asked.format, &self.columns, &report.read())? {
            let ImportRow { number, line, content } = row.map_err(ImportFileError::Io)?;
            let checked = match content {
                Ok(json) if json.is_empty() => continue,
                Ok(json) => self.check_row(&json, number),
                Err(why) => Err(why),
            };
            let row = SettledRow { number, line, outcome: checked.map(|()| "valid".to_owned()) };
            progress.note(&row);
            report.note(&row, &progress);
        }
        report.end(&progress);
        Ok(progress.refused)
    }

    fn check_row(&self, json: &[u8], number: u64) -> Result<(), String> {
        let options = RequestOptions {
            settings: self.requests,
            idempotency_key: self.asked.key.as_deref().map(str::as_bytes),
            line: Some(number),
        };
        let request = InjectRequest::read(json, &options, Utc::now()).map_err(|error| error.to_string())?;
        match request.objection {
            Some(objection) => Err(objection.to_string()),
            None if request.has_generated_id => Err(NO_ID.to_owned()),
            None if self.asked.history_only && request.transaction.timestamp.is_set_on_arrival() => {
                Err("`created_at` is missing; a past transaction counts at that time".to_owned())
            }
            None => Ok(()),
        }
    }
}

/// Sends rows from this number on. Ends early if nobody receives them.
fn send_parts(
    rows: impl Iterator<Item = std::io::Result<ImportRow>>,
    first: u64,
    sender: &Sender<Vec<ImportRow>>,
) -> Result<(), ImportFileError> {
    let mut part = Vec::with_capacity(ROWS_READ);
    let mut result = Ok(());
    for row in rows {
        match row {
            Ok(row) if row.number < first => continue,
            Ok(row) => part.push(row),
            Err(error) => {
                result = Err(ImportFileError::Io(error));
                break;
            }
        }
        if part.len() == ROWS_READ && sender.blocking_send(std::mem::take(&mut part)).is_err() {
            return Ok(());
        }
    }
    if !part.is_empty() {
        sender.blocking_send(part).ok();
    }
    result
}

fn column(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((field, column)) if !field.is_empty() => Ok((field.to_owned(), column.to_owned())),
        _ => Err("must be FIELD=COLUMN".to_owned()),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [character] if !matches!(character, b'"' | b'\r' | b'\n') => Ok(*character),
        _ => Err("must be one character of ASCII, or \\t".to_owned()),
    }
}

/// Takes an address, which may have a password.
#[expect(clippy::unnecessary_wraps, reason = "the parser of a value may fail")]
fn secret(text: &str) -> Result<Secret, String> {
    Ok(Secret::new(text.to_owned()))
}

/// Takes a key that a header can have in quotation marks.
fn key(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if !text.is_empty() && text.len() <= 235 && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err("must be 1 to 235 printable characters of ASCII without \" and \\".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_before_anything_is_read() {
        assert_eq!(column("amount=Value"), Ok(("amount".to_owned(), "Value".to_owned())));
        assert_eq!(column("amount="), Ok(("amount".to_owned(), String::new())));
        assert!(column("amount").is_err() && column("=x").is_err());
        for (text, expected) in [
            (";", Ok(b';')),
            ("\\t", Ok(b'\t')),
            ("\t", Ok(b'\t')),
            ("", Err(())),
            ("\"", Err(())),
            ("é", Err(())),
        ] {
            assert_eq!(delimiter(text).map_err(drop), expected, "{text}");
        }
        for (text, is_key) in
            [("file 7", true), ("", false), ("a\"", false), ("é", false), (&"x".repeat(236), false)]
        {
            assert_eq!(key(text).is_ok(), is_key, "{text}");
        }
    }
}
