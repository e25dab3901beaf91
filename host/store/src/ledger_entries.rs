//! SQL for ledgers that keep several entries for one payment: known entries, and those that wait for their parent.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqlitePool};
use tollgate_model::decimal::Decimal;

use super::{Store, StoreError};

/// A ledger entry whose payment is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Id of the entry in the ledger.
    pub entry: Box<str>,
    /// Id of the payment that contains it.
    pub transaction_id: Box<str>,
    /// State of the payment.
    pub standing: PaymentState,
}

/// The state of a ledger's payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentState {
    /// Queued or scheduled; it may become a hold.
    Awaited,
    /// Moved at once, or rejected.
    Moved,
    /// Held.
    Held(Hold),
}

/// The amounts of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The held amount.
    pub held: Decimal,
    /// The part committed or released so far.
    pub settled: Decimal,
}

/// A sum that bounds which entries count as parts of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TallyKind {
    /// The amount of a bookkeeping entry, and the part of it committed or released.
    Shadow,
    /// The bound of the bookkeeping entries of a payment, and their sum.
    Shadows,
    /// The amount of a leg of a split payment, and the part of it committed or released.
    Leg,
    /// The amount of a split payment, and the sum of its legs.
    Legs,
    /// The amount of a split payment, and the part of it rejected or released.
    Released,
    /// The amount of a split payment, and the part of it posted.
    Posted,
}

impl TallyKind {
    const fn as_str(self) -> &'static str {
        match self {
            TallyKind::Shadow => "shadow",
            TallyKind::Shadows => "shadows",
            TallyKind::Leg => "leg",
            TallyKind::Legs => "legs",
            TallyKind::Released => "released",
            TallyKind::Posted => "posted",
        }
    }
}

/// A ledger entry that waits for its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingEntry {
    /// Id of the entry in the ledger.
    pub entry: Box<str>,
    /// Id of the entry it waits for.
    pub parent: Box<str>,
    /// The ledger's event name.
    pub event: Box<str>,
    /// The report: a line with the channel, then the data as JSON. For each report over another channel, three lines follow:
    /// the ledger's event name, the channel and the data.
    pub told: Box<str>,
    /// When the wait began, in microseconds since 1970 UTC.
    pub heard_micros: i64,
    /// Whether it was taken as a separate payment.
    pub is_taken: bool,
}

/// A change to the stored entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryChange {
    /// An entry is part of a payment.
    Known {
        /// Id of the entry in the ledger.
        entry: Box<str>,
        /// Id of the payment.
        transaction_id: Box<str>,
    },
    /// The payment with this id moved, or is held with these amounts.
    Moved(Box<str>, Option<Hold>),
    /// The sum of this kind for the entry or payment with this id has these amounts.
    Tally(TallyKind, Box<str>, Hold),
    /// An entry starts to wait.
    Waits(WaitingEntry),
    /// A waiting entry was reported again, and is stored with these reports.
    ReportedAgain {
        /// Id of the entry in the ledger.
        entry: Box<str>,
        /// All its reports, the first one as in [`WaitingEntry::told`].
        told: Box<str>,
    },
    /// The wait of the entry with this id is over.
    Arrived(Box<str>),
    /// The entry with this id was taken as a separate payment.
    Taken(Box<str>),
}

