//! A summary of the store up to a number, for verifying data derived from it, such as snapshots.

use sha2::{Digest as _, Sha256};
use sqlx::{Row as _, SqliteConnection, SqlitePool};
use tollgate_history::PastSummary;
use tollgate_model::sequence::Sequence;

use super::StoreError;
use super::transactions::read;

/// Number of evenly spread rows that are sampled in addition to the last one.
const SAMPLES: u64 = 64;

pub(super) async fn testimony(readers: &SqlitePool, through: Sequence) -> Result<PastSummary, StoreError> {
    let mut digest = Sha256::new();
    let end = i64::try_from(through.0).unwrap_or(i64::MAX);
    for sample in 0..SAMPLES {
        let first = i64::try_from(u128::from(through.0) * u128::from(sample) / u128::from(SAMPLES));
        let first = first.unwrap_or(i64::MAX);
        let statement = "SELECT sequence, fingerprint, body FROM transactions \
                         WHERE sequence BETWEEN ?1 AND ?2 ORDER BY sequence LIMIT 1";
        take_in(&mut digest, readers, statement, first, end).await?;
    }
    let statement = "SELECT sequence, fingerprint, body FROM transactions \
                     WHERE sequence BETWEEN ?1 AND ?2 ORDER BY sequence DESC LIMIT 1";
    let last = take_in(&mut digest, readers, statement, 0, end).await?;
    take_in_updates(&mut digest, readers, end).await?;
    Ok(PastSummary {
        store: name(&mut *readers.acquire().await?).await?,
        last,
        rows: digest.finalize().into(),
    })
}

/// Digests the first row of the statement. Returns its sequence number, or 0 if there is none.
async fn take_in(
    digest: &mut Sha256,
    readers: &SqlitePool,
    statement: &'static str,
    first: i64,
    end: i64,
) -> Result<Sequence, StoreError> {
    let Some(row) = sqlx::query(statement).bind(first).bind(end).fetch_optional(readers).await? else {
        return Ok(Sequence::default());
    };
    let (sequence, body) = (row.try_get::<i64, _>(0)?, row.try_get::<&str, _>(2)?);
    digest.update(sequence.to_le_bytes());
    digest.update(row.try_get::<&[u8], _>(1)?);
    digest.update(body.len().to_le_bytes());
    digest.update(body);
    Ok(Sequence(read(sequence)?))
}

/// Digests the number of updates and the last of them.
async fn take_in_updates(digest: &mut Sha256, readers: &SqlitePool, end: i64) -> Result<(), StoreError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM status_updates WHERE sequence <= ?1")
        .bind(end)
        .fetch_one(readers)
        .await?;
    digest.update(count.to_le_bytes());
    let statement = "SELECT u.sequence, u.target, u.after || coalesce(a.after, '') FROM status_updates u \
                     LEFT JOIN amount_updates a ON a.sequence = u.sequence \
                     WHERE u.sequence <= ?1 ORDER BY u.sequence DESC LIMIT 1";
    if let Some(row) = sqlx::query(statement).bind(end).fetch_optional(readers).await? {
        digest.update(row.try_get::<i64, _>(0)?.to_le_bytes());
        digest.update(row.try_get::<i64, _>(1)?.to_le_bytes());
        digest.update(row.try_get::<&str, _>(2)?);
    }
    Ok(())
}

/// Gives the store another random name.
pub(super) async fn rename(writer: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::query("UPDATE store_name SET name = randomblob(16)").execute(writer).await?;
    Ok(())
}

/// Returns the random name of the store.
pub(super) async fn name(connection: &mut SqliteConnection) -> Result<[u8; 16], StoreError> {
    let row = sqlx::query("SELECT name FROM store_name").fetch_optional(connection).await?;
    let row = row.ok_or_else(|| StoreError::corrupt("it has no name"))?;
    row.try_get::<&[u8], _>(0)?.try_into().map_err(|_| StoreError::corrupt("its name is not 16 bytes long"))
}
