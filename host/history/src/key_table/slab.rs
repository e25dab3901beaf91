//! Values in numbered slots, which they keep until they are removed.

use crate::spill::{SeriesAccount, heap_bytes};

/// Slots per segment; a new segment moves no values.
const SEGMENT_SLOTS: usize = 512;

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
                let n_more =
                    if is_first { last.len().clamp(4, SEGMENT_SLOTS - last.len()) } else { SEGMENT_SLOTS };
                last.reserve_exact(n_more);
                account.exchange(Self::n_bytes(capacity), Self::n_bytes(last.capacity()));
            }
            last.push(Some(thing));
        }
        // The number of keys stays far below this: each takes more than a byte.
        u32::try_from(slot).unwrap_or(u32::MAX)
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<T> {
        let thing = self.place(slot)?.take()?;
        self.free.push(slot);
        Some(thing)
    }

    fn place(&mut self, slot: u32) -> Option<&mut Option<T>> {
        let slot = slot as usize;
        self.segments.get_mut(slot / SEGMENT_SLOTS)?.get_mut(slot % SEGMENT_SLOTS)
    }

    const fn n_bytes(capacity: usize) -> usize {
        heap_bytes(capacity * size_of::<Option<T>>())
    }
}
