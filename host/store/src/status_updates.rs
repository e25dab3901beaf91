//! SQL for the log of status updates.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, SqliteExecutor, SqlitePool};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{DatedStatus, JsonNumber, ReportedStatus};

use super::deferred_verdicts::verdict_of;
use super::transactions::{read, record_of, stored};
use super::{AmountUpdate, CurrentRecord, StatusUpdateRecord, Store, StoreError};

/// Maximum number of rows in one insert, and of ids in one query.
const ROWS_PER_INSERT_MAX: usize = 128;

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    updates: &[&StatusUpdateRecord],
) -> Result<(), StoreError> {
    for rows in updates.chunks(ROWS_PER_INSERT_MAX) {
        // Checked first, because the builder's callback cannot fail.
        let numbers = rows
            .iter()
            .map(|row| Ok((stored(row.sequence.0)?, stored(row.target.0)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        let mut statement = QueryBuilder::<Sqlite>::new(
            "INSERT INTO status_updates (sequence, target, before, after, event, accepted_micros) ",
        );
        statement.push_values(rows.iter().zip(numbers), |mut values, (row, (sequence, target))| {
            values
                .push_bind(sequence)
                .push_bind(target)
                .push_bind(row.before.as_deref())
                .push_bind(&*row.after)
                .push_bind(&*row.event)
                .push_bind(row.accepted_micros);
        });
        // Groups differ in size and updates are rare, so their statements are not cached.
        statement.build().persistent(false).execute(&mut *connection).await?;
    }
    for row in updates {
        let Some(AmountUpdate { before, after }) = &row.amounts else { continue };
        sqlx::query("INSERT INTO amount_updates (sequence, before, after) VALUES (?1, ?2, ?3)")
            .bind(stored(row.sequence.0)?)
            .bind(&**before)
            .bind(&**after)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Stores the statuses reported for a transaction within a commit.
pub(super) async fn note_standing(
    connection: &mut SqliteConnection,
    target: Sequence,
    standing: &ReportedStatus,
) -> Result<(), StoreError> {
    let Some(latest) = &standing.latest else { return Ok(()) };
    sqlx::query(
        "INSERT INTO told_statuses (target, changed, status, undated) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (target) \
         DO UPDATE SET changed = excluded.changed, status = excluded.status, undated = excluded.undated",
    )
    .bind(stored(target.0)?)
    .bind(latest.changed)
    .bind(&*latest.status)
    .bind(standing.undated.as_deref())
    .execute(connection)
    .await?;
    Ok(())
}

/// Selects a transaction, the status of its last update, its deferred verdict and its reported statuses.
const CURRENT: &str = "SELECT t.sequence, t.transaction_id, t.fingerprint, t.event_micros, t.accepted_micros, \
     t.rule_set_version, t.body, t.assessment, (SELECT after FROM status_updates WHERE target = t.sequence \
     ORDER BY status_updates.sequence DESC LIMIT 1), late.fingerprint, late.body, late.assessment, \
     told.changed, told.status, told.undated, (SELECT a.after FROM status_updates u \
     JOIN amount_updates a ON a.sequence = u.sequence WHERE u.target = t.sequence \
     ORDER BY u.sequence DESC LIMIT 1), t.is_reported FROM transactions t \
     LEFT JOIN late_verdicts late ON late.target = t.sequence \
     LEFT JOIN told_statuses told ON told.target = t.sequence WHERE t.transaction_id ";

pub(super) async fn current(
    readers: &SqlitePool,
    transaction_id: &str,
) -> Result<Option<CurrentRecord>, StoreError> {
    let mut statement = QueryBuilder::<Sqlite>::new(CURRENT);
    statement.push("= ").push_bind(transaction_id);
    let row = statement.build().fetch_optional(readers).await?;
    row.as_ref().map(current_of).transpose()
}

/// Returns the transactions with these ids that are stored.
pub(super) async fn known(
    readers: &SqlitePool,
    transaction_ids: &[Arc<str>],
) -> Result<Vec<CurrentRecord>, StoreError> {
    let mut known = Vec::new();
    for ids in transaction_ids.chunks(ROWS_PER_INSERT_MAX) {
        let mut statement = QueryBuilder::<Sqlite>::new(CURRENT);
        statement.push("IN (");
        let mut list = statement.separated(", ");
        // Always the same number of parameters, so that one prepared statement serves all; the last id is repeated.
        for id in ids.iter().chain(ids.last().into_iter().cycle()).take(ROWS_PER_INSERT_MAX) {
            list.push_bind(&**id);
        }
        list.push_unseparated(")");
        let rows = statement.build().fetch_all(readers).await?;
        for row in &rows {
            known.push(current_of(row)?);
        }
    }
    Ok(known)
}

fn current_of(row: &SqliteRow) -> Result<CurrentRecord, StoreError> {
    Ok(CurrentRecord {
        record: record_of(row)?,
        status: row.try_get(8)?,
        late: verdict_of(row, 9)?,
        standing: standing_of(row, 12)?,
        amount: amount_of(row, 15)?,
    })
}

fn amount_of(row: &SqliteRow, column: usize) -> Result<Option<JsonNumber>, StoreError> {
    let Some(text) = row.try_get::<Option<&str>, _>(column)? else { return Ok(None) };
    let amount = JsonNumber::from_stored(text);
    amount.map(Some).ok_or_else(|| StoreError::corrupt("the amount of an update is not a number"))
}

/// Reads the reported statuses starting at column `first`.
fn standing_of(row: &SqliteRow, first: usize) -> Result<Option<ReportedStatus>, StoreError> {
    let Some(changed) = row.try_get(first)? else { return Ok(None) };
    let text = |column: usize| row.try_get::<Option<&str>, _>(column).map(|text| text.map(Arc::from));
    let latest = text(first + 1)?.map(|status| DatedStatus { changed, status });
    Ok(Some(ReportedStatus { latest, undated: text(first + 2)? }))
}

/// Returns the updates in a range, each with the body of its transaction.
pub(super) async fn between(
    readers: impl SqliteExecutor<'_>,
    after: Sequence,
    through: Sequence,
) -> Result<Vec<(StatusUpdateRecord, String)>, StoreError> {
    let rows = sqlx::query(
        "SELECT u.sequence, u.target, u.before, u.after, u.event, u.accepted_micros, a.before, a.after, t.body \
         FROM status_updates u LEFT JOIN amount_updates a ON a.sequence = u.sequence \
         JOIN transactions t ON t.sequence = u.target WHERE u.sequence > ?1 AND u.sequence <= ?2 \
         ORDER BY u.sequence",
    )
    .bind(i64::try_from(after.0).unwrap_or(i64::MAX))
    .bind(i64::try_from(through.0).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await?;
    rows.iter().map(|row| Ok((update_of(row)?, row.try_get(8)?))).collect()
}

impl Store {
    /// Returns the latest status updates of a transaction, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn status_updates_of(
        &self,
        target: Sequence,
        limit: u32,
    ) -> Result<Vec<StatusUpdateRecord>, StoreError> {
        let rows = sqlx::query(
            "SELECT u.sequence, u.target, u.before, u.after, u.event, u.accepted_micros, a.before, a.after \
             FROM status_updates u LEFT JOIN amount_updates a ON a.sequence = u.sequence WHERE u.target = ?1 \
             ORDER BY u.sequence DESC LIMIT ?2",
        )
        .bind(stored(target.0)?)
        .bind(limit)
        .fetch_all(&self.inner.readers)
        .await?;
        rows.iter().rev().map(update_of).collect()
    }
}

fn update_of(row: &SqliteRow) -> Result<StatusUpdateRecord, StoreError> {
    Ok(StatusUpdateRecord {
        sequence: Sequence(read(row.try_get(0)?)?),
        target: Sequence(read(row.try_get(1)?)?),
        before: row.try_get::<Option<&str>, _>(2)?.map(Into::into),
        after: row.try_get::<&str, _>(3)?.into(),
        event: row.try_get::<&str, _>(4)?.into(),
        accepted_micros: row.try_get(5)?,
        amounts: match (row.try_get::<Option<&str>, _>(6)?, row.try_get::<Option<&str>, _>(7)?) {
            (Some(before), Some(after)) => Some(AmountUpdate { before: before.into(), after: after.into() }),
            _ => None,
        },
    })
}
