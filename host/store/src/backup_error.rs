//! What can go wrong with backups.

use std::io;
use std::path::{Path, PathBuf};

use super::StoreError;

/// No backup was made, or none was restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is nothing to be copied.
    #[error("there is no database at `{}`", path.display())]
    NoDatabase {
        /// Where it would be.
        path: PathBuf,
    },
    /// The path ends in no name that can be used.
    #[error("`{}` cannot be the name of a backup", path.display())]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// A backup would share the fate of what it is of.
    #[error("`{}` lies in the data directory: a backup belongs elsewhere", path.display())]
    Inside {
        /// The file.
        path: PathBuf,
    },
    /// Nothing is overwritten.
    #[error("`{}` is there already and is not overwritten", path.display())]
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
    #[error("`{}` is there: a backup is restored only where nothing is; move it away first", path.display())]
    Occupied {
        /// What is there.
        path: PathBuf,
    },
    /// A database whose last commits lie in another file.
    #[error(
        "`{}` lies beside it: this is a database in use, or one that was copied by hand, and no backup; \
         `tollgate backup` makes one",
        path.display()
    )]
    Log {
        /// The log.
        path: PathBuf,
    },
    /// A file cannot be used.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The database cannot be read, or is none of this service.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    /// For this file or folder.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
