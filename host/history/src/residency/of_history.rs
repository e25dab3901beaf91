//! Whole keys on the disk, as the owner of a history asks for them.

use std::path::Path;
use std::sync::Arc;

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::History;
use crate::residency::{INDEX_SHARE, Residency, unusable};
use crate::spill::{Spill, SpillError};

/// Beginning of the names of directories of records that go with their history.
const TEMPORARY_DIRECTORY: &str = "tollgate-history-";

impl History {
    /// Same as [`History::bounded`], and keys leave memory with all their rows when they take half of the limit. `records`
    /// is the directory in which they are kept, for this history alone; a start opens it
    /// ([`History::write_snapshot`]).
    ///
    /// # Errors
    /// When the spill file cannot be created.
    pub fn bounded_with_keys(
        self,
        limit_bytes: usize,
        directory: &Path,
        records: &Path,
    ) -> Result<Self, SpillError> {
        let residency = Residency::new(limit_bytes, records, self.settled_at_first());
        let spill = Spill::bounded(limit_bytes, directory, Some(residency))?;
        Ok(Self { spill: Arc::new(spill), ..self })
    }

    /// Same as [`History::bounded_with_keys`], with keys in files of `directory` that have no names and go with this
    /// history.
    ///
    /// # Errors
    /// When the spill file cannot be created.
    pub fn bounded_with_temporary_keys(
        self,
        limit_bytes: usize,
        directory: &Path,
    ) -> Result<Self, SpillError> {
        let records = tempfile::Builder::new().prefix(TEMPORARY_DIRECTORY).tempdir_in(directory);
        let records = records.map_err(|error| unusable(&error))?;
        let residency = Residency::temporary(limit_bytes, records, self.settled_at_first());
        let spill = Spill::bounded(limit_bytes, directory, Some(residency))?;
        Ok(Self { spill: Arc::new(spill), ..self })
    }

    /// Returns the number up to which everything counts as durable in an empty history: without a store, nothing waits to
    /// become durable.
    const fn settled_at_first(&self) -> Sequence {
        if self.past.is_some() { Sequence(0) } else { Sequence(u64::MAX) }
    }

    /// Returns whether the history of a transaction must be read from the disk before it is accepted; see
    /// [`History::prepare`].
    #[must_use]
    pub fn is_elsewhere(&self, transaction: &Transaction) -> bool {
        let residency = self.spill.residency().filter(|residency| residency.has_records());
        residency.is_some_and(|residency| !residency.elsewhere([transaction]).is_empty())
    }

    /// Same as [`History::is_elsewhere`], except for what could not be read a moment ago, which nobody should wait for.
    #[must_use]
    pub fn must_read(&self, transaction: &Transaction) -> bool {
        let residency = self.spill.residency().filter(|residency| residency.has_records());
        residency.is_some_and(|residency| residency.must_read(transaction))
    }

    /// Returns whether keys are on the disk, so that a snapshot is a checkpoint of their records.
    #[must_use]
    pub fn keeps_records(&self) -> bool {
        self.spill.has_records()
    }

    /// Returns the number of records of keys on the disk. Keys that came back keep theirs.
    #[must_use]
    pub fn n_records(&self) -> usize {
        self.spill.residency().map_or(0, Residency::n_records)
    }

    /// Returns the memory limit, in bytes, that the index of the records needs, if it takes more than half of the limit in force:
    /// what is left is too little for the keys that transactions need.
    #[must_use]
    pub fn limit_for_index(&self) -> Option<usize> {
        let n_index_bytes = self.spill.residency()?.n_index_bytes();
        (n_index_bytes > self.spill.limit_bytes() / 2).then_some(n_index_bytes * INDEX_SHARE)
    }

    /// Returns how often a record was read while nothing else could be accepted, for a status change or a retraction that
    /// met keys which had left memory again since they were brought back.
    #[must_use]
    pub fn n_held_reads(&self) -> u64 {
        self.spill.residency().map_or(0, Residency::n_held_reads)
    }

    /// Returns how often a record could not be read, or not in time, since the start.
    #[must_use]
    pub fn n_unread_records(&self) -> u64 {
        self.spill.residency().map_or(0, Residency::n_unread)
    }

    /// Returns whether a file of records is damaged. The rules that ask about the keys in it fail, no snapshot is written, and
    /// the next start reads the store.
    #[must_use]
    pub fn has_damaged_records(&self) -> bool {
        self.spill.residency().is_some_and(Residency::has_damaged_records)
    }

    /// Returns whether the next start finds a snapshot: this file, or a checkpoint of records.
    #[must_use]
    pub fn has_snapshot(&self, file: &Path) -> bool {
        file.exists() || self.spill.residency().is_some_and(Residency::has_checkpoint)
    }

    /// Records that everything up to this number is durable.
    pub(crate) fn note_settled(&self, through: Sequence) {
        if let Some(residency) = self.spill.residency() {
            residency.settle(through);
        }
    }

    /// Records the number of the status change that is made until the next call; `None` when it has ended.
    pub(crate) fn note_update(&self, number: Option<Sequence>) {
        if let Some(residency) = self.spill.residency() {
            residency.note_update(number);
        }
    }

    /// Reads the history of a transaction from the disk, so that nobody waits for the disk once it is accepted. Waits for
    /// the disk, a second at most.
    pub fn prepare(&self, transaction: &Transaction) {
        self.prepare_all([transaction]);
    }

    /// Same as [`History::prepare`], for several transactions at once.
    pub fn prepare_all<'t>(&self, transactions: impl IntoIterator<Item = &'t Transaction>) {
        if let Some(residency) = self.spill.residency() {
            residency.prepare(&residency.elsewhere(transactions));
        }
    }
}
