//! Finds out whether a data directory had a store that is gone, in whole or in part.
//!
//! ```text
//!  tollgate.mark      store, number ──┐
//!  history.snapshot   store, number ──┴─▶ is there a database, of this name, up to this number?
//! ```
//!
//! A lock file and compiled modules prove nothing: they exist before the first commit.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tollgate_history::{SNAPSHOT_FILE, SnapshotSummary, recognise_snapshot};
use tollgate_model::sequence::Sequence;

use super::StoreError;
use super::directory::{DataDirectory, beside};
use super::mark::{MarkFound, StoreMark, StoreName};

/// Stands for the name of a store whose mark is unreadable.
const UNKNOWN: &str = "unknown";

/// A store that is gone, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostStore {
    /// Its name; `None` if the mark is unreadable.
    name: Option<StoreName>,
    gone: Gone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Gone {
    /// The database.
    Database { held: Option<Sequence>, proof: &'static str },
    /// The end of the log.
    End { last: Sequence, marked: Sequence },
    /// The database, and another one is in its place.
    Exchanged { found: StoreName },
}

impl LostStore {
    /// Returns the id that the operator repeats to start without the store.
    #[must_use]
    pub fn id(&self) -> String {
        self.name.map_or_else(|| UNKNOWN.to_owned(), |name| name.to_string())
    }

    /// Returns the store that a directory without a database had, if anything proves one.
    pub(super) fn without_database(data_dir: &Path, mark: MarkFound) -> Result<Option<Self>, StoreError> {
        let (name, held, proof) = match mark {
            MarkFound::Readable(StoreMark { store, number }) => (Some(store), Some(number), "tollgate.mark"),
            MarkFound::Unreadable => (None, None, "tollgate.mark"),
            MarkFound::Absent => match recognise_snapshot(data_dir) {
                Ok(Some(SnapshotSummary { store, through, n_transactions })) if n_transactions > 0 => {
                    (Some(StoreName(store)), Some(through), SNAPSHOT_FILE)
                }
                // An unreadable snapshot proves nothing.
                Ok(_) | Err(_) => return Ok(None),
            },
        };
        Ok(Some(Self { name, gone: Gone::Database { held, proof } }))
    }

    /// Compares a database with the mark beside it.
    pub(super) fn beside_database(found: StoreMark, mark: MarkFound) -> Option<Self> {
        let MarkFound::Readable(mark) = mark else { return None };
        let gone = match found {
            StoreMark { store, .. } if store != mark.store => Gone::Exchanged { found: store },
            StoreMark { number, .. } if number < mark.number => {
                Gone::End { last: number, marked: mark.number }
            }
            _ => return None,
        };
        Some(Self { name: Some(mark.store), gone })
    }

    /// Returns whether a part of the store is still there, under its name.
    pub(super) const fn has_rest(&self) -> bool {
        matches!(self.gone, Gone::End { .. })
    }

    /// Returns an error unless the operator accepts the loss of this store.
    pub(super) fn check_accepted(&self, data_dir: &Path, accepted: Option<&str>) -> Result<(), StoreError> {
        if accepted == Some(&*self.id()) {
            tracing::warn!(store = self.id(), loss = %self, "the operator accepts that the store is lost");
            return Ok(());
        }
        Err(StoreError::Lost { path: data_dir.to_owned(), lost: self.clone() })
    }
}

impl fmt::Display for LostStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id();
        match &self.gone {
            Gone::Database { held, proof } => {
                write!(f, "the database of the store {id} is gone: `{proof}` proves that it existed")?;
                match held {
                    Some(Sequence(0)) | None => Ok(()),
                    Some(Sequence(held)) => write!(f, " and held the numbers up to {held}"),
                }
            }
            Gone::End { last: Sequence(last), marked: Sequence(marked) } => write!(
                f,
                "the store {id} ends at number {last}, but number {marked} was committed: the numbers {} to {marked} are gone, and \
                 perhaps some after them; the file `tollgate.db-wal` was removed, or `tollgate.db` was replaced by an older one",
                last + 1
            ),
            Gone::Exchanged { found } => write!(
                f,
                "the database of the store {id} is gone: `tollgate.mark` proves that it existed, and `tollgate.db` is of the store {found}"
            ),
        }
    }
}

/// Moves the write-ahead log of a lost database aside, so that a new database does not read it.
pub(super) fn set_log_aside(directory: &DataDirectory, lost: &LostStore) -> Result<(), StoreError> {
    let log = beside(&directory.database(), "-wal");
    let failed = |path: PathBuf| move |source| StoreError::Directory { path, source };
    match fs::rename(&log, beside(&log, &format!("-of-{}", lost.id()))) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(log)(error)),
        _ => {}
    }
    let index = beside(&directory.database(), "-shm");
    match fs::remove_file(&index) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(index)(error)),
        _ => Ok(()),
    }
}
