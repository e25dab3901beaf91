//! The rows of a file: lines of JSON, or a table whose rows become such lines; compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::ValueEnum;
use flate2::read::MultiGzDecoder;
use zstd::stream::read::Decoder;

use super::parquet_rows::ParquetRows;
use super::row::{ImportFileError, ImportRow, ROW_BYTES_MAX, too_long};
use super::table::{TableColumns, TableRows};

const BUFFER_BYTES: usize = 256 * 1024;

/// How the rows of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RowFormat {
    /// One JSON object on each line
    Ndjson,
    /// A table with a row of names
    Csv,
    /// A Parquet file
    Parquet,
}

/// Counts the bytes that were read of a file, before they are decompressed.
#[derive(Debug, Clone, Default)]
pub(super) struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    /// Begins to count from the start of the file.
    pub(super) fn restart(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(super) fn set(&self, n_bytes: u64) {
        self.0.store(n_bytes, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct CountedFile {
    file: File,
    read: BytesRead,
}

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.file.read(buffer)?;
        self.read.0.fetch_add(n_bytes as u64, Ordering::Relaxed);
        Ok(n_bytes)
    }
}

type Bytes = Box<dyn BufRead + Send>;

/// Opens a file and returns its rows. They end with the first error.
///
/// # Errors
/// See [`ImportFileError`]. An error within a row is part of that row.
pub(super) fn open(
    path: &Path,
    format: Option<RowFormat>,
    columns: &TableColumns,
    read: &BytesRead,
) -> Result<Box<dyn Iterator<Item = io::Result<ImportRow>> + Send>, ImportFileError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let (name, compression) = match name.rsplit_once('.') {
        Some((name, "gz")) => (name, Some(Compression::Gzip)),
        Some((name, "zst")) => (name, Some(Compression::Zstandard)),
        _ => (&*name, None),
    };
    let by_name = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("ndjson" | "jsonl" | "json") => Some(RowFormat::Ndjson),
        Some("csv") => Some(RowFormat::Csv),
        Some("parquet") => Some(RowFormat::Parquet),
        _ => None,
    };
    let format = format.or(by_name).ok_or(ImportFileError::UnknownFormat)?;
    let file = File::open(path)?;
    if format == RowFormat::Parquet {
        return match compression {
            None => Ok(Box::new(ParquetRows::open(file, columns, read)?)),
            Some(_) => Err(ImportFileError::CompressedParquet),
        };
    }
    let file = CountedFile { file, read: read.clone() };
    let bytes: Bytes = match compression {
        None => Box::new(BufReader::with_capacity(BUFFER_BYTES, file)),
        Some(Compression::Gzip) => {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(file)))
        }
        Some(Compression::Zstandard) => Box::new(BufReader::with_capacity(BUFFER_BYTES, Decoder::new(file)?)),
    };
    if format == RowFormat::Csv {
        return Ok(Box::new(TableRows::new(bytes, columns)?));
    }
    Ok(Box::new(JsonLines { bytes, number: 0, has_failed: false }))
}

enum Compression {
    Gzip,
    Zstandard,
}

struct JsonLines {
    bytes: Bytes,
    number: u64,
    has_failed: bool,
}

impl JsonLines {
    fn read(&mut self) -> io::Result<Option<ImportRow>> {
        let mut line = Vec::new();
        // One byte more than a row may have, and the end of the line.
        if (&mut self.bytes).take(ROW_BYTES_MAX + 2).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let has_end = line.pop_if(|last| *last == b'\n').is_some();
        line.pop_if(|last| *last == b'\r');
        let content = if line.len() as u64 > ROW_BYTES_MAX {
            if !has_end {
                skip_line(&mut self.bytes)?;
            }
            Err(too_long())
        } else if line.trim_ascii().is_empty() {
            Ok(Vec::new())
        } else {
            Ok(line)
        };
        Ok(Some(ImportRow { number: self.number, line: self.number, content }))
    }
}

impl Iterator for JsonLines {
    type Item = io::Result<ImportRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let read = self.read();
        self.has_failed = read.is_err();
        read.transpose()
    }
}

fn skip_line(bytes: &mut Bytes) -> io::Result<()> {
    loop {
        let part = bytes.fill_buf()?;
        if part.is_empty() {
            return Ok(());
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let n_bytes = end.map_or(part.len(), |end| end + 1);
        bytes.consume(n_bytes);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Returns the rows of a file with this name and content, one on each line.
    #[track_caller]
    fn rows_of(name: &str, content: &[u8]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        let read = BytesRead::default();
        let rows = open(&path, None, &TableColumns::default(), &read).unwrap();
        let mut text = String::new();
        for row in rows {
            let ImportRow { number, line, content } = row.unwrap();
            let content = content.map(|content| String::from_utf8(content).unwrap());
            text.push_str(&format!("{number} {line} {}\n", content.unwrap_or_else(|error| error)));
        }
        assert_eq!(read.get(), content.len() as u64);
        text
    }

    #[test]
    fn lines_of_json_are_rows_and_blank_lines_have_nothing_to_import() {
        let content = b"{\"a\":1}\r\n\n  \n{\"b\":2}";
        assert_eq!(rows_of("a.ndjson", content), "1 1 {\"a\":1}\n2 2 \n3 3 \n4 4 {\"b\":2}\n");
    }

    #[test]
    fn a_line_that_is_too_long_is_one_row() {
        let longest = "x".repeat(65_536);
        for (n_more, is_too_long) in [(0, false), (1, true), (2, true), (100_000, true)] {
            for end in ["\n", "\r\n"] {
                let content = format!("{longest}{}{end}y\n", "x".repeat(n_more));
                let rows = rows_of("a.jsonl", content.as_bytes());
                assert_eq!(rows.starts_with("1 1 it has more than"), is_too_long, "{n_more}");
                assert!(rows.ends_with("\n2 2 y\n"), "{n_more}");
            }
        }
    }

    #[test]
    fn compressed_files_are_read_to_their_end() {
        let mut gzip = Vec::new();
        let mut zstandard = Vec::new();
        // Tools that compress in parallel write several parts, one behind the other.
        for part in [&b"1\n2"[..], b"3\n"] {
            let mut encoder = flate2::write::GzEncoder::new(&mut gzip, flate2::Compression::fast());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap();
            zstandard.extend(zstd::encode_all(part, 1).unwrap());
        }
        assert_eq!(rows_of("a.NDJSON.gz", &gzip), "1 1 1\n2 2 23\n");
        assert_eq!(rows_of("a.ndjson.zst", &zstandard), "1 1 1\n2 2 23\n");
    }

    #[test]
    fn a_compressed_file_that_is_cut_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"1\n2\n").unwrap();
        for (name, content) in [
            ("a.json.gz", encoder.finish().unwrap()),
            ("a.json.zst", zstd::encode_all(&b"1\n2\n"[..], 1).unwrap()),
        ] {
            let path = directory.path().join(name);
            std::fs::write(&path, &content[..content.len() - 3]).unwrap();
            let rows = open(&path, None, &TableColumns::default(), &BytesRead::default()).unwrap();
            assert!(rows.last().unwrap().is_err(), "{name}");
        }
    }

    #[test]
    fn a_name_that_says_nothing_needs_a_format() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("payments.txt.gz");
        std::fs::write(&path, "").unwrap();
        let open = |format| open(&path, format, &TableColumns::default(), &BytesRead::default());
        assert!(matches!(open(None), Err(ImportFileError::UnknownFormat)));
        assert!(open(Some(RowFormat::Ndjson)).is_ok());
    }
}
