//! How far a file was imported, kept in a file beside it, so that an import that was ended goes on.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::sending::SettledRow;

/// Appended to the name of the file.
const ENDING: &str = ".import";

/// The part of a file that was imported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ImportProgress {
    /// Number of the last row that has its answer.
    pub(super) row: u64,
    /// Rows by the verdict that they got.
    pub(super) verdicts: BTreeMap<String, u64>,
    /// Rows that were refused.
    pub(super) refused: u64,
    /// Whether all rows have their answer.
    pub(super) is_complete: bool,
}

impl ImportProgress {
    /// Notes the answer of the next row.
    pub(super) fn note(&mut self, row: &SettledRow) {
        self.row = row.number;
        match &row.outcome {
            Ok(verdict) => *self.verdicts.entry(verdict.clone()).or_default() += 1,
            Err(_) => self.refused += 1,
        }
    }

    /// Returns the number of rows that have an answer.
    pub(super) fn n_answered(&self) -> u64 {
        self.verdicts.values().sum::<u64>() + self.refused
    }
}

/// The file with the progress of another file.
#[derive(Debug)]
pub(super) struct ProgressFile {
    path: PathBuf,
    identity: FileIdentity,
}

/// The features that tell a file from another one of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileIdentity {
    bytes: u64,
    modified_micros: u128,
    /// Digest of the columns, the key and the service, which decide about the rows as well.
    options: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    file: FileIdentity,
    progress: ImportProgress,
}

impl ProgressFile {
    /// Returns the file for the progress of the file at this path, which is imported with these options.
    ///
    /// # Errors
    /// If it cannot be looked at, or is no file that can be read again.
    pub(super) fn of(path: &Path, options: String) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            let message = "it is no regular file, so an import that is interrupted could not go on; write it to a file first";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_micros = modified.unwrap_or_default().as_micros();
        let mut name = OsString::from(path);
        name.push(ENDING);
        Ok(Self {
            path: name.into(),
            identity: FileIdentity { bytes: metadata.len(), modified_micros, options },
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the progress; `None` if there is none, or it is that of another file or of other options.
    ///
    /// # Errors
    /// If the file cannot be read, or something else is in it, which must not be replaced.
    pub(super) fn read(&self) -> io::Result<Option<ImportProgress>> {
        let bytes = match fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|_| {
            io::Error::new(ErrorKind::InvalidData, "it is not the progress of an import; rename or remove it")
        })?;
        Ok((stored.file == self.identity).then_some(stored.progress))
    }

    /// Returns whether the file whose progress this is has been replaced or written since.
    pub(super) fn is_outdated(&self, path: &Path) -> bool {
        Self::of(path, self.identity.options.clone()).is_ok_and(|now| now.identity != self.identity)
    }

    /// Replaces the progress.
    pub(super) fn write(&self, progress: &ImportProgress) -> io::Result<()> {
        let stored = Stored { file: self.identity.clone(), progress: progress.clone() };
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut new =
            tempfile::Builder::new().prefix(".import-").tempfile_in(directory.unwrap_or(Path::new(".")))?;
        new.write_all(&serde_json::to_vec(&stored)?)?;
        // After a loss of power it is this progress or the one before.
        new.as_file().sync_data()?;
        new.persist(&self.path)?;
        Ok(())
    }

    /// Removes the progress.
    pub(super) fn remove(&self) {
        fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_that_of_one_file_with_the_same_options() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("payments.csv");
        fs::write(&path, "a").unwrap();
        let of = |options: &str| ProgressFile::of(&path, options.to_owned()).unwrap();
        assert_eq!(of("").read().unwrap(), None);
        let progress = ImportProgress {
            row: 7,
            verdicts: [("approve".to_owned(), 5)].into(),
            ..ImportProgress::default()
        };
        of("").write(&progress).unwrap();
        assert_eq!(of("").read().unwrap(), Some(progress));
        assert_eq!(of("key").read().unwrap(), None);
        let before = of("");
        assert!(!before.is_outdated(&path));
        fs::write(&path, "ab").unwrap();
        assert!(before.is_outdated(&path));
        assert_eq!(of("").read().unwrap(), None);
        of("").write(&ImportProgress::default()).unwrap();
        of("").remove();
        assert_eq!(of("").read().unwrap(), None);
    }

    #[test]
    fn a_file_that_is_no_progress_is_not_taken_for_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("payments.csv");
        fs::write(&path, "a").unwrap();
        let file = ProgressFile::of(&path, String::new()).unwrap();
        file.write(&ImportProgress::default()).unwrap();
        let whole = fs::read(file.path()).unwrap();
        for n_bytes in 0..whole.len() {
            fs::write(file.path(), &whole[..n_bytes]).unwrap();
            assert!(file.read().is_err(), "{n_bytes} bytes");
        }
    }
}
