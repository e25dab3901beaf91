//! A run of entries: its rows, and a table of the values of each column.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_model::sequence::Sequence;

use super::rows::{self, EncodedRow, Rows};
use super::{Entry, EntryPosition, TimeRange};
use crate::owned_value::OwnedValue;
use crate::row;
use crate::spill::{SpillError, heap_bytes};
use crate::summary::RunSummary;
use crate::tally::AmountSink;

pub(super) const RUN_ENTRIES_MAX: usize = 128;

/// The distinct values of one column of a run; rows contain their codes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueTable {
    values: Vec<OwnedValue>,
    /// Small hash of each value, which distinguishes most values.
    prints: Vec<u8>,
    /// Size of the values on the heap, in bytes.
    n_bytes_beside: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    pub(super) rows: Vec<u8>,
    pub(super) tables: Vec<ValueTable>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenRun<'r> {
    rows: Rows<'r>,
    tables: &'r [ValueTable],
}

/// An immutable run in bytes, with decoded tables.
#[derive(Debug, Clone)]
pub(crate) struct RestingRun {
    bytes: Arc<[u8]>,
    tables: Vec<ValueTable>,
}

impl ValueTable {
    /// Returns the code of a value; adds it when it is missing.
    fn code_of(&mut self, held: &OwnedValue) -> u8 {
        let print = held.print();
        let mut alike = self.prints.iter().zip(&self.values).zip(0..);
        let known = alike.find(|((known, value), _)| **known == print && value.is_same_as(held));
        if let Some((_, code)) = known {
            return code;
        }
        self.prints.push(print);
        self.n_bytes_beside += held.n_heap_bytes();
        self.values.push(held.clone());
        // A run has fewer entries than a byte has values, and is rebuilt when an entry is removed.
        u8::try_from(self.values.len() - 1).unwrap_or(u8::MAX)
    }

    pub(crate) fn values(&self) -> &[OwnedValue] {
        &self.values
    }

    fn n_heap_bytes(&self) -> usize {
        heap_bytes(self.values.capacity() * size_of::<OwnedValue>())
            + heap_bytes(self.prints.capacity())
            + self.n_bytes_beside
    }
}

/// Inserts an entry into a run that has none at its place.
pub(super) fn insert(rows: &mut Vec<u8>, tables: &mut [ValueTable], entry: &Entry) {
    let mut codes: SmallVec<[u8; 8]> = SmallVec::new();
    for (table, held) in tables.iter_mut().zip(&entry.cells) {
        codes.push(table.code_of(held));
    }
    rows::insert(rows, &EncodedRow::of(entry, codes));
}

pub(super) fn tables_bytes(tables: &[ValueTable]) -> usize {
    tables.iter().map(ValueTable::n_heap_bytes).sum::<usize>() + heap_bytes(size_of_val(tables))
}

impl Run {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let n_columns = entries.first().map_or(0, |entry| entry.cells.len());
        let mut run = Self { rows: Vec::new(), tables: vec![ValueTable::default(); n_columns] };
        let code = |(table, held): (&mut ValueTable, &OwnedValue)| table.code_of(held);
        let row = |entry: &Entry| {
            EncodedRow::of(entry, run.tables.iter_mut().zip(&entry.cells).map(code).collect())
        };
        let all: Vec<EncodedRow> = entries.iter().map(row).collect();
        rows::write(&mut run.rows, &all);
        run
    }

    /// Decodes a run; returns `None` when the bytes are invalid.
    pub(super) fn awake(mut bytes: Vec<u8>) -> Option<Self> {
        let rows = Rows::of(&bytes);
        let (n_bytes, n_columns) = (rows.n_bytes(), rows.n_columns());
        let tables = read_tables(bytes.get(n_bytes..)?, n_columns, |_| true)?;
        bytes.truncate(n_bytes);
        if n_columns > 0 {
            bytes.shrink_to_fit();
        }
        Some(Self { rows: bytes, tables })
    }

    pub(crate) fn open(&self) -> OpenRun<'_> {
        OpenRun::of(&self.rows, &self.tables)
    }
}

impl<'r> OpenRun<'r> {
    /// Creates a view of rows, or of an encoded run. Without tables it has only times, numbers and amounts.
    pub(crate) fn of(rows: &'r [u8], tables: &'r [ValueTable]) -> Self {
        Self { rows: Rows::of(rows), tables }
    }

