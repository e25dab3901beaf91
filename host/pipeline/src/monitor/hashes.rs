//! Hashes of the transactions of a window, so that a second transaction with the same hash is refused.
//!
//! INVARIANT: a hash is claimed before its transaction gets a number. The claim ends when the transaction is durable or
//! was not stored, and another transaction with this hash waits for that. Of several, exactly one is therefore stored.
//! Transactions that a ledger delivers are not refused. Their hashes are recorded when they are stored.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::SetOnce;
use tollgate_model::clock::Clock;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_store::{HashRecord, Store, StoreError};

use crate::monitor::{MonitorDeps, MonitorError};

/// How far a time of acceptance may be ahead and still count.
const AHEAD_MAX: TimeDelta = TimeDelta::minutes(5);
/// Transactions read at once at a start.
const BATCH: u32 = 4_096;

/// The first 16 bytes of the SHA-256 of a hash.
type HashDigest = [u8; 16];

/// The hashes of the transactions that were accepted within the window, and of those under way.
#[derive(Debug)]
pub struct KnownHashes {
    clock: Arc<dyn Clock>,
    window: TimeDelta,
    table: Mutex<HashTable>,
}

#[derive(Debug, Default)]
struct HashTable {
    known: HashMap<HashDigest, KnownHash>,
    /// Stored ones, the oldest first.
    ages: VecDeque<(DateTime<Utc>, HashDigest)>,
}

#[derive(Debug)]
enum KnownHash {
    /// A transaction with it is under way. The value is set at its end.
    Claimed(Arc<SetOnce<()>>),
    /// It is stored.
    Stored { id: Arc<str>, accepted: DateTime<Utc> },
}

/// The right to store a transaction with a hash. If dropped, another transaction may claim it.
#[derive(Debug)]
pub(super) struct HashClaim {
    hashes: Arc<KnownHashes>,
    digest: HashDigest,
    id: Arc<str>,
    accepted: DateTime<Utc>,
    /// Set at the end; `None` if it refuses no other transaction.
    ended: Option<Arc<SetOnce<()>>>,
}

impl KnownHashes {
    /// Creates an empty table of the hashes of this window.
    pub fn new(window: TimeDelta, clock: Arc<dyn Clock>) -> Self {
        Self { clock, window, table: Mutex::default() }
    }

    /// Adds the hashes of stored transactions. Of several with one hash, the last counts, as while they arrived.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn load(&self, store: &Store) -> Result<(), StoreError> {
        let (mut before, range) = (Sequence(u64::MAX), self.range());
        loop {
            let batch = store.hashes_before(before, BATCH).await?;
            let Some(last) = batch.last() else { return Ok(()) };
            before = last.sequence;
            if !self.add_stored(&batch, &range) {
                return Ok(());
            }
        }
    }

    /// Adds the hashes of stored transactions accepted in this range, the latest transaction first. Returns whether
    /// earlier transactions may be in the range: those accepted before the clock was set back come after it.
    fn add_stored(&self, batch: &[HashRecord], range: &Range<DateTime<Utc>>) -> bool {
        let mut has_earlier = false;
        let mut table = self.table.lock();
        for row in batch {
            let accepted = DateTime::from_timestamp_micros(row.accepted_micros).unwrap_or_default();
            has_earlier |= accepted >= range.start;
            if let Some(hash) = row.hash.as_ref().filter(|_| range.contains(&accepted)) {
                let (digest, id) = (digest(hash), row.transaction_id.as_str().into());
                table.known.entry(digest).or_insert(KnownHash::Stored { id, accepted });
                table.ages.push_front((accepted, digest));
            }
        }
        has_earlier
    }

    /// Returns the times of acceptance that count: those within the window, and not after a fall of the clock.
    fn range(&self) -> Range<DateTime<Utc>> {
        let now = self.clock.now();
        now - self.window..now + AHEAD_MAX
    }

    /// Claims a hash for a transaction, once no other one with it is under way.
    ///
    /// # Errors
    /// The id of a transaction with this hash that is stored.
    pub(super) async fn claim(self: &Arc<Self>, hash: &str, id: &Arc<str>) -> Result<HashClaim, Arc<str>> {
        let digest = digest(hash);
        loop {
            let other = match self.try_claim(digest)? {
                Ok(ended) => return Ok(self.claim_of(digest, id, Some(ended))),
                Err(other) => other,
            };
            other.wait().await;
        }
    }

    /// Returns a claim that refuses no other transaction, and only records the hash.
    fn recording(self: &Arc<Self>, hash: &str, id: &Arc<str>) -> HashClaim {
        self.claim_of(digest(hash), id, None)
    }

    fn claim_of(
        self: &Arc<Self>,
        digest: HashDigest,
        id: &Arc<str>,
        ended: Option<Arc<SetOnce<()>>>,
    ) -> HashClaim {
        let (hashes, id) = (Arc::clone(self), Arc::clone(id));
        HashClaim { hashes, digest, id, accepted: DateTime::default(), ended }
    }

    /// Claims a hash unless it is claimed; then returns the end of that claim.
    #[expect(clippy::type_complexity, reason = "what the caller has to tell apart")]
    fn try_claim(&self, digest: HashDigest) -> Result<Result<Arc<SetOnce<()>>, Arc<SetOnce<()>>>, Arc<str>> {
        let range = self.range();
        let mut table = self.table.lock();
        table.remove_range(&range);
        match table.known.entry(digest) {
            Entry::Occupied(known) => match known.get() {
                KnownHash::Claimed(ended) => return Ok(Err(Arc::clone(ended))),
                KnownHash::Stored { id, accepted } if range.contains(accepted) => return Err(Arc::clone(id)),
                KnownHash::Stored { .. } => {}
            },
            Entry::Vacant(_) => {}
        }
        let ended = Arc::default();
        table.known.insert(digest, KnownHash::Claimed(Arc::clone(&ended)));
        Ok(Ok(ended))
    }
}

