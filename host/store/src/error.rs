//! Errors of the store.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use sqlx::migrate::MigrateError;

use super::directory::lock_in;
use super::lost::LostStore;
use super::space::lacks_locks;

type ErrorSource = Box<dyn Error + Send + Sync>;

/// The reason why the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the data directory open.
    #[error("another process uses the data directory `{}`", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The data directory or a file in it cannot be used.
    #[error("cannot use `{}`", path.display())]
    Directory {
        /// The unusable path.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The database has a write-ahead log, and its directory is read-only.
    #[error(
        "the database in `{}` has a write-ahead log, which SQLite cannot read without write access to the directory: mount it writable, \
         or read a copy of it",
        path.display()
    )]
    Log {
        /// The data directory.
        path: PathBuf,
        /// The reason why it cannot be written.
        #[source]
        source: io::Error,
    },
    /// The file system lacks shared memory maps or file locks, as some network file systems do.
    #[error(
        "the file system of the data directory lacks shared memory maps or file locks, which the database needs; put SERVICE_DATA_DIR on \
         a local one, such as ext4, XFS or a block volume"
    )]
    FileSystem {
        /// The failed operation.
        #[source]
        source: ErrorSource,
    },
    /// The database file belongs to something else.
    #[error("`{}` is not a database of this service: {reason}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// A newer version of this service made the database.
    #[error("`{}` has schema {found}, this version of the service supports schemas up to {known}", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The newest supported schema version.
        known: i64,
    },
    /// The database is opened read-only, and an older version of this service made it.
    #[error(
        "`{}` has schema {found}, this version of the service reads {known}; start the service once to upgrade it", path.display()
    )]
    OlderSchema {
        /// The file.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The required schema version.
        known: i64,
    },
    /// The database file was removed or replaced while it was open, or only its write-ahead log exists.
    #[error("`{}` was removed or replaced after it was opened", path.display())]
    Missing {
        /// The original path.
        path: PathBuf,
    },
    /// The directory had a store that is gone, in whole or in part.
    #[error(
        "{lost}; nothing is judged without it: restore a backup with `tollgate restore`, or, to go on without what is gone, start \
         once with `--accept-empty-store={}`",
        lost.id()
    )]
    Lost {
        /// The data directory.
        path: PathBuf,
        /// The store.
        lost: LostStore,
    },
    /// The database is damaged.
    #[error("the database is damaged: {what}")]
    Corrupt {
        /// A description of the damage.
        what: String,
        /// The underlying error.
        #[source]
        source: Option<ErrorSource>,
    },
    /// The record contradicts stored data. Nothing was written.
    #[error("the record contradicts stored data: {what}")]
    Conflict {
        /// A description of the contradiction.
        what: String,
    },
    /// The database is locked, or every connection is in use. Nothing was written.
    #[error("the database is busy")]
    Busy {
        /// The underlying error.
        #[source]
        source: ErrorSource,
    },
    /// The disk is full. Nothing was written.
    #[error("no space is left for the database")]
    Full {
        /// The underlying error.
        #[source]
        source: ErrorSource,
    },
    /// The disk did not confirm a write. Only a restart can determine whether it is stored, so the process should stop:
    /// a second sync proves nothing.
    #[error("the disk did not confirm a write")]
    SyncFailed {
        /// The underlying error.
        #[source]
        source: ErrorSource,
    },
    /// The database cannot be read or written. Nothing was written.
    #[error("the database cannot be used")]
    Unavailable {
        /// The underlying error.
        #[source]
        source: ErrorSource,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    pub(super) fn corrupt(what: impl Into<String>) -> Self {
        StoreError::Corrupt { what: what.into(), source: None }
    }

    /// Replaces `Busy` by `FileSystem` if the cause is a file system without locks.
    pub(super) fn explained(self, data_dir: &Path) -> Self {
        match self {
            Self::Busy { source } if lacks_locks(&lock_in(data_dir)) => Self::FileSystem { source },
            error => error,
        }
    }

    pub(super) fn of_migration(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            error => StoreError::Corrupt {
                what: "its schema was not created by this service".to_owned(),
                source: Some(error.into()),
            },
        }
    }
}

/// SQLite's result codes, <https://www.sqlite.org/rescode.html>.
mod code {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CONSTRAINT: i32 = 19;
    pub(super) const NOT_A_DATABASE: i32 = 26;
    pub(super) const IO_FSYNC: i32 = 10 | (4 << 8);
    pub(super) const IO_DIR_FSYNC: i32 = 10 | (5 << 8);
    pub(super) const IO_UNLOCK: i32 = 10 | (8 << 8);
    pub(super) const IO_READ_LOCK: i32 = 10 | (9 << 8);
    pub(super) const IO_LOCK: i32 = 10 | (15 << 8);
    pub(super) const IO_MAP_LOCK: i32 = 10 | (20 << 8);
    pub(super) const IO_MAP: i32 = 10 | (21 << 8);
    /// The low byte of an extended code is the primary one.
    pub(super) const PRIMARY: i32 = 0xff;
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(reported) => {
                let extended = reported.code().and_then(|code| code.parse().ok()).unwrap_or(0);
                let message = reported.message().to_owned();
                of_code(extended, message, error.into())
            }
            sqlx::Error::PoolTimedOut => StoreError::Busy { source: error.into() },
            sqlx::Error::PoolClosed => StoreError::Closed,
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => StoreError::Corrupt {
                what: "a value has an unexpected type".to_owned(),
                source: Some(error.into()),
            },
            _ => StoreError::Unavailable { source: error.into() },
        }
    }
}

fn of_code(extended: i32, what: String, source: ErrorSource) -> StoreError {
    match (extended, extended & code::PRIMARY) {
        (code::IO_FSYNC | code::IO_DIR_FSYNC, _) => StoreError::SyncFailed { source },
        (code::IO_UNLOCK | code::IO_READ_LOCK | code::IO_LOCK | code::IO_MAP_LOCK | code::IO_MAP, _) => {
            StoreError::FileSystem { source }
        }
        (_, code::BUSY | code::LOCKED) => StoreError::Busy { source },
        (_, code::CORRUPT | code::NOT_A_DATABASE) => StoreError::Corrupt { what, source: Some(source) },
        (_, code::FULL) => StoreError::Full { source },
        (_, code::CONSTRAINT) => StoreError::Conflict { what },
        _ => StoreError::Unavailable { source },
    }
}
