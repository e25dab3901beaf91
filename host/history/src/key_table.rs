//! What a series holds: its keys in slots, and to each its entries.
//!
//! ```text
//!  hash of a key ──index──▶ slot ──▶ Bucket: key, timeline
//!                                       └─ next ─▶ the next bucket of the same class with a text that is a number
//! ```
//!
//! A key keeps its slot as long as it has entries, so the table can be walked in steps. The keys of a class (a number and the texts that equal it) are linked.

mod active_queue;
mod entries;
mod index;
mod pending_spill;
mod slab;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::forgotten::{HistoryForgotten, day_of, last_micros_of};
use crate::key::{ExportKey, Key, KeyQuery, OnlyText, StoredKey, class_of, hash_of, kind_of};
use crate::layout::{Layout, PreparedRow};
use crate::lookup_error::LookupError;
use crate::spill::{SeriesAccount, Spill, SpillError, heap_bytes};
use crate::timeline::{
    DeferredBytes, Entry, EntryPosition, RestingRun, Rows, TimeRange, Timeline, TimelineVisitor,
};

pub(super) use entries::Entries;
pub(super) use pending_spill::pieces;

use active_queue::ActiveQueue;
use index::Index;
use slab::Slab;

/// No slot.
const NOWHERE: u32 = u32::MAX;

/// The keys of a series, with their entries. It is filled beside the series, and then takes the place of what was there.
#[derive(Debug)]
pub(super) struct KeyTable {
    layout: Arc<Layout>,
    account: SeriesAccount,
    buckets: Slab<Bucket>,
    keys: Index,
    /// Of the buckets with a number or a text that is one, the latest of each class.
    classes: Index,
    /// How many buckets have a value that is a number itself.
    n_with_numbers: usize,
    /// No entry has a higher number.
    sequence_max: Sequence,
    /// Where keys that nobody touched are looked for, when there is a limit.
    awake: ActiveQueue,
    /// What was let go, and up to where: compared with every question.
    forgotten: Option<HistoryForgotten>,
    forgotten_through: i64,
    /// It may hold what was taken back: nothing is told of it any more.
    is_unsure: Option<SpillError>,
}

/// The entries of one key. Whoever comes to it waits for one line of memory, not for two.
#[derive(Debug)]
#[repr(align(64))]
struct Bucket {
    key: StoredKey,
    timeline: Timeline,
    /// The next of its class.
    next: u32,
    /// One of [`in_use`].
    in_use: AtomicU8,
    has_number: bool,
    /// No entry is later than this day, in days since 1970 UTC.
    last_day: u16,
}

/// How a key whose latest entries are in memory has been used since it was last looked at for leaving. A transaction that
/// brings it back asks about it right away: that says nothing of whether another comes soon.
mod in_use {
    /// Not at all.
    pub(super) const NOT: u8 = 0;
    /// It came back, for one transaction.
    pub(super) const ONCE: u8 = 1;
    /// Again: it is spared.
    pub(super) const AGAIN: u8 = 2;
}

const _: () = assert!(size_of::<Option<Bucket>>() == 64, "a bucket is one line of memory");

impl KeyTable {
    pub(super) fn new(layout: Arc<Layout>, spill: &Arc<Spill>) -> Self {
        Self {
            layout,
            account: SeriesAccount::of(spill),
            buckets: Slab::default(),
            keys: Index::default(),
            classes: Index::default(),
            n_with_numbers: 0,
            sequence_max: Sequence::default(),
            awake: ActiveQueue::default(),
            forgotten: None,
            forgotten_through: i64::MIN,
            is_unsure: None,
        }
    }

    /// What of a transaction goes where.
    pub(super) const fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Puts a transaction at its place, and keeps the limit: for a shelf that is being filled.
    pub(super) fn insert(&mut self, sequence: Sequence, transaction: &Transaction) {
        if let Some(PreparedRow { key, entry }) = self.layout.prepare(sequence, transaction) {
            self.put(&key, &entry);
            self.make_room();
        }
    }

    /// Puts a transaction in place of what it was; nothing happens where it is so already.
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

    /// Puts an entry of a key at its place. Nothing happens when it is there already.
    pub(super) fn put(&mut self, key: &Key, entry: &Entry) {
        self.put_at(self.find(key), key, entry);
    }

