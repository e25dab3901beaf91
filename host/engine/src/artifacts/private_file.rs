//! Files that nobody but this user may read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Extension of a file that is being written.
const UNFINISHED: &str = "new";
const FILE_MODE: u32 = 0o600;
/// Mode bits that grant access to other users.
pub(super) const ANYONE_ELSE: u32 = 0o077;

/// Writes a file of these parts, accessible to this user only, and replaces any file of this name.
pub(super) fn replace_file(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let unfinished = path.with_extension(UNFINISHED);
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&unfinished)?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    let placed = written.and_then(|()| fs::rename(&unfinished, path));
    if placed.is_err() {
        fs::remove_file(&unfinished).ok();
    }
    placed
}
