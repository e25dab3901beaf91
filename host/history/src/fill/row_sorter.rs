//! Changes of rows in the order of their anchors, in blocks of a file where they are many.
//!
//! ```text
//!  changes in the order of the steps ──▶ parts by the hash of the anchor ──▶ chunks of a part, each in the order of anchors
//! ```
//!
//! The changes of one anchor keep the order of their steps.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use tollgate_model::sequence::Sequence;

use crate::anchor::Anchor;
use crate::key::ExportKey;
use crate::layout::{Layout, PreparedRow};
use crate::owned_value::OwnedValue;
use crate::past::PastItem;
use crate::snapshot::{ByteReader, put_bytes, put_number, put_signed};
use crate::spill::{Extent, SeriesAccount, Spill, SpillError, SpillFile};
use crate::timeline::{Entry, EntryPosition};

/// Most memory of the unwritten changes of a part, in bytes, and the least under a small limit.
const BLOCK_BYTES_MAX: usize = 64 << 10;
const BLOCK_BYTES_MIN: usize = 4 << 10;
/// Maximum number of parts.
const PARTS_MAX: usize = 256;
/// The memory limit divided by this is what unwritten changes may take, and what is sorted at once.
const LIMIT_SHARE: usize = 32;
/// Maximum number of bytes that are sorted at once.
const CHUNK_BYTES_MAX: usize = 16 << 20;

/// Maximum number of anchors, and of changes, in a batch.
const BATCH_ANCHORS_MAX: usize = 32;
const BATCH_CHANGES_MAX: usize = 4_096;

/// A change of one row in a series.
#[derive(Debug)]
pub(crate) struct RowChange {
    pub(crate) anchor: Anchor,
    pub(crate) key: ExportKey,
    pub(crate) kind: RowChangeKind,
}

#[derive(Debug)]
pub(crate) enum RowChangeKind {
    Put(Entry),
    Remove(EntryPosition),
}

mod kind {
    pub(super) const PUT: u8 = 0;
    pub(super) const REMOVE: u8 = 1;
}

/// Changes of the rows of one series.
#[derive(Debug)]
pub(super) struct RowSorter {
    layout: Arc<Layout>,
    spill: Arc<Spill>,
    account: SeriesAccount,
    /// Made when the first block is written.
    file: Option<SpillFile>,
    parts: Vec<SortedPart>,
    /// Length from which the changes of a part are written to the file, in bytes.
    written_from: usize,
    /// Bytes that are sorted at once.
    chunk_bytes: usize,
    n_changes: usize,
    /// Bytes of the last change, to be reused.
    change: Vec<u8>,
}

/// The changes of a part of all anchors, in the order of their steps.
#[derive(Debug, Default)]
struct SortedPart {
    written: VecDeque<Extent>,
    bytes: Vec<u8>,
}

