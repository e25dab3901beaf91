//! The log of status updates, in SQL.

use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, SqlitePool};

use super::transactions::{read, record_of, stored};
use super::{CurrentRecord, StatusUpdateRecord, StoreError};
use crate::sequence::Sequence;

/// Most rows of one statement.
const ROWS_PER_INSERT_MAX: usize = 128;

/// Adds updates inside a commit that is under way.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    updates: &[StatusUpdateRecord],
) -> Result<(), StoreError> {
    for rows in updates.chunks(ROWS_PER_INSERT_MAX) {
        // Checked before, because the builder's callback cannot fail.
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
        // Groups differ in size, and updates are few: their statements are not worth keeping.
        statement.build().persistent(false).execute(&mut *connection).await?;
    }
    Ok(())
}

pub(super) async fn current(
    readers: &SqlitePool,
    transaction_id: &str,
) -> Result<Option<CurrentRecord>, StoreError> {
    let row = sqlx::query(
        "SELECT sequence, transaction_id, fingerprint, event_micros, accepted_micros, rule_set_version, body, \
         assessment, (SELECT after FROM status_updates WHERE target = transactions.sequence \
         ORDER BY status_updates.sequence DESC LIMIT 1) FROM transactions WHERE transaction_id = ?1",
    )
    .bind(transaction_id)
    .fetch_optional(readers)
    .await?;
    row.map(|row| Ok(CurrentRecord { record: record_of(&row)?, status: row.try_get(8)? })).transpose()
}

/// With the body of the transaction of each.
pub(super) async fn between(
    readers: &SqlitePool,
    after: Sequence,
    through: Sequence,
) -> Result<Vec<(StatusUpdateRecord, String)>, StoreError> {
    let rows = sqlx::query(
        "SELECT u.sequence, u.target, u.before, u.after, u.event, u.accepted_micros, t.body FROM status_updates u \
         JOIN transactions t ON t.sequence = u.target WHERE u.sequence > ?1 AND u.sequence <= ?2 \
         ORDER BY u.sequence",
    )
    .bind(i64::try_from(after.0).unwrap_or(i64::MAX))
    .bind(i64::try_from(through.0).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await?;
    rows.iter().map(|row| Ok((update_of(row)?, row.try_get(6)?))).collect()
}

fn update_of(row: &SqliteRow) -> Result<StatusUpdateRecord, StoreError> {
    Ok(StatusUpdateRecord {
        sequence: Sequence(read(row.try_get(0)?)?),
        target: Sequence(read(row.try_get(1)?)?),
        before: row.try_get::<Option<&str>, _>(2)?.map(Into::into),
        after: row.try_get::<&str, _>(3)?.into(),
        event: row.try_get::<&str, _>(4)?.into(),
        accepted_micros: row.try_get(5)?,
    })
}
