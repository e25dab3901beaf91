//! The entries of a ledger that keeps several for one payment, and those that wait for their parent, in SQL.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqlitePool};
use tollgate_model::decimal::Decimal;

use super::{Store, StoreError};

/// An entry of a ledger whose payment is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Its id in the ledger.
    pub entry: Box<str>,
    /// The payment it is part of.
    pub transaction_id: Box<str>,
    /// How far that has come.
    pub standing: PaymentState,
}

/// How far a payment of a ledger has come, for what is done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentState {
    /// It was queued or scheduled, and may become a hold.
    Awaited,
    /// It moved at once, or was rejected.
    Moved,
    /// It was held.
    Held(Hold),
}

/// How much of a payment is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// All of it.
    pub held: Decimal,
    /// What of it was committed or released so far.
    pub settled: Decimal,
}

/// An entry of a ledger whose parent is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingEntry {
    /// Its id in the ledger.
    pub entry: Box<str>,
    /// The entry it waits for.
    pub parent: Box<str>,
    /// What the ledger called the news.
    pub event: Box<str>,
    /// What it told, as JSON.
    pub told: Box<str>,
    /// Since when, in microseconds since 1970 UTC.
    pub heard_micros: i64,
    /// Whether it was taken as a payment of its own meanwhile.
    pub is_taken: bool,
}

/// What becomes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryChange {
    /// It is part of this payment.
    Known {
        /// Its id in the ledger.
        entry: Box<str>,
        /// The payment.
        transaction_id: Box<str>,
    },
    /// The payment of this id moved, or something of its hold was settled.
    Moved(Box<str>, Option<Hold>),
    /// It waits.
    Waits(WaitingEntry),
    /// It waits no longer.
    Arrived(Box<str>),
    /// It was taken as a payment of its own.
    Taken(Box<str>),
}

impl Store {
    /// The entry of this id in a ledger, if its payment is known.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn ledger_entry(&self, entry: &str) -> Result<Option<LedgerEntry>, StoreError> {
        entry_of(&self.inner.readers, entry).await
    }

    /// Entries of a ledger that wait for their parent, at most `limit`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn waiting_entries(
        &self,
        which: WaitingQuery<'_>,
        limit: usize,
    ) -> Result<Vec<WaitingEntry>, StoreError> {
        waiting(&self.inner.readers, which, limit).await
    }

    /// How many entries of a ledger wait for their parent, without those that were taken as payments of their own.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn n_waiting_entries(&self) -> Result<u64, StoreError> {
        n_waiting(&self.inner.readers).await
    }

    /// What was told last of a transaction, as JSON, where that has other words than what is stored.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn later_description(&self, transaction_id: &str) -> Result<Option<String>, StoreError> {
        description(&self.inner.readers, transaction_id).await
    }

    /// The kind of ledger that filled this store, and the identity of its payments; `None` before it told anything.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn ledger_kind(&self) -> Result<Option<(String, String)>, StoreError> {
        kind(&self.inner.readers).await
    }

    /// Whether a ledger told something before its kind was kept.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn find_ledger_of_unnamed_kind(&self) -> Result<bool, StoreError> {
        find_unnamed_kind(&self.inner.readers).await
    }

    /// Keeps the kind of ledger, and the identity of its payments, unless one is kept.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn note_ledger_kind(&self, kind: &str, identity: &str) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let noted = note_kind(lease.connection(), kind, identity).await;
        lease.give_back(noted).await
    }
}

/// Makes a change inside a commit that is under way.
pub(super) async fn change(
    connection: &mut SqliteConnection,
    change: &EntryChange,
) -> Result<(), StoreError> {
    let query = match change {
        EntryChange::Known { entry, transaction_id } => sqlx::query(
            "INSERT INTO ledger_entries (entry, transaction_id) VALUES (?1, ?2) \
             ON CONFLICT (entry) DO UPDATE SET transaction_id = excluded.transaction_id",
        )
        .bind(&**entry)
        .bind(&**transaction_id),
        EntryChange::Moved(transaction_id, hold) => sqlx::query(
            "INSERT INTO ledger_payments (transaction_id, held, settled) VALUES (?1, ?2, ?3) \
             ON CONFLICT (transaction_id) DO UPDATE SET held = excluded.held, settled = excluded.settled",
        )
        .bind(&**transaction_id)
        .bind(hold.map(|hold| hold.held.to_string()))
        .bind(hold.map(|hold| hold.settled.to_string())),
        EntryChange::Waits(WaitingEntry { entry, parent, event, told, heard_micros, is_taken }) => {
            sqlx::query(
                "INSERT INTO ledger_waiting (entry, parent, event, told, heard_micros, is_taken) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (entry) DO NOTHING",
            )
            .bind(&**entry)
            .bind(&**parent)
            .bind(&**event)
            .bind(&**told)
            .bind(heard_micros)
            .bind(is_taken)
        }
        EntryChange::Arrived(entry) => {
            sqlx::query("DELETE FROM ledger_waiting WHERE entry = ?1").bind(&**entry)
        }
        EntryChange::Taken(entry) => {
            sqlx::query("UPDATE ledger_waiting SET is_taken = 1 WHERE entry = ?1").bind(&**entry)
        }
    };
    query.execute(connection).await?;
    Ok(())
}

