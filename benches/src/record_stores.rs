//! The store of records of the service, for [`records`](crate::records).

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_records::{
    Address, AppendError, DiskFolder, RecordKey, RecordOrigin, RecordReaders, RecordStore,
};

use crate::records::{ChangedRecord, ReadRecord, RecordEngine};

/// Threads that read.
const N_READERS: usize = 8;

/// Records of the service, with threads that read them.
#[derive(Debug)]
pub struct OwnRecords {
    readers: RecordReaders,
}

fn origin() -> RecordOrigin {
    RecordOrigin { log: "benchmark".into(), contents: "records".into() }
}

impl OwnRecords {
    /// Creates an empty store in a folder, for about so many accounts.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn create(folder: &Path, n_accounts: usize) -> anyhow::Result<Self> {
        let store = RecordStore::create(Arc::new(DiskFolder::open(folder)?), origin(), n_accounts * 4)?;
        Ok(Self { readers: RecordReaders::start(Arc::new(store), N_READERS)? })
    }

    /// Drops the store and opens its folder again. Returns the time of the latter.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn reopened(self, folder: &Path) -> anyhow::Result<(Self, Duration)> {
        drop(self);
        let started = Instant::now();
        let opened = RecordStore::open(Arc::new(DiskFolder::open(folder)?), origin())?;
        let took = started.elapsed();
        Ok((Self { readers: RecordReaders::start(Arc::new(opened.store), N_READERS)? }, took))
    }

    /// Returns the store.
    #[must_use]
    pub const fn store(&self) -> &Arc<RecordStore> {
        self.readers.store()
    }
}

impl RecordEngine for OwnRecords {
    type Token = Address;

    fn read_all(&self, keys: &[RecordKey]) -> anyhow::Result<Vec<ReadRecord<Address>>> {
        let read = self.readers.read_all(keys, Duration::from_secs(60)).into_iter();
        read.map(|result| Ok(result?.map(|record| (record.bytes, record.address)))).collect()
    }

    fn write_all(&self, records: &[ChangedRecord<Address>]) -> anyhow::Result<()> {
        let mut n_bytes = 0;
        for ChangedRecord { key, replaces, bytes } in records {
            let mut replaces = *replaces;
            while let Err(error) = self.store().append(*key, replaces, bytes) {
                match error {
                    AppendError::Moved => replaces = self.store().read(*key)?.map(|record| record.address),
                    error => return Err(error.into()),
                }
            }
            n_bytes += bytes.len();
        }
        self.store().clean(n_bytes)?;
        Ok(())
    }
}
