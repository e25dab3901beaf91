//! The durable store: one SQLite file in the data directory.
//!
//! ```text
//!  record, install ──▶ writer ── one connection, one durable commit per call ──▶ tollgate.db (+ -wal, -shm)
//!  transaction, scan, … ──▶ readers ── a few read-only connections ──▶ ──────────┘
//! ```
//!
//! Data written by a call that returned `Ok` survives a crash of the process and a loss of power. A call that fails has
//! written nothing, with one exception: after [`StoreError::SyncFailed`] the outcome is unknown. The store is a log
//! with one index by id; it does not compute aggregates.

mod alerts;
mod backup;
mod backup_error;
mod connection;
mod deferred_verdicts;
mod directory;
mod error;
mod evidence;
mod examination;
mod hashes;
mod identity;
mod known_ids;
mod ledger;
mod ledger_entries;
mod list_versions;
mod lost;
mod mark;
mod migrations;
mod opening;
mod past;
mod records;
mod restoration;
mod rule_sets;
mod space;
mod status_updates;
mod testimony;
mod text_difference;
mod transactions;
mod unpushed_removals;
mod verdicts;
mod without_effect;
mod writer;

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::{ConnectOptions as _, SqliteConnection, SqlitePool};
use tokio::task::JoinHandle;

use directory::DataDirectory;
use examination::UnlockedRead;
use known_ids::KnownIds;
use mark::MarkWriter;
use rule_sets::RuleSetChange;
use tollgate_history::PastSummary;
use tollgate_model::instruction::InstructionRecord;
use tollgate_model::sequence::Sequence;
use writer::Writer;

pub use alerts::{AlertCounts, AlertOutcome, AlertRecord, DeadAlert, DueAlert};
pub use backup::{BackupContents, BackupNote, backup};
pub use backup_error::BackupError;
pub use directory::{Holder, holder};
pub use error::StoreError;
pub use examination::{StoreFinding, examine, kept_lists};
pub use ledger::KeptDeadLetter;
pub use ledger_entries::{
    EntryChange, Hold, LedgerEntry, PaymentState, TallyKind, WaitingEntry, WaitingQuery,
};
pub use lost::LostStore;
pub use past::StoredPast;
pub use records::{
    AmountUpdate, CommitRecord, CurrentRecord, DeadLetter, DeferredVerdict, DeferredVerdictRecord,
    HashRecord, LastTimes, LedgerMark, LedgerProgress, ListRecord, LogEntry, MemberRecord, RuleSetIdentity,
    RuleSetParts, RuleSetRecord, StatusUpdateRecord, StatusWordsRecord, TransactionOrigin, TransactionRecord,
    ZoneDataRecord,
};
pub use restoration::CheckedBackup;
pub use space::{DiskSpace, StoreSize, spill_directory, try_to_write};
pub use unpushed_removals::UnpushedRemoval;
pub use verdicts::VerdictRecord;
pub use without_effect::StatusWithoutEffect;

