//! SQL for the outbox of alerts to webhooks.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, QueryBuilder, Row as _, Sqlite, SqliteConnection, SqlitePool};
use tollgate_model::alert::AlertId;
use tollgate_model::sequence::Sequence;

use super::transactions::{read, stored};
use super::{Store, StoreError};

const ROWS_PER_INSERT_MAX: usize = 128;

/// An alert as stored with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertRecord {
    /// Sequence number of the verdict.
    pub sequence: Sequence,
    /// Id of the alert, the same at every attempt.
    pub id: AlertId,
    /// Id of the transaction.
    pub transaction_id: Arc<str>,
    /// The message to send.
    pub payload: Arc<str>,
    /// When the verdict was given, in microseconds since 1970 UTC.
    pub created_micros: i64,
}

/// An alert that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueAlert {
    /// The alert.
    pub record: AlertRecord,
    /// Attempts so far.
    pub n_attempts: u32,
}

/// The outcome of a delivery attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlertOutcome {
    /// A webhook accepted it.
    Delivered,
    /// It failed, and the next attempt is due at this time, in microseconds since 1970 UTC; with the error.
    Later(i64, String),
    /// It failed for good at this time, in microseconds since 1970 UTC; with the error.
    Dead(i64, String),
}

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadAlert {
    /// The alert.
    pub record: AlertRecord,
    /// Number of failed attempts.
    pub n_attempts: u32,
    /// The error of the last attempt.
    pub error: String,
    /// When it became a dead letter, in microseconds since 1970 UTC.
    pub dead_micros: i64,
}

/// Number of stored alerts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlertCounts {
    /// Alerts not yet delivered.
    pub n_pending: u64,
    /// Dead letters.
    pub n_dead: u64,
}

impl Store {
    /// Returns the numbers of at most `limit` dead letters among the alerts after this one, the oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn dead_alerts(&self, after: Sequence, limit: usize) -> Result<Vec<Sequence>, StoreError> {
        dead_alerts(&self.inner.readers, after, limit).await
    }

    /// Returns the dead letter among the alerts with this number.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn dead_alert(&self, sequence: Sequence) -> Result<Option<DeadAlert>, StoreError> {
        dead_alert(&self.inner.readers, sequence).await
    }
}

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    alerts: &[AlertRecord],
) -> Result<(), StoreError> {
    for rows in alerts.chunks(ROWS_PER_INSERT_MAX) {
        // Checked first, because the builder's callback cannot fail.
        let numbers =
            rows.iter().map(|row| stored(row.sequence.0)).collect::<Result<Vec<_>, StoreError>>()?;
        let mut statement = QueryBuilder::<Sqlite>::new(
            "INSERT INTO alerts (sequence, id, transaction_id, payload, created_micros, attempts, due_micros) ",
        );
        statement.push_values(rows.iter().zip(numbers), |mut values, (row, sequence)| {
            values
                .push_bind(sequence)
                .push_bind(row.id.as_str())
                .push_bind(&*row.transaction_id)
                .push_bind(&*row.payload)
                .push_bind(row.created_micros)
                .push_bind(0)
                .push_bind(row.created_micros);
        });
        // Groups differ in size, so their statements are not cached.
        statement.build().persistent(false).execute(&mut *connection).await?;
    }
    Ok(())
}

pub(super) async fn due(
    readers: &SqlitePool,
    now_micros: i64,
    limit: usize,
) -> Result<Vec<DueAlert>, StoreError> {
    let rows = sqlx::query(
        "SELECT sequence, id, transaction_id, payload, created_micros, attempts FROM alerts \
         WHERE due_micros <= ?1 ORDER BY due_micros, sequence LIMIT ?2",
    )
    .bind(now_micros)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await?;
    rows.iter().map(|row| Ok(DueAlert { record: record_of(row)?, n_attempts: row.try_get(5)? })).collect()
}

pub(super) async fn next_due(readers: &SqlitePool, after_micros: i64) -> Result<Option<i64>, StoreError> {
    let row = sqlx::query("SELECT min(due_micros) FROM alerts WHERE due_micros > ?1")
        .bind(after_micros)
        .fetch_one(readers)
        .await?;
    Ok(row.try_get(0)?)
}

