//! A filter of the ids in the log. Most transactions are new, and the filter recognises them without a query.
//!
//! INVARIANT: an id is added before the commit that stores it begins, and every id of earlier runs is added before the
//! first negative answer. A negative answer is therefore certain; a positive one must be confirmed by the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ahash::RandomState;
use fastbloom::AtomicBloomFilter;
use parking_lot::RwLock;
use sqlx::SqlitePool;
use tokio::time::sleep;

use super::StoreError;

/// Capacity of the first filter; each further one has twice the capacity of the one before.
const IDS_MIN: usize = 1 << 20;
/// Bits per id: a full filter with the best number of hashes has 0.3 % false positives.
const BITS_PER_ID: usize = 12;
/// Maximum number of filters: 94.5 MiB together, for 66 million ids. Beyond that, every id is looked up in the
/// database.
const FILTERS_MAX: usize = 6;
const BATCH: usize = 10_000;
/// Pause when other readers keep the connections busy.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct KnownIds {
    filters: RwLock<Vec<IdFilter>>,
    /// Whether all ids of earlier runs have been added.
    is_complete: AtomicBool,
    /// Whether there are more ids than the filters can hold.
    is_given_up: AtomicBool,
    ids_min: usize,
}

/// A filter whose hash is keyed, so that callers cannot construct colliding ids.
#[derive(Debug)]
struct IdFilter {
    ids: AtomicBloomFilter<RandomState>,
    n_noted: AtomicUsize,
    n_max: usize,
}

/// The part of earlier runs that is still to be read.
#[derive(Debug)]
pub(super) struct UnreadIds {
    after: String,
}

impl KnownIds {
    pub(super) fn none() -> Self {
        Self::of_size(IDS_MIN)
    }

    fn of_size(ids_min: usize) -> Self {
        Self {
            filters: RwLock::new(vec![IdFilter::of(ids_min)]),
            is_complete: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
            ids_min,
        }
    }

    /// Returns whether the log may contain this id. `false` is certain.
    pub(super) fn may_hold(&self, id: &str) -> bool {
        if !self.is_complete.load(Ordering::Acquire) {
            return true;
        }
        let filters = self.filters.read();
        // Empty after the limit was exceeded.
        filters.is_empty() || filters.iter().any(|filter| filter.ids.contains(id))
    }

    /// Adds ids that may be in the log from now on.
    pub(super) fn note<'i>(&self, ids: impl Iterator<Item = &'i str>) {
        for id in ids {
            while !self.is_given_up.load(Ordering::Relaxed) && !self.has_noted(id) {
                self.grow();
            }
        }
    }

    /// Adds an id unless it is present. Returns `false` if the last filter is full.
    fn has_noted(&self, id: &str) -> bool {
        let filters = self.filters.read();
        // Repeated attempts with the same id use no more capacity.
        if filters.iter().any(|filter| filter.ids.contains(id)) {
            return true;
        }
        let Some(last) = filters.last() else { return false };
        let has_room = last.n_noted.fetch_add(1, Ordering::Relaxed) < last.n_max;
        if has_room {
            last.ids.insert(id);
        }
        has_room
    }

    /// Adds a filter when the last one is full, or gives up at the limit.
    fn grow(&self) {
        let mut filters = self.filters.write();
        let is_full = |last: &IdFilter| last.n_noted.load(Ordering::Relaxed) >= last.n_max;
        if !filters.last().is_none_or(is_full) {
            return;
        }
        if filters.len() < FILTERS_MAX {
            let filter = IdFilter::of(self.ids_min << filters.len());
            filters.push(filter);
        } else {
            self.is_given_up.store(true, Ordering::Relaxed);
            filters.clear();
        }
    }

    /// Adds the first ids of earlier runs, and returns the rest to be read.
    pub(super) async fn begin(&self, readers: &SqlitePool) -> Result<Option<UnreadIds>, StoreError> {
        self.read_on(readers, &UnreadIds { after: String::new() }).await
    }

    /// Adds the remaining ids of earlier runs, up to the limit.
    pub(super) async fn finish(&self, readers: &SqlitePool, unread: UnreadIds) -> Result<(), StoreError> {
        let mut unread = Some(unread);
        while let Some(rest) = unread.take_if(|_| !self.is_given_up.load(Ordering::Relaxed)) {
            unread = match self.read_on(readers, &rest).await {
                Err(StoreError::Busy { .. }) => {
                    sleep(AGAIN_AFTER).await;
                    Some(rest)
                }
                read => read?,
            };
        }
        Ok(())
    }

    async fn read_on(
        &self,
        readers: &SqlitePool,
        unread: &UnreadIds,
    ) -> Result<Option<UnreadIds>, StoreError> {
        // In index order; the index covers the query, so no row is read.
        let ids: Vec<String> = sqlx::query_scalar(
            "SELECT transaction_id FROM transactions WHERE transaction_id > ?1 ORDER BY transaction_id LIMIT ?2",
        )
        .bind(&unread.after)
        .bind(i64::try_from(BATCH).unwrap_or(i64::MAX))
        .fetch_all(readers)
        .await?;
        self.note(ids.iter().map(String::as_str));
        let is_last = ids.len() < BATCH;
        if is_last {
            self.is_complete.store(true, Ordering::Release);
        }
        Ok(ids.into_iter().next_back().filter(|_| !is_last).map(|after| UnreadIds { after }))
    }
}

