//! Spilling of timelines: chunks one by one and for good, the latest run until the next entry arrives.

use std::borrow::Cow;
use std::sync::Arc;

use tollgate_model::sequence::Sequence;

use super::chunk::{Chunk, ChunkBytes};
use super::rows::Rows;
use super::run::{OpenRun, RestingRun, Run, tables_bytes};
use super::{Entry, EntryPosition, LatestRun, Timeline, run};
use crate::spill::{Extent, SeriesAccount, SpillMiss, heap_bytes};

/// Bytes to be written to the spill file, still in memory.
#[derive(Debug, Clone)]
pub(crate) enum SpillingBytes {
    /// A chunk, by the place of its last entry.
    Chunk(EntryPosition, Arc<[u8]>),
    Latest(Arc<[u8]>),
}

/// Handles to all bytes of a timeline, to be read without the lock.
#[derive(Debug, Default)]
pub(crate) struct DeferredBytes {
    latest: Option<ChunkBytes>,
    chunks: Vec<ChunkBytes>,
    lost: Vec<ChunkBytes>,
}

/// All runs of a timeline, in bytes that another timeline can take over.
#[derive(Debug, Default)]
pub(crate) struct TimelineRuns {
    pub(crate) chunks: Vec<RestingRun>,
    /// Latest run; it may begin before the end of the chunks.
    pub(crate) latest: Option<RestingRun>,
    /// Runs whose time ranges are unknown.
    lost: Vec<RestingRun>,
}

impl DeferredBytes {
    /// Returns all runs, read back if necessary.
    ///
    /// # Errors
    /// When a run cannot be read.
    pub(crate) fn runs(
        &self,
        read: impl Fn(Extent) -> Result<Arc<[u8]>, SpillMiss>,
    ) -> Result<TimelineRuns, SpillMiss> {
        let open =
            |bodies: &[ChunkBytes]| bodies.iter().map(|body| body.open(&read)).collect::<Result<Vec<_>, _>>();
        Ok(TimelineRuns {
            chunks: open(&self.chunks)?,
            latest: self.latest.as_ref().map(|latest| latest.open(&read)).transpose()?,
            lost: open(&self.lost)?,
        })
    }
}

impl TimelineRuns {
    /// Returns whether there are only chunks and a latest run.
    pub(crate) const fn is_in_order(&self) -> bool {
        self.lost.is_empty()
    }

    /// Returns whether there is no entry.
    pub(crate) const fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.latest.is_none() && self.lost.is_empty()
    }

    /// Returns the chunks and the latest run without the entries above a number, and whether there were any.
    pub(crate) fn up_to(self, through: Sequence) -> (Self, bool) {
        let is_partial = self.chunks.iter().chain(&self.latest).any(|run| run.sequence_max() > through);
        if !is_partial {
            return (self, false);
        }
        let part = |run: RestingRun| run.up_to(through).map(Cow::into_owned);
        let latest = self.latest.and_then(part);
        let chunks = self.chunks.into_iter().filter_map(part).collect();
        (Self { chunks, latest, lost: self.lost }, true)
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        let runs = self.chunks.iter().chain(&self.lost).chain(&self.latest);
        let mut entries: Vec<Entry> = runs.flat_map(|run| run.open().to_entries()).collect();
        if !entries.is_sorted_by_key(Entry::place) {
            entries.sort_by_key(Entry::place);
        }
        entries
    }
}

impl SpillingBytes {
    pub(crate) const fn bytes(&self) -> &Arc<[u8]> {
        match self {
            SpillingBytes::Chunk(_, bytes) | SpillingBytes::Latest(bytes) => bytes,
        }
    }
}

impl Timeline {
    /// Returns the chunk whose last entry has this place, if it is in memory.
    pub(crate) fn leaving_chunk(&mut self, last: EntryPosition) -> Option<SpillingBytes> {
        match self.more.as_mut()?.root.chunk_mut(last)?.body() {
            ChunkBytes::Here(bytes) => Some(SpillingBytes::Chunk(last, Arc::clone(bytes))),
            ChunkBytes::Away(_) => None,
        }
    }

