//! Threads that read records, so that a caller waits once for several, and no longer than it wants to.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::ReadError;
use crate::record::{RecordKey, StoredRecord};
use crate::store::RecordStore;

/// What was read for a key; `None` when it has no record.
pub type ReadResult = Result<Option<StoredRecord>, ReadError>;

/// Time after which a read counts as one that does not end: while all threads have such a read, nobody waits.
const STUCK_AFTER: Duration = Duration::from_millis(500);
/// Maximum number of reads that wait for a thread; more fail at once.
const WAITING_MAX: usize = 65_536;
/// Thread that reads nothing now.
const IDLE: u64 = u64::MAX;

/// Threads that read records of a store. They end with it.
#[derive(Debug)]
pub struct RecordReaders {
    store: Arc<RecordStore>,
    jobs: flume::Sender<Job>,
    begun: Arc<ReadTimes>,
}

/// When each thread began what it reads.
#[derive(Debug)]
struct ReadTimes {
    epoch: Instant,
    /// Milliseconds after the epoch, or [`IDLE`].
    of_threads: Box<[AtomicU64]>,
}

#[derive(Debug)]
struct Job {
    key: RecordKey,
    /// Place of the answer among those of the caller.
    place: usize,
    /// Nobody waits after this.
    deadline: Instant,
    reply: flume::Sender<(usize, ReadResult)>,
}

impl ReadTimes {
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(IDLE - 1)
    }

    /// Returns whether every thread has a read that does not end.
    fn are_stuck(&self) -> bool {
        let limit = u64::try_from(STUCK_AFTER.as_millis()).unwrap_or(0);
        let now = self.now();
        let begun = self.of_threads.iter().map(|begun| begun.load(Ordering::Relaxed));
        begun.into_iter().all(|begun| begun != IDLE && begun + limit < now)
    }
}

impl RecordReaders {
    /// Starts so many threads.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(store: Arc<RecordStore>, n_threads: usize) -> io::Result<Self> {
        let (jobs, received) = flume::bounded::<Job>(WAITING_MAX);
        let of_threads = (0..n_threads).map(|_| AtomicU64::new(IDLE)).collect();
        let begun = Arc::new(ReadTimes { epoch: Instant::now(), of_threads });
        for thread in 0..n_threads {
            let (store, received, begun) = (Arc::clone(&store), received.clone(), Arc::clone(&begun));
            let run = move || {
                let note = |time| {
                    if let Some(place) = begun.of_threads.get(thread) {
                        place.store(time, Ordering::Relaxed);
                    }
                };
                for Job { key, place, deadline, reply } in received {
                    if Instant::now() < deadline {
                        note(begun.now());
                        // A caller that no longer waits needs no answer.
                        reply.send((place, store.read(key))).ok();
                        note(IDLE);
                    }
                }
            };
            thread::Builder::new().name("records".into()).spawn(run)?;
        }
        Ok(Self { store, jobs, begun })
    }

    /// Returns the store.
    #[must_use]
    pub const fn store(&self) -> &Arc<RecordStore> {
        &self.store
    }

    /// Reads the records of some keys at once, and returns them in the same order. Keys that have none cost no read. Waits
    /// at most so long; a read that has not ended then failed.
    #[must_use]
    pub fn read_all(&self, keys: &[RecordKey], patience: Duration) -> Vec<ReadResult> {
        let mut results: Vec<ReadResult> = keys
            .iter()
            .map(|key| if self.store.may_contain(*key) { Err(ReadError::TimedOut) } else { Ok(None) })
            .collect();
        let wanted = keys.iter().zip(&results).enumerate().filter(|(_, (_, result))| result.is_err());
        let wanted: Vec<(usize, RecordKey)> = wanted.map(|(place, (key, _))| (place, *key)).collect();
        if wanted.is_empty() || self.begun.are_stuck() {
            return results;
        }
        let deadline = Instant::now() + patience;
        let (reply, replies) = flume::unbounded();
        for (place, key) in wanted {
            // When too many wait, the reply stays out.
            self.jobs.try_send(Job { key, place, deadline, reply: reply.clone() }).ok();
        }
        drop(reply);
        while let Ok((place, result)) = replies.recv_deadline(deadline) {
            if let Some(answer) = results.get_mut(place) {
                *answer = result;
            }
        }
        results
    }
}
