//! Snapshots: the history in a file, so that a restart need not read every stored transaction.
//!
//! ```text
//!  series ──export, key by key──▶ blocks ──▶ history.snapshot.new ──fsync, rename──▶ history.snapshot
//!  series ◀──import── blocks, each against its checksum ◀── head: does the store still match?
//! ```
//!
//! A snapshot is complete up to a number that was settled when writing began. A restart reads later steps from the
//! store. A snapshot only saves time. If it is damaged, or does not match the store, it is rejected and everything is
//! read from the store. Settled steps never change, so a snapshot can be written while the history is in use.
//!
//! Once keys have left memory, a snapshot is a [checkpoint](crate::residency) of their records, and a file of this kind
//! beside them has the keys that are in none.

mod block;
mod bytes;
mod layout;
mod load;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use tollgate_model::sequence::Sequence;
use tollgate_records::OpenRecordsError;

use crate::past::PastError;
use crate::spill::SpillError;

pub(super) use bytes::{ByteReader, put_bytes, put_number, put_signed};
pub(super) use load::{LoadedSnapshot, load};
pub use load::{SnapshotSummary, recognise};
pub use write::WrittenSnapshot;

/// Name of the file, next to the store.
pub const SNAPSHOT_FILE: &str = "history.snapshot";
/// Name of the directory with the records of keys on the disk, next to the store.
pub const RECORDS_DIRECTORY: &str = "history";

/// The reason a snapshot is not written or not used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The records of keys on the disk cannot be opened.
    #[error(transparent)]
    Records(#[from] OpenRecordsError),
    /// The file is not a snapshot.
    #[error("it is not a snapshot of a history")]
    Foreign,
    /// Another version of this service wrote the file.
    #[error("it has format version {found}; this version of the service supports {known}")]
    Version {
        /// Version of the file.
        found: u32,
        /// Version this service supports.
        known: u32,
    },
    /// The file is damaged.
    #[error("it is damaged: {what} is invalid")]
    Damaged {
        /// The damaged part.
        what: &'static str,
    },
    /// The file was made from another store.
    #[error("it was made from another store")]
    OtherStore,
    /// The store ends before the snapshot.
    #[error("the store ends at {last}, before the end of the snapshot at {through}")]
    Rewound {
        /// Last number of the snapshot.
        through: Sequence,
        /// Last number of the store.
        last: Sequence,
    },
    /// The store does not hold the transactions of the snapshot.
    #[error("the store does not hold the transactions it was made from")]
    OtherRows,
    /// The store holds a different number of transactions up to the end of the snapshot.
    #[error("the store does not hold the same number of transactions as the snapshot")]
    Miscounted,
    /// Its long texts have digests under another key than those of this process.
    #[error("its keys have digests that this process cannot compare")]
    OtherKey,
    /// The store has no summary to compare with.
    #[error("the store has no summary to compare it with")]
    NoTestimony,
    /// The store cannot be read.
    #[error(transparent)]
    Past(#[from] PastError),
    /// Something was retracted or left memory during the write, or an update did not become durable in time.
    #[error("a transaction was retracted, or a key left memory, while it was written")]
    TakenBack,
    /// The caller cancelled it.
    #[error("it was cancelled")]
    GivenUp,
}

/// The contents of a snapshot; snapshots with equal marks hold the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotMark {
    /// Last number up to which it is complete.
    pub(super) through: Sequence,
    /// Identities of its series, sorted.
    pub(super) identities: Vec<String>,
}

impl SnapshotMark {
    fn new(through: Sequence, identities: impl Iterator<Item = String>) -> Self {
        let mut identities: Vec<String> = identities.collect();
        identities.sort_unstable();
        Self { through, identities }
    }

    /// Returns the number up to which it is complete.
    #[must_use]
    pub const fn through(&self) -> Sequence {
        self.through
    }
}

/// Returns a function that attaches the path to an I/O error.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> SnapshotError {
    let path = path.to_owned();
    move |source| SnapshotError::Io { path: path.clone(), source }
}

impl From<SpillError> for SnapshotError {
    fn from(error: SpillError) -> Self {
        SnapshotError::Past(PastError { reason: error.to_string() })
    }
}

#[cfg(test)]
mod tests;
