//! `tollgate doctor`: checks whether the service could start on a data directory, and whether the directory is intact.
//!
//! It reads only, and may run beside the service. It prints one line per check, with the remedy for each problem.

mod directory;
mod lists;
mod surroundings;

use std::path::{Path, PathBuf};

use tollgate_store::{Holder, StoreError, StoreFinding};

use crate::cli::offline::{data_dir_or_default, run_here};
use crate::cli::say;
use tollgate_telemetry::config::{ConfigError, Settings, load_dotenv, process_environment};
use tollgate_telemetry::logs::ErrorChain;

/// Counts of findings; each finding is printed immediately.
#[derive(Default)]
struct DoctorReport {
    n_warnings: usize,
    n_problems: usize,
}

/// The reason why the examination is impossible.
type Unreadable = String;

impl DoctorReport {
    /// Reports a passed check.
    fn fine(&self, what: &str, words: &str) {
        say(&format!("ok       {what}: {words}"));
    }

    /// Reports a condition that does no harm yet.
    fn warn(&mut self, what: &str, words: &str) {
        self.n_warnings += 1;
        say(&format!("warning  {what}: {words}"));
    }

    /// Reports a problem: the service cannot start, or has lost data.
    fn wrong(&mut self, what: &str, words: &str) {
        self.n_problems += 1;
        say(&format!("problem  {what}: {words}"));
    }
}

/// Returns the exit code: 0 without problems (warnings allowed), 1 with problems, 2 if the examination is impossible.
pub(super) fn doctor(data_dir: Option<PathBuf>) -> u8 {
    let Some(data_dir) = data_dir_or_default(data_dir) else { return 2 };
    let settings = load_dotenv().and_then(|()| Settings::read(process_environment));
    let mut report = DoctorReport::default();
    let examined = run_here(examine(&data_dir, &settings, &mut report))
        .unwrap_or_else(|| Err("the runtime cannot be started".to_owned()));
    let DoctorReport { n_warnings, n_problems } = report;
    match examined {
        Err(blind) => {
            say(&format!("error: cannot check: {blind}"));
            2
        }
        Ok(()) => {
            say(&format!("{n_problems} problems, {n_warnings} warnings"));
            u8::from(n_problems > 0)
        }
    }
}

async fn examine(
    data_dir: &Path,
    settings: &Result<Settings, ConfigError>,
    report: &mut DoctorReport,
) -> Result<(), Unreadable> {
    match settings {
        Ok(_) => report.fine("settings", "all values are valid"),
        Err(error) => report.wrong("settings", &error.to_string()),
    }
    let holder = directory::examine(data_dir, report)?;
    if let Ok(settings) = settings {
        surroundings::examine(settings, holder, report);
        lists::examine_files(&settings.rules_dir, report);
    }
    database(data_dir, report).await?;
    lists::examine_kept(data_dir, report).await;
    directory::examine_beside(data_dir, report);
    Ok(())
}

async fn database(data_dir: &Path, report: &mut DoctorReport) -> Result<(), Unreadable> {
    match tollgate_store::examine(data_dir).await {
        Ok(found) if found.is_empty() => report.fine("database", "none yet: the first start creates it"),
        Ok(found) => found.into_iter().for_each(|StoreFinding { what, result }| match result {
            Ok(words) => report.fine(what, &words),
            Err(words) => report.wrong(what, &with_cure(what, &words)),
        }),
        Err(
            error @ (StoreError::Corrupt { .. }
            | StoreError::Foreign { .. }
            | StoreError::Missing { .. }
            | StoreError::NewerSchema { .. }),
        ) => report.wrong("database", &with_cure("database", &ErrorChain(&error).to_string())),
        Err(error) => return Err(ErrorChain(&error).to_string()),
    }
    Ok(())
}

/// Adds a remedy; lost data can only come from a backup.
fn with_cure(what: &str, words: &str) -> String {
    match what {
        "schema" => words.to_owned(),
        _ => format!("{words}; keep a copy of the directory, and restore a backup into a new one"),
    }
}

/// Describes the process that holds the directory.
fn words_of(holder: Holder) -> String {
    match holder {
        Holder::Nobody => "no service uses it".to_owned(),
        Holder::Process(Some(process)) => format!("process {process} uses it"),
        Holder::Process(None) => "a service uses it".to_owned(),
    }
}
