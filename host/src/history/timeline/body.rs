//! The entries of one chunk: most of them packed, the latest to come beside them as they are.

use std::sync::Arc;

use super::packed::{OpenPacked, Packed};
use super::{Entry, Place, Stretch};
use crate::history::row::{Cells, Row};
use crate::history::spill::{Spill, SpillError};
use crate::history::tally::Tally;

/// Most entries that are not packed: an eighth of the packed ones, within these bounds, so that packing again costs the
/// same share of every entry, and keys with few entries waste little.
const LOOSE_MIN: usize = 4;
const LOOSE_MAX: usize = 16;

/// Some entries, in no order among the two parts; each part is in order. Clones share, and a change copies what a clone
/// still holds.
#[derive(Debug, Clone, Default)]
pub(in crate::history) struct Body {
    packed: Option<Arc<Packed>>,
    loose: Arc<Vec<Entry>>,
}

/// A body whose entries can all be looked at.
#[derive(Debug)]
pub(in crate::history) struct OpenBody {
    packed: Option<OpenPacked>,
    loose: Arc<Vec<Entry>>,
}

impl Body {
    /// Of entries in order.
    pub(super) fn of(entries: Vec<Entry>, spill: &Arc<Spill>) -> Self {
        if entries.len() < LOOSE_MIN {
            return Self { packed: None, loose: Arc::new(entries) };
        }
        Self { packed: Some(Arc::new(Packed::of(&entries, spill))), loose: Arc::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.packed.as_ref().map_or(0, |packed| packed.len()) + self.loose.len()
    }

    /// Adds an entry, unpacked. Whether there are so many of these that the body should be packed.
    pub(super) fn insert(&mut self, entry: Entry) -> bool {
        let loose = Arc::make_mut(&mut self.loose);
        let position = loose.partition_point(|other| other.place() < entry.place());
        if loose.capacity() == 0 {
            loose.reserve_exact(LOOSE_MIN);
        }
        loose.insert(position, entry);
        let n_packed = self.packed.as_ref().map_or(0, |packed| packed.len());
        self.loose.len() >= (n_packed / 8).clamp(LOOSE_MIN, LOOSE_MAX)
    }

    /// Everything at hand, read back if need be.
    pub(in crate::history) fn open(&self) -> Result<OpenBody, SpillError> {
        let packed = self.packed.as_ref().map(Packed::open).transpose()?;
        Ok(OpenBody { packed, loose: Arc::clone(&self.loose) })
    }

    /// Everything at hand, if it is in memory.
    pub(super) fn open_resident(&self) -> Option<OpenBody> {
        let packed = match &self.packed {
            None => None,
            Some(packed) => Some(packed.open_resident()?),
        };
        Some(OpenBody { packed, loose: Arc::clone(&self.loose) })
    }
}

impl OpenBody {
    /// Everything, in order.
    pub(super) fn to_entries(&self) -> Vec<Entry> {
        let n_packed = self.packed.as_ref().map_or(0, OpenPacked::len);
        let mut entries = Vec::with_capacity(n_packed + self.loose.len());
        entries.extend(self.packed.iter().flat_map(OpenPacked::unpack));
        let is_behind = match (entries.last(), self.loose.first()) {
            (Some(last), Some(first)) => last.place() < first.place(),
            (None, _) | (_, None) => true,
        };
        entries.extend(self.loose.iter().cloned());
        if !is_behind {
            entries.sort_by_key(Entry::place);
        }
        entries
    }

    pub(super) fn contains(&self, place: Place) -> bool {
        self.loose.binary_search_by_key(&place, Entry::place).is_ok()
            || self.packed.as_ref().is_some_and(|packed| {
                let at_once = Stretch { from: place.0, to: place.0, as_of: place.1.next() };
                packed.positions(at_once).any(|position| packed.sequence(position) == place.1)
            })
    }

    /// Every row that a stretch shows, until one suffices.
    pub(in crate::history) fn each_shown<'b>(
        &'b self,
        stretch: Stretch,
        places: &'b [usize],
        mut suffices: impl FnMut(Row<'b>) -> bool,
    ) {
        for entry in self.loose_shown(stretch) {
            if suffices(Row::new(entry.amount, Cells::Held(&entry.cells), places)) {
                return;
            }
        }
        let Some(packed) = &self.packed else { return };
        for position in packed.positions(stretch).rev() {
            if packed.sequence(position) < stretch.as_of
                && suffices(Row::new(packed.amount(position), Cells::Packed(packed, position), places))
            {
                return;
            }
        }
    }

    /// Takes in the amounts of what a stretch shows.
    pub(in crate::history) fn tally_amounts(&self, stretch: Stretch, tally: &mut Tally<'_>) {
        self.loose_shown(stretch).for_each(|entry| tally.add_number(entry.amount));
        let Some(packed) = &self.packed else { return };
        let positions = packed.positions(stretch);
        if tally.takes_sums() && packed.is_seen_by(stretch.as_of) {
            tally.add_sum(positions.len() as u64, || packed.sum(positions));
            return;
        }
        let seen = positions.filter(|position| packed.sequence(*position) < stretch.as_of);
        seen.for_each(|position| tally.add_number(packed.amount(position)));
    }

    /// The latest first.
    fn loose_shown(&self, stretch: Stretch) -> impl Iterator<Item = &Entry> {
        self.loose.iter().rev().filter(move |entry| stretch.shows(entry))
    }
}
