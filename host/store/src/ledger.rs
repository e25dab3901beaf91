//! SQL for the progress in reading a ledger, and for its dead letters.

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, Row as _, SqliteConnection, SqlitePool};

use super::{LedgerMark, LedgerProgress, StoreError, alerts};

/// Maximum number of dead letters.
const DEAD_LETTERS_MAX: i64 = 100_000;
/// The size of all dead letters, in bytes. Events are kept whole, so their number alone is no bound.
const DEAD_LETTER_BYTES_MAX: i64 = 256 << 20;

/// Stores progress within a commit. A row that already has a dead letter gets no second one. A dead letter beyond a limit
/// is not stored: a row is still in its ledger, and the sender of an event is refused
/// ([`Store::keeps_dead_letter`](super::Store::keeps_dead_letter)).
pub(super) async fn note(
    connection: &mut SqliteConnection,
    progress: &LedgerProgress,
) -> Result<(), StoreError> {
    for letter in &progress.dead_letters {
        // They are counted only once so many had a number, because that reads an index.
        let n_bytes = i64::try_from(letter.row.len() + letter.detail.len()).unwrap_or(i64::MAX);
        let inserted = sqlx::query(
            "INSERT INTO ledger_dead_letters \
             (number, digest, feed, transaction_id, created_at, reason, detail, row, found_micros) \
             SELECT last_number + 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM ledger_dead_letter_bytes \
             WHERE (last_number < ?9 OR (SELECT count(*) FROM ledger_dead_letters) < ?9) \
             AND n_bytes + ?10 <= ?11 \
             ON CONFLICT (digest) DO NOTHING",
        )
        .bind(letter.digest.to_vec())
        .bind(&*progress.feed)
        .bind(&*letter.transaction_id)
        .bind(&*letter.created_at)
        .bind(letter.reason)
        .bind(&*letter.detail)
        .bind(&*letter.row)
        .bind(letter.found_micros)
        .bind(DEAD_LETTERS_MAX)
        .bind(n_bytes)
        .bind(DEAD_LETTER_BYTES_MAX)
        .execute(&mut *connection)
        .await?;
        if inserted.rows_affected() > 0 {
            add_bytes(connection, n_bytes).await?;
            let numbered = sqlx::query("UPDATE ledger_dead_letter_bytes SET last_number = last_number + 1");
            numbered.execute(&mut *connection).await?;
            if let Some(alert) = &letter.alert {
                alerts::insert(connection, std::slice::from_ref(alert)).await?;
            }
        }
    }
    if let Some(mark) = &progress.mark {
        sqlx::query(
            "INSERT INTO ledger_marks (feed, since_micros, micros, row_id) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (feed) DO UPDATE SET \
             since_micros = min(since_micros, excluded.since_micros), micros = excluded.micros, row_id = excluded.row_id",
        )
        .bind(&*progress.feed)
        .bind(mark.since_micros)
        .bind(mark.micros)
        .bind(mark.row_id.as_deref())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

pub(super) async fn mark(readers: &SqlitePool, feed: &str) -> Result<Option<LedgerMark>, StoreError> {
    let row = sqlx::query("SELECT since_micros, micros, row_id FROM ledger_marks WHERE feed = ?1")
        .bind(feed)
        .fetch_optional(readers)
        .await?;
    row.map(|row| {
        Ok(LedgerMark {
            since_micros: row.try_get(0)?,
            micros: row.try_get(1)?,
            row_id: row.try_get::<Option<&str>, _>(2)?.map(Into::into),
        })
    })
    .transpose()
}

/// Returns how many dead letters there are, and the numbers of at most `limit` of those before this number, the latest
/// first.
pub(super) async fn dead_letters(
    readers: &SqlitePool,
    before: i64,
    limit: usize,
) -> Result<(u64, Vec<i64>), StoreError> {
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM ledger_dead_letters").fetch_one(readers).await?;
    let numbers = sqlx::query_scalar(
        "SELECT number FROM ledger_dead_letters WHERE number < ?1 ORDER BY number DESC LIMIT ?2",
    )
    .bind(before)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await?;
    Ok((count.unsigned_abs(), numbers))
}

pub(super) async fn dead_letter(
    readers: &SqlitePool,
    number: i64,
) -> Result<Option<KeptDeadLetter>, StoreError> {
    let row = sqlx::query(
        "SELECT number, feed, transaction_id, created_at, reason, detail, row, found_micros FROM ledger_dead_letters \
         WHERE number = ?1",
    )
    .bind(number)
    .fetch_optional(readers)
    .await?;
    row.as_ref().map(letter_of).transpose()
}

pub(super) async fn keeps_dead_letter(readers: &SqlitePool, digest: &[u8; 32]) -> Result<bool, StoreError> {
    let kept = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM ledger_dead_letters WHERE digest = ?1)")
        .bind(digest.to_vec())
        .fetch_one(readers)
        .await?;
    Ok(kept)
}

pub(super) async fn remove_dead_letter(
    connection: &mut SqliteConnection,
    number: i64,
) -> Result<bool, StoreError> {
    let mut commit = connection.begin_with("BEGIN IMMEDIATE").await?;
    let removed: Option<(String, String)> =
        sqlx::query_as("DELETE FROM ledger_dead_letters WHERE number = ?1 RETURNING row, detail")
            .bind(number)
            .fetch_optional(&mut *commit)
            .await?;
    let is_removed = removed.is_some();
    if let Some((row, detail)) = removed {
        let n_bytes = i64::try_from(row.len() + detail.len()).unwrap_or(i64::MAX);
        add_bytes(&mut commit, -n_bytes).await?;
    }
    commit.commit().await?;
    Ok(is_removed)
}

async fn add_bytes(connection: &mut SqliteConnection, n_bytes: i64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE ledger_dead_letter_bytes SET n_bytes = n_bytes + ?1").bind(n_bytes);
    update.execute(connection).await?;
    Ok(())
}

fn letter_of(row: &SqliteRow) -> Result<KeptDeadLetter, StoreError> {
    Ok(KeptDeadLetter {
        number: row.try_get(0)?,
        feed: row.try_get(1)?,
        transaction_id: row.try_get(2)?,
        created_at: row.try_get(3)?,
        reason: row.try_get(4)?,
        detail: row.try_get(5)?,
        row: row.try_get(6)?,
        found_micros: row.try_get(7)?,
    })
}

/// A stored [`DeadLetter`](super::DeadLetter).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDeadLetter {
    /// Number of the dead letter.
    pub number: i64,
    /// The feed that the row came from.
    pub feed: String,
    /// Id of the row, truncated.
    pub transaction_id: String,
    /// Time of the row, as formatted by the ledger's database.
    pub created_at: String,
    /// The reason, as a word that is stable across versions.
    pub reason: String,
    /// The reason, for people.
    pub detail: String,
    /// The row as JSON, truncated.
    pub row: String,
    /// When it was found, in microseconds since 1970 UTC.
    pub found_micros: i64,
}