async fn entry_of(readers: &SqlitePool, entry: &str) -> Result<Option<LedgerEntry>, StoreError> {
    let row = sqlx::query(
        "SELECT e.entry, e.transaction_id, p.transaction_id IS NOT NULL, p.held, p.settled FROM ledger_entries e \
         LEFT JOIN ledger_payments p USING (transaction_id) WHERE e.entry = ?1",
    )
    .bind(entry)
    .fetch_optional(readers)
    .await?;
    row.map(|row| {
        let number = |place| row.try_get::<Option<&str>, _>(place).map(|text| text.map(Decimal::from_plain));
        let standing = match (row.try_get(2)?, number(3)?, number(4)?) {
            (false, ..) => PaymentState::Awaited,
            (true, None, None) => PaymentState::Moved,
            (true, Some(Some(held)), Some(Some(settled))) => PaymentState::Held(Hold { held, settled }),
            _ => return Err(StoreError::corrupt("a hold of a ledger is no number")),
        };
        let text = |place| row.try_get::<&str, _>(place);
        Ok(LedgerEntry { entry: text(0)?.into(), transaction_id: text(1)?.into(), standing })
    })
    .transpose()
}

/// Which waiting entries are asked for.
#[derive(Debug, Clone, Copy)]
pub enum WaitingQuery<'a> {
    /// The one of this id.
    Entry(&'a str),
    /// Those that wait for this entry.
    For(&'a str),
    /// Those that wait since before this time, in microseconds since 1970 UTC, and were not taken yet.
    Since(i64),
    /// Those whose parent is known and has moved.
    Joinable,
}

const WAITING: &str =
    "SELECT w.entry, w.parent, w.event, w.told, w.heard_micros, w.is_taken FROM ledger_waiting w WHERE ";

/// At most `limit`, in no order but those that wait since before a time, which come as they were heard.
async fn waiting(
    readers: &SqlitePool,
    which: WaitingQuery<'_>,
    limit: usize,
) -> Result<Vec<WaitingEntry>, StoreError> {
    let mut statement = sqlx::QueryBuilder::new(WAITING);
    match which {
        WaitingQuery::Entry(entry) => statement.push("w.entry = ").push_bind(entry),
        WaitingQuery::For(parent) => statement.push("w.parent = ").push_bind(parent),
        WaitingQuery::Since(micros) => statement
            .push("w.is_taken = 0 AND w.heard_micros < ")
            .push_bind(micros)
            .push(" ORDER BY w.heard_micros"),
        WaitingQuery::Joinable => statement.push(
            "EXISTS (SELECT 1 FROM ledger_entries e JOIN ledger_payments p USING (transaction_id) \
                 WHERE e.entry = w.parent)",
        ),
    };
    statement.push(" LIMIT ").push_bind(i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = statement.build().fetch_all(readers).await?;
    rows.iter().map(waiting_of).collect()
}

fn waiting_of(row: &SqliteRow) -> Result<WaitingEntry, StoreError> {
    let text = |place| row.try_get::<&str, _>(place);
    Ok(WaitingEntry {
        entry: text(0)?.into(),
        parent: text(1)?.into(),
        event: text(2)?.into(),
        told: text(3)?.into(),
        heard_micros: row.try_get(4)?,
        is_taken: row.try_get(5)?,
    })
}

/// How many wait, without those that were taken.
async fn n_waiting(readers: &SqlitePool) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM ledger_waiting WHERE is_taken = 0")
        .fetch_one(readers)
        .await?;
    Ok(count.unsigned_abs())
}

/// Keeps what was told last of a transaction, inside a commit that is under way.
pub(super) async fn describe(
    connection: &mut SqliteConnection,
    (transaction_id, body): &(Box<str>, Box<str>),
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO later_descriptions (transaction_id, body) VALUES (?1, ?2) \
         ON CONFLICT (transaction_id) DO UPDATE SET body = excluded.body",
    )
    .bind(&**transaction_id)
    .bind(&**body)
    .execute(connection)
    .await?;
    Ok(())
}

async fn description(readers: &SqlitePool, transaction_id: &str) -> Result<Option<String>, StoreError> {
    let body = sqlx::query_scalar("SELECT body FROM later_descriptions WHERE transaction_id = ?1")
        .bind(transaction_id)
        .fetch_optional(readers)
        .await?;
    Ok(body)
}

/// The kind of ledger, and the identity of payments, that this store was filled with.
async fn kind(readers: &SqlitePool) -> Result<Option<(String, String)>, StoreError> {
    let row = sqlx::query("SELECT kind, identity FROM ledger_kind").fetch_optional(readers).await?;
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}

/// Whether anything was told by a ledger before kinds were kept, as far as that can be seen: rows, or the status of something known.
async fn find_unnamed_kind(readers: &SqlitePool) -> Result<bool, StoreError> {
    let told = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM ledger_marks WHERE row_id IS NOT NULL) \
         OR EXISTS (SELECT 1 FROM status_updates WHERE event <> 'inject')",
    )
    .fetch_one(readers)
    .await?;
    Ok(told)
}

async fn note_kind(connection: &mut SqliteConnection, kind: &str, identity: &str) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO ledger_kind (one, kind, identity) VALUES (1, ?1, ?2) ON CONFLICT (one) DO NOTHING",
    )
    .bind(kind)
    .bind(identity)
    .execute(connection)
    .await?;
    Ok(())
}
