//! Where everything acknowledged is kept: one SQLite file in the data directory.
//!
//! ```text
//!  record, install ──▶ writer ── one connection, one durable commit per call ──▶ tollgate.db (+ -wal, -shm)
//!  transaction, scan, … ──▶ readers ── a few connections that cannot write ──▶ ┘
//! ```
//!
//! What a call has written when it answers `Ok` survives the end of the process and of the power. A call that fails has
//! written nothing, with one exception: after [`StoreError::SyncFailed`] nobody can know. The store is a log with one
//! index by id; it is never asked for aggregates.

mod alerts;
mod backup;
mod backup_error;
mod connection;
mod deferred_verdicts;
mod directory;
mod error;
mod evidence;
mod examination;
mod identity;
mod known_ids;
mod ledger;
mod ledger_entries;
mod migrations;
mod past;
mod records;
mod restoration;
mod rule_sets;
mod space;
mod status_updates;
mod testimony;
mod transactions;
mod writer;

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::SqlitePool;
use tokio::task::JoinHandle;

use directory::DataDirectory;
use examination::UnlockedRead;
use known_ids::KnownIds;
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
pub use ledger_entries::{EntryChange, Hold, LedgerEntry, PaymentState, WaitingEntry, WaitingQuery};
pub use past::StoredPast;
pub use records::{
    CommitRecord, CurrentRecord, DeadLetter, DeferredVerdict, DeferredVerdictRecord, LedgerMark,
    LedgerProgress, ListRecord, LogEntry, MemberRecord, RuleSetIdentity, RuleSetParts, RuleSetRecord,
    StatusUpdateRecord, TransactionRecord, ZoneDataRecord,
};
pub use restoration::CheckedBackup;
pub use space::{DiskSpace, spill_directory};

