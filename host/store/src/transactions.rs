//! SQL for the log of transactions.

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, QueryBuilder, Row as _, Sqlite, SqliteConnection, SqliteExecutor, SqlitePool};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Fingerprint;

use super::{
    CommitRecord, LastTimes, StoreError, TransactionOrigin, TransactionRecord, alerts as outgoing,
    deferred_verdicts, ledger, ledger_entries, list_versions, status_updates, without_effect,
};

/// Maximum number of rows in one statement. A prepared statement is cached for every number of rows, so that a group
/// needs one round trip to the connection thread. When all cores are busy, every round trip waits for one.
pub(super) const ROWS_PER_INSERT_MAX: usize = 128;

pub(super) async fn record(
    connection: &mut SqliteConnection,
    record: &CommitRecord<'_>,
    first_verdicts: &[u64],
) -> Result<(), StoreError> {
    let CommitRecord {
        transactions,
        updates,
        deferred_verdicts,
        ledger,
        entries,
        descriptions,
        standings,
        without_effect: unmoved,
        alerts,
    } = record;
    let tells_of_known = !descriptions.is_empty() || !standings.is_empty() || !unmoved.is_empty();
    let has_news = !ledger.is_empty() || !entries.is_empty() || tells_of_known;
    if transactions.is_empty() && updates.is_empty() && deferred_verdicts.is_empty() && !has_news {
        return Ok(());
    }
    let has_alerts = !alerts.is_empty();
    let has_more = !updates.is_empty()
        || !deferred_verdicts.is_empty()
        || !first_verdicts.is_empty()
        || has_news
        || has_alerts;
    if !has_more && rows_of_next(transactions) == transactions.len() {
        // A single statement is a transaction by itself, with one round trip instead of three.
        return insert(connection, transactions).await;
    }
    let mut commit = connection.begin_with("BEGIN IMMEDIATE").await?;
    for version in first_verdicts {
        list_versions::note_judged(&mut commit, *version).await?;
    }
    let mut rest = transactions.as_slice();
    while !rest.is_empty() {
        let n_rows = rows_of_next(rest);
        let (rows, behind) = rest.split_at_checked(n_rows).unwrap_or((rest, &[]));
        insert(&mut commit, rows).await?;
        rest = behind;
    }
    status_updates::insert(&mut commit, updates).await?;
    outgoing::insert(&mut commit, alerts).await?;
    deferred_verdicts::insert(&mut commit, deferred_verdicts).await?;
    for progress in ledger {
        ledger::note(&mut commit, progress).await?;
    }
    for change in *entries {
        ledger_entries::change(&mut commit, change).await?;
    }
    for description in *descriptions {
        ledger_entries::describe(&mut commit, description).await?;
    }
    for (target, standing) in standings {
        status_updates::note_standing(&mut commit, *target, standing).await?;
    }
    for reported in *unmoved {
        without_effect::insert(&mut commit, reported).await?;
    }
    Ok(commit.commit().await?)
}

/// Returns the number of rows of the next statement.
fn rows_of_next(rest: &[&TransactionRecord]) -> usize {
    rest.len().min(ROWS_PER_INSERT_MAX)
}

async fn insert(connection: &mut SqliteConnection, rows: &[&TransactionRecord]) -> Result<(), StoreError> {
    // Checked before, because the builder's callback cannot fail.
    let numbers = rows
        .iter()
        .map(|row| Ok((stored(row.sequence.0)?, stored(row.rule_set_version)?)))
        .collect::<Result<Vec<_>, StoreError>>()?;
    let mut statement = QueryBuilder::<Sqlite>::new(
        "INSERT INTO transactions (sequence, transaction_id, fingerprint, event_micros, accepted_micros, \
         rule_set_version, body, assessment, is_reported) ",
    );
    statement.push_values(rows.iter().zip(numbers), |mut values, (row, (sequence, rule_set_version))| {
        values
            .push_bind(sequence)
            .push_bind(&*row.transaction_id)
            .push_bind(row.fingerprint.0.to_vec())
            .push_bind(row.event_micros)
            .push_bind(row.accepted_micros)
            .push_bind(rule_set_version)
            .push_bind(&*row.body)
            .push_bind(row.assessment.as_deref().unwrap_or_default())
            .push_bind(row.origin.stored());
    });
    statement.build().execute(connection).await?;
    Ok(())
}

pub(super) async fn of_id(
    readers: &SqlitePool,
    transaction_id: &str,
) -> Result<Option<TransactionRecord>, StoreError> {
    let row = sqlx::query(
        "SELECT sequence, transaction_id, fingerprint, event_micros, accepted_micros, rule_set_version, body, \
         assessment, is_reported FROM transactions WHERE transaction_id = ?1",
    )
    .bind(transaction_id)
    .fetch_optional(readers)
    .await?;
    row.as_ref().map(record_of).transpose()
}

