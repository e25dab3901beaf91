//! The reasons for which records cannot be opened, read or written.

use std::io;

/// The reason a folder of records cannot be used. The caller rebuilds it from its log.
#[derive(Debug, thiserror::Error)]
pub enum OpenRecordsError {
    /// The folder or a file cannot be read or written.
    #[error("{file}: {source}")]
    Io {
        /// Name of the file; empty for the folder.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// There is no manifest.
    #[error("the folder has no manifest")]
    NoManifest,
    /// The manifest is damaged, or of a later version.
    #[error("the manifest cannot be read: {reason}")]
    BadManifest {
        /// Reason for the refusal.
        reason: String,
    },
    /// A file that the manifest names is missing or damaged.
    #[error("{file}: {reason}")]
    BadSegment {
        /// Name of the file.
        file: String,
        /// Reason for the refusal.
        reason: &'static str,
    },
}

/// The reason a record cannot be read. The record may exist.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file cannot be read.
    #[error("{file}: {source}")]
    Io {
        /// Name of the file.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The bytes at an address are not the record that was written.
    #[error("{file}: the record at byte {offset} is damaged")]
    Damaged {
        /// Name of the file.
        file: String,
        /// Offset of the record, in bytes.
        offset: usize,
    },
    /// The disk did not answer in time.
    #[error("the disk did not answer in time")]
    TimedOut,
}

/// The reason a record cannot be written. The former record stays.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// A file cannot be written.
    #[error("{file}: {source}")]
    Io {
        /// Name of the file.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The record to be replaced is no longer at this address. Read it again for its address.
    #[error("the record was moved")]
    Moved,
    /// The record is longer than [`RECORD_BYTES_MAX`](crate::RECORD_BYTES_MAX).
    #[error("a record of {n_bytes} bytes is too long")]
    TooLong {
        /// Length of the record, in bytes.
        n_bytes: usize,
    },
    /// The disk is nearly full.
    #[error("less than 1 GiB and less than 5 % of the disk are free, so that no records are added")]
    NoSpace,
    /// All segments are in use.
    #[error("the records take 256 GiB, which is all that addresses reach")]
    Full,
}
