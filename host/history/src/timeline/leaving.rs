//! Timelines leave memory, and come back to it: the chunks one by one and for good, the latest run as a whole until the
//! next entry comes.

use std::sync::Arc;

use super::chunk::{Body, Chunk};
use super::rows::Rows;
use super::run::{OpenRun, RestingRun, Run, tables_bytes};
use super::{Entry, Latest, Place, Timeline, run};
use crate::spill::{Account, Extent, Miss, heap_bytes};

/// What is on its way to the file: bytes that are still in memory too.
#[derive(Debug, Clone)]
pub(crate) enum Leaving {
    /// A chunk, by its last place.
    Chunk(Place, Arc<[u8]>),
    /// The latest run.
    Latest(Arc<[u8]>),
}

/// What all of a timeline is in, to take along.
#[derive(Debug, Default)]
pub(crate) struct Stay {
    latest: Option<Body>,
    chunks: Vec<Body>,
    lost: Vec<Body>,
}

/// All of a timeline, in bytes that another can take over as they are.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// One behind the other.
    pub(crate) chunks: Vec<RestingRun>,
    /// The run that is added to; it may lie before the end of the chunks.
    pub(crate) latest: Option<RestingRun>,
    /// Nobody knows where these lie.
    lost: Vec<RestingRun>,
}

impl Stay {
    /// Everything, read back if need be.
    ///
    /// # Errors
    /// When some cannot be read.
    pub(crate) fn runs(&self, read: impl Fn(Extent) -> Result<Arc<[u8]>, Miss>) -> Result<Runs, Miss> {
        let open =
            |bodies: &[Body]| bodies.iter().map(|body| body.open(&read)).collect::<Result<Vec<_>, _>>();
        Ok(Runs {
            chunks: open(&self.chunks)?,
            latest: self.latest.as_ref().map(|latest| latest.open(&read)).transpose()?,
            lost: open(&self.lost)?,
        })
    }
}

impl Runs {
    /// Whether chunks and latest run are all there is.
    pub(crate) const fn is_in_order(&self) -> bool {
        self.lost.is_empty()
    }

    /// All entries, in order.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let runs = self.chunks.iter().chain(&self.lost).chain(&self.latest);
        let mut entries: Vec<Entry> = runs.flat_map(|run| run.open().to_entries()).collect();
        if !entries.is_sorted_by_key(Entry::place) {
            entries.sort_by_key(Entry::place);
        }
        entries
    }
}

impl Leaving {
    pub(crate) const fn bytes(&self) -> &Arc<[u8]> {
        match self {
            Leaving::Chunk(_, bytes) | Leaving::Latest(bytes) => bytes,
        }
    }
}

impl Timeline {
    /// The chunk with this last place, if it is in memory.
    pub(crate) fn leaving_chunk(&mut self, last: Place) -> Option<Leaving> {
        match self.more.as_mut()?.root.chunk_mut(last)?.body() {
            Body::Here(bytes) => Some(Leaving::Chunk(last, Arc::clone(bytes))),
            Body::Away(_) => None,
        }
    }

    /// A copy of the latest run, if it is in memory and not empty.
    pub(crate) fn leaving_latest(&self) -> Option<Leaving> {
        let Latest::Here(rows) = &self.latest else { return None };
        let tables = self.more.as_ref().map_or(&[][..], |more| &more.tables);
        (Rows::of(rows).len() > 0).then(|| Leaving::Latest(OpenRun::at_rest(rows, tables)))
    }

    /// What left is in the file alone from now on, unless it has changed meanwhile. Whether it is.
    pub(crate) fn leave(&mut self, what: &Leaving, extent: Extent, account: &mut Account) -> bool {
        match what {
            Leaving::Chunk(last, bytes) => {
                let chunk = self.more.as_mut().and_then(|more| more.root.chunk_mut(*last));
                chunk.is_some_and(|chunk| chunk.leave(bytes, extent, account))
            }
            Leaving::Latest(bytes) => {
                let is_as_it_was = self.is_latest(bytes);
                let Latest::Here(rows) = &self.latest else { return false };
                if is_as_it_was {
                    account.release(heap_bytes(rows.capacity()));
                    self.latest = Latest::Away(extent);
                    if let Some(more) = &mut self.more {
                        account.release(tables_bytes(&more.tables));
                        more.tables = Vec::new();
                    }
                }
                is_as_it_was
            }
        }
    }

