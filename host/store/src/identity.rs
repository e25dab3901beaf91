//! Checks from its first bytes whether a file is a database of this service, before anything is written to it.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use super::StoreError;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Offset of the application id in the header, <https://www.sqlite.org/fileformat.html#the_database_header>.
const APPLICATION_ID_AT: std::ops::Range<usize> = 68..72;
const HEADER_BYTES: usize = 100;
/// Set by the first migration.
const APPLICATION_ID: [u8; 4] = *b"TOLG";

/// Checks the header. An empty file is refused too: a database gets its name only when it is complete.
pub(super) fn check(path: &Path) -> Result<(), StoreError> {
    let foreign = |reason| Err(StoreError::Foreign { path: path.to_owned(), reason });
    let mut header = [0; HEADER_BYTES];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return foreign("it is too short"),
        Err(source) => return Err(StoreError::Directory { path: path.to_owned(), source }),
    }
    if !header.starts_with(MAGIC) {
        return foreign("it is not an SQLite database");
    }
    if header.get(APPLICATION_ID_AT) != Some(&APPLICATION_ID[..]) {
        return foreign("another program created it");
    }
    Ok(())
}
