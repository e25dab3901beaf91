//! Reads the content of rule files: regular files only, bounded in size.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;

use super::{FoundFile, Stamp};
use crate::intake::tree::UnreadableFile;

pub(super) fn read_text(file: &FoundFile, bytes_max: u64) -> Result<String, UnreadableFile> {
    String::from_utf8(read_bytes(file, bytes_max)?).map_err(|_| UnreadableFile::NotUtf8)
}

/// Reads at most one byte above the limit, because the reported length may be 0 (`/proc`) or outdated.
pub(super) fn read_bytes(file: &FoundFile, bytes_max: u64) -> Result<Vec<u8>, UnreadableFile> {
    // Opening a pipe or device may block or have side effects. The type is checked before and again after opening.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&file.path)?;
    let metadata = opened.metadata()?;
    check_is_the_same(file, &metadata)?;
    if metadata.len() > bytes_max {
        return Err(UnreadableFile::TooLong { bytes: metadata.len(), bytes_max });
    }
    let mut content = Vec::new();
    opened.take(bytes_max + 1).read_to_end(&mut content)?;
    let bytes = content.len() as u64;
    if bytes > bytes_max { Err(UnreadableFile::TooLong { bytes, bytes_max }) } else { Ok(content) }
}

fn check_is_the_same(file: &FoundFile, opened: &Metadata) -> Result<(), UnreadableFile> {
    if !opened.is_file() {
        return Err(UnreadableFile::Refused(NOT_REGULAR.to_owned()));
    }
    match file.stamp {
        Some(stamp) if !stamp.is_of_the_same_file(&Stamp::from_metadata(opened)) => {
            Err(io::Error::other("the file was replaced while it was read").into())
        }
        _ => Ok(()),
    }
}

/// Message for pipes, sockets and devices.
pub(super) const NOT_REGULAR: &str = "it is not a regular file, and only regular files are read";
