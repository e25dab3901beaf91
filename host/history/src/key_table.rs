//! The contents of a series: its keys in slots, each with its entries.
//!
//! ```text
//!  hash of a key ──index──▶ slot ──▶ Bucket: key, timeline
//!                                       └─ next ─▶ the next bucket of the same class with a text that is a number
//! ```
//!
//! A key keeps its slot as long as it has entries, unless it moves to a lower one, so the table can be walked in steps from
//! its end. The keys of a class (a number and the texts that equal it) are linked.

mod active_queue;
mod anchored;
mod class_links;
mod entries;
mod equal_keys;
mod imported;
mod in_use;
mod index;
mod pending_spill;
mod shrinking;
mod slab;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::forgotten::{HistoryForgotten, day_of};
use crate::key::{Key, KeyQuery, OnlyText, StoredKey, class_of, hash_of, kind_of};
use crate::layout::Layout;
use crate::lookup_budget::LookupBudget;
use crate::lookup_error::LookupError;
use crate::spill::{SeriesAccount, Spill, SpillError, heap_bytes};
use crate::timeline::{Entry, EntryPosition, TimeRange, Timeline, TimelineVisitor};

pub(super) use anchored::{AnchorPart, TableState};
pub(super) use entries::Entries;
pub(super) use index::{has_much_room, shrink};
pub(super) use pending_spill::PartialDeparture;

use active_queue::ActiveQueue;
use anchored::AnchorIndex;
use class_links::ClassLinks;
use index::Index;
use slab::Slab;

/// Searches for entries to discard while time advances by the longest window.
const SEARCHES_IN_WINDOW: i64 = 1_024;

/// Marks the absence of a slot.
const NOWHERE: u32 = u32::MAX;

/// The keys of a series, with their entries. A new table is filled outside the series and then replaces the old one.
#[derive(Debug)]
pub(super) struct KeyTable {
    id: u64,
    /// Whether keys may leave memory.
    lets_keys_leave: bool,
    /// Whether `anchors` is kept: from when the first key of any series leaves.
    has_anchors: bool,
    layout: Arc<Layout>,
    account: SeriesAccount,
    buckets: Slab<Bucket>,
    keys: Index,
    /// Latest bucket of each class that contains a number or a text that is one.
    classes: Index,
    class_links: ClassLinks,
    /// Empty for a series without an anchor field.
    anchors: AnchorIndex,
    /// Number of keys with a value that is itself a number, in memory or not; an upper bound if keys may leave memory.
    n_with_numbers: usize,
    /// Upper bound of the sequence numbers of all entries.
    sequence_max: Sequence,
    /// Slots considered for spilling when there is a memory limit.
    awake: ActiveQueue,
    /// Number of slots that were considered since memory was last freed.
    n_considered: usize,
    /// Discarded range and its end, which is compared with every query.
    forgotten: Option<HistoryForgotten>,
    forgotten_through: i64,
    /// End of the range for which all keys were last searched, in microseconds since 1970 UTC.
    searched_through: i64,
    /// Whether an entry in that range was inserted since.
    has_late_entries: bool,
    /// Set when the contents are uncertain after a failed change; queries then fail with this error.
    is_unsure: Option<SpillError>,
}

/// The entries of one key, aligned so that an access waits for a single cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Bucket {
    key: StoredKey,
    timeline: Timeline,
    /// Next bucket of the same class.
    next: u32,
    /// Its [use](in_use).
    in_use: AtomicU8,
    /// Whether it was added to the queue of the keys considered for spilling. A key that takes the slot of a removed one begins
    /// with `false`, although the queue may still have the slot.
    is_queued: bool,
    /// Upper bound of the day of all entries, in days since 1970 UTC.
    last_day: u16,
}

const _: () = assert!(size_of::<Option<Bucket>>() == 64, "a bucket must fill one cache line");

impl KeyTable {
    pub(super) fn new(layout: Arc<Layout>, spill: &Arc<Spill>) -> Self {
        Self {
            id: spill.next_table(),
            lets_keys_leave: layout.anchor().is_some() && spill.residency().is_some(),
            has_anchors: layout.anchor().is_some() && spill.has_records(),
            layout,
            account: SeriesAccount::of(spill),
            buckets: Slab::default(),
            keys: Index::default(),
            classes: Index::default(),
            class_links: ClassLinks::default(),
            anchors: AnchorIndex::default(),
            n_with_numbers: 0,
            sequence_max: Sequence::default(),
            awake: ActiveQueue::default(),
            n_considered: 0,
            forgotten: None,
            forgotten_through: i64::MIN,
            searched_through: i64::MIN,
            has_late_entries: false,
            is_unsure: None,
        }
    }