/// A handle on the one store of this process; clones share it.
///
/// A call that is dropped before it answered may still take effect: whole, or not at all.
#[derive(Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    writer: Writer,
    readers: SqlitePool,
    known_ids: Arc<KnownIds>,
    /// The version of the rule set that this process stored last, until the next is begun.
    last_installed: Mutex<Option<RuleSetRecord>>,
    /// Reads the ids of earlier runs, unless that is done.
    reading: Option<JoinHandle<()>>,
    /// Of a store that is opened to read, where that takes no lock.
    unlocked: Option<UnlockedRead>,
    /// Holds the lock for as long as any clone lives, where it was taken.
    directory: DataDirectory,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store of a directory; creates both when they are not there yet. The directory is this process's alone
    /// until the last clone is gone.
    ///
    /// # Errors
    /// When another process has it open, or what is there is no database, another program's, damaged, or of a newer
    /// version of this service. What is there is never replaced.
    pub async fn open(directory: &Path) -> Result<Store, StoreError> {
        Self::open_claimed(DataDirectory::claim(directory)?).await.map_err(|error| error.explained(directory))
    }

    async fn open_claimed(directory: DataDirectory) -> Result<Store, StoreError> {
        connection::create_if_missing(&directory).await?;
        let database = directory.database();
        identity::check(&database)?;
        let directory = directory.remember()?;
        let writer = Writer::open(connection::writing(&database)).await?;
        let mut lease = writer.lease().await?;
        let migrated = connection::migrate(lease.connection(), &database).await;
        lease.give_back(migrated).await?;
        let readers = connection::readers(connection::any(&database).read_only(true)).await?;
        let known_ids = Arc::new(KnownIds::none());
        let unread = known_ids.begin(&readers).await?;
        let reading =
            unread.map(|unread| tokio::spawn(read_ids(readers.clone(), Arc::clone(&known_ids), unread)));
        Ok(Store {
            inner: Arc::new(StoreInner {
                writer,
                readers,
                known_ids,
                reading,
                unlocked: None,
                last_installed: Mutex::default(),
                directory,
            }),
        })
    }

    /// Keeps a group of transactions: all of them or none, with one wait for the disk.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when a sequence or an id is taken already; others when the disk or the file fails.
    pub async fn record(&self, group: &[TransactionRecord]) -> Result<(), StoreError> {
        self.record_with(group, &[]).await
    }

    /// Keeps a group of transactions and status updates: all of them or none, with one wait for the disk.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub async fn record_with(
        &self,
        group: &[TransactionRecord],
        updates: &[StatusUpdateRecord],
    ) -> Result<(), StoreError> {
        let (transactions, updates) = (group.iter().collect(), updates.iter().collect());
        self.commit(&CommitRecord { transactions, updates, ..CommitRecord::default() }).await
    }

    /// Keeps everything of a commit or nothing, with one wait for the disk.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when a sequence or an id is taken already, an update or a verdict is of no transaction
    /// that is kept, or a transaction has its verdict; others when the disk or the file fails.
    pub async fn commit(&self, commit: &CommitRecord<'_>) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        let ids = commit.transactions.iter().map(|record| &*record.transaction_id);
        self.inner.known_ids.note(ids);
        let mut lease = self.inner.writer.lease().await?;
        let recorded = transactions::record(lease.connection(), commit).await;
        lease.give_back(recorded).await
    }

    /// The alerts that are due by this time, in microseconds since 1970 UTC, those that are longest due first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn due_alerts(&self, now_micros: i64, limit: usize) -> Result<Vec<DueAlert>, StoreError> {
        alerts::due(&self.inner.readers, now_micros, limit).await
    }

    /// When the first alert is due behind this time, both in microseconds since 1970 UTC.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn next_due_alert(&self, after_micros: i64) -> Result<Option<i64>, StoreError> {
        alerts::next_due(&self.inner.readers, after_micros).await
    }

    /// Lets no alert wait longer from now, in microseconds since 1970 UTC, than these waits by attempts so far, in
    /// microseconds; those with more attempts not at all. How many would have: a clock that fell back has put them there.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn shorten_waits(&self, now_micros: i64, waits_micros: &[i64]) -> Result<u64, StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let n_shortened = alerts::shorten(lease.connection(), now_micros, waits_micros).await;
        lease.give_back(n_shortened).await
    }

    /// Keeps what became of attempts: all of it or nothing, with one wait for the disk.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn settle_alerts(&self, settled: &[(Sequence, AlertOutcome)]) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let kept = alerts::settle(lease.connection(), settled).await;
        lease.give_back(kept).await
    }

    /// The alerts that nobody took, oldest first, at most `limit`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn dead_alerts(&self, limit: usize) -> Result<Vec<DeadAlert>, StoreError> {
        alerts::dead_alerts(&self.inner.readers, limit).await
    }

    /// Makes a dead letter due at this time, with all its attempts before it; whether there was one of this id.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn replay_dead_letter(&self, id: &str, now_micros: i64) -> Result<bool, StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let replayed = alerts::replay(lease.connection(), id, now_micros).await;
        lease.give_back(replayed).await
    }

    /// Removes what became a dead letter before this time, in microseconds since 1970 UTC; how many.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn forget_dead_letters(&self, before_micros: i64) -> Result<u64, StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let forgotten = alerts::forget(lease.connection(), before_micros).await;
        lease.give_back(forgotten).await
    }

    /// How many alerts are on their way, and how many are dead letters.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn alert_counts(&self) -> Result<AlertCounts, StoreError> {
        alerts::counts(&self.inner.readers).await
    }

    /// How far a ledger has been read; `None` before the first time.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn ledger_mark(&self, feed: &str) -> Result<Option<LedgerMark>, StoreError> {
        ledger::mark(&self.inner.readers, feed).await
    }

    /// How many rows of ledgers could not be taken, and the latest of them, at most `limit`, the latest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn dead_letters(&self, limit: usize) -> Result<(u64, Vec<KeptDeadLetter>), StoreError> {
        ledger::dead_letters(&self.inner.readers, limit).await
    }

    /// The dead letter of a ledger with this number.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn dead_letter(&self, number: i64) -> Result<Option<KeptDeadLetter>, StoreError> {
        ledger::dead_letter(&self.inner.readers, number).await
    }

    /// Whether the dead letter of this digest is kept, which it is not when there are as many as may be.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn keeps_dead_letter(&self, digest: &[u8; 32]) -> Result<bool, StoreError> {
        ledger::keeps_dead_letter(&self.inner.readers, digest).await
    }

    /// Removes a dead letter of a ledger.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn remove_dead_letter(&self, number: i64) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let removed = ledger::remove_dead_letter(lease.connection(), number).await;
        lease.give_back(removed).await
    }

    /// Those of these transactions that are kept, and what became of them, in no order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn known(&self, transaction_ids: &[Arc<str>]) -> Result<Vec<CurrentRecord>, StoreError> {
        let may_hold = |id: &&Arc<str>| self.inner.known_ids.may_hold(id);
        let in_question: Vec<_> = transaction_ids.iter().filter(may_hold).cloned().collect();
        status_updates::known(&self.inner.readers, &in_question).await
    }

    /// The transaction of this id, and what became of it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn current(&self, transaction_id: &str) -> Result<Option<CurrentRecord>, StoreError> {
        if !self.inner.known_ids.may_hold(transaction_id) {
            return Ok(None);
        }
        status_updates::current(&self.inner.readers, transaction_id).await
    }

    /// The status updates after a number and up to another, in order of sequence, each with the body of its transaction.
    /// Whoever asks sees to it that these are not too many.
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

    /// The transaction of this id, as it was accepted.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn transaction(&self, transaction_id: &str) -> Result<Option<TransactionRecord>, StoreError> {
        transactions::of_id(&self.inner.readers, transaction_id).await
    }

    /// The first transactions after this one, at most `limit`, in order of sequence.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn scan(&self, after: Sequence, limit: usize) -> Result<Vec<TransactionRecord>, StoreError> {
        transactions::scan(&self.inner.readers, after, limit).await
    }

    /// The bodies of the transactions after one and up to another, in order of sequence. Whoever asks sees to it that these
    /// are not too many.
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

    /// What the store says of itself up to a number.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn testimony(&self, through: Sequence) -> Result<PastSummary, StoreError> {
        testimony::testimony(&self.inner.readers, through).await
    }

    /// When the last transaction was accepted, in microseconds since 1970 UTC; `None` when there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn last_accepted_micros(&self) -> Result<Option<i64>, StoreError> {
        transactions::last_accepted_micros(&self.inner.readers).await
    }

    /// The highest sequence kept, of a transaction or a status update; 0 when there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn last_sequence(&self) -> Result<Sequence, StoreError> {
        transactions::last_sequence(&self.inner.readers).await
    }

    /// The instructions in force, in order of their ids.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn instructions(&self) -> Result<Vec<InstructionRecord>, StoreError> {
        rule_sets::instructions(&self.inner.readers).await
    }

    /// The highest id any instruction ever had, removed ones included; 0 when there was none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn last_instruction_id(&self) -> Result<i64, StoreError> {
        rule_sets::last_instruction_id(&self.inner.readers).await
    }

    /// The named lists in force, in order of their names.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn lists(&self) -> Result<Vec<ListRecord>, StoreError> {
        rule_sets::lists(&self.inner.readers).await
    }

    /// What the last version of the rule set is made of; `None` before the first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn last_rule_set(&self) -> Result<Option<RuleSetIdentity>, StoreError> {
        rule_sets::last(&self.inner.readers).await
    }

    /// Keeps a version of the rule set, whole or not at all. Instructions and lists it does without are removed; their
    /// scripts, modules and entries stay, so that an old assessment can be derived again.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when the version is not higher than the last, or an id or a name stands in it twice;
    /// others when the disk or the file fails.
    pub async fn install(&self, set: &RuleSetRecord) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        // Whatever goes wrong from here on, the next change asks the file.
        let last = self.inner.last_installed.lock().take();
        let change = match &last {
            Some(last) => RuleSetChange::since(last, set).await?,
            None => RuleSetChange::since_the_file(&self.inner.readers, set).await?,
        };
        let mut lease = self.inner.writer.lease().await?;
        let installed = rule_sets::install(lease.connection(), &change).await;
        lease.give_back(installed).await?;
        *self.inner.last_installed.lock() = Some(set.clone());
        Ok(())
    }

    /// Whether the store can be read and its file still is where it was.
    ///
    /// # Errors
    /// When not.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        self.last_sequence().await.map(drop)
    }

    /// Waits for what is under way, then moves everything into the one file. Clones of this handle answer
    /// [`StoreError::Closed`] from here on. A store that is dropped instead loses nothing, but leaves its log file for the
    /// next start to read.
    pub async fn close(self) {
        self.inner.readers.close().await;
        self.inner.writer.close().await;
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        if let Some(reading) = &self.reading {
            reading.abort();
        }
    }
}

/// Until it is done, or when it fails, the file is asked about every id.
async fn read_ids(readers: SqlitePool, known_ids: Arc<KnownIds>, unread: known_ids::UnreadIds) {
    match known_ids.finish(&readers, unread).await {
        Ok(()) | Err(StoreError::Closed) => {}
        Err(error) => tracing::warn!(%error, "the ids of earlier transactions cannot be read"),
    }
}

#[cfg(test)]
mod tests;
