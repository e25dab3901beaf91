//! Reading records back, and what follows when that fails.

use std::thread;
use std::time::Instant;

use tollgate_model::transaction::Transaction;
use tollgate_records::{ReadError, ReadResult, RecordKey};

use super::shard::HeldShards;
use super::{PATIENCE, Residency, unusable};
use crate::anchor::Anchor;
use crate::spill::SpillError;

/// Attempts to read a record for a change for which nobody waits.
const ATTEMPTS_MAX: usize = 60;

impl Residency {
    /// Brings anchors back before a lock is held, so that those who need them then do not wait for the disk.
    pub(crate) fn prepare(&self, anchors: &[Anchor]) {
        let Some(records) = self.records.get() else { return };
        let begun = Instant::now();
        let mut left: Vec<Anchor> = anchors.to_vec();
        left.retain(|anchor| self.unread.reason(*anchor).is_none());
        // A record that was moved meanwhile is read again.
        while !left.is_empty() && begun.elapsed() < PATIENCE {
            let keys: Vec<RecordKey> = left.iter().map(|anchor| anchor.key()).collect();
            let mut read = records.read_all(&keys, PATIENCE.saturating_sub(begun.elapsed())).into_iter();
            left.retain(|anchor| match read.next() {
                Some(Ok(record)) => {
                    let mut shards = self.shards.hold(&[*anchor]);
                    let is_back = self.put_back(&mut shards, *anchor, record.as_ref());
                    is_back.is_ok() && self.is_cold(&mut shards, *anchor)
                }
                Some(Err(error)) => {
                    self.note_unread(*anchor, &error);
                    false
                }
                None => false,
            });
        }
    }

    /// Returns whether an anchor of a transaction is on the disk and did not fail to be read a moment ago.
    pub(crate) fn must_read(&self, transaction: &Transaction) -> bool {
        self.elsewhere([transaction]).into_iter().any(|anchor| self.unread.reason(anchor).is_none())
    }

    /// Same as [`Residency::prepare`], for those of these anchors that are on the disk, which are returned. Equal ones are
    /// adjacent.
    pub(crate) fn prepare_cold(&self, anchors: impl Iterator<Item = Anchor>) -> Vec<Anchor> {
        let Some(records) = self.records.get() else { return Vec::new() };
        let is_cold =
            |anchor: &Anchor| records.store().may_contain(anchor.key()) && !self.shards.has_copy(*anchor);
        let mut cold: Vec<Anchor> = anchors.filter(is_cold).collect();
        cold.dedup();
        self.prepare(&cold);
        cold
    }

    /// Changes rows of an anchor while it is in memory. No lock is held while it is read.
    ///
    /// # Errors
    /// When the anchor cannot be read back.
    pub(crate) fn change_resident(&self, anchor: Anchor, change: impl FnOnce()) -> Result<(), SpillError> {
        let mut n_attempts = 0;
        let mut shards = loop {
            match self.hold_resident(anchor) {
                Ok(shards) => break shards,
                Err(error) if n_attempts == ATTEMPTS_MAX || self.has_damaged_records() => return Err(error),
                Err(_) => n_attempts += 1,
            }
            // Nobody waits for this change, so a slow disk gets more time than for a query.
            thread::sleep(PATIENCE / 4);
        };
        shards.mark_changed(anchor);
        change();
        Ok(())
    }

    /// Holds an anchor that is in memory. No lock is held while it is read.
    pub(super) fn hold_resident(&self, anchor: Anchor) -> Result<HeldShards<'_>, SpillError> {
        let mut shards = self.shards.hold(&[anchor]);
        while self.is_cold(&mut shards, anchor) {
            drop(shards);
            if let Some(error) = self.unread.reason(anchor) {
                return Err(error);
            }
            let read = self.read(anchor).map_err(|error| unusable(&error))?;
            shards = self.shards.hold(&[anchor]);
            self.put_back(&mut shards, anchor, read.as_ref())?;
        }
        Ok(shards)
    }

    /// Records that the record of an anchor cannot be read. A damaged one is not believed after a start, which reads the
    /// store instead.
    fn note_unread(&self, anchor: Anchor, error: &ReadError) {
        if matches!(error, ReadError::Damaged { .. }) {
            self.note_damaged();
        }
        self.unread.note(anchor, unusable(error));
    }

    pub(super) fn note_damaged(&self) {
        if self.unread.note_damaged() {
            tracing::error!(
                "a file of the history is damaged; the next start reads the history from the store"
            );
            self.discard_checkpoint();
        }
    }

    /// Returns whether a record is damaged, so that no checkpoint is made.
    pub(crate) fn has_damaged_records(&self) -> bool {
        self.unread.has_damaged()
    }

    /// Reads the record of an anchor; `None` when it has none.
    pub(super) fn read(&self, anchor: Anchor) -> ReadResult {
        let Some(records) = self.records.get() else { return Ok(None) };
        let read = records.read_all(&[anchor.key()], PATIENCE).pop().transpose().map(Option::flatten);
        if let Err(error) = &read {
            self.note_unread(anchor, error);
        }
        read
    }
}