impl Store {
    /// Returns a ledger entry, if its payment is known.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn ledger_entry(&self, entry: &str) -> Result<Option<LedgerEntry>, StoreError> {
        entry_of(&self.inner.readers, entry).await
    }

    /// Returns the sum of this kind for an entry or a payment, if anything was added to it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn ledger_tally(&self, kind: TallyKind, id: &str) -> Result<Option<Hold>, StoreError> {
        tally(&self.inner.readers, kind, id).await
    }

    /// Returns whether an entry of the payment with this id is known, also one that is only queued.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn knows_entry_of_payment(&self, transaction_id: &str) -> Result<bool, StoreError> {
        // Two conditions, because the index has no entry with the id of its payment.
        let query = "SELECT EXISTS (SELECT 1 FROM ledger_payments WHERE transaction_id = ?1) \
                     OR EXISTS (SELECT 1 FROM ledger_entries WHERE entry = ?1 AND transaction_id = ?1) \
                     OR EXISTS (SELECT 1 FROM ledger_entries WHERE transaction_id = ?1 AND entry <> transaction_id)";
        Ok(sqlx::query_scalar(query).bind(transaction_id).fetch_one(&self.inner.readers).await?)
    }

    /// Returns at most `limit` waiting entries.
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

    /// Returns the number of waiting entries, without those taken as separate payments.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn n_waiting_entries(&self) -> Result<u64, StoreError> {
        n_waiting(&self.inner.readers).await
    }

    /// Returns the latest description of a transaction as JSON, if it differs from the stored one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn later_description(&self, transaction_id: &str) -> Result<Option<String>, StoreError> {
        description(&self.inner.readers, transaction_id).await
    }

    /// Returns the kind of ledger that filled this store and the identity of its payments, or `None` before its first
    /// report.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn ledger_kind(&self) -> Result<Option<(String, String)>, StoreError> {
        kind(&self.inner.readers).await
    }

    /// Returns whether a ledger sent reports before its kind was stored.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn find_ledger_of_unnamed_kind(&self) -> Result<bool, StoreError> {
        find_unnamed_kind(&self.inner.readers).await
    }

    /// Stores the kind of ledger and the identity of its payments, unless they are already stored.
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
        EntryChange::Tally(kind, id, hold) => sqlx::query(
            "INSERT INTO ledger_tallies (kind, id, held, settled) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (kind, id) DO UPDATE SET held = excluded.held, settled = excluded.settled",
        )
        .bind(kind.as_str())
        .bind(&**id)
        .bind(hold.held.to_string())
        .bind(hold.settled.to_string()),
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
        EntryChange::ReportedAgain { entry, told } => {
            sqlx::query("UPDATE ledger_waiting SET told = ?2 WHERE entry = ?1").bind(&**entry).bind(&**told)
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
            _ => return Err(StoreError::corrupt("the amount of a ledger hold is not a number")),
        };
        let text = |place| row.try_get::<&str, _>(place);
        Ok(LedgerEntry { entry: text(0)?.into(), transaction_id: text(1)?.into(), standing })
    })
    .transpose()
}

async fn tally(readers: &SqlitePool, kind: TallyKind, id: &str) -> Result<Option<Hold>, StoreError> {
    let row = sqlx::query("SELECT held, settled FROM ledger_tallies WHERE kind = ?1 AND id = ?2")
        .bind(kind.as_str())
        .bind(id)
        .fetch_optional(readers)
        .await?;
    row.map(|row| {
        let number = |place| row.try_get::<&str, _>(place).map(Decimal::from_plain);
        match (number(0)?, number(1)?) {
            (Some(held), Some(settled)) => Ok(Hold { held, settled }),
            _ => Err(StoreError::corrupt("a sum of ledger entries is not a number")),
        }
    })
    .transpose()
}

/// Selects waiting entries.
#[derive(Debug, Clone, Copy)]
pub enum WaitingQuery<'a> {
    /// The entry with this id.
    Entry(&'a str),
    /// Entries that wait for this entry.
    For(&'a str),
    /// Entries not yet taken that have waited since before this time, in microseconds since 1970 UTC.
    Since(i64),
    /// Entries whose parent belongs to a payment that has moved or is held.
    Joinable,
}

const WAITING: &str =
    "SELECT w.entry, w.parent, w.event, w.told, w.heard_micros, w.is_taken FROM ledger_waiting w WHERE ";

/// Returns at most `limit` entries. Only those of [`WaitingQuery::Since`] are sorted, by arrival.
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

async fn n_waiting(readers: &SqlitePool) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM ledger_waiting WHERE is_taken = 0")
        .fetch_one(readers)
        .await?;
    Ok(count.unsigned_abs())
}

/// Stores the latest description of a transaction within a commit.
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

async fn kind(readers: &SqlitePool) -> Result<Option<(String, String)>, StoreError> {
    let row = sqlx::query("SELECT kind, identity FROM ledger_kind").fetch_optional(readers).await?;
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}

/// Returns whether a ledger sent reports before kinds were stored, judged by its rows and status updates.
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