impl IdFilter {
    fn of(n_max: usize) -> Self {
        let bits = AtomicBloomFilter::with_num_bits(n_max * BITS_PER_ID);
        let ids = bits.hasher(RandomState::new()).expected_items(n_max);
        Self { ids, n_noted: AtomicUsize::new(0), n_max }
    }
}

/// Reads the remaining ids. Until it succeeds, every id is looked up in the file.
pub(super) async fn read_ids(readers: SqlitePool, known_ids: Arc<KnownIds>, unread: UnreadIds) {
    match known_ids.finish(&readers, unread).await {
        Ok(()) | Err(StoreError::Closed) => {}
        Err(error) => tracing::warn!(%error, "the ids of earlier transactions cannot be read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|n| format!("t-{n}")).collect()
    }

    fn complete(ids_min: usize) -> KnownIds {
        let known = KnownIds::of_size(ids_min);
        known.is_complete.store(true, Ordering::Release);
        known
    }

    fn n_perhaps(known: &KnownIds, range: std::ops::Range<usize>) -> usize {
        ids(range).iter().filter(|id| known.may_hold(id)).count()
    }

    #[test]
    fn a_noted_id_is_never_denied_and_few_others_are_suspected() {
        let known = complete(1_000);
        known.note(ids(0..20_000).iter().map(String::as_str));
        assert_eq!(n_perhaps(&known, 0..20_000), 20_000);
        assert!(known.filters.read().len() > 3);
        let n_wrong = n_perhaps(&known, 100_000..200_000);
        assert!(n_wrong < 3_000, "{n_wrong} of 100,000");
    }

    #[test]
    fn nothing_is_denied_before_everything_was_read() {
        let known = KnownIds::of_size(1_000);
        assert!(known.may_hold("t-0"));
    }

    #[test]
    fn nothing_is_denied_when_there_are_too_many() {
        let known = complete(10);
        known.note(ids(0..1_000).iter().map(String::as_str));
        assert_eq!(n_perhaps(&known, 0..2_000), 2_000);
        assert!(known.filters.read().is_empty());
    }

    #[test]
    fn many_threads_note_and_ask() {
        let known = complete(100);
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let known = &known;
                scope.spawn(move || {
                    for id in ids(thread * 1_000..thread * 1_000 + 1_000) {
                        known.note(std::iter::once(id.as_str()));
                        assert!(known.may_hold(&id));
                    }
                });
            }
        });
        assert_eq!(n_perhaps(&known, 0..4_000), 4_000);
    }
}