    /// Returns the memory that is accounted to it, in bytes, without what the allocator leaves unused.
    pub(super) const fn n_bytes(&self) -> usize {
        self.account.n_bytes()
    }

    pub(super) const fn n_kept_bytes(&self) -> usize {
        self.account.n_kept_bytes()
    }

    pub(super) const fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    /// Replaces a transaction; does nothing when no entry changes.
    pub(super) fn replace_transaction(
        &mut self,
        sequence: Sequence,
        before: &Transaction,
        after: &Transaction,
    ) {
        let (before, after) = (self.layout.prepare(sequence, before), self.layout.prepare(sequence, after));
        if let (Some(before), Some(after)) = (&before, &after)
            && before.is_same_as(after)
        {
            return;
        }
        if let Some(before) = before {
            self.take_away(&before.key, before.entry.place());
        }
        if let Some(after) = after {
            self.put(&after.key, &after.entry);
        }
    }

    /// Inserts an entry of a key; does nothing when it exists.
    pub(super) fn put(&mut self, key: &Key, entry: &Entry) {
        self.put_at(self.find(key), key, entry);
    }

    /// Same as [`KeyTable::put`], for a key found in this slot, or not found.
    #[inline]
    pub(super) fn put_at(&mut self, slot: Option<u32>, key: &Key, entry: &Entry) {
        let slot = slot.unwrap_or_else(|| self.add(StoredKey::of(key.bytes()), key.hash()));
        let Some(bucket) = self.buckets.get_mut(slot) else { return };
        let in_use = bucket.in_use.get_mut();
        *in_use = in_use::after_entry(*in_use, bucket.timeline.is_asleep());
        bucket.last_day = bucket.last_day.max(day_of(entry.micros));
        self.has_late_entries |= entry.micros <= self.searched_through;
        let is_new = self.sequence_max < entry.sequence;
        self.sequence_max = self.sequence_max.max(entry.sequence);
        if let Err(error) = bucket.timeline.insert(entry, is_new, slot, &mut self.account) {
            self.mark_in_doubt(error);
        }
        self.mark_active(slot);
    }

    /// Records that the latest entries of this slot are in memory.
    #[inline]
    fn mark_active(&mut self, slot: u32) {
        if self.account.spill().is_bounded()
            && let Some(bucket) = self.buckets.get_mut(slot)
            && !bucket.is_queued
        {
            bucket.is_queued = true;
            self.awake.add(slot, &mut self.account);
        }
    }

    /// Removes an entry; does nothing when it does not exist.
    pub(super) fn take_away(&mut self, key: &Key, place: EntryPosition) {
        if let Some(slot) = self.find(key) {
            self.remove_at(slot, key.hash(), place);
        }
    }

    /// Removes an entry of the key in a slot; does nothing when it does not exist.
    fn remove_at(&mut self, slot: u32, hash: u32, place: EntryPosition) {
        let Some(bucket) = self.buckets.get_mut(slot) else { return };
        match bucket.timeline.remove(place, slot, &mut self.account) {
            Ok(_) if bucket.timeline.is_empty() => self.drop_bucket(slot, hash),
            Ok(_) => self.mark_active(slot),
            Err(error) => {
                self.mark_active(slot);
                self.mark_in_doubt(error);
            }
        }
    }

    /// Visits the entries that equal the key and lie in the time range. The budget pays for further keys; when it is
    /// exceeded, some were not visited. Returns whether there is such a key.
    ///
    /// # Errors
    /// When the contents are uncertain, or part of the range was discarded.
    #[inline]
    pub(super) fn visit(
        &self,
        key: &KeyQuery<'_>,
        stretch: &TimeRange,
        budget: &LookupBudget<'_>,
        look: &mut impl TimelineVisitor,
    ) -> Result<bool, LookupError> {
        if let Some(error) = &self.is_unsure {
            return Err(error.clone().into());
        }
        if stretch.from <= self.forgotten_through {
            return Err(LookupError::Forgotten);
        }
        Ok(match key {
            // While no value is itself a number, texts equal only identical texts.
            KeyQuery::Text(text) if !text.is_spelled() || self.n_with_numbers == 0 => {
                self.visit_slot(self.find_text(text), stretch, look)
            }
            KeyQuery::Text(text) => self.visit_class(&text.to_key(), stretch, budget, look),
            KeyQuery::Written(key)
                if !key.has_related_classes() || (self.n_with_numbers == 0 && !key.has_number()) =>
            {
                self.visit_slot(self.find(key), stretch, look)
            }
            KeyQuery::Written(key) => self.visit_class(key, stretch, budget, look),
        })
    }

