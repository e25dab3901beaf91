//! `tollgate backup` and `tollgate restore`: copies the store of a data directory to one file and back.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tollgate_git::{CLONES, CloneDirectory, GitError, UnpushedWork, Worker};
use tollgate_history::{RECORDS_DIRECTORY, SNAPSHOT_FILE};
use tollgate_store::{BackupContents, BackupError, BackupNote, CheckedBackup};

use crate::cli::offline::{data_dir_or_default, run_here};
use crate::cli::say;
use tollgate_telemetry::logs::ErrorChain;

/// Key of the followed repository, as the module `git` stores it.
const FOLLOWED: &str = "git/followed";

#[derive(Debug, thiserror::Error)]
enum BackupFailure {
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("the record of the followed repository cannot be read or written")]
    Git(#[from] GitError),
}

/// Backs up the store. Returns exit code 1 if no backup of this name was made, 2 for invalid settings.
pub(super) fn backup(data_dir: Option<PathBuf>, file: &Path) -> u8 {
    let Some(data_dir) = data_dir_or_default(data_dir) else { return 2 };
    let started = Instant::now();
    match run_here(backed_up(&data_dir, file)) {
        Some(Ok(contents)) => {
            say(&format!("{}: {}, {} ms", file.display(), words(contents), started.elapsed().as_millis()));
            warn_of_unshared(&data_dir);
            0
        }
        Some(Err(failure)) => failed(&failure),
        None => 1,
    }
}

async fn backed_up(data_dir: &Path, file: &Path) -> Result<BackupContents, BackupFailure> {
    let followed = clones(data_dir).memory()?;
    let note = followed.map(|text| BackupNote { name: FOLLOWED.to_owned(), text });
    Ok(tollgate_store::backup(data_dir, file, note.as_slice()).await?)
}

/// Restores a backup. Returns exit code 1 if nothing was restored, 2 for invalid settings.
pub(super) fn restore(data_dir: Option<PathBuf>, file: &Path) -> u8 {
    let Some(data_dir) = data_dir_or_default(data_dir) else { return 2 };
    match run_here(restored(&data_dir, file)) {
        Some(Ok((database, contents))) => {
            say(&format!("{}: {}", database.display(), words(contents)));
            say("rule files, settings and secrets are not part of a backup: see docs/operations.md");
            0
        }
        Some(Err(failure)) => failed(&failure),
        None => 1,
    }
}

async fn restored(data_dir: &Path, file: &Path) -> Result<(PathBuf, BackupContents), BackupFailure> {
    let restoration =
        CheckedBackup::prepare(file, data_dir, &[CLONES, SNAPSHOT_FILE, RECORDS_DIRECTORY]).await?;
    let followed = restoration.notes.iter().find(|note| note.name == FOLLOWED);
    if let Some(BackupNote { text, .. }) = followed {
        clones(data_dir).remember_again(text)?;
    }
    let contents = restoration.contents;
    Ok((restoration.put_in_place()?, contents))
}

/// Nothing is fetched here, so the timeout for remotes is zero.
fn clones(data_dir: &Path) -> CloneDirectory {
    CloneDirectory::at(data_dir.join(CLONES), Worker::of_this_program(Duration::ZERO, false))
}

fn words(contents: BackupContents) -> String {
    let BackupContents { n_transactions, last, n_bytes } = contents;
    format!("{n_transactions} transactions up to number {last}, {n_bytes} bytes")
}

/// Warns of local changes in the clone, which their authors have to push.
fn warn_of_unshared(data_dir: &Path) {
    match clones(data_dir).unshared() {
        Ok(UnpushedWork { n_files: 0, n_commits: 0 }) => {}
        Ok(UnpushedWork { n_files, n_commits }) => say(&format!(
            "warning: not in the backup: {n_files} files changed by hand and {n_commits} commits in `{}`; push them",
            data_dir.join(CLONES).join("rules").display()
        )),
        Err(error) => {
            say(&format!("warning: the clone of the repository cannot be read: {}", ErrorChain(&error)))
        }
    }
}

fn failed(failure: &BackupFailure) -> u8 {
    say(&format!("error: {}", ErrorChain(failure)));
    1
}