impl RowSorter {
    pub(super) fn new(layout: Arc<Layout>, spill: &Arc<Spill>) -> Self {
        let share = spill.limit_bytes() / LIMIT_SHARE;
        let n_parts = (share / BLOCK_BYTES_MAX).clamp(1, PARTS_MAX);
        Self {
            layout,
            spill: Arc::clone(spill),
            account: SeriesAccount::of(spill),
            file: None,
            parts: (0..n_parts).map(|_| SortedPart::default()).collect(),
            // A vector has twice the capacity that it needs at most.
            written_from: share.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX) / 2,
            chunk_bytes: (share / 2).clamp(BLOCK_BYTES_MIN, CHUNK_BYTES_MAX),
            n_changes: 0,
            change: Vec::new(),
        }
    }

    pub(super) const fn n_changes(&self) -> usize {
        self.n_changes
    }

    /// Adds what a step changes.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn add(&mut self, item: PastItem<'_>) -> Result<(), SpillError> {
        match item {
            PastItem::Accepted { sequence, transaction } => {
                match self.layout.prepare(sequence, transaction) {
                    Some(row) => self.add_row(kind::PUT, &row),
                    None => Ok(()),
                }
            }
            PastItem::Updated { target, before, after, .. } => {
                let (before, after) =
                    (self.layout.prepare(target, before), self.layout.prepare(target, after));
                if let (Some(before), Some(after)) = (&before, &after)
                    && before.is_same_as(after)
                {
                    return Ok(());
                }
                before.map_or(Ok(()), |row| self.add_row(kind::REMOVE, &row))?;
                after.map_or(Ok(()), |row| self.add_row(kind::PUT, &row))
            }
        }
    }

    fn add_row(&mut self, kind: u8, row: &PreparedRow) -> Result<(), SpillError> {
        let hash = self.layout.anchor().and_then(|field| field.anchor_of(row.key.bytes()));
        // A key without an anchor stays in memory, whatever is held for it.
        let hash = hash.map_or(0, |anchor| anchor.hash);
        let n_parts = self.parts.len();
        let Some(part) = self.parts.get_mut(hash as usize % n_parts) else { return Ok(()) };
        let capacity = part.bytes.capacity();
        self.change.clear();
        RowChange::write(&mut self.change, kind, row);
        part.bytes.extend_from_slice(&hash.to_le_bytes());
        put_bytes(&mut part.bytes, &self.change);
        self.account.exchange(capacity, part.bytes.capacity());
        self.n_changes += 1;
        if part.bytes.len() >= self.written_from {
            if let Some(residency) = self.spill.residency() {
                residency.check_space()?;
            }
            let file = match self.file.take() {
                Some(file) => file,
                None => self.spill.temporary_file()?,
            };
            let extents = self.file.insert(file).write(&[part.bytes.as_slice().into()])?;
            part.written.extend(extents);
            part.bytes.clear();
        }
        Ok(())
    }

    /// Passes all changes to `show`, in batches of a few anchors. Within a batch, those of an anchor are adjacent, in the
    /// order of their steps. An anchor with many changes is in several batches.
    ///
    /// # Errors
    /// When the file cannot be read, and those of `show`.
    pub(super) fn each_batch<E: From<SpillError>>(
        mut self,
        mut show: impl FnMut(&[RowChange]) -> Result<(), E>,
    ) -> Result<(), E> {
        // The order takes about as much as the changes.
        self.account.take(2 * self.chunk_bytes);
        for part in 0..self.parts.len() {
            let mut chunk = Vec::with_capacity(self.chunk_bytes + 2 * self.written_from);
            while let Some(block) = self.next_block(part)? {
                chunk.extend_from_slice(&block);
                if chunk.len() >= self.chunk_bytes {
                    self.show_sorted(&chunk, &mut show)?;
                    chunk.clear();
                }
            }
            self.show_sorted(&chunk, &mut show)?;
        }
        Ok(())
    }

    /// Takes the next bytes of a part; `None` at its end.
    fn next_block(&mut self, part: usize) -> Result<Option<Arc<[u8]>>, SpillError> {
        let Some(part) = self.parts.get_mut(part) else { return Ok(None) };
        if let (Some(extent), Some(file)) = (part.written.pop_front(), &self.file) {
            return file.read(extent).map(Some);
        }
        self.account.exchange(part.bytes.capacity(), 0);
        let rest = std::mem::take(&mut part.bytes);
        Ok((!rest.is_empty()).then(|| rest.into()))
    }

    fn show_sorted<E: From<SpillError>>(
        &self,
        chunk: &[u8],
        show: &mut impl FnMut(&[RowChange]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(domain) = self.layout.anchor().map(|anchor| anchor.domain) else { return Ok(()) };
        let mut order = order_of(chunk).ok_or_else(damaged)?;
        order.sort_by_key(|(hash, _)| *hash);
        let mut batch: Vec<RowChange> = Vec::new();
        let mut n_anchors = 0;
        for (hash, at) in order {
            let anchor = Anchor { domain, hash };
            let is_next = batch.last().is_none_or(|last| last.anchor != anchor);
            if batch.len() >= BATCH_CHANGES_MAX || (is_next && n_anchors >= BATCH_ANCHORS_MAX) {
                show(&batch)?;
                batch.clear();
                n_anchors = 0;
            }
            n_anchors += usize::from(is_next || batch.is_empty());
            let bytes = chunk.get(at).ok_or_else(damaged)?;
            batch.push(RowChange::read(anchor, bytes).ok_or_else(damaged)?);
        }
        if batch.is_empty() { Ok(()) } else { show(&batch) }
    }
}

impl Drop for RowSorter {
    fn drop(&mut self) {
        self.account.release_all();
    }
}

/// Returns the changes of a chunk: the hash of the anchor of each, and where its bytes are; `None` when they are damaged.
fn order_of(chunk: &[u8]) -> Option<Vec<(u64, Range<usize>)>> {
    let (mut order, mut rest) = (Vec::new(), ByteReader(chunk));
    while !rest.is_empty() {
        let hash = u64::from_le_bytes(rest.array()?);
        let change = rest.bytes()?;
        let end = chunk.len() - rest.len();
        order.push((hash, end - change.len()..end));
    }
    Some(order)
}

fn damaged() -> SpillError {
    SpillError { reason: "sorted rows are damaged".into() }
}

impl RowChange {
    /// Appends the bytes of a change; [`RowChange::read`] reads them.
    fn write(bytes: &mut Vec<u8>, kind: u8, row: &PreparedRow) {
        bytes.push(kind);
        put_bytes(bytes, row.key.bytes());
        put_signed(bytes, row.entry.micros);
        put_number(bytes, row.entry.sequence.0);
        if kind == kind::PUT {
            OwnedValue::Number(Box::new(row.entry.amount)).write(bytes);
            row.entry.cells.iter().for_each(|cell| cell.write(bytes));
        }
    }

