//! Values in numbered slots, which they keep until they are removed.

use std::ops::Range;

use crate::spill::{SeriesAccount, heap_bytes};

/// Slots per segment; a new segment moves no values. Tests have few keys.
const SEGMENT_SLOTS: usize = if cfg!(test) { 8 } else { 512 };
/// Slots of a table with few keys.
const SLOTS_MIN: usize = 4;
/// Maximum number of segments that are freed at once.
const FREED_SEGMENTS_MAX: usize = 4;
/// Segments are freed while more than one slot in this many is free.
const FREE_SHARE: usize = 3;

#[derive(Debug)]
pub(super) struct Slab<T> {
    segments: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { segments: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(super) fn n_slots(&self) -> usize {
        self.segments.last().map_or(0, |last| (self.segments.len() - 1) * SEGMENT_SLOTS + last.len())
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&T> {
        let slot = slot as usize;
        self.segments.get(slot / SEGMENT_SLOTS)?.get(slot % SEGMENT_SLOTS)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        let slot = slot as usize;
        self.segments.get_mut(slot / SEGMENT_SLOTS)?.get_mut(slot % SEGMENT_SLOTS)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.segments.iter().flatten().flatten()
    }

    pub(super) fn add(&mut self, thing: T, account: &mut SeriesAccount) -> u32 {
        if let Some(slot) = self.free.pop()
            && let Some(place) = self.place(slot)
        {
            *place = Some(thing);
            return slot;
        }
        let slot = self.n_slots();
        if self.segments.last().is_none_or(|last| last.len() == SEGMENT_SLOTS) {
            self.segments.push(Vec::new());
        }
        let is_first = self.segments.len() == 1;
        if let Some(last) = self.segments.last_mut() {
            let capacity = last.capacity();
            if last.len() == capacity {
                // A series with few keys takes little memory.
                let n_more = if is_first {
                    last.len().max(SLOTS_MIN).min(SEGMENT_SLOTS - last.len())
                } else {
                    SEGMENT_SLOTS
                };
                last.reserve_exact(n_more);
                account.exchange(Self::n_bytes(capacity), Self::n_bytes(last.capacity()));
            }
            last.push(Some(thing));
        }
        // The number of keys stays far below this: each takes more than a byte.
        u32::try_from(slot).unwrap_or(u32::MAX)
    }

    pub(super) fn remove(&mut self, slot: u32, account: &mut SeriesAccount) -> Option<T> {
        let thing = self.take(slot)?;
        let before = self.n_free_bytes();
        self.free.push(slot);
        account.exchange(before, self.n_free_bytes());
        Some(thing)
    }

    /// Removes a value whose slot gets no other: one of those that [`Slab::vacate`] returned.
    pub(super) fn take(&mut self, slot: u32) -> Option<T> {
        self.place(slot)?.take()
    }

    /// Returns the last slots when many are free: their values are to be [taken](Slab::take) and added again, before
    /// [`Slab::truncate`] frees their memory. Other slots are free for all of them.
    pub(super) fn vacate(&mut self) -> Option<Range<u32>> {
        let n_slots = self.n_slots();
        let n_free = self.free.len();
        let n_vacated = match self.segments.as_slice() {
            [] => return None,
            // A part of the only segment.
            [only] => {
                let n_kept = (2 * (n_slots - n_free)).max(SLOTS_MIN);
                only.capacity().checked_sub(2 * n_kept)?;
                n_slots.checked_sub(n_kept)?
            }
            [_, others @ ..] if n_free > n_slots / FREE_SHARE => {
                let last = others.last().map_or(0, Vec::len);
                let n_whole = n_free.checked_sub(last)? / SEGMENT_SLOTS;
                last + n_whole.min(FREED_SEGMENTS_MAX - 1).min(others.len() - 1) * SEGMENT_SLOTS
            }
            _ => return None,
        };
        let slots = u32::try_from(n_slots - n_vacated).ok()?..u32::try_from(n_slots).ok()?;
        self.free.retain(|slot| *slot < slots.start);
        Some(slots)
    }

    /// Frees the memory of the slots from one on, which [`Slab::vacate`] returned as the first, and which are empty.
    pub(super) fn truncate(&mut self, first: u32, account: &mut SeriesAccount) {
        let first = first as usize;
        for segment in self.segments.drain(first.div_ceil(SEGMENT_SLOTS)..) {
            account.release(Self::n_bytes(segment.capacity()));
        }
        if let [only] = self.segments.as_mut_slice()
            && first < only.len()
        {
            let before = Self::n_bytes(only.capacity());
            only.truncate(first);
            only.shrink_to_fit();
            account.exchange(before, Self::n_bytes(only.capacity()));
        }
        let before = self.n_free_bytes();
        self.free.shrink_to(2 * self.free.len());
        account.exchange(before, self.n_free_bytes());
    }

    const fn n_free_bytes(&self) -> usize {
        heap_bytes(self.free.capacity() * size_of::<u32>())
    }

    fn place(&mut self, slot: u32) -> Option<&mut Option<T>> {
        let slot = slot as usize;
        self.segments.get_mut(slot / SEGMENT_SLOTS)?.get_mut(slot % SEGMENT_SLOTS)
    }

    const fn n_bytes(capacity: usize) -> usize {
        heap_bytes(capacity * size_of::<Option<T>>())
    }
}
