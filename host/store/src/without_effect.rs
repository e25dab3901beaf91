//! SQL for statuses that a ledger reported and that did not stand.

use std::sync::Arc;

use sqlx::{Row as _, SqliteConnection};
use tollgate_model::sequence::Sequence;

use super::transactions::stored;
use super::{Store, StoreError};

/// Maximum number of different words of one transaction. Further words are not kept.
const WORDS_MAX: i64 = 32;

/// A status that was reported and did not stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusWithoutEffect {
    /// Sequence number of the transaction.
    pub target: Sequence,
    /// The reported status.
    pub status: Arc<str>,
    /// The ledger's event name.
    pub event: Arc<str>,
    /// When it was first accepted, in microseconds since 1970 UTC.
    pub accepted_micros: i64,
}

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    reported: &StatusWithoutEffect,
) -> Result<(), StoreError> {
    let StatusWithoutEffect { target, status, event, accepted_micros } = reported;
    sqlx::query(
        "INSERT INTO statuses_without_effect (target, status, event, accepted_micros) SELECT ?1, ?2, ?3, ?4 \
         WHERE (SELECT count(*) FROM statuses_without_effect WHERE target = ?1) < ?5 ON CONFLICT DO NOTHING",
    )
    .bind(stored(target.0)?)
    .bind(&**status)
    .bind(&**event)
    .bind(*accepted_micros)
    .bind(WORDS_MAX)
    .execute(connection)
    .await?;
    Ok(())
}

impl Store {
    /// Returns the statuses of a transaction that did not stand, the first one first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn statuses_without_effect(
        &self,
        target: Sequence,
    ) -> Result<Vec<StatusWithoutEffect>, StoreError> {
        let rows = sqlx::query(
            "SELECT status, event, accepted_micros FROM statuses_without_effect WHERE target = ?1 \
             ORDER BY accepted_micros, status",
        )
        .bind(stored(target.0)?)
        .fetch_all(&self.inner.readers)
        .await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            Ok(StatusWithoutEffect {
                target,
                status: row.try_get::<&str, _>(0)?.into(),
                event: row.try_get::<&str, _>(1)?.into(),
                accepted_micros: row.try_get(2)?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// Returns whether a status of a transaction that did not stand is to be stored: it is new, and there is room.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn lacks_status_without_effect(
        &self,
        target: Sequence,
        status: &str,
    ) -> Result<bool, StoreError> {
        let lacks = sqlx::query_scalar(
            "SELECT count(*) < ?3 AND coalesce(max(status = ?2), 0) = 0 FROM statuses_without_effect \
             WHERE target = ?1",
        );
        let lacks = lacks.bind(stored(target.0)?).bind(status).bind(WORDS_MAX);
        Ok(lacks.fetch_one(&self.inner.readers).await?)
    }
}
