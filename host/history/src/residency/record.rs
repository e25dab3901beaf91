//! Records of anchors: the keys by the tables of their series, with their chunks and latest runs.

use tollgate_model::sequence::Sequence;
use tollgate_records::{Address, AppendError, RecordStore};

use crate::anchor::Anchor;
use crate::key::ExportKey;
use crate::key_table::AnchorPart;
use crate::series::Series;
use crate::snapshot::{ByteReader, put_bytes, put_number};
use crate::spill::{Spill, SpillError};
use crate::timeline::{DeferredBytes, TimelineRuns};

use super::unusable;

/// Maximum length of a record, in bytes. A longer anchor stays in memory.
const RECORD_BYTES_MAX: usize = 64 << 10;

/// A key of a record, with its chunks and its latest run.
pub(crate) struct KeptKey<'r> {
    pub(crate) key: ExportKey,
    pub(crate) chunks: Vec<&'r [u8]>,
    pub(crate) latest: Option<&'r [u8]>,
}

/// An anchor in memory.
pub(super) enum AnchorInMemory<'s> {
    /// Its keys by series, with the number of the table of each; no part is empty.
    Parts(Vec<AnchorPartOf<'s>>),
    /// A key was used since it was last considered.
    InUse,
    /// It is too long to be one record.
    TooLong,
}

/// The keys of an anchor in one series.
pub(super) struct AnchorPartOf<'s> {
    pub(super) series: &'s Series,
    pub(super) table: u64,
    pub(super) keys: Vec<(ExportKey, DeferredBytes)>,
}

/// Returns the keys of an anchor in these series; with `takes_used`, also those that were used lately.
pub(super) fn find<'s>(
    anchor: Anchor,
    series: impl IntoIterator<Item = &'s Series>,
    takes_used: bool,
) -> AnchorInMemory<'s> {
    let mut parts = Vec::new();
    for series in series {
        let (table, part) = series.part_of(anchor, takes_used);
        match part {
            AnchorPart::InUse => return AnchorInMemory::InUse,
            AnchorPart::TooLong => return AnchorInMemory::TooLong,
            AnchorPart::Keys(keys) if keys.is_empty() => {}
            AnchorPart::Keys(keys) => parts.push(AnchorPartOf { series, table, keys }),
        }
    }
    AnchorInMemory::Parts(parts)
}

/// The record of an anchor.
pub(super) struct AnchorRecord {
    pub(super) bytes: Vec<u8>,
    /// Whether rows were left out because their numbers are too high.
    pub(super) is_partial: bool,
}

/// Returns the record of the rows up to a number; `None` when it would be too long.
///
/// # Errors
/// When rows that are in the spill file cannot be read.
pub(super) fn write(
    parts: &[AnchorPartOf<'_>],
    spill: &Spill,
    through: Sequence,
) -> Result<Option<AnchorRecord>, SpillError> {
    let mut record = AnchorRecord { bytes: Vec::new(), is_partial: false };
    for part in parts {
        let mut kept = Vec::with_capacity(part.keys.len());
        for (key, deferred) in &part.keys {
            let runs = deferred.runs(|extent| spill.read(extent)).map_err(|miss| miss.error)?;
            if !runs.is_in_order() {
                return Ok(None);
            }
            let (runs, is_partial) = runs.up_to(through);
            record.is_partial |= is_partial;
            if !runs.is_empty() {
                kept.push((key, runs));
            }
        }
        if !kept.is_empty() {
            put_part(&mut record.bytes, part.table, &kept);
        }
        if record.bytes.len() > RECORD_BYTES_MAX {
            return Ok(None);
        }
    }
    Ok(Some(record))
}

/// Appends the keys of one series.
fn put_part(record: &mut Vec<u8>, table: u64, keys: &[(&ExportKey, TimelineRuns)]) {
    put_number(record, table);
    put_number(record, keys.len() as u64);
    for (key, runs) in keys {
        put_bytes(record, key.to_bytes());
        put_number(record, runs.chunks.len() as u64);
        runs.chunks.iter().for_each(|chunk| put_bytes(record, chunk.bytes()));
        put_bytes(record, runs.latest.as_ref().map_or(&[][..], |latest| latest.bytes()));
    }
}

/// Returns the keys of a record by their tables; `None` when it is damaged.
pub(super) fn read(record: &[u8]) -> Option<Vec<(u64, Vec<KeptKey<'_>>)>> {
    let mut rest = ByteReader(record);
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (table, n_keys) = (rest.number()?, rest.number()?);
        let mut keys = Vec::new();
        for _ in 0..n_keys {
            let key = ExportKey::from_bytes(rest.bytes()?)?;
            let n_chunks = rest.number()?;
            let chunks = (0..n_chunks).map(|_| rest.bytes()).collect::<Option<Vec<_>>>()?;
            let latest = Some(rest.bytes()?).filter(|latest| !latest.is_empty());
            keys.push(KeptKey { key, chunks, latest });
        }
        parts.push((table, keys));
    }
    Some(parts)
}

/// Appends the record of an anchor in place of the one at an address, which may have moved since.
pub(super) fn replace(
    store: &RecordStore,
    anchor: Anchor,
    replaces: Option<Address>,
    bytes: &[u8],
) -> Result<Address, SpillError> {
    let mut replaces = replaces;
    loop {
        match store.append(anchor.key(), replaces, bytes) {
            Err(AppendError::Moved) => replaces = address_now(store, anchor)?,
            appended => return appended.map_err(|error| unusable(&error)),
        }
    }
}

/// Removes the record of an anchor, if it has one at an address; it may have moved since.
pub(super) fn remove(
    store: &RecordStore,
    anchor: Anchor,
    address: Option<Address>,
) -> Result<(), SpillError> {
    let mut address = address;
    while let Some(known) = address {
        match store.remove(anchor.key(), known) {
            Err(AppendError::Moved) => address = address_now(store, anchor)?,
            removed => return removed.map_err(|error| unusable(&error)),
        }
    }
    Ok(())
}

fn address_now(store: &RecordStore, anchor: Anchor) -> Result<Option<Address>, SpillError> {
    let record = store.read(anchor.key()).map_err(|error| unusable(&error))?;
    Ok(record.map(|record| record.address))
}
