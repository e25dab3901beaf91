//! SQL for deferred verdicts, given after their transaction got its sequence number.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use super::transactions::{fingerprint_of, stored};
use super::{DeferredVerdict, DeferredVerdictRecord, StoreError};

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    verdicts: &[&DeferredVerdictRecord],
) -> Result<(), StoreError> {
    for DeferredVerdictRecord { sequence, target, rule_set_version, verdict } in verdicts {
        sqlx::query(
            "INSERT INTO late_verdicts (sequence, target, fingerprint, rule_set_version, body, assessment) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .bind(stored(sequence.0)?)
        .bind(stored(target.0)?)
        .bind(verdict.fingerprint.0.to_vec())
        .bind(stored(*rule_set_version)?)
        .bind(&*verdict.body)
        .bind(&*verdict.assessment)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Reads fingerprint, body and assessment starting at column `first`. Returns `None` if they are null.
pub(super) fn verdict_of(row: &SqliteRow, first: usize) -> Result<Option<DeferredVerdict>, StoreError> {
    let Some(fingerprint) = row.try_get::<Option<&[u8]>, _>(first)? else { return Ok(None) };
    Ok(Some(DeferredVerdict {
        fingerprint: fingerprint_of(fingerprint)?,
        body: row.try_get(first + 1)?,
        assessment: row.try_get(first + 2)?,
    }))
}