    /// As [`KeyTable::put`], for a key that was found in this slot, or nowhere.
    #[inline]
    pub(super) fn put_at(&mut self, slot: Option<u32>, key: &Key, entry: &Entry) {
        let slot = slot.unwrap_or_else(|| self.add(StoredKey::of(key.bytes()), key.hash()));
        let Some(bucket) = self.buckets.get_mut(slot) else { return };
        bucket
            .in_use
            .store(if bucket.timeline.is_asleep() { in_use::ONCE } else { in_use::AGAIN }, Ordering::Relaxed);
        bucket.last_day = bucket.last_day.max(day_of(entry.micros));
        let is_new = self.sequence_max < entry.sequence;
        self.sequence_max = self.sequence_max.max(entry.sequence);
        if let Err(error) = bucket.timeline.insert(entry, is_new, slot, &mut self.account) {
            self.mark_in_doubt(error);
        }
        self.mark_active(slot);
    }

    /// The latest entries of this key are in memory now.
    #[inline]
    fn mark_active(&mut self, slot: u32) {
        if self.account.spill().is_bounded() {
            self.awake.add(slot, &mut self.account);
        }
    }

    /// Puts entries of a key there, which are in order: all at once when the key is new.
    pub(super) fn import(&mut self, key: &ExportKey, entries: &[Entry]) {
        let (slot, is_new) = self.slot_of(key);
        let Some(bucket) = self.buckets.get_mut(slot) else { return };
        bucket.last_day = bucket.last_day.max(entries.last().map_or(0, |entry| day_of(entry.micros)));
        let numbers = entries.iter().map(|entry| entry.sequence);
        self.sequence_max = numbers.fold(self.sequence_max, Sequence::max);
        if is_new {
            bucket.timeline.fill(entries, slot, &mut self.account);
        } else {
            let mut insert = |entry| bucket.timeline.insert(entry, false, slot, &mut self.account);
            if let Err(error) = entries.iter().try_for_each(|entry| insert(entry).map(drop)) {
                self.mark_in_doubt(error);
            }
        }
        self.mark_active(slot);
        self.make_room();
    }

    /// Puts chunks and a latest run of a key there, in the bytes another shelf had them in. Whether they were such bytes.
    pub(super) fn import_runs(&mut self, key: &ExportKey, chunks: &[&[u8]], latest: Option<&[u8]>) -> bool {
        let (slot, is_new) = self.slot_of(key);
        let Some(bucket) = self.buckets.get_mut(slot) else { return false };
        let ends = |bytes: &[u8]| Rows::of(bytes).ends();
        let first = chunks.first().copied().or(latest).and_then(ends);
        let last = chunks.iter().copied().chain(latest).filter_map(ends).map(|(_, last)| last.0).max();
        bucket.last_day = bucket.last_day.max(last.map_or(0, day_of));
        let numbers = chunks.iter().copied().chain(latest).map(|bytes| Rows::of(bytes).sequence_max());
        self.sequence_max = numbers.fold(self.sequence_max, Sequence::max);
        if is_new || first.is_some_and(|(first, _)| bucket.timeline.can_go_on(first)) {
            let is_sound = bucket.timeline.take_over(chunks, latest, slot, &mut self.account);
            self.mark_active(slot);
            self.make_room();
            return is_sound;
        }
        // Its slot changed while it was shown, so it was shown twice.
        chunks.iter().copied().chain(latest).all(|bytes| match RestingRun::of(bytes.into()) {
            Ok(run) => {
                self.import(key, &run.open().to_entries());
                true
            }
            Err(_) => false,
        })
    }

    /// The slot of a key, and whether it is new.
    fn slot_of(&mut self, key: &ExportKey) -> (u32, bool) {
        let hash = hash_of(key.to_bytes());
        match self.find_bytes(key.to_bytes(), hash) {
            Some(slot) => (slot, false),
            None => (self.add(key.kept().clone(), hash), true),
        }
    }

    /// Takes an entry away; nothing happens when it is not there.
    pub(super) fn take_away(&mut self, key: &Key, place: EntryPosition) {
        let Some(slot) = self.find(key) else { return };
        let Some(bucket) = self.buckets.get_mut(slot) else { return };
        match bucket.timeline.remove(place, slot, &mut self.account) {
            Ok(_) if bucket.timeline.is_empty() => self.drop_bucket(slot, key.hash()),
            Ok(_) => self.mark_active(slot),
            Err(error) => {
                self.mark_active(slot);
                self.mark_in_doubt(error);
            }
        }
    }

