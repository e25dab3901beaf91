//! Threads that read records, so that a caller waits once for several.

use std::io;
use std::sync::Arc;
use std::thread;

use crate::error::ReadError;
use crate::record::{RecordKey, StoredRecord};
use crate::store::RecordStore;

/// What was read for a key; `None` when it has no record.
pub type ReadResult = Result<Option<StoredRecord>, ReadError>;

/// Threads that read records of a store. They end with it.
#[derive(Debug)]
pub struct RecordReaders {
    store: Arc<RecordStore>,
    jobs: flume::Sender<Job>,
}

#[derive(Debug)]
struct Job {
    key: RecordKey,
    /// Place of the answer among those of the caller.
    place: usize,
    reply: flume::Sender<(usize, ReadResult)>,
}

impl RecordReaders {
    /// Starts so many threads.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(store: Arc<RecordStore>, n_threads: usize) -> io::Result<Self> {
        let (jobs, received) = flume::unbounded::<Job>();
        for _ in 0..n_threads {
            let (store, received) = (Arc::clone(&store), received.clone());
            thread::Builder::new().name("records".into()).spawn(move || {
                for Job { key, place, reply } in received {
                    // A caller that no longer waits needs no answer.
                    reply.send((place, store.read(key))).ok();
                }
            })?;
        }
        Ok(Self { store, jobs })
    }

    /// Returns the store.
    #[must_use]
    pub const fn store(&self) -> &Arc<RecordStore> {
        &self.store
    }

    /// Reads the records of some keys at once, and returns them in the same order. Keys that have none cost no read.
    #[must_use]
    pub fn read_all(&self, keys: &[RecordKey]) -> Vec<ReadResult> {
        let mut results: Vec<ReadResult> = keys.iter().map(|_| Ok(None)).collect();
        let mut wanted = keys.iter().enumerate().filter(|(_, key)| self.store.may_contain(**key));
        let Some((first, first_key)) = wanted.next() else { return results };
        let (reply, replies) = flume::unbounded();
        for (place, key) in wanted {
            let job = Job { key: *key, place, reply: reply.clone() };
            if let Err(flume::SendError(job)) = self.jobs.send(job) {
                // Without threads the caller reads itself.
                reply.send((job.place, self.store.read(job.key))).ok();
            }
        }
        drop(reply);
        let own = (first, self.store.read(*first_key));
        for (place, result) in [own].into_iter().chain(replies) {
            if let Some(answer) = results.get_mut(place) {
                *answer = result;
            }
        }
        results
    }
}
