//! Whether a database is what it should be, and keeps what the service promises; reads, and changes nothing.
//!
//! What a running service does meanwhile is not disturbed, and not seen: everything is read as of one moment.

mod promises;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::connection::{Schema, any};
use super::directory::{Holder, beside, database_in, holder};
use super::{ListRecord, StoreError, identity, rule_sets};

/// Most faults of one kind that are listed.
const FAULTS_MAX: usize = 5;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFinding {
    /// What.
    pub what: &'static str,
    /// What there is to say of it; or what is wrong.
    pub result: Result<String, String>,
}

impl StoreFinding {
    fn of(what: &'static str, fine: &str, faults: Vec<String>) -> Self {
        let result = if faults.is_empty() { Ok(fine.to_owned()) } else { Err(faults.join("; ")) };
        Self { what, result }
    }
}

/// Examines the database of a data directory; empty when there is none.
///
/// # Errors
/// [`StoreError::Missing`], [`StoreError::Foreign`] and others when it cannot be read at all; [`StoreError::Busy`] when a
/// service started meanwhile.
pub async fn examine(data_dir: &Path) -> Result<Vec<StoreFinding>, StoreError> {
    let Some((mut connection, unlocked)) = open(data_dir).await? else { return Ok(Vec::new()) };
    let found = examine_all(&mut connection).await;
    connection.close().await?;
    unlocked.map_or(Ok(()), |unlocked| unlocked.confirm())?;
    found
}

/// The named lists that were in force last, as a data directory holds them; none where there is no database.
///
/// # Errors
/// As those of [`examine`].
pub async fn kept_lists(data_dir: &Path) -> Result<Vec<ListRecord>, StoreError> {
    let Some((mut connection, unlocked)) = open(data_dir).await? else { return Ok(Vec::new()) };
    let lists = rule_sets::lists(&mut connection).await;
    connection.close().await?;
    unlocked.map_or(Ok(()), |unlocked| unlocked.confirm())?;
    lists
}

/// A connection that only reads, without locks where nobody writes; `None` where there is no database.
async fn open(data_dir: &Path) -> Result<Option<(SqliteConnection, Option<UnlockedRead>)>, StoreError> {
    let database = database_in(data_dir);
    if !exists(&database)? {
        let log = beside(&database, "-wal");
        return if exists(&log)? { Err(StoreError::Missing { path: database }) } else { Ok(None) };
    }
    identity::check(&database)?;
    // Otherwise SQLite needs its lock files.
    let unlocked = UnlockedRead::begin(data_dir)?;
    let options = any(&database).read_only(true).immutable(unlocked.is_some());
    let connection = options.connect().await.map_err(|error| StoreError::from(error).explained(data_dir))?;
    Ok(Some((connection, unlocked)))
}

/// Reads a database without SQLite's locks and its files beside it: what was read counts if nobody wrote meanwhile.
pub(super) struct UnlockedRead {
    data_dir: PathBuf,
    /// Of the database, when it began.
    was: (SystemTime, u64),
}

impl UnlockedRead {
    /// Begins, unless somebody has the directory or the log beside the database is not folded up.
    pub(super) fn begin(data_dir: &Path) -> Result<Option<Self>, StoreError> {
        let was = modified(data_dir)?;
        Ok(check_quiet(data_dir)?.then(|| Self { data_dir: data_dir.to_owned(), was }))
    }

    /// Says whether what was read counts.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when somebody wrote, or writes now.
    pub(super) fn confirm(&self) -> Result<(), StoreError> {
        if check_quiet(&self.data_dir)? && modified(&self.data_dir)? == self.was {
            return Ok(());
        }
        Err(StoreError::Busy { source: "a service started meanwhile".into() })
    }
}

fn check_quiet(data_dir: &Path) -> Result<bool, StoreError> {
    let log = beside(&database_in(data_dir), "-wal");
    Ok(holder(data_dir)? == Holder::Nobody && !exists(&log)?)
}

/// When the database was written last, and its bytes.
fn modified(data_dir: &Path) -> Result<(SystemTime, u64), StoreError> {
    let path = database_in(data_dir);
    let found = path.metadata().and_then(|found| Ok((found.modified()?, found.len())));
    found.map_err(|source| StoreError::Directory { path, source })
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(|source| StoreError::Directory { path: path.into(), source })
}

/// Everything as of one moment.
async fn examine_all(connection: &mut SqliteConnection) -> Result<Vec<StoreFinding>, StoreError> {
    let mut moment = connection.begin().await?;
    let mut found =
        vec![StoreFinding::of("integrity", "every page and every index", faults(&mut moment).await?)];
    found.push(StoreFinding::of(
        "references",
        "every row that is named is there",
        dangling(&mut moment).await?,
    ));
    let known = Schema::known();
    let (is_current, schema) = match Schema::of(&mut moment).await? {
        Schema::Current(version) => (true, Ok(format!("version {version}"))),
        Schema::Older(version) => {
            (false, Ok(format!("version {version}; the next start brings it up to {known}")))
        }
        Schema::Newer(version) => {
            (false, Err(format!("version {version}, this program knows up to {known}: use a newer one")))
        }
        Schema::Altered => (false, Err("it is not one this service made".to_owned())),
    };
    found.push(StoreFinding { what: "schema", result: schema });
    // What an older schema lacks cannot be asked about.
    if is_current {
        promises::examine(&mut moment, &mut found).await?;
    }
    moment.rollback().await?;
    Ok(found)
}

/// Reads every page and every index.
pub(super) async fn check_whole(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    match faults(connection).await? {
        faults if faults.is_empty() => Ok(()),
        faults => Err(StoreError::corrupt(faults.join("; "))),
    }
}

/// What SQLite finds wrong.
async fn faults(connection: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(10)").fetch_all(connection).await?;
    Ok(found.into_iter().filter(|line| line != "ok").take(FAULTS_MAX).collect())
}

/// Rows that name others which are not there.
async fn dangling(connection: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check")
            .fetch_all(connection)
            .await?;
    let words = |(table, parent): (String, String)| {
        format!("rows of {table} name rows of {parent} that are not there")
    };
    Ok(rows.into_iter().take(FAULTS_MAX).map(words).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_read_without_locks_counts_unless_somebody_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::Store::open(folder.path()).await.unwrap();
        assert!(UnlockedRead::begin(folder.path()).unwrap().is_none(), "somebody has the directory");
        store.close().await;
        let unlocked = UnlockedRead::begin(folder.path()).unwrap().unwrap();
        unlocked.confirm().unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(database_in(folder.path()))
            .and_then(|database| database.set_modified(SystemTime::UNIX_EPOCH))
            .unwrap();
        assert!(matches!(unlocked.confirm(), Err(StoreError::Busy { .. })));
    }
}