impl HashTable {
    /// Removes what was accepted outside of these times.
    fn remove_range(&mut self, range: &Range<DateTime<Utc>>) {
        while let Some((_, digest)) = self.ages.pop_front_if(|(accepted, _)| !range.contains(accepted)) {
            let is_old = |known: &KnownHash| matches!(known, KnownHash::Stored { accepted, .. } if !range.contains(accepted));
            if self.known.get(&digest).is_some_and(is_old) {
                self.known.remove(&digest);
            }
        }
    }
}

impl HashClaim {
    /// Sets when the transaction was accepted.
    pub(super) const fn accepted_at(&mut self, accepted: DateTime<Utc>) {
        self.accepted = accepted;
    }

    /// Records that the transaction is stored.
    pub(super) fn keep(self) {
        let mut table = self.hashes.table.lock();
        table.ages.push_back((self.accepted, self.digest));
        let stored = KnownHash::Stored { id: Arc::clone(&self.id), accepted: self.accepted };
        table.known.insert(self.digest, stored);
    }
}

impl Drop for HashClaim {
    fn drop(&mut self) {
        let Some(ended) = &self.ended else { return };
        let mut table = self.hashes.table.lock();
        if let Entry::Occupied(known) = table.known.entry(self.digest)
            && matches!(known.get(), KnownHash::Claimed(_))
        {
            known.remove();
        }
        drop(table);
        ended.set(()).ok();
    }
}

/// Returns a claim on the hash of a transaction, if it has one that counts. What a ledger reports is not refused.
///
/// # Errors
/// [`MonitorError::DuplicateHash`].
pub(super) async fn claim(
    deps: &MonitorDeps,
    transaction: &Transaction,
    is_a_report: bool,
) -> Result<Option<HashClaim>, MonitorError> {
    let (Some(hashes), Some(hash)) = (&deps.hashes, &transaction.hash) else { return Ok(None) };
    match hashes.claim(hash, &transaction.transaction_id).await {
        Ok(claim) => Ok(Some(claim)),
        Err(_) if is_a_report => Ok(to_record(deps, transaction)),
        Err(first) => Err(MonitorError::DuplicateHash(first)),
    }
}

/// Returns a claim that only records the hash of a transaction that a ledger delivers, if it has one that counts.
pub(super) fn to_record(deps: &MonitorDeps, transaction: &Transaction) -> Option<HashClaim> {
    let (hashes, hash) = (deps.hashes.as_ref()?, transaction.hash.as_ref()?);
    Some(hashes.recording(hash, &transaction.transaction_id))
}

