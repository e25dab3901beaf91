//! A row of a file, and why a file has none.

use std::io;

/// Longest row in bytes, as `POST /inject` allows.
pub(super) const ROW_BYTES_MAX: u64 = 64 * 1024;

/// A row of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ImportRow {
    /// Its number, counted from 1. A row of names counts.
    pub(super) number: u64,
    /// Line of the file on which it begins, counted from 1; the number where a file has no lines.
    pub(super) line: u64,
    /// A transaction in JSON on one line; empty for a row that has nothing to import.
    pub(super) content: Result<Vec<u8>, String>,
}

/// A reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImportFileError {
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("its name does not say how it is written; add --format ndjson, --format csv or --format parquet")]
    UnknownFormat,
    #[error("a Parquet file is compressed inside; decompress it first")]
    CompressedParquet,
    #[error("{0}")]
    Columns(String),
}

/// Returns the message about a row that is too long.
pub(super) fn too_long() -> String {
    format!("it has more than {ROW_BYTES_MAX} bytes")
}
