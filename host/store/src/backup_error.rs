//! Errors of backups.

use std::io;
use std::path::{Path, PathBuf};

use super::StoreError;

/// The reason why a backup was not made or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is no database.
    #[error("there is no database at `{}`", path.display())]
    NoDatabase {
        /// The expected path.
        path: PathBuf,
    },
    /// The path has no usable file name.
    #[error("`{}` cannot be the name of a backup", path.display())]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// The target lies in the data directory, where a backup would be lost with the store.
    #[error("`{}` is inside the data directory; write the backup elsewhere", path.display())]
    Inside {
        /// The file.
        path: PathBuf,
    },
    /// The target exists; nothing is overwritten.
    #[error("`{}` already exists and is not overwritten", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes the same file.
    #[error("another process is writing `{}`", path.display())]
    UnderWay {
        /// The file.
        path: PathBuf,
    },
    /// The data directory is not empty.
    #[error("`{}` already exists, and a backup never replaces data; move it away first", path.display())]
    Occupied {
        /// The existing path.
        path: PathBuf,
    },
    /// The database has a write-ahead log, which may hold its last commits.
    #[error(
        "`{}` exists beside it: this is a database in use, or one that was copied by hand, not a backup; \
         make one with `tollgate backup`",
        path.display()
    )]
    Log {
        /// The log.
        path: PathBuf,
    },
    /// A file cannot be used.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The database cannot be read, or does not belong to this service.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    /// Returns a function that attributes an I/O error to this path.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
