//! Hashes of stored transactions.

use sqlx::{Row as _, SqlitePool};
use tollgate_model::sequence::Sequence;

use super::{HashRecord, Store, StoreError, transactions};

impl Store {
    /// Returns at most this many of the transactions before a number, the last one first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn hashes_before(&self, before: Sequence, n_rows: u32) -> Result<Vec<HashRecord>, StoreError> {
        read(&self.inner.readers, before, n_rows).await
    }
}

async fn read(readers: &SqlitePool, before: Sequence, n_rows: u32) -> Result<Vec<HashRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT sequence, transaction_id, json_extract(body, '$.hash'), accepted_micros FROM transactions \
         WHERE sequence < ?1 ORDER BY sequence DESC LIMIT ?2",
    )
    .bind(i64::try_from(before.0).unwrap_or(i64::MAX))
    .bind(n_rows)
    .fetch_all(readers)
    .await?;
    let record = |row: &sqlx::sqlite::SqliteRow| {
        Ok(HashRecord {
            sequence: Sequence(transactions::read(row.try_get(0)?)?),
            transaction_id: row.try_get(1)?,
            hash: row.try_get(2)?,
            accepted_micros: row.try_get(3)?,
        })
    };
    rows.iter().map(record).collect()
}