    /// Whether the latest run is these bytes.
    fn is_latest(&self, bytes: &Arc<[u8]>) -> bool {
        match (&self.latest, &self.more) {
            (Latest::Here(_), Some(more)) if !more.tables.is_empty() => {
                self.leaving_latest().is_some_and(|leaving| leaving.bytes() == bytes)
            }
            (Latest::Here(rows), _) => rows.get(..bytes.len()) == Some(bytes),
            (Latest::Away(_), _) => false,
        }
    }

    /// Brings the latest run back. When it cannot be read a new one begins, and the old one waits among the lost.
    pub(crate) fn wake(&mut self, account: &mut Account) {
        let Latest::Away(extent) = self.latest else { return };
        match account.read_owned(extent).ok().and_then(Run::awake) {
            Some(run) => {
                account.free(extent);
                self.latest = Latest::Here(Vec::new());
                self.put_latest(run, account);
            }
            None => {
                self.latest = Latest::Here(Vec::new());
                self.make_more(account);
                if let Some(more) = &mut self.more {
                    account.exchange(lost_bytes(&more.lost), 0);
                    more.lost.push(Body::Away(extent));
                    account.take(lost_bytes(&more.lost));
                }
            }
        }
    }

    /// Where the latest run is to be read, if it is not in memory.
    const fn sleeping(&self) -> Option<Extent> {
        match self.latest {
            Latest::Here(_) => None,
            Latest::Away(extent) => Some(extent),
        }
    }

    /// All it is in, to take along.
    pub(crate) fn stay(&self) -> Stay {
        let latest = match (&self.latest, self.leaving_latest()) {
            (Latest::Away(extent), _) => Some(Body::Away(*extent)),
            (Latest::Here(_), leaving) => leaving.map(|leaving| Body::Here(Arc::clone(leaving.bytes()))),
        };
        let mut stay = Stay { latest, ..Stay::default() };
        if let Some(more) = &self.more {
            stay.lost.extend(more.lost.iter().cloned());
            more.root.each_chunk(&mut |chunk| stay.chunks.push(chunk.body().clone()));
        }
        stay
    }

    /// Whether a run that begins at this place can be taken over behind all there is.
    pub(crate) fn can_go_on(&self, first: Place) -> bool {
        let is_latest_empty = matches!(&self.latest, Latest::Here(rows) if Rows::of(rows).len() == 0);
        let is_behind =
            |more: &super::More| more.lost.is_empty() && more.root.last().is_none_or(|last| last < first);
        is_latest_empty && self.more.as_deref().is_none_or(is_behind)
    }

    /// Takes over chunks, one behind the other and behind all there is, and a latest run, all in bytes they were at rest
    /// in. Whether they were such bytes; some may be there if not.
    pub(crate) fn take_over(
        &mut self,
        chunks: &[&[u8]],
        latest: Option<&[u8]>,
        slot: u32,
        account: &mut Account,
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

    /// Gives back the places in the file; memory is given back otherwise.
    pub(crate) fn free_extents(&self, account: &Account) {
        self.sleeping().into_iter().for_each(|extent| account.free(extent));
        let free = |body: &Body| {
            if let Body::Away(extent) = body {
                account.free(*extent);
            }
        };
        if let Some(more) = &self.more {
            more.lost.iter().for_each(free);
            more.root.each_chunk(&mut |chunk| free(chunk.body()));
        }
    }

    /// A copy of the latest run, if it is in memory.
    pub(super) fn latest_run(&self) -> Option<Run> {
        let Latest::Here(rows) = &self.latest else { return None };
        let tables = self.more.as_ref().map_or_else(Vec::new, |more| more.tables.clone());
        Some(Run { rows: rows.clone(), tables })
    }

    /// Puts a run in place of the latest, which is in memory.
    pub(super) fn put_latest(&mut self, run: Run, account: &mut Account) {
        if !run.tables.is_empty() {
            self.make_more(account);
        }
        if let Some(more) = &mut self.more {
            account.exchange(tables_bytes(&more.tables), run::tables_bytes(&run.tables));
            more.tables = run.tables;
        }
        if let Latest::Here(rows) = &mut self.latest {
            account.exchange(heap_bytes(rows.capacity()), heap_bytes(run.rows.capacity()));
            *rows = run.rows;
        }
    }
}

const fn lost_bytes(lost: &Vec<Body>) -> usize {
    heap_bytes(lost.capacity() * size_of::<Body>())
}
