//! Alerts on their way to webhooks, in SQL.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, QueryBuilder, Row as _, Sqlite, SqliteConnection, SqlitePool};
use tollgate_model::alert::AlertId;
use tollgate_model::sequence::Sequence;

use super::StoreError;
use super::transactions::{read, stored};

/// Most rows of one statement.
const ROWS_PER_INSERT_MAX: usize = 128;

/// An alert as it is written beside its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertRecord {
    /// That of the transaction.
    pub sequence: Sequence,
    /// The same at every attempt.
    pub id: AlertId,
    /// Of which transaction.
    pub transaction_id: Arc<str>,
    /// What is sent.
    pub payload: Arc<str>,
    /// When the transaction was accepted, in microseconds since 1970 UTC.
    pub created_micros: i64,
}

/// An alert whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueAlert {
    /// The alert.
    pub record: AlertRecord,
    /// Attempts so far.
    pub n_attempts: u32,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlertOutcome {
    /// Somebody took it.
    Delivered,
    /// Nobody took it; there is another attempt at this time, in microseconds since 1970 UTC.
    Later(i64, String),
    /// Nobody took it, and there is no other attempt; since this time, in microseconds since 1970 UTC.
    Dead(i64, String),
}

/// An alert that nobody took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadAlert {
    /// The alert.
    pub record: AlertRecord,
    /// How often it was sent in vain.
    pub n_attempts: u32,
    /// Why the last attempt failed.
    pub error: String,
    /// Since when it is one, in microseconds since 1970 UTC.
    pub dead_micros: i64,
}

/// How many alerts there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlertCounts {
    /// On their way.
    pub n_pending: u64,
    /// Dead letters.
    pub n_dead: u64,
}

/// Adds alerts inside a commit that is under way.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    alerts: &[AlertRecord],
) -> Result<(), StoreError> {
    for rows in alerts.chunks(ROWS_PER_INSERT_MAX) {
        // Checked before, because the builder's callback cannot fail.
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
        // Groups differ in size: their statements are not worth keeping.
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

/// When the first alert behind this time is due.
pub(super) async fn next_due(readers: &SqlitePool, after_micros: i64) -> Result<Option<i64>, StoreError> {
    let row = sqlx::query("SELECT min(due_micros) FROM alerts WHERE due_micros > ?1")
        .bind(after_micros)
        .fetch_one(readers)
        .await?;
    Ok(row.try_get(0)?)
}

/// Of what is due further away than its wait, counted from now, the wait begins again: by attempts so far, in microseconds;
/// more attempts wait for nothing. How many there were.
pub(super) async fn shorten(
    connection: &mut SqliteConnection,
    now_micros: i64,
    waits_micros: &[i64],
) -> Result<u64, StoreError> {
    // Whole numbers are JSON as they are shown.
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

/// The oldest come first.
pub(super) async fn dead_alerts(readers: &SqlitePool, limit: usize) -> Result<Vec<DeadAlert>, StoreError> {
    let rows = sqlx::query(
        "SELECT sequence, id, transaction_id, payload, created_micros, attempts, error, dead_micros FROM alerts \
         WHERE dead_micros IS NOT NULL ORDER BY sequence LIMIT ?1",
    )
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await?;
    let dead_letter = |row: &SqliteRow| {
        Ok(DeadAlert {
            record: record_of(row)?,
            n_attempts: row.try_get(5)?,
            error: row.try_get(6)?,
            dead_micros: row.try_get(7)?,
        })
    };
    rows.iter().map(dead_letter).collect()
}

/// Gives a dead letter all its attempts again; whether there was one of this id.
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

/// Removes dead letters that became one before this time; how many.
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