#[cfg(test)]
pub(super) async fn scan(
    readers: &SqlitePool,
    after: Sequence,
    limit: usize,
) -> Result<Vec<TransactionRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT sequence, transaction_id, fingerprint, event_micros, accepted_micros, rule_set_version, body, \
         assessment, is_reported FROM transactions WHERE sequence > ?1 ORDER BY sequence LIMIT ?2",
    )
    .bind(i64::try_from(after.0).unwrap_or(i64::MAX))
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await?;
    rows.iter().map(record_of).collect()
}

pub(super) async fn bodies(
    readers: impl SqliteExecutor<'_>,
    after: Sequence,
    through: Sequence,
) -> Result<Vec<(Sequence, String)>, StoreError> {
    let rows = sqlx::query(
        "SELECT sequence, body FROM transactions WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence",
    )
    .bind(i64::try_from(after.0).unwrap_or(i64::MAX))
    .bind(i64::try_from(through.0).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await?;
    rows.iter().map(|row| Ok((Sequence(read(row.try_get(0)?)?), row.try_get(1)?))).collect()
}

/// Returns the bodies of the transactions with these numbers, as far as there are any, in sequence order.
pub(super) async fn bodies_of(
    readers: &SqlitePool,
    numbers: &[Sequence],
) -> Result<Vec<(Sequence, String)>, StoreError> {
    let rows = sqlx::query(
        "SELECT sequence, body FROM transactions WHERE sequence IN (SELECT value FROM json_each(?1)) \
         ORDER BY sequence",
    )
    .bind(format!("[{}]", numbers.iter().map(|number| number.0.to_string()).collect::<Vec<_>>().join(",")))
    .fetch_all(readers)
    .await?;
    rows.iter().map(|row| Ok((Sequence(read(row.try_get(0)?)?), row.try_get(1)?))).collect()
}

pub(super) async fn last_sequence(
    readers: impl sqlx::Executor<'_, Database = sqlx::Sqlite>,
) -> Result<Sequence, StoreError> {
    let last: Option<i64> = sqlx::query_scalar(
        "SELECT max(coalesce((SELECT max(sequence) FROM transactions), 0), \
         coalesce((SELECT max(sequence) FROM status_updates), 0), \
         coalesce((SELECT max(sequence) FROM late_verdicts), 0))",
    )
    .fetch_one(readers)
    .await?;
    Ok(Sequence(read(last.unwrap_or(0))?))
}

/// Returns the number of transactions and the highest of their sequence numbers.
pub(super) async fn extent(connection: &mut SqliteConnection) -> Result<(u64, Sequence), StoreError> {
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM transactions").fetch_one(&mut *connection).await?;
    let last: Option<i64> =
        sqlx::query_scalar("SELECT max(sequence) FROM transactions").fetch_one(connection).await?;
    Ok((read(count)?, Sequence(read(last.unwrap_or(0))?)))
}

pub(super) async fn last_times(readers: &SqlitePool) -> Result<Option<LastTimes>, StoreError> {
    let last = "SELECT accepted_micros FROM transactions ORDER BY sequence DESC LIMIT 1";
    let Some(accepted_micros) = sqlx::query_scalar(last).fetch_optional(readers).await? else {
        return Ok(None);
    };
    // The latest of all would need an index, or every row. An earlier one only keeps more of the history.
    let latest = "SELECT max(min(event_micros, accepted_micros)) FROM
        (SELECT event_micros, accepted_micros FROM transactions ORDER BY sequence DESC LIMIT 10000)";
    let event_micros = sqlx::query_scalar(latest).fetch_one(readers).await?;
    Ok(Some(LastTimes { accepted_micros, event_micros }))
}

pub(super) fn record_of(row: &SqliteRow) -> Result<TransactionRecord, StoreError> {
    let assessment: String = row.try_get(7)?;
    Ok(TransactionRecord {
        sequence: Sequence(read(row.try_get(0)?)?),
        transaction_id: row.try_get::<&str, _>(1)?.into(),
        fingerprint: fingerprint_of(row.try_get(2)?)?,
        event_micros: row.try_get(3)?,
        accepted_micros: row.try_get(4)?,
        rule_set_version: read(row.try_get(5)?)?,
        body: row.try_get(6)?,
        assessment: Some(assessment).filter(|assessment| !assessment.is_empty()),
        origin: TransactionOrigin::read(row.try_get("is_reported")?),
    })
}

pub(super) fn fingerprint_of(bytes: &[u8]) -> Result<Fingerprint, StoreError> {
    let bytes = bytes.try_into().map_err(|_| StoreError::corrupt("a fingerprint is not 32 bytes long"))?;
    Ok(Fingerprint(bytes))
}

pub(super) fn stored(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number)
        .map_err(|_| StoreError::Conflict { what: format!("{number} is larger than the store can hold") })
}

pub(super) fn read(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| StoreError::corrupt(format!("a count is negative: {number}")))
}
