//! Hashes of the transactions of a window, so that a second transaction with the same hash is refused.
//!
//! INVARIANT: a hash is claimed before its transaction gets a number. The claim ends when the transaction is durable or
//! was not stored, and another transaction with this hash waits for that. Of several, exactly one is therefore stored.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::SetOnce;
use tollgate_model::clock::Clock;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_store::{Store, StoreError};

use crate::monitor::group::CommitWaiter;
use crate::monitor::{MonitorDeps, MonitorError};

/// Transactions read at once at a start.
const BATCH: u32 = 4_096;

/// The first 16 bytes of the SHA-256 of a hash.
type HashDigest = [u8; 16];

/// The hashes of the transactions that were accepted within the window, and of those under way.
#[derive(Debug)]
pub(crate) struct KnownHashes {
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
    ended: Arc<SetOnce<()>>,
}

impl KnownHashes {
    /// Creates an empty table of the hashes of this window.
    pub(crate) fn new(window: TimeDelta, clock: Arc<dyn Clock>) -> Self {
        Self { clock, window, table: Mutex::default() }
    }

    /// Adds the hashes of stored transactions that were judged when they arrived.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn load(&self, store: &Store) -> Result<(), StoreError> {
        let mut before = Sequence(u64::MAX);
        let since = self.clock.now() - self.window;
        loop {
            let batch = store.hashes_before(before, BATCH).await?;
            let mut table = self.table.lock();
            for row in &batch {
                let accepted = DateTime::from_timestamp_micros(row.accepted_micros).unwrap_or_default();
                if accepted <= since {
                    return Ok(());
                }
                if let Some(hash) = &row.hash {
                    // Of several, the first counts.
                    let (digest, id) = (digest(hash), row.transaction_id.as_str().into());
                    table.known.insert(digest, KnownHash::Stored { id, accepted });
                    table.ages.push_front((accepted, digest));
                }
            }
            match batch.last() {
                Some(last) => before = last.sequence,
                None => return Ok(()),
            }
        }
    }

    /// Claims a hash for a transaction, once no other one with it is under way.
    ///
    /// # Errors
    /// The id of a transaction with this hash that is stored.
    pub(super) async fn claim(self: &Arc<Self>, hash: &str, id: &Arc<str>) -> Result<HashClaim, Arc<str>> {
        let digest = digest(hash);
        loop {
            let other = match self.try_claim(digest)? {
                Ok(ended) => {
                    let (hashes, id) = (Arc::clone(self), Arc::clone(id));
                    return Ok(HashClaim { hashes, digest, id, accepted: DateTime::default(), ended });
                }
                Err(other) => other,
            };
            other.wait().await;
        }
    }

    /// Claims a hash unless it is claimed; then returns the end of that claim.
    #[expect(clippy::type_complexity, reason = "what the caller has to tell apart")]
    fn try_claim(&self, digest: HashDigest) -> Result<Result<Arc<SetOnce<()>>, Arc<SetOnce<()>>>, Arc<str>> {
        let since = self.clock.now() - self.window;
        let mut table = self.table.lock();
        table.forget(since);
        match table.known.entry(digest) {
            Entry::Occupied(known) => match known.get() {
                KnownHash::Claimed(ended) => Ok(Err(Arc::clone(ended))),
                KnownHash::Stored { id, .. } => Err(Arc::clone(id)),
            },
            Entry::Vacant(place) => {
                let ended = Arc::default();
                place.insert(KnownHash::Claimed(Arc::clone(&ended)));
                Ok(Ok(ended))
            }
        }
    }
}

impl HashTable {
    /// Removes what was accepted at this time or earlier.
    fn forget(&mut self, since: DateTime<Utc>) {
        while let Some((_, digest)) = self.ages.pop_front_if(|(accepted, _)| *accepted <= since) {
            let is_old =
                |known: &KnownHash| matches!(known, KnownHash::Stored { accepted, .. } if *accepted <= since);
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
        let mut table = self.hashes.table.lock();
        if let Entry::Occupied(known) = table.known.entry(self.digest)
            && matches!(known.get(), KnownHash::Claimed(_))
        {
            known.remove();
        }
        drop(table);
        self.ended.set(()).ok();
    }
}

/// Claims the hash of a transaction, if it has one that counts. What a ledger reports is not refused.
///
/// # Errors
/// [`MonitorError::DuplicateHash`].
pub(super) async fn claim(
    deps: &MonitorDeps,
    transaction: &Transaction,
    waiting: &mut CommitWaiter,
) -> Result<(), MonitorError> {
    let (Some(hashes), Some(hash)) = (&deps.hashes, &transaction.hash) else { return Ok(()) };
    match hashes.claim(hash, &transaction.transaction_id).await {
        Ok(claim) => waiting.hash = Some(claim),
        Err(_) if waiting.pending_entry.is_a_report() => {}
        Err(first) => return Err(MonitorError::DuplicateHash(first)),
    }
    Ok(())
}

fn digest(hash: &str) -> HashDigest {
    let mut digest = HashDigest::default();
    digest.iter_mut().zip(Sha256::digest(hash)).for_each(|(own, byte)| *own = byte);
    digest
}
