//! The history in a file, so that a restart need not read every stored transaction again.
//!
//! ```text
//!  series ──export, key by key──▶ blocks ──▶ history.snapshot.new ──fsync, rename──▶ history.snapshot
//!  series ◀──import── blocks, each against its checksum ◀── head: still what the past says of itself?
//! ```
//!
//! A snapshot is complete up to a number that was settled when it was begun; what came later is left out, and read from
//! the past at the restart. It saves time and decides nothing: one that is damaged, of another store, or of a store that
//! was put back to an earlier state is refused as a whole, and everything is read from the past. What is settled never
//! changes, so it is written beside everything that goes on.

mod block;
mod bytes;
mod layout;
mod load;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use tollgate_model::sequence::Sequence;

use crate::past::PastError;
use crate::spill::SpillError;

pub use load::recognise;
pub(super) use load::{LoadedSnapshot, load};
pub use write::WrittenSnapshot;

/// The name of the file, beside the store.
pub const SNAPSHOT_FILE: &str = "history.snapshot";

/// Why a snapshot is not written, or not believed.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is something else.
    #[error("it is no snapshot of a history")]
    Foreign,
    /// Another version of this service wrote it.
    #[error("it has form {found}, this version of the service knows {known}")]
    Version {
        /// Its own.
        found: u32,
        /// That of this version.
        known: u32,
    },
    /// It is not what was written.
    #[error("it is damaged: {what} is not what was written")]
    Damaged {
        /// Where.
        what: &'static str,
    },
    /// It was made from another store.
    #[error("it was made from another store")]
    OtherStore,
    /// The store is older than it.
    #[error("the store ends at {last}, before its end at {through}")]
    Rewound {
        /// Up to where the snapshot is complete.
        through: Sequence,
        /// Up to where the store goes.
        last: Sequence,
    },
    /// The store holds other transactions than it was made from.
    #[error("the store does not hold the transactions it was made from")]
    OtherRows,
    /// The store holds another number of transactions up to its end.
    #[error("the store does not hold as many transactions as it was made from")]
    Miscounted,
    /// The past says nothing of itself that a snapshot could be compared with.
    #[error("there is nothing to compare it with")]
    NoTestimony,
    /// The past cannot be asked.
    #[error(transparent)]
    Past(#[from] PastError),
    /// Something was taken back while it was written.
    #[error("something was taken back while it was written")]
    TakenBack,
    /// Whoever asked for it does not want it any more.
    #[error("it was given up")]
    GivenUp,
}

/// What a snapshot is of; two of one mark hold the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotMark {
    /// It is complete up to this number.
    pub(super) through: Sequence,
    /// What series are in it, in order.
    pub(super) identities: Vec<String>,
}

impl SnapshotMark {
    fn new(through: Sequence, identities: impl Iterator<Item = String>) -> Self {
        let mut identities: Vec<String> = identities.collect();
        identities.sort_unstable();
        Self { through, identities }
    }

    /// Up to which number it is complete.
    #[must_use]
    pub const fn through(&self) -> Sequence {
        self.through
    }
}

/// What goes wrong with this file.
fn failed(path: &Path) -> impl Fn(io::Error) -> SnapshotError {
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
