//! The cells of a table, row by row, with a bound for a row that does not end.

use std::io::{self, BufRead, ErrorKind};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// Longest row in bytes, with its quotation marks.
const RECORD_BYTES_MAX: usize = 1 << 20;
const CELLS_MAX: usize = 16_384;

/// Reads rows of cells.
pub(super) struct TableReader<B> {
    source: B,
    core: Reader,
    /// Lines of the file that were read.
    n_lines: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// A row of cells.
#[derive(Debug)]
pub(super) struct TableRecord {
    /// Line of the file on which it begins, counted from 1.
    pub(super) line: u64,
    /// Its cells, or why they cannot be read.
    pub(super) cells: Result<Vec<String>, String>,
}

impl<B: BufRead> TableReader<B> {
    pub(super) fn new(source: B, delimiter: u8) -> Self {
        let core = ReaderBuilder::new().delimiter(delimiter).build();
        Self { source, core, n_lines: 0, bytes: vec![0; 4_096], ends: vec![0; 64] }
    }

    /// Returns the next row that is not blank, or `None` at the end.
    ///
    /// # Errors
    /// If the source cannot be read, or a row does not end.
    pub(super) fn next(&mut self) -> io::Result<Option<TableRecord>> {
        self.skip_line_ends()?;
        if self.source.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let line = self.n_lines + 1;
        let (mut n_bytes, mut n_ends, mut n_read) = (0, 0, 0);
        loop {
            let input = self.source.fill_buf()?;
            // A last row may have no end of its line. What does not end with one is in quotation marks.
            let is_end = input.is_empty();
            let input = if is_end { &b"\n"[..] } else { input };
            let (result, n_in, n_out, n_new_ends) = self.core.read_record(
                input,
                self.bytes.get_mut(n_bytes..).unwrap_or_default(),
                self.ends.get_mut(n_ends..).unwrap_or_default(),
            );
            if !is_end {
                let taken = input.get(..n_in).unwrap_or_default();
                self.n_lines += taken.iter().filter(|byte| **byte == b'\n').count() as u64;
                self.source.consume(n_in);
            }
            (n_bytes, n_ends, n_read) = (n_bytes + n_out, n_ends + n_new_ends, n_read + n_in);
            match result {
                ReadRecordResult::Record => return Ok(Some(self.record(line, n_bytes, n_ends))),
                ReadRecordResult::InputEmpty if is_end => return Err(without_end(line)),
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::InputEmpty
                | ReadRecordResult::OutputFull
                | ReadRecordResult::OutputEndsFull => {}
            }
            if n_read > RECORD_BYTES_MAX || n_ends >= CELLS_MAX {
                return Err(without_end(line));
            }
            if matches!(result, ReadRecordResult::OutputFull) {
                self.bytes.resize(2 * self.bytes.len(), 0);
            }
            if matches!(result, ReadRecordResult::OutputEndsFull) {
                self.ends.resize(2 * self.ends.len(), 0);
            }
        }
    }

    fn skip_line_ends(&mut self) -> io::Result<()> {
        loop {
            let input = self.source.fill_buf()?;
            let n_ends = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if n_ends == 0 {
                return Ok(());
            }
            self.n_lines += input.iter().take(n_ends).filter(|byte| **byte == b'\n').count() as u64;
            self.source.consume(n_ends);
        }
    }

    fn record(&self, line: u64, n_bytes: usize, n_ends: usize) -> TableRecord {
        let bytes = self.bytes.get(..n_bytes).unwrap_or_default();
        let ends = self.ends.get(..n_ends).unwrap_or_default();
        let mut begin = 0;
        let cell = |(number, end): (usize, &usize)| {
            let cell = bytes.get(begin..*end).unwrap_or_default();
            begin = *end;
            let text = std::str::from_utf8(cell).map(str::to_owned);
            text.map_err(|_| format!("cell {} is not UTF-8", number + 1))
        };
        TableRecord { line, cells: ends.iter().enumerate().map(cell).collect() }
    }
}

fn without_end(line: u64) -> io::Error {
    let message = format!("the row on line {line} does not end; is a quotation mark not closed?");
    io::Error::new(ErrorKind::InvalidData, message)
}
