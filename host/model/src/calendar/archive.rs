//! An archive of all zones in one byte string. Equal zones share their bytes.
//!
//! ```text
//!  tollgate zone data 1 ⏎
//!  Africa/Abidjan 0 130 ⏎      name, offset of its TZif after the blank line, length
//!  …
//!  ⏎
//!  TZif …
//! ```

use std::collections::BTreeMap;

use crate::calendar::ZoneDataError;

const HEAD: &str = "tollgate zone data 1\n";

/// An archive with a consistent table.
pub(super) struct Archive<'a> {
    zones: Vec<(&'a str, &'a [u8])>,
}

pub(super) fn write(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let (mut table, mut body) = (HEAD.to_owned(), Vec::new());
    let mut offsets: BTreeMap<&[u8], usize> = BTreeMap::new();
    for (name, bytes) in files {
        let at = *offsets.entry(bytes).or_insert_with(|| {
            body.extend_from_slice(bytes);
            body.len() - bytes.len()
        });
        table.push_str(&format!("{name} {at} {}\n", bytes.len()));
    }
    table.push('\n');
    let mut archive = table.into_bytes();
    archive.append(&mut body);
    archive
}

impl<'a> Archive<'a> {
    /// # Errors
    /// If the bytes are not an archive, or a zone lies beyond the end.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, ZoneDataError> {
        let damaged = || ZoneDataError::Archive("its table is inconsistent");
        let rest = bytes.strip_prefix(HEAD.as_bytes());
        let rest = rest.ok_or(ZoneDataError::Archive("it does not begin with the header of zone data"))?;
        let end = rest.windows(2).position(|pair| pair == b"\n\n").ok_or_else(damaged)?;
        let (table, body) = rest.split_at(end);
        let table = std::str::from_utf8(table).map_err(|_| damaged())?;
        let body = body.get(2..).unwrap_or_default();
        let zones = table.lines().map(|line| {
            let mut words = line.split(' ');
            let (name, at, length) =
                (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let end = usize::checked_add(at, length)?;
            Some((name, body.get(at..end)?))
        });
        Ok(Self { zones: zones.collect::<Option<_>>().ok_or_else(damaged)? })
    }

    pub(super) fn zones(self) -> Vec<(&'a str, &'a [u8])> {
        self.zones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_read_as_written_and_stores_equal_bytes_once() {
        let files = [("A/B", "first"), ("C", "second"), ("D", "first")];
        let files = files.map(|(name, bytes)| (name.to_owned(), bytes.as_bytes().to_vec())).into();
        let archive = write(&files);
        let zones = Archive::open(&archive).unwrap().zones();
        assert_eq!(zones, [("A/B", b"first".as_slice()), ("C", b"second"), ("D", b"first")]);
        assert!(archive.ends_with(b"\n\nfirstsecond"));
    }

    #[test]
    fn an_invalid_archive_is_refused() {
        for bytes in [
            "",
            "TZif",
            "tollgate zone data 1\n",
            "tollgate zone data 1\nA 0 9\n\nfirst",
            "tollgate zone data 1\nA 0\n\nx",
        ] {
            assert!(Archive::open(bytes.as_bytes()).is_err(), "{bytes:?}");
        }
    }
}