/// Caps due times at `now_micros` plus the wait for the number of attempts made, in microseconds. The wait is 0 beyond
/// the end of the list. Returns how many alerts changed.
pub(super) async fn shorten(
    connection: &mut SqliteConnection,
    now_micros: i64,
    waits_micros: &[i64],
) -> Result<u64, StoreError> {
    // The debug format of a list of integers is valid JSON.
    let waits = format!("{waits_micros:?}");
    let done = sqlx::query(
        "UPDATE alerts SET due_micros = ?1 + coalesce(json_extract(?2, '$[' || attempts || ']'), 0) \
         WHERE due_micros > ?1 + coalesce(json_extract(?2, '$[' || attempts || ']'), 0)",
    )
    .bind(now_micros)
    .bind(waits)
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

pub(super) async fn settle(
    connection: &mut SqliteConnection,
    settled: &[(Sequence, AlertOutcome)],
) -> Result<(), StoreError> {
    let mut commit = connection.begin_with("BEGIN IMMEDIATE").await?;
    for (sequence, outcome) in settled {
        let sequence = stored(sequence.0)?;
        let statement = match outcome {
            AlertOutcome::Delivered => sqlx::query("DELETE FROM alerts WHERE sequence = ?1").bind(sequence),
            AlertOutcome::Later(due_micros, error) => sqlx::query(
                "UPDATE alerts SET attempts = attempts + 1, due_micros = ?2, error = ?3 WHERE sequence = ?1",
            )
            .bind(sequence)
            .bind(due_micros)
            .bind(error),
            AlertOutcome::Dead(dead_micros, error) => sqlx::query(
                "UPDATE alerts SET attempts = attempts + 1, due_micros = NULL, dead_micros = ?2, error = ?3 \
                 WHERE sequence = ?1",
            )
            .bind(sequence)
            .bind(dead_micros)
            .bind(error),
        };
        statement.execute(&mut *commit).await?;
    }
    Ok(commit.commit().await?)
}

/// Returns the numbers of at most `limit` dead letters after this one, the oldest first.
async fn dead_alerts(
    readers: &SqlitePool,
    after: Sequence,
    limit: usize,
) -> Result<Vec<Sequence>, StoreError> {
    let numbers: Vec<i64> = sqlx::query_scalar(
        "SELECT sequence FROM alerts WHERE dead_micros IS NOT NULL AND sequence > ?1 ORDER BY sequence LIMIT ?2",
    )
    .bind(stored(after.0)?)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await?;
    Ok(numbers.into_iter().map(|number| Sequence(number.unsigned_abs())).collect())
}

async fn dead_alert(readers: &SqlitePool, sequence: Sequence) -> Result<Option<DeadAlert>, StoreError> {
    let row = sqlx::query(
        "SELECT sequence, id, transaction_id, payload, created_micros, attempts, error, dead_micros FROM alerts \
         WHERE dead_micros IS NOT NULL AND sequence = ?1",
    )
    .bind(stored(sequence.0)?)
    .fetch_optional(readers)
    .await?;
    let dead_letter = |row: &SqliteRow| {
        Ok(DeadAlert {
            record: record_of(row)?,
            n_attempts: row.try_get(5)?,
            error: row.try_get(6)?,
            dead_micros: row.try_get(7)?,
        })
    };
    row.as_ref().map(dead_letter).transpose()
}

/// Makes a dead letter due again with all its attempts. Returns whether it exists.
pub(super) async fn replay(
    connection: &mut SqliteConnection,
    id: &str,
    now_micros: i64,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE alerts SET attempts = 0, due_micros = ?2, dead_micros = NULL WHERE id = ?1 AND dead_micros IS NOT NULL",
    )
    .bind(id)
    .bind(now_micros)
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn forget(connection: &mut SqliteConnection, before_micros: i64) -> Result<u64, StoreError> {
    let done = sqlx::query("DELETE FROM alerts WHERE dead_micros < ?1")
        .bind(before_micros)
        .execute(connection)
        .await?;
    Ok(done.rows_affected())
}

pub(super) async fn counts(readers: &SqlitePool) -> Result<AlertCounts, StoreError> {
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM alerts WHERE due_micros IS NOT NULL), \
         (SELECT count(*) FROM alerts WHERE dead_micros IS NOT NULL)",
    )
    .fetch_one(readers)
    .await?;
    Ok(AlertCounts { n_pending: read(row.try_get(0)?)?, n_dead: read(row.try_get(1)?)? })
}

fn record_of(row: &SqliteRow) -> Result<AlertRecord, StoreError> {
    Ok(AlertRecord {
        sequence: Sequence(read(row.try_get(0)?)?),
        id: AlertId::from_stored(row.try_get(1)?),
        transaction_id: row.try_get::<&str, _>(2)?.into(),
        payload: row.try_get::<&str, _>(3)?.into(),
        created_micros: row.try_get(4)?,
    })
}