fn digest(hash: &str) -> HashDigest {
    let mut digest = HashDigest::default();
    digest.iter_mut().zip(Sha256::digest(hash)).for_each(|(own, byte)| *own = byte);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct ManualClock(Mutex<DateTime<Utc>>);

    impl Clock for ManualClock {
        fn now(&self) -> DateTime<Utc> {
            *self.0.lock()
        }
    }

    fn hashes() -> (Arc<KnownHashes>, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock(Mutex::new(DateTime::UNIX_EPOCH + TimeDelta::days(100))));
        let hashes = KnownHashes::new(TimeDelta::days(1), Arc::<ManualClock>::clone(&clock));
        (Arc::new(hashes), clock)
    }

    /// Stores a transaction with this id and the same hash as every other one. Returns the other's id if it is refused.
    async fn store(hashes: &Arc<KnownHashes>, id: &str) -> Result<(), Arc<str>> {
        let mut claim = hashes.claim("hash", &id.into()).await?;
        claim.accepted_at(hashes.clock.now());
        claim.keep();
        Ok(())
    }

    #[tokio::test]
    async fn a_hash_is_free_again_if_its_transaction_is_not_stored() {
        let (hashes, _) = hashes();
        let first = hashes.claim("hash", &"first".into()).await.unwrap();
        let own = Arc::clone(&hashes);
        let second = tokio::spawn(async move { store(&own, "second").await });
        assert!(hashes.claim("another", &"third".into()).await.is_ok());
        tokio::task::yield_now().await;
        assert!(!second.is_finished(), "it waits");
        drop(first);
        assert_eq!(second.await.unwrap(), Ok(()));
        assert_eq!(store(&hashes, "third").await, Err("second".into()));
    }

    #[tokio::test]
    async fn a_hash_is_free_after_its_window() {
        let (hashes, clock) = hashes();
        store(&hashes, "first").await.unwrap();
        *clock.0.lock() += TimeDelta::hours(23);
        assert_eq!(store(&hashes, "second").await, Err("first".into()));
        *clock.0.lock() += TimeDelta::hours(1);
        assert_eq!(store(&hashes, "second").await, Err("first".into()), "the window includes both ends");
        *clock.0.lock() += TimeDelta::microseconds(1);
        assert_eq!(store(&hashes, "second").await, Ok(()));
        assert_eq!(hashes.table.lock().ages.len(), 1, "the first is forgotten");
    }

    #[tokio::test]
    async fn a_clock_that_was_far_ahead_does_not_keep_a_hash() {
        let (hashes, clock) = hashes();
        *clock.0.lock() += TimeDelta::days(30);
        store(&hashes, "first").await.unwrap();
        *clock.0.lock() -= TimeDelta::days(30);
        assert_eq!(store(&hashes, "second").await, Ok(()));
        assert_eq!(store(&hashes, "third").await, Err("second".into()));
    }

    #[tokio::test]
    async fn rows_stamped_ahead_of_the_clock_do_not_hide_those_before_them() {
        let (hashes, clock) = hashes();
        let range = hashes.range();
        let now = *clock.0.lock();
        let row = |sequence: u64, age: TimeDelta| HashRecord {
            sequence: Sequence(sequence),
            transaction_id: format!("t{sequence}"),
            hash: Some("hash".to_owned()),
            accepted_micros: (now - age).timestamp_micros(),
        };
        assert!(hashes.add_stored(&[row(4, TimeDelta::days(-30))], &range));
        assert!(hashes.add_stored(&[row(3, TimeDelta::hours(2)), row(2, TimeDelta::hours(3))], &range));
        assert!(!hashes.add_stored(&[row(1, TimeDelta::days(2))], &range));
        assert_eq!(store(&hashes, "second").await, Err("t3".into()));
    }

    #[tokio::test]
    async fn a_ledger_delivery_takes_over_its_hash_and_is_not_refused() {
        let (hashes, _) = hashes();
        store(&hashes, "first").await.unwrap();
        let mut delivered = hashes.recording("hash", &"delivered".into());
        delivered.accepted_at(hashes.clock.now());
        delivered.keep();
        assert_eq!(store(&hashes, "second").await, Err("delivered".into()));
    }
}
