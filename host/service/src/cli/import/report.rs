//! The figures and messages of an import, while it runs and at its end.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::progress_file::{ImportProgress, ProgressFile};
use super::row::ImportFileError;
use super::rows::BytesRead;
use super::sending::SettledRow;
use crate::cli::say;

/// Time after which the figures are shown again, on a terminal and elsewhere.
const BETWEEN_PICTURES: Duration = Duration::from_millis(200);
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The figures of a file.
pub(super) struct Report {
    name: String,
    bar: ProgressBar,
    read: BytesRead,
    n_bytes: u64,
    started: Instant,
    shown: Instant,
    /// Rows that have their answer since it started.
    n_settled: u64,
    cannot_keep: bool,
}

impl Report {
    pub(super) fn begin(path: &Path) -> Result<Self, ImportFileError> {
        let n_bytes = std::fs::metadata(path)?.len();
        let bar = ProgressBar::new(n_bytes);
        if let Ok(style) =
            ProgressStyle::with_template("{prefix}: {bar:30} {percent:>3} %, {msg}, {eta} left")
        {
            bar.set_style(style);
        }
        bar.set_prefix(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let now = Instant::now();
        Ok(Self {
            name: path.display().to_string(),
            bar,
            read: BytesRead::default(),
            n_bytes,
            started: now,
            shown: now,
            n_settled: 0,
            cannot_keep: false,
        })
    }

    /// Returns the counter of the bytes that are read.
    pub(super) fn read(&self) -> BytesRead {
        self.read.clone()
    }

    /// Says something about the file.
    pub(super) fn say(&self, words: &str) {
        self.bar.suspend(|| say(&format!("{}: {words}", self.name)));
    }

    /// Shows a row that was refused, and from time to time the figures.
    pub(super) fn note(&mut self, row: &SettledRow, progress: &ImportProgress) {
        if self.n_settled == 0 {
            self.bar.set_position(self.read.get());
            self.bar.reset_eta();
        }
        self.n_settled += 1;
        if let Err(why) = &row.outcome {
            self.bar.suspend(|| say(&format!("{}:{}: {why}", self.name, row.line)));
        }
        let between = if self.bar.is_hidden() { BETWEEN_LINES } else { BETWEEN_PICTURES };
        if self.shown.elapsed() < between {
            return;
        }
        self.shown = Instant::now();
        if self.bar.is_hidden() {
            let percent = self.read.get().saturating_mul(100).checked_div(self.n_bytes).unwrap_or(100);
            self.say(&format!("{percent} %, {}", self.figures(progress)));
        } else {
            self.bar.set_position(self.read.get());
            self.bar.set_message(self.figures(progress));
        }
    }

    /// Keeps the progress, if there is any. Says once that it cannot be kept.
    pub(super) fn keep(&mut self, file: &ProgressFile, progress: &ImportProgress) {
        if progress.row == 0 {
            return;
        }
        if let Err(error) = file.write(progress)
            && !std::mem::replace(&mut self.cannot_keep, true)
        {
            self.say(&format!(
                "warning: `{}` cannot be written, so an import that is ended begins again: {error}",
                file.path().display()
            ));
        }
    }

    pub(super) fn end(&self, progress: &ImportProgress) {
        self.bar.finish_and_clear();
        let mut words = self.figures(progress);
        for (verdict, n) in &progress.verdicts {
            words.push_str(&format!(", {n} {verdict}"));
        }
        if progress.refused > 0 {
            words.push_str(&format!(", {} refused", progress.refused));
        }
        self.say(&words);
    }

    fn figures(&self, progress: &ImportProgress) -> String {
        let micros = self.started.elapsed().as_micros().max(1);
        let rate = u128::from(self.n_settled) * 1_000_000 / micros;
        format!("{} rows, {rate} a second", progress.n_answered())
    }
}