    /// Passes the place of the last entry of each chunk in memory.
    pub(crate) fn each_chunk_here(&self, show: &mut impl FnMut(EntryPosition)) {
        if let Some(more) = &self.more {
            more.root.each_chunk(&mut |chunk| {
                if chunk.is_here() {
                    show(chunk.figures.last);
                }
            });
        }
    }

    /// Returns a copy of the latest run, if it is in memory and not empty.
    pub(crate) fn leaving_latest(&self) -> Option<SpillingBytes> {
        let LatestRun::Here(rows) = &self.latest else { return None };
        let tables = self.more.as_ref().map_or(&[][..], |more| &more.tables);
        (Rows::of(rows).len() > 0).then(|| SpillingBytes::Latest(OpenRun::at_rest(rows, tables)))
    }

    /// Removes written bytes from memory, unless they changed meanwhile. Returns whether it did.
    pub(crate) fn leave(
        &mut self,
        what: &SpillingBytes,
        extent: Extent,
        account: &mut SeriesAccount,
    ) -> bool {
        match what {
            SpillingBytes::Chunk(last, bytes) => {
                let chunk = self.more.as_mut().and_then(|more| more.root.chunk_mut(*last));
                chunk.is_some_and(|chunk| chunk.leave(bytes, extent, account))
            }
            SpillingBytes::Latest(bytes) => {
                let is_as_it_was = self.is_latest(bytes);
                let LatestRun::Here(rows) = &self.latest else { return false };
                if is_as_it_was {
                    account.exchange_entries(heap_bytes(rows.capacity()), 0);
                    self.latest = LatestRun::Away(extent);
                    if let Some(more) = &mut self.more {
                        account.exchange_entries(tables_bytes(&more.tables), 0);
                        more.tables = Vec::new();
                    }
                }
                is_as_it_was
            }
        }
    }

    fn is_latest(&self, bytes: &Arc<[u8]>) -> bool {
        match (&self.latest, &self.more) {
            (LatestRun::Here(_), Some(more)) if !more.tables.is_empty() => {
                self.leaving_latest().is_some_and(|leaving| leaving.bytes() == bytes)
            }
            (LatestRun::Here(rows), _) => rows.get(..bytes.len()) == Some(bytes),
            (LatestRun::Away(_), _) => false,
        }
    }

    /// Loads the latest run. If it cannot be read, a new run begins and the old one is added to the lost runs.
    pub(crate) fn wake(&mut self, account: &mut SeriesAccount) {
        let LatestRun::Away(extent) = self.latest else { return };
        match account.read_owned(extent).ok().and_then(Run::awake) {
            Some(run) => {
                account.free(extent);
                self.latest = LatestRun::Here(Vec::new());
                self.put_latest(run, account);
            }
            None => {
                self.latest = LatestRun::Here(Vec::new());
                self.make_more(account);
                if let Some(more) = &mut self.more {
                    account.exchange(lost_bytes(&more.lost), 0);
                    more.lost.push(ChunkBytes::Away(extent));
                    account.take(lost_bytes(&more.lost));
                }
            }
        }
    }

    /// Returns the extent of the latest run if it is not in memory.
    const fn sleeping(&self) -> Option<Extent> {
        match self.latest {
            LatestRun::Here(_) => None,
            LatestRun::Away(extent) => Some(extent),
        }
    }

    pub(crate) fn stay(&self) -> DeferredBytes {
        let latest = match (&self.latest, self.leaving_latest()) {
            (LatestRun::Away(extent), _) => Some(ChunkBytes::Away(*extent)),
            (LatestRun::Here(_), leaving) => {
                leaving.map(|leaving| ChunkBytes::Here(Arc::clone(leaving.bytes())))
            }
        };
        let mut stay = DeferredBytes { latest, ..DeferredBytes::default() };
        if let Some(more) = &self.more {
            stay.lost.extend(more.lost.iter().cloned());
            more.root.each_chunk(&mut |chunk| stay.chunks.push(chunk.body().clone()));
        }
        stay
    }