    /// Returns the entries of a single text; `None` when other keys may equal it, it may be on the disk, or the contents
    /// are uncertain.
    #[inline]
    pub(super) fn entries_of(&self, text: &OnlyText<'_>) -> Option<Entries<'_>> {
        if self.is_unsure.is_some() || (text.is_spelled() && self.n_with_numbers > 0) {
            return None;
        }
        let bucket = self.find_text(text).and_then(|slot| self.buckets.get(slot));
        if self.may_be_elsewhere() && (bucket.is_none() || self.account.spill().has_partial_keys()) {
            return None;
        }
        bucket.inspect(|bucket| self.mark_in_use(bucket));
        Some(Entries::new(bucket.map(|bucket| bucket.timeline.open()), self.forgotten_through))
    }

    #[inline]
    fn visit_slot(&self, slot: Option<u32>, stretch: &TimeRange, look: &mut impl TimelineVisitor) -> bool {
        let Some(bucket) = slot.and_then(|slot| self.buckets.get(slot)) else { return false };
        self.mark_in_use(bucket);
        bucket.timeline.open().visit(stretch, look);
        true
    }

    #[inline]
    fn mark_in_use(&self, bucket: &Bucket) {
        if self.account.spill().is_bounded() && bucket.in_use.load(Ordering::Relaxed) == in_use::NOT {
            bucket.in_use.store(in_use::AGAIN, Ordering::Relaxed);
        }
    }

    /// Returns whether entries of this range should be searched now, and notes that they are. A search reads every key, so it is
    /// due only when the range has grown by a small part of the longest window, or has entries that came late.
    pub(super) fn begin_search(&mut self, what: HistoryForgotten) -> bool {
        let next = self.searched_through.saturating_add(what.longest_window / SEARCHES_IN_WINDOW);
        if !self.has_late_entries && (self.searched_through..next).contains(&what.through) {
            return false;
        }
        (self.searched_through, self.has_late_entries) = (what.through, false);
        true
    }

    pub(super) const fn forgotten(&self) -> Option<HistoryForgotten> {
        self.forgotten
    }

    /// Records a further discarded range.
    pub(super) fn lacks(&mut self, what: HistoryForgotten) {
        let forgotten = what.and(self.forgotten);
        self.forgotten_through = forgotten.through;
        self.forgotten = Some(forgotten);
    }

    pub(super) const fn doubt(&self) -> Option<&SpillError> {
        self.is_unsure.as_ref()
    }

    /// Fetches the latest entries of a slot into the cache.
    #[inline]
    pub(super) fn touch(&self, slot: Option<u32>) -> usize {
        slot.and_then(|slot| self.buckets.get(slot)).map_or(0, |bucket| bucket.timeline.n_latest())
    }

    /// Fetches the last of these entries into the cache.
    #[inline]
    pub(super) fn touch_end(&self, slot: Option<u32>) -> i64 {
        slot.and_then(|slot| self.buckets.get(slot)).map_or(0, |bucket| bucket.timeline.end_of_latest())
    }

    /// Returns the slot of a key, or of another key with its hash.
    #[inline]
    pub(super) fn guess(&self, key: &Key) -> Option<u32> {
        self.keys.find(key.hash(), |_| true)
    }

    #[inline]
    pub(super) fn find_guessed(&self, guessed: Option<u32>, key: &Key) -> Option<u32> {
        let bucket = self.buckets.get(guessed?)?;
        if key.is(&bucket.key) { guessed } else { self.find(key) }
    }

    #[inline]
    pub(super) fn find(&self, key: &Key) -> Option<u32> {
        self.keys.find(key.hash(), |slot| self.buckets.get(slot).is_some_and(|bucket| key.is(&bucket.key)))
    }

    #[inline]
    fn find_text(&self, text: &OnlyText<'_>) -> Option<u32> {
        self.keys.find(text.hash(), |slot| self.buckets.get(slot).is_some_and(|bucket| text.is(&bucket.key)))
    }

    #[inline]
    fn find_bytes(&self, bytes: &[u8], hash: u32) -> Option<u32> {
        self.keys.find(hash, |slot| self.buckets.get(slot).is_some_and(|bucket| bucket.key.bytes() == bytes))
    }

    fn head_of(&self, class: &[u8]) -> Option<u32> {
        self.classes.find(hash_of(class), |slot| {
            self.buckets
                .get(slot)
                .is_some_and(|bucket| *class_of(bucket.key.bytes(), self.layout.semantics()) == *class)
        })
    }

    fn add(&mut self, key: StoredKey, hash: u32) -> u32 {
        self.n_with_numbers += usize::from(kind_of(key.bytes()).has_number);
        let bucket = Bucket {
            key,
            timeline: Timeline::default(),
            next: NOWHERE,
            in_use: AtomicU8::new(in_use::NOT),
            is_queued: false,
            last_day: 0,
        };
        self.add_bucket(bucket, hash)
    }

    /// Puts a bucket into a slot, and into all indexes.
    fn add_bucket(&mut self, mut bucket: Bucket, hash: u32) -> u32 {
        let mut next = NOWHERE;
        let heap = heap_bytes(bucket.key.n_heap_bytes());
        let has_related_classes = kind_of(bucket.key.bytes()).has_related_classes;
        let head = has_related_classes.then(|| class_of(bucket.key.bytes(), self.layout.semantics()));
        if let Some(class) = &head {
            next = self.head_of(class).unwrap_or(NOWHERE);
        }
        bucket.next = next;
        let slot = self.buckets.add(bucket, &mut self.account);
        self.account.take(heap);
        if self.has_anchors {
            self.add_anchor(slot);
        }
        self.keys.add(hash, slot, &mut self.account);
        if let Some(class) = head {
            let hash = hash_of(&class);
            self.classes.remove(hash, next);
            self.classes.add(hash, slot, &mut self.account);
            self.class_links.put_first(slot, next, &mut self.account);
        }
        slot
    }

    /// Drops a key without entries.
    fn drop_bucket(&mut self, slot: u32, hash: u32) {
        if let Some(bucket) = self.remove_bucket(slot, hash) {
            // A key may come back that was dropped from memory alone.
            if !self.lets_keys_leave {
                self.n_with_numbers -= usize::from(kind_of(bucket.key.bytes()).has_number);
            }
            bucket.timeline.release(&mut self.account);
        }
    }

    fn remove_bucket(&mut self, slot: u32, hash: u32) -> Option<Bucket> {
        let bucket = self.buckets.remove(slot, &mut self.account)?;
        self.remove_from_indexes(&bucket, slot, hash);
        Some(bucket)
    }

    fn remove_from_indexes(&mut self, bucket: &Bucket, slot: u32, hash: u32) {
        self.keys.remove(hash, slot);
        if kind_of(bucket.key.bytes()).has_related_classes {
            self.unlink(bucket, slot);
        }
        if self.has_anchors {
            self.anchors.remove(slot);
        }
        self.account.release(heap_bytes(bucket.key.n_heap_bytes()));
    }

    fn unlink(&mut self, gone: &Bucket, slot: u32) {
        let class = class_of(gone.key.bytes(), self.layout.semantics());
        let hash = hash_of(&class);
        match self.class_links.remove(slot, gone.next, &mut self.account) {
            Some(before) => {
                if let Some(bucket) = self.buckets.get_mut(before) {
                    bucket.next = gone.next;
                }
            }
            None if self.classes.remove(hash, slot) && gone.next != NOWHERE => {
                self.classes.add(hash, gone.next, &mut self.account);
            }
            None => {}
        }
    }

    /// Lets all queries fail from now on.
    pub(super) fn mark_in_doubt(&mut self, error: SpillError) {
        tracing::error!(error = %error, "a series of the history may be incomplete");
        self.is_unsure = Some(error);
    }
}

impl Drop for KeyTable {
    fn drop(&mut self) {
        // First: freeing extents takes long, and nothing should take this memory for missing meanwhile.
        self.account.release_all();
        if self.account.spill().is_bounded() {
            self.buckets.iter().for_each(|bucket| bucket.timeline.free_extents(&self.account));
        }
    }
}
