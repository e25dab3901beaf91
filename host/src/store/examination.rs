//! Whether a database is what it should be; reads, and changes nothing.

use sqlx::SqliteConnection;

use super::StoreError;

/// Most faults that SQLite lists.
const FAULTS_MAX: usize = 10;

/// Reads every page and every index.
pub(super) async fn check_whole(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    match faults(connection).await? {
        faults if faults.is_empty() => Ok(()),
        faults => Err(StoreError::corrupt(faults.join("; "))),
    }
}

/// What SQLite finds wrong, a sentence each.
async fn faults(connection: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(10)").fetch_all(connection).await?;
    Ok(found.into_iter().filter(|line| line != "ok").take(FAULTS_MAX).collect())
}