    /// Returns whether a run that begins at this place can be appended.
    pub(crate) fn can_go_on(&self, first: EntryPosition) -> bool {
        let is_latest_empty = matches!(&self.latest, LatestRun::Here(rows) if Rows::of(rows).len() == 0);
        let is_behind = |more: &super::TimelineExtras| {
            more.lost.is_empty() && more.root.last().is_none_or(|last| last < first)
        };
        is_latest_empty && self.more.as_deref().is_none_or(is_behind)
    }

    /// Appends encoded chunks and a latest run. Returns whether the bytes were valid; if not, some may have been added.
    pub(crate) fn take_over(
        &mut self,
        chunks: &[&[u8]],
        latest: Option<&[u8]>,
        slot: u32,
        account: &mut SeriesAccount,
    ) -> bool {
        for bytes in chunks {
            self.make_more(account);
            let Some(chunk) = Chunk::of_bytes(bytes, slot, account) else { return false };
            if let Some(more) = &mut self.more {
                more.put(chunk, account);
            }
        }
        match latest.map(|bytes| Run::awake(bytes.to_vec())) {
            None => true,
            Some(Some(run)) => {
                self.put_latest(run, account);
                true
            }
            Some(None) => false,
        }
    }

    /// Returns whether it has at most so many chunks, and no run that could not be read back.
    pub(crate) fn has_few_chunks(&self, n_chunks_max: usize) -> bool {
        let is_short =
            |more: &super::TimelineExtras| more.lost.is_empty() && more.root.has_few_chunks(n_chunks_max);
        self.more.as_deref().is_none_or(is_short)
    }

    /// Returns the bytes of the latest run that are in memory.
    pub(crate) fn n_latest_bytes(&self) -> usize {
        match &self.latest {
            LatestRun::Here(rows) => rows.capacity(),
            LatestRun::Away(_) => 0,
        }
    }

    /// Releases all memory and extents of a timeline whose entries are elsewhere.
    pub(crate) fn discard(mut self, account: &mut SeriesAccount) {
        if let Some(extent) = self.sleeping() {
            account.free(extent);
        }
        if let Some(more) = &mut self.more {
            while let Some(last) = more.root.last() {
                let Some(chunk) = more.root.take(last, account) else { break };
                chunk.discard(account);
            }
            more.root.shrink(account);
        }
        self.release(account);
    }

    /// Frees all extents; memory is released elsewhere.
    pub(crate) fn free_extents(&self, account: &SeriesAccount) {
        self.sleeping().into_iter().for_each(|extent| account.free(extent));
        let free = |body: &ChunkBytes| {
            if let ChunkBytes::Away(extent) = body {
                account.free(*extent);
            }
        };
        if let Some(more) = &self.more {
            more.lost.iter().for_each(free);
            more.root.each_chunk(&mut |chunk| free(chunk.body()));
        }
    }

    /// Returns a copy of the latest run, if it is in memory.
    pub(super) fn latest_run(&self) -> Option<Run> {
        let LatestRun::Here(rows) = &self.latest else { return None };
        let tables = self.more.as_ref().map_or_else(Vec::new, |more| more.tables.clone());
        Some(Run { rows: rows.clone(), tables })
    }

    /// Replaces the latest run, which must be in memory.
    pub(super) fn put_latest(&mut self, run: Run, account: &mut SeriesAccount) {
        if !run.tables.is_empty() {
            self.make_more(account);
        }
        if let Some(more) = &mut self.more {
            account.exchange_entries(tables_bytes(&more.tables), run::tables_bytes(&run.tables));
            more.tables = run.tables;
        }
        if let LatestRun::Here(rows) = &mut self.latest {
            account.exchange_entries(heap_bytes(rows.capacity()), heap_bytes(run.rows.capacity()));
            *rows = run.rows;
        }
    }
}

const fn lost_bytes(lost: &Vec<ChunkBytes>) -> usize {
    heap_bytes(lost.capacity() * size_of::<ChunkBytes>())
}
