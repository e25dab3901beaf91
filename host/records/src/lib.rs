//! Records by key in files, found through a few bytes of memory each: the part of the history that is not in memory.
//!
//! ```text
//!  key ──▶ RecordIndex: tag │ size │ address ──▶ seg-N: head │ record │ record │ … │ foot      appended, never changed
//!          8 bytes a record, in memory                 ▲
//!                                                      └─ the open segment: its end is still in memory
//!  manifest: the segments that are complete on disk, and the number up to which the caller's log is contained in them
//! ```
//!
//! A record is replaced by appending a new one; the index then holds the new address. [`RecordStore::clean`] copies what
//! remains of a segment that is mostly replaced, and the next checkpoint removes the file.
//!
//! The files are a copy of what the caller can derive from a log. A start opens them as they were at the last checkpoint
//! ([`RecordStore::checkpoint`]) and reports the number from which the log must be applied again. A record that was replaced
//! since is there as it was then.

mod address;
mod buffer;
mod checkpoint;
mod clean;
mod error;
mod folder;
mod index;
mod manifest;
mod open;
mod open_segment;
mod readers;
mod record;
mod segment;
mod store;

#[cfg(test)]
mod tests;

pub use address::Address;
pub use error::{AppendError, OpenRecordsError, ReadError};
pub use folder::{DiskFolder, FolderFile, RecordFolder};
pub use manifest::{MANIFEST_FILE, RecordOrigin};
pub use open::Opened;
pub use readers::{ReadResult, RecordReaders};
pub use record::{RECORD_BYTES_MAX, RecordKey, StoredRecord};
pub use store::{RecordStore, RecordsSize};