    pub(crate) const fn rows(&self) -> &Rows<'r> {
        &self.rows
    }

    /// Encodes a run; [`Run::awake`] and [`RestingRun::of`] decode it.
    pub(super) fn at_rest(rows: &[u8], tables: &[ValueTable]) -> Arc<[u8]> {
        let rows = rows.get(..Rows::of(rows).n_bytes()).unwrap_or(rows);
        if tables.is_empty() {
            return rows.into();
        }
        let mut bytes = rows.to_vec();
        for table in tables {
            bytes.extend_from_slice(&u32::try_from(table.values.len()).unwrap_or(0).to_le_bytes());
            table.values.iter().for_each(|held| held.write(&mut bytes));
        }
        bytes.into()
    }

    pub(crate) fn to_entries(self) -> Vec<Entry> {
        let entry = |position| Entry {
            micros: self.rows.micros(position),
            sequence: self.rows.sequence(position),
            amount: self.rows.amount(position),
            cells: (0..self.tables.len())
                .map(|column| self.cell(position, column).cloned().unwrap_or(OwnedValue::Missing))
                .collect(),
        };
        (0..self.rows.len()).map(entry).collect()
    }

    /// Returns the size of the distinct values of these columns on the heap, in bytes.
    pub(crate) fn n_value_bytes(&self, columns: &[usize]) -> usize {
        columns.iter().filter_map(|&column| self.tables.get(column)).map(|table| table.n_bytes_beside).sum()
    }

    /// Copies the rows and these columns, to be read when the series is no longer locked.
    pub(crate) fn copy_of(&self, columns: &[usize]) -> Run {
        let table = |(column, table): (usize, &ValueTable)| {
            if columns.contains(&column) { table.clone() } else { ValueTable::default() }
        };
        Run { rows: self.rows.to_bytes(), tables: self.tables.iter().enumerate().map(table).collect() }
    }

    pub(super) fn contains(&self, place: EntryPosition) -> bool {
        let position = self.rows.partition_point(|at| self.rows.place(at) < place);
        position < self.rows.len() && self.rows.place(position) == place
    }

    pub(crate) fn cell(&self, position: usize, column: usize) -> Option<&'r OwnedValue> {
        let code = self.rows.code(position, column);
        self.tables.get(column)?.values.get(usize::from(code))
    }

    /// Returns all values of a column if every entry is visible in the time range.
    pub(crate) fn all_values(&self, stretch: &TimeRange, column: usize) -> Option<&'r [OwnedValue]> {
        let is_whole = self.positions(stretch).len() == self.rows.len();
        let values = self.tables.get(column)?.values();
        (is_whole && self.rows.sequence_max() < stretch.as_of).then_some(values)
    }

    /// Returns the positions in the time range, whatever their sequence numbers.
    #[inline]
    fn positions(&self, stretch: &TimeRange) -> Range<usize> {
        let rows = &self.rows;
        let Some((first, last)) = rows.times() else { return 0..0 };
        let from =
            if stretch.from <= first { 0 } else { rows.partition_point(|at| rows.micros(at) < stretch.from) };
        let to = if last <= stretch.to {
            rows.len()
        } else {
            rows.partition_point(|at| rows.micros(at) <= stretch.to)
        };
        from..to.max(from)
    }

    /// Passes visible rows to `suffices`, the latest first, until one suffices.
    pub(crate) fn each_shown(
        self,
        stretch: &TimeRange,
        places: &'r [usize],
        mut suffices: impl FnMut(row::Row<'_>) -> bool,
    ) {
        for position in self.positions(stretch).rev() {
            if self.rows.sequence(position) < stretch.as_of {
                let cells = row::Cells::Kept(self, position);
                if suffices(row::Row::new(self.rows.amount(position), cells, places)) {
                    return;
                }
            }
        }
    }

    /// Returns the number of visible entries.
    #[inline]
    pub(crate) fn n_shown(&self, stretch: &TimeRange) -> u64 {
        let positions = self.positions(stretch);
        let n_there = positions.len() as u64;
        if self.rows.sequence_max() < stretch.as_of {
            return n_there;
        }
        n_there - self.rows.total_from(positions, stretch.as_of).0
    }

    /// Adds the amounts of the visible entries to a tally.
    #[expect(clippy::inline_always, reason = "a twentieth of the time of a query")]
    #[inline(always)]
    pub(crate) fn tally_amounts(&self, stretch: &TimeRange, tally: &mut impl AmountSink) {
        let is_seen = self.rows.sequence_max() < stretch.as_of;
        if is_seen
            && tally.takes_sums()
            && self.rows.times().is_some_and(|(_, last)| last <= stretch.to)
            && let (Some(scale), Some((n_rows, units))) =
                (self.rows.scale(), self.rows.total_since(stretch.from))
        {
            return tally.add_sum(n_rows, || (units, scale));
        }
        self.tally_amounts_at(self.positions(stretch), is_seen, stretch.as_of, tally);
    }

    #[inline]
    pub(super) fn tally_all_amounts(&self, tally: &mut impl AmountSink) {
        self.tally_amounts_at(0..self.rows.len(), true, self.rows.sequence_max(), tally);
    }

    #[inline]
    fn tally_amounts_at(
        &self,
        positions: Range<usize>,
        is_seen: bool,
        as_of: Sequence,
        tally: &mut impl AmountSink,
    ) {
        let rows = &self.rows;
        match (tally.takes_sums(), rows.scale()) {
            (true, Some(scale)) if is_seen => {
                tally.add_sum(positions.len() as u64, || (rows.total_units(positions), scale));
            }
            (true, Some(scale)) => {
                let (n_unseen, unseen) = rows.total_from(positions.clone(), as_of);
                let n_seen = positions.len() as u64 - n_unseen;
                tally.add_sum(n_seen, || (rows.total_units(positions) - unseen, scale));
            }
            _ => positions
                .filter(|position| is_seen || rows.sequence(*position) < as_of)
                .for_each(|position| tally.add_number(rows.amount(position))),
        }
    }

    /// Returns a summary; `None` for no entry.
    pub(super) fn summary(&self) -> Option<RunSummary> {
        let rows = &self.rows;
        let mut all = (0..rows.len()).map(|position| (rows.sequence(position), rows.amount(position)));
        let (sequence, amount) = all.next()?;
        let mut summary = RunSummary::of(sequence, amount);
        all.for_each(|(sequence, amount)| summary.add(sequence, amount));
        Some(summary)
    }
}