    /// Shows the entries that equal the key and that the stretch shows.
    ///
    /// # Errors
    /// When it is not sure what it holds, or has let go of some of it.
    #[inline]
    pub(super) fn visit(
        &self,
        key: &KeyQuery<'_>,
        stretch: &TimeRange,
        look: &mut impl TimelineVisitor,
    ) -> Result<(), LookupError> {
        if let Some(error) = &self.is_unsure {
            return Err(error.clone().into());
        }
        if stretch.from <= self.forgotten_through {
            return Err(LookupError::Forgotten);
        }
        match key {
            // Where no value is a number itself, texts equal texts to the letter.
            KeyQuery::Text(text) if !text.is_spelled() || self.n_with_numbers == 0 => {
                self.visit_slot(self.find_text(text), stretch, look);
            }
            KeyQuery::Text(text) => self.visit_class(&text.to_key(), stretch, look),
            KeyQuery::Written(key)
                if !key.has_related_classes() || (self.n_with_numbers == 0 && !key.has_number()) =>
            {
                self.visit_slot(self.find(key), stretch, look);
            }
            KeyQuery::Written(key) => self.visit_class(key, stretch, look),
        }
        Ok(())
    }

    /// What a text alone has; `None` when other keys may equal it, or nobody is sure.
    #[inline]
    pub(super) fn entries_of(&self, text: &OnlyText<'_>) -> Option<Entries<'_>> {
        if self.is_unsure.is_some() || (text.is_spelled() && self.n_with_numbers > 0) {
            return None;
        }
        let bucket = self.find_text(text).and_then(|slot| self.buckets.get(slot));
        bucket.inspect(|bucket| self.mark_in_use(bucket));
        Some(Entries::new(bucket.map(|bucket| bucket.timeline.open()), self.forgotten_through))
    }

    /// Shows the entries of all keys that equal this one.
    fn visit_class(&self, key: &Key, stretch: &TimeRange, look: &mut impl TimelineVisitor) {
        let class = key.class(self.layout.semantics());
        if key.is_one_spelled() {
            self.visit_slot(self.find(key), stretch, look);
            return self.visit_slot(self.find_bytes(&class, hash_of(&class)), stretch, look);
        }
        let mut slot = self.head_of(&class).unwrap_or(NOWHERE);
        while let Some(bucket) = self.buckets.get(slot) {
            if key.agrees_with(bucket.key.bytes()) {
                self.visit_slot(Some(slot), stretch, look);
            }
            slot = bucket.next;
        }
    }

    #[inline]
    fn visit_slot(&self, slot: Option<u32>, stretch: &TimeRange, look: &mut impl TimelineVisitor) {
        if let Some(bucket) = slot.and_then(|slot| self.buckets.get(slot)) {
            self.mark_in_use(bucket);
            bucket.timeline.open().visit(stretch, look);
        }
    }

    /// Notes that somebody asks about a key.
    #[inline]
    fn mark_in_use(&self, bucket: &Bucket) {
        if self.account.spill().is_bounded() && bucket.in_use.load(Ordering::Relaxed) == in_use::NOT {
            bucket.in_use.store(in_use::AGAIN, Ordering::Relaxed);
        }
    }

    /// What up to `n_keys` keys from a slot on are in, and the slot to go on from.
    pub(super) fn stay(
        &self,
        from: usize,
        n_keys: usize,
    ) -> (Vec<(ExportKey, DeferredBytes)>, Option<usize>) {
        let mut stays = Vec::new();
        let mut slot = from;
        while stays.len() < n_keys && slot < self.buckets.n_slots() {
            if let Some(bucket) = u32::try_from(slot).ok().and_then(|slot| self.buckets.get(slot)) {
                stays.push((ExportKey::of(bucket.key.clone()), bucket.timeline.stay()));
            }
            slot += 1;
        }
        (stays, (slot < self.buckets.n_slots()).then_some(slot))
    }

    /// Lets go of what is meant, of up to `n_slots` slots from one on: of whole chunks and whole keys, so that some is
    /// spared. Answers the slot to go on from.
    pub(super) fn forget(&mut self, what: HistoryForgotten, from: usize, n_slots: usize) -> Option<usize> {
        let through = what.through;
        let end = from.saturating_add(n_slots).min(self.buckets.n_slots());
        for slot in (from..end).filter_map(|slot| u32::try_from(slot).ok()) {
            let Some(bucket) = self.buckets.get_mut(slot) else { continue };
            let mut has_forgotten = bucket.timeline.forget(through, &mut self.account);
            if last_micros_of(bucket.last_day) <= through && bucket.timeline.forget_latest(&mut self.account)
            {
                has_forgotten = true;
                let hash = hash_of(bucket.key.bytes());
                self.drop_bucket(slot, hash);
            }
            if has_forgotten {
                self.lacks(what);
            }
        }
        (end < self.buckets.n_slots()).then_some(end)
    }

    /// What was let go.
    pub(super) const fn forgotten(&self) -> Option<HistoryForgotten> {
        self.forgotten
    }

    /// From now on this is gone, too.
    pub(super) fn lacks(&mut self, what: HistoryForgotten) {
        let forgotten = what.and(self.forgotten);
        self.forgotten_through = forgotten.through;
        self.forgotten = Some(forgotten);
    }

    /// Why nothing is told of it.
    pub(super) const fn doubt(&self) -> Option<&SpillError> {
        self.is_unsure.as_ref()
    }

    /// Has the latest entries of a slot at hand.
    #[inline]
    pub(super) fn touch(&self, slot: Option<u32>) -> usize {
        slot.and_then(|slot| self.buckets.get(slot)).map_or(0, |bucket| bucket.timeline.n_latest())
    }

    /// Has the last of them at hand.
    #[inline]
    pub(super) fn touch_end(&self, slot: Option<u32>) -> i64 {
        slot.and_then(|slot| self.buckets.get(slot)).map_or(0, |bucket| bucket.timeline.end_of_latest())
    }

    /// The slot of a key, or of another with its hash.
    #[inline]
    pub(super) fn guess(&self, key: &Key) -> Option<u32> {
        self.keys.find(key.hash(), |_| true)
    }

    /// The slot of a key, after a guess.
    #[inline]
    pub(super) fn find_guessed(&self, guessed: Option<u32>, key: &Key) -> Option<u32> {
        let bucket = self.buckets.get(guessed?)?;
        if key.is(&bucket.key) { guessed } else { self.find(key) }
    }

    /// The slot of a key.
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
        let kind = kind_of(key.bytes());
        let mut next = NOWHERE;
        let heap = heap_bytes(key.n_heap_bytes());
        let head = kind.has_related_classes.then(|| class_of(key.bytes(), self.layout.semantics()));
        if let Some(class) = &head {
            next = self.head_of(class).unwrap_or(NOWHERE);
        }
        let has_number = kind.has_number;
        self.n_with_numbers += usize::from(has_number);
        let bucket = Bucket {
            key,
            timeline: Timeline::default(),
            next,
            in_use: AtomicU8::new(in_use::AGAIN),
            has_number,
            last_day: 0,
        };
        let slot = self.buckets.add(bucket, &mut self.account);
        self.account.take(heap);
        self.keys.add(hash, slot, &mut self.account);
        if let Some(class) = head {
            let hash = hash_of(&class);
            self.classes.remove(hash, next);
            self.classes.add(hash, slot, &mut self.account);
        }
        slot
    }