/// A handle to the process's only store; clones share it.
///
/// A call that is dropped before it returns may still take effect, either completely or not at all.
#[derive(Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    writer: Writer,
    readers: SqlitePool,
    known_ids: Arc<KnownIds>,
    /// The rule set version that this process stored last; taken while the next one is installed.
    last_installed: Mutex<Option<RuleSetRecord>>,
    /// Versions of the rule set of which the file says that they judged.
    judged: Mutex<BTreeSet<u64>>,
    /// The mark beside the database; `None` if the store is only read.
    marks: Option<Arc<MarkWriter>>,
    /// Tasks that read the ids of earlier runs, and that write the mark.
    tasks: Vec<JoinHandle<()>>,
    /// Set if the store was opened read-only without a lock.
    unlocked: Option<UnlockedRead>,
    /// Holds the lock, if one was taken, as long as any clone lives.
    directory: DataDirectory,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Stores a group of transactions atomically, with a single disk sync.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when a sequence number or an id is already in use; others when the disk or the file
    /// fails.
    pub async fn record(&self, group: &[TransactionRecord]) -> Result<(), StoreError> {
        self.record_with(group, &[]).await
    }

    /// Stores a group of transactions and status updates atomically, with a single disk sync.
    ///
    /// # Errors
    /// Same as [`Store::commit`].
    pub(crate) async fn record_with(
        &self,
        group: &[TransactionRecord],
        updates: &[StatusUpdateRecord],
    ) -> Result<(), StoreError> {
        let (transactions, updates) = (group.iter().collect(), updates.iter().collect());
        self.commit(&CommitRecord { transactions, updates, ..CommitRecord::default() }).await
    }

    /// Stores a commit atomically, with a single disk sync.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when a sequence number, an id or a verdict already exists, or an update or a verdict
    /// refers to an unknown transaction. Others when the disk or the file fails.
    pub async fn commit(&self, commit: &CommitRecord<'_>) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        let ids = commit.transactions.iter().map(|record| &*record.transaction_id);
        self.inner.known_ids.note(ids);
        let mut lease = self.inner.writer.lease().await?;
        let first_verdicts = self.versions_not_noted(commit);
        let recorded = transactions::record(lease.connection(), commit, &first_verdicts).await;
        lease.give_back(recorded).await?;
        self.inner.judged.lock().extend(first_verdicts);
        self.mark(commit.last());
        Ok(())
    }

    /// Returns at most `limit` alerts due by this time, in microseconds since 1970 UTC, the longest due first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn due_alerts(&self, now_micros: i64, limit: usize) -> Result<Vec<DueAlert>, StoreError> {
        alerts::due(&self.inner.readers, now_micros, limit).await
    }

    /// Returns the earliest due time after `after_micros`, both in microseconds since 1970 UTC.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn next_due_alert(&self, after_micros: i64) -> Result<Option<i64>, StoreError> {
        alerts::next_due(&self.inner.readers, after_micros).await
    }

    /// Caps the due time of each alert at `now_micros` plus the wait for its number of attempts, in microseconds. The
    /// wait is 0 beyond the end of the list. Later due times come from a clock that has since been set back. Returns
    /// how many alerts changed.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn shorten_waits(&self, now_micros: i64, waits_micros: &[i64]) -> Result<u64, StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let n_shortened = alerts::shorten(lease.connection(), now_micros, waits_micros).await;
        lease.give_back(n_shortened).await
    }

    /// Stores the outcomes of delivery attempts atomically, with a single disk sync.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn settle_alerts(&self, settled: &[(Sequence, AlertOutcome)]) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let kept = alerts::settle(lease.connection(), settled).await;
        lease.give_back(kept).await
    }

    /// Makes a dead letter among the alerts due at this time, with all its attempts. Returns whether it exists.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn replay_dead_letter(&self, id: &str, now_micros: i64) -> Result<bool, StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let replayed = alerts::replay(lease.connection(), id, now_micros).await;
        lease.give_back(replayed).await
    }

    /// Removes dead letters among the alerts that are older than this time, in microseconds since 1970 UTC. Returns how
    /// many.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn forget_dead_letters(&self, before_micros: i64) -> Result<u64, StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let forgotten = alerts::forget(lease.connection(), before_micros).await;
        lease.give_back(forgotten).await
    }

    /// Returns the number of pending alerts and of dead letters among the alerts.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn alert_counts(&self) -> Result<AlertCounts, StoreError> {
        alerts::counts(&self.inner.readers).await
    }

    /// Returns the progress in reading a ledger, or `None` before the first time.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn ledger_mark(&self, feed: &str) -> Result<Option<LedgerMark>, StoreError> {
        ledger::mark(&self.inner.readers, feed).await
    }

    /// Returns how many dead letters of ledgers there are, and the numbers of at most `limit` of those before this
    /// number, the latest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn dead_letters(&self, before: i64, limit: usize) -> Result<(u64, Vec<i64>), StoreError> {
        ledger::dead_letters(&self.inner.readers, before, limit).await
    }

    /// Returns the dead letter of a ledger with this number.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn dead_letter(&self, number: i64) -> Result<Option<KeptDeadLetter>, StoreError> {
        ledger::dead_letter(&self.inner.readers, number).await
    }

    /// Returns whether the dead letter of a ledger row with this digest is stored. It is not if the limit was reached.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn keeps_dead_letter(&self, digest: &[u8; 32]) -> Result<bool, StoreError> {
        ledger::keeps_dead_letter(&self.inner.readers, digest).await
    }

    /// Removes a dead letter of a ledger. Returns whether there was one with this number.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn remove_dead_letter(&self, number: i64) -> Result<bool, StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let removed = ledger::remove_dead_letter(lease.connection(), number).await;
        lease.give_back(removed).await
    }

    /// Returns those of these transactions that are stored, with their current state and in no particular order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn known(&self, transaction_ids: &[Arc<str>]) -> Result<Vec<CurrentRecord>, StoreError> {
        let may_hold = |id: &&Arc<str>| self.inner.known_ids.may_hold(id);
        let in_question: Vec<_> = transaction_ids.iter().filter(may_hold).cloned().collect();
        status_updates::known(&self.inner.readers, &in_question).await
    }

    /// Returns the transaction with this id and its current state.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn current(&self, transaction_id: &str) -> Result<Option<CurrentRecord>, StoreError> {
        if !self.inner.known_ids.may_hold(transaction_id) {
            return Ok(None);
        }
        status_updates::current(&self.inner.readers, transaction_id).await
    }

    /// Returns the status updates after one number, through another, in sequence order, each with the body of its
    /// transaction. The caller must bound the range.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn status_updates(
        &self,
        after: Sequence,
        through: Sequence,
    ) -> Result<Vec<(StatusUpdateRecord, String)>, StoreError> {
        status_updates::between(&self.inner.readers, after, through).await
    }

    /// Returns the transaction with this id, as it was accepted.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn transaction(&self, transaction_id: &str) -> Result<Option<TransactionRecord>, StoreError> {
        transactions::of_id(&self.inner.readers, transaction_id).await
    }

    /// Returns at most `limit` transactions after this number, in sequence order.
    ///
    /// # Errors
    /// When the file cannot be read.
    #[cfg(test)]
    pub(crate) async fn scan(
        &self,
        after: Sequence,
        limit: usize,
    ) -> Result<Vec<TransactionRecord>, StoreError> {
        transactions::scan(&self.inner.readers, after, limit).await
    }

    /// Returns the bodies of the transactions after one number, through another, in sequence order. The caller must
    /// bound the range.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn bodies(
        &self,
        after: Sequence,
        through: Sequence,
    ) -> Result<Vec<(Sequence, String)>, StoreError> {
        transactions::bodies(&self.inner.readers, after, through).await
    }

    /// Returns the number of transactions and the highest of their sequence numbers.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn extent(&self) -> Result<(u64, Sequence), StoreError> {
        transactions::extent(&mut *self.inner.readers.acquire().await?).await
    }

    /// Opens a further connection for reading, whose thread has the priority of the calling thread.
    ///
    /// # Errors
    /// When the file cannot be opened.
    async fn reading_connection(&self) -> Result<SqliteConnection, StoreError> {
        Ok(connection::any(&self.inner.directory.database()).read_only(true).connect().await?)
    }

    /// Returns a summary of the store up to a number.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn testimony(&self, through: Sequence) -> Result<PastSummary, StoreError> {
        testimony::testimony(&self.inner.readers, through).await
    }

    /// Returns the id of this store, in hexadecimal digits. No other store has it, except one restored from its backup.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn instance_id(&self) -> Result<String, StoreError> {
        let name = testimony::name(&mut *self.inner.readers.acquire().await?).await?;
        Ok(mark::StoreName(name).to_string())
    }

    /// Returns the times of the last transactions, or `None` if there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn last_times(&self) -> Result<Option<LastTimes>, StoreError> {
        transactions::last_times(&self.inner.readers).await
    }

    /// Returns the highest sequence number of a transaction, a status update or a deferred verdict, or 0 if there is
    /// none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn last_sequence(&self) -> Result<Sequence, StoreError> {
        transactions::last_sequence(&self.inner.readers).await
    }

    /// Returns the instructions in force, ordered by id.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn instructions(&self) -> Result<Vec<InstructionRecord>, StoreError> {
        rule_sets::instructions(&self.inner.readers).await
    }

    /// Returns the highest id of any instruction, including removed ones, or 0 if there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn last_instruction_id(&self) -> Result<i64, StoreError> {
        rule_sets::last_instruction_id(&self.inner.readers).await
    }

    /// Returns the named lists in force, ordered by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn lists(&self) -> Result<Vec<ListRecord>, StoreError> {
        rule_sets::lists(&self.inner.readers).await
    }

    /// Returns the last version of the rule set, with its contents as digests, or `None` before the first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn last_rule_set(&self) -> Result<Option<RuleSetIdentity>, StoreError> {
        rule_sets::last(&self.inner.readers).await
    }

    /// Stores a version of the rule set atomically. Instructions and lists that are not in it are removed. Their
    /// scripts and modules are kept, and the entries of lists under which a payment was judged, so that old assessments
    /// can be derived again.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when the version is not higher than the last, or contains an id or a name twice. Others
    /// when the disk or the file fails.
    pub async fn install(&self, set: &RuleSetRecord) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        // If anything fails from here on, the next change compares with the file.
        let last = self.inner.last_installed.lock().take();
        let change = match &last {
            Some(last) => RuleSetChange::since(last, set).await?,
            None => RuleSetChange::since_the_file(&self.inner.readers, set).await?,
        };
        let differences = list_versions::differences(&self.inner.readers, &change).await?;
        let mut lease = self.inner.writer.lease().await?;
        let installed = rule_sets::install(lease.connection(), &change, &differences).await;
        lease.give_back(installed).await?;
        *self.inner.last_installed.lock() = Some(set.clone());
        self.mark(Sequence::default());
        Ok(())
    }

    /// Checks that the store can be read and that its file was not replaced.
    ///
    /// # Errors
    /// When it cannot be read, or the file was replaced.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        self.last_sequence().await.map(drop)
    }

    /// Waits for calls under way, then moves the log into the database. Clones of this handle return
    /// [`StoreError::Closed`] from then on. Dropping the store instead loses nothing, but leaves the log for the next
    /// start to read.
    pub async fn close(self) {
        self.inner.readers.close().await;
        self.inner.writer.close().await;
        if let Some(marks) = &self.inner.marks {
            marks.write_last();
        }
    }

    /// Returns the versions of the rule set of which this process did not yet note that they judged.
    fn versions_not_noted(&self, commit: &CommitRecord<'_>) -> Vec<u64> {
        let judged = self.inner.judged.lock();
        list_versions::versions_of(commit).into_iter().filter(|version| !judged.contains(version)).collect()
    }

    /// Notes in the mark what is durable.
    fn mark(&self, through: Sequence) {
        if let Some(marks) = &self.inner.marks {
            marks.committed(through);
        }
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

#[cfg(test)]
mod tests;