impl RestingRun {
    /// Decodes a run.
    ///
    /// # Errors
    /// When the bytes are invalid, because of a disk error or a bug.
    pub(crate) fn of(bytes: Arc<[u8]>) -> Result<Self, SpillError> {
        Self::decoded(bytes, |_| true)
    }

    /// As [`RestingRun::of`], with these columns alone; the others seem to be missing everywhere. A query decodes only
    /// what it reads, so its cost does not depend on the columns of other queries.
    ///
    /// # Errors
    /// When the bytes are invalid, because of a disk error or a bug.
    pub(crate) fn of_columns(bytes: Arc<[u8]>, columns: &[usize]) -> Result<Self, SpillError> {
        Self::decoded(bytes, |column| columns.contains(&column))
    }

    fn decoded(bytes: Arc<[u8]>, is_wanted: impl Fn(usize) -> bool) -> Result<Self, SpillError> {
        let rows = Rows::of(&bytes);
        let rest = bytes.get(rows.n_bytes()..);
        let tables = rest.and_then(|rest| read_tables(rest, rows.n_columns(), is_wanted));
        let tables =
            tables.ok_or_else(|| SpillError { reason: "the data is not a valid run of entries".into() })?;
        Ok(Self { bytes, tables })
    }

    pub(crate) fn open(&self) -> OpenRun<'_> {
        OpenRun::of(&self.bytes, &self.tables)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn sequence_max(&self) -> Sequence {
        self.open().rows().sequence_max()
    }

    /// Returns the run without the entries above a number; `None` when none is left.
    pub(crate) fn up_to(&self, through: Sequence) -> Option<Cow<'_, Self>> {
        if self.sequence_max() <= through {
            return Some(Cow::Borrowed(self));
        }
        let mut entries = self.open().to_entries();
        entries.retain(|entry| entry.sequence <= through);
        (!entries.is_empty()).then(|| Cow::Owned(Self::of_entries(&entries)))
    }

    /// Creates a run from entries in order, at least one.
    pub(crate) fn of_entries(entries: &[Entry]) -> Self {
        let run = Run::of(entries);
        Self { bytes: OpenRun::at_rest(&run.rows, &run.tables), tables: run.tables }
    }
}

fn read_tables(bytes: &[u8], n_tables: usize, is_wanted: impl Fn(usize) -> bool) -> Option<Vec<ValueTable>> {
    let mut rest = bytes;
    let table = |column| {
        let (n_values, after) = rest.split_first_chunk()?;
        rest = after;
        if !is_wanted(column) {
            (0..u32::from_le_bytes(*n_values)).try_for_each(|_| OwnedValue::skip(&mut rest))?;
            return Some(ValueTable::default());
        }
        let values: Vec<OwnedValue> =
            (0..u32::from_le_bytes(*n_values)).map(|_| OwnedValue::read(&mut rest)).collect::<Option<_>>()?;
        let n_bytes_beside = values.iter().map(OwnedValue::n_heap_bytes).sum();
        Some(ValueTable { prints: values.iter().map(OwnedValue::print).collect(), values, n_bytes_beside })
    };
    (0..n_tables).map(table).collect()
}
