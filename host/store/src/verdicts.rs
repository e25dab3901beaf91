//! Stored transactions and verdicts by their numbers.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};
use tollgate_model::sequence::Sequence;

use super::{Store, StoreError, transactions};

/// A transaction that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictRecord {
    /// Sequence number of the transaction.
    pub sequence: Sequence,
    /// Unique id.
    pub transaction_id: Arc<str>,
    /// When it was accepted, in microseconds since 1970 UTC.
    pub accepted_micros: i64,
    /// The transaction as JSON.
    pub body: String,
    /// The canonical answer as JSON.
    pub assessment: String,
}

impl Store {
    /// Returns the transactions with these numbers that were judged, the last one first. The caller must bound their
    /// number.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn verdicts_of(&self, numbers: &[Sequence]) -> Result<Vec<VerdictRecord>, StoreError> {
        read(&self.inner.readers, numbers).await
    }

    /// Returns the numbers and answers of the transactions after one number, through another, on which a rule matched,
    /// the last one first. The caller must bound the range.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn matches_between(
        &self,
        after: Sequence,
        through: Sequence,
    ) -> Result<Vec<(Sequence, String)>, StoreError> {
        // Most answers say that no rule matched; they are passed over without being parsed.
        let rows: Vec<(i64, String)> = sqlx::query_as(
            "SELECT sequence, answer FROM (SELECT accepted.sequence AS sequence, \
             coalesce(nullif(accepted.assessment, ''), late_verdicts.assessment) AS answer \
             FROM transactions AS accepted LEFT JOIN late_verdicts ON target = accepted.sequence \
             WHERE accepted.sequence > ?1 AND accepted.sequence <= ?2) \
             WHERE answer IS NOT NULL AND instr(answer, '\"triggered\":[]') = 0 ORDER BY sequence DESC",
        )
        .bind(transactions::stored(after.0)?)
        .bind(transactions::stored(through.0)?)
        .fetch_all(&self.inner.readers)
        .await?;
        rows.into_iter().map(|(number, answer)| Ok((Sequence(transactions::read(number)?), answer))).collect()
    }

    /// Returns the bodies of the transactions with these numbers, as far as there are any. The caller must bound their
    /// number.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn bodies_of(&self, numbers: &[Sequence]) -> Result<Vec<(Sequence, String)>, StoreError> {
        transactions::bodies_of(&self.inner.readers, numbers).await
    }
}

async fn read(readers: &SqlitePool, numbers: &[Sequence]) -> Result<Vec<VerdictRecord>, StoreError> {
    let numbers: Vec<String> = numbers.iter().map(|number| number.0.to_string()).collect();
    let rows = sqlx::query(
        "SELECT accepted.sequence, transaction_id, accepted_micros, accepted.body, \
         coalesce(nullif(accepted.assessment, ''), late_verdicts.assessment) AS answer \
         FROM transactions AS accepted LEFT JOIN late_verdicts ON target = accepted.sequence \
         WHERE accepted.sequence IN (SELECT value FROM json_each(?1)) AND answer IS NOT NULL \
         ORDER BY accepted.sequence DESC",
    )
    .bind(format!("[{}]", numbers.join(",")))
    .fetch_all(readers)
    .await?;
    rows.iter().map(record_of).collect()
}

fn record_of(row: &SqliteRow) -> Result<VerdictRecord, StoreError> {
    Ok(VerdictRecord {
        sequence: Sequence(transactions::read(row.try_get(0)?)?),
        transaction_id: Arc::from(row.try_get::<String, _>(1)?),
        accepted_micros: row.try_get(2)?,
        body: row.try_get(3)?,
        assessment: row.try_get(4)?,
    })
}