    fn drop_bucket(&mut self, slot: u32, hash: u32) {
        self.keys.remove(hash, slot);
        let Some(bucket) = self.buckets.remove(slot) else { return };
        self.n_with_numbers -= usize::from(bucket.has_number);
        if kind_of(bucket.key.bytes()).has_related_classes {
            self.unlink(&bucket, slot);
        }
        self.account.release(heap_bytes(bucket.key.n_heap_bytes()));
        bucket.timeline.release(&mut self.account);
    }

    /// Takes a bucket that is gone out of the list of its class.
    fn unlink(&mut self, gone: &Bucket, slot: u32) {
        let class = class_of(gone.key.bytes(), self.layout.semantics());
        let hash = hash_of(&class);
        if self.classes.remove(hash, slot) {
            if gone.next != NOWHERE {
                self.classes.add(hash, gone.next, &mut self.account);
            }
            return;
        }
        let mut before = self.head_of(&class).unwrap_or(NOWHERE);
        while let Some(bucket) = self.buckets.get_mut(before) {
            if bucket.next == slot {
                bucket.next = gone.next;
                return;
            }
            before = bucket.next;
        }
    }

    fn mark_in_doubt(&mut self, error: SpillError) {
        tracing::error!(error = %error, "the history is not sure any more what a series holds");
        self.is_unsure = Some(error);
    }
}

impl Drop for KeyTable {
    fn drop(&mut self) {
        if self.account.spill().is_bounded() {
            self.buckets.iter().for_each(|bucket| bucket.timeline.free_extents(&self.account));
        }
    }
}
