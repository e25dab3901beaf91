//! A record of the storage calls of a service.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::path::Path;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Number among the counted calls.
    pub number: usize,
    /// The change.
    pub what: Change,
    /// Path of the file.
    pub path: String,
}

/// The change a call makes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Change {
    Write { offset: usize, data: Vec<u8> },
    Truncate { length: usize },
    Sync,
    Create,
    Rename { to: String },
    Link { to: String },
    Remove,
    Folder,
    Read,
    Open,
    Map,
    Allocate,
}

/// Returns the calls of a record in order. A final call cut off by the end of the process is omitted.
///
/// # Panics
/// Panics if there is no record.
#[must_use]
pub fn calls(record: &Path) -> Vec<Call> {
    let bytes = fs::read(record).expect("a record was made");
    let (mut calls, mut rest) = (Vec::new(), bytes.as_slice());
    while let Some((call, behind)) = next(rest) {
        calls.push(call);
        rest = behind;
    }
    calls
}

fn next(bytes: &[u8]) -> Option<(Call, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (line, behind) = bytes.split_at_checked(end)?;
    let mut rest = behind.get(1..)?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let number = words.next()?.parse().ok()?;
    let (kind, path, a, b) = (words.next()?, words.next()?.to_owned(), words.next()?, words.next()?);
    let length: usize = b.parse().ok()?;
    let what = match kind {
        "write" => {
            let (data, behind) = rest.split_at_checked(length)?;
            rest = behind.get(1..)?;
            Change::Write { offset: a.parse().ok()?, data: data.to_vec() }
        }
        "truncate" => Change::Truncate { length },
        "sync" => Change::Sync,
        "create" => Change::Create,
        "rename" => Change::Rename { to: a.to_owned() },
        "link" => Change::Link { to: a.to_owned() },
        "remove" => Change::Remove,
        "folder" => Change::Folder,
        "read" => Change::Read,
        "open" => Change::Open,
        "map" => Change::Map,
        "allocate" => Change::Allocate,
        _ => return None,
    };
    Some((Call { number, what, path }, rest))
}