    fn read(anchor: Anchor, bytes: &[u8]) -> Option<Self> {
        let mut rest = ByteReader(bytes);
        let kind = rest.byte()?;
        let key = ExportKey::from_bytes(rest.bytes()?)?;
        let (micros, sequence) = (rest.signed()?, Sequence(rest.number()?));
        let kind = match kind {
            kind::PUT => {
                let mut cells = Vec::new();
                let OwnedValue::Number(amount) = OwnedValue::read(&mut rest.0)? else { return None };
                while !rest.is_empty() {
                    cells.push(OwnedValue::read(&mut rest.0)?);
                }
                RowChangeKind::Put(Entry { micros, sequence, amount: *amount, cells: cells.into() })
            }
            kind::REMOVE => RowChangeKind::Remove((micros, sequence)),
            _ => return None,
        };
        Some(Self { anchor, key, kind })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tollgate_guest_abi::{FieldPath, Semantics};
    use tollgate_model::calendar::ZoneData;
    use tollgate_model::transaction::StatusWords;

    use super::*;
    use crate::layout::{ReadingData, SeriesSpec};
    use crate::sample::Sample;

    const N_ACCOUNTS: u64 = 500;

    fn layout() -> Arc<Layout> {
        let spec = SeriesSpec {
            fields: vec![FieldPath::parse("source"), FieldPath::parse("status")],
            selection: Vec::new(),
            measure: None,
            semantics: Semantics::CURRENT.of_values(),
            zones: None,
            status_words: None,
        };
        let (zones, status_words) = (ZoneData::built_in(), StatusWords::built_in());
        Arc::new(Layout::bind(&spec, ReadingData { zones: &zones, status_words: &status_words }).unwrap())
    }

    fn shown_of(change: &RowChange) -> (u64, String) {
        match &change.kind {
            RowChangeKind::Put(entry) => (entry.sequence.0, format!("put {} {}", entry.micros, entry.amount)),
            RowChangeKind::Remove((micros, sequence)) => (sequence.0, format!("remove {micros}")),
        }
    }

    fn check(n_rows: u64, limit_bytes: usize, is_written: bool) {
        let directory = tempfile::tempdir().unwrap();
        let spill = Arc::new(Spill::bounded(limit_bytes, directory.path(), None).unwrap());
        let layout = layout();
        let mut sorter = RowSorter::new(Arc::clone(&layout), &spill);
        let mut expected: HashMap<u64, Vec<(u64, String)>> = HashMap::new();
        for n in 1..=n_rows {
            let source = format!("account-{}", n * 7_919 % N_ACCOUNTS);
            let sample =
                Sample { id: n, at: n as i64 / 10, source: Some(source.leak()), ..Sample::default() };
            let (before, after) = (sample.clone().build(), sample.build().with_status(Some("shut")));
            let before = before.with_status(Some("open"));
            let sequence = Sequence(n);
            sorter.add(PastItem::Accepted { sequence, transaction: &before }).unwrap();
            let mut steps = vec![format!("put {} 1", before.timestamp.micros())];
            if n.is_multiple_of(3) {
                let (target, before, after) = (sequence, &before, &after);
                sorter.add(PastItem::Updated { sequence, target, before, after }).unwrap();
                steps.push(format!("remove {}", before.timestamp.micros()));
                steps.push(format!("put {} 1", before.timestamp.micros()));
            }
            let key = layout.prepare(sequence, &before).unwrap().key;
            let hash = layout.anchor().unwrap().anchor_of(key.bytes()).unwrap().hash;
            expected.entry(hash).or_default().extend(steps.into_iter().map(|step| (n, step)));
        }
        assert_eq!(sorter.file.is_some(), is_written, "{n_rows} rows");
        let n_expected = sorter.n_changes();
        let (mut shown, mut n_shown) = (HashMap::<u64, Vec<(u64, String)>>::new(), 0);
        let counted = sorter.each_batch(|batch| {
            assert!(batch.len() <= BATCH_CHANGES_MAX);
            n_shown += batch.len();
            for change in batch {
                shown.entry(change.anchor.hash).or_default().push(shown_of(change));
            }
            Ok::<(), SpillError>(())
        });
        counted.unwrap();
        assert_eq!(n_shown, n_expected);
        assert_eq!(shown, expected);
        assert_eq!(spill.resident_bytes(), 0);
    }

    #[test]
    fn changes_of_an_anchor_keep_their_order_in_memory_and_in_a_file() {
        check(0, 0, false);
        check(20, 0, false);
        check(400, 0, true);
        check(40_000, 0, true);
        check(40_000, 4 << 20, true);
        check(10_000, 256 << 20, false);
    }
}
