//! Verifies the integrity of a database and the guarantees of the service, without changing anything.
//!
//! A running service is not disturbed. All reads are of one snapshot, so later changes are not seen.

mod promises;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::connection::{Schema, any};
use super::directory::{Holder, beside, database_in, exists, holder};
use super::lost::LostStore;
use super::mark::{MarkFound, StoreMark, StoreName};
use super::{ListRecord, StoreError, identity, rule_sets, testimony, transactions};

const FAULTS_MAX: usize = 5;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFinding {
    /// The subject of the check.
    pub what: &'static str,
    /// A remark, or the faults.
    pub result: Result<String, String>,
}

impl StoreFinding {
    fn of(what: &'static str, fine: &str, faults: Vec<String>) -> Self {
        let result = if faults.is_empty() { Ok(fine.to_owned()) } else { Err(faults.join("; ")) };
        Self { what, result }
    }
}

/// Examines the database of a data directory. Returns an empty list if there is none.
///
/// # Errors
/// [`StoreError::Missing`], [`StoreError::Foreign`] and others when it cannot be read at all; [`StoreError::Busy`] when
/// a service was started during the read.
pub async fn examine(data_dir: &Path) -> Result<Vec<StoreFinding>, StoreError> {
    // Read before the database, which only grows.
    let mark = MarkFound::read(data_dir)?;
    if !exists(&database_in(data_dir))?
        && let Some(lost) = LostStore::without_database(data_dir, mark)?
    {
        return Ok(vec![StoreFinding { what: "mark", result: Err(lost.to_string()) }]);
    }
    let Some((mut connection, unlocked)) = open(data_dir).await? else { return Ok(Vec::new()) };
    let found = examine_all(&mut connection, mark).await;
    connection.close().await?;
    unlocked.map_or(Ok(()), |unlocked| unlocked.confirm())?;
    found
}

/// Returns the named lists in force in a data directory, or an empty list if there is no database.
///
/// # Errors
/// Same as [`examine`].
pub async fn kept_lists(data_dir: &Path) -> Result<Vec<ListRecord>, StoreError> {
    let Some((mut connection, unlocked)) = open(data_dir).await? else { return Ok(Vec::new()) };
    let lists = rule_sets::lists(&mut connection).await;
    connection.close().await?;
    unlocked.map_or(Ok(()), |unlocked| unlocked.confirm())?;
    lists
}

/// Opens a read-only connection, without locks if no process has the directory. Returns `None` if there is no database.
async fn open(data_dir: &Path) -> Result<Option<(SqliteConnection, Option<UnlockedRead>)>, StoreError> {
    let database = database_in(data_dir);
    if !exists(&database)? {
        let log = beside(&database, "-wal");
        return if exists(&log)? { Err(StoreError::Missing { path: database }) } else { Ok(None) };
    }
    identity::check(&database)?;
    // Without an unlocked read, SQLite needs its lock files, which `immutable` would ignore.
    let unlocked = UnlockedRead::begin(data_dir)?;
    let options = any(&database).read_only(true).immutable(unlocked.is_some());
    let connection = options.connect().await.map_err(|error| StoreError::from(error).explained(data_dir))?;
    Ok(Some((connection, unlocked)))
}

/// A read of the database without SQLite's locks and auxiliary files. It is valid only if no process wrote during it.
pub(super) struct UnlockedRead {
    data_dir: PathBuf,
    /// Modification time and size of the database at the start.
    was: (SystemTime, u64),
}

impl UnlockedRead {
    /// Starts a read. Returns `None` if a process has the directory or a write-ahead log exists.
    pub(super) fn begin(data_dir: &Path) -> Result<Option<Self>, StoreError> {
        let was = modified(data_dir)?;
        Ok(check_quiet(data_dir)?.then(|| Self { data_dir: data_dir.to_owned(), was }))
    }

    /// Checks whether the read is valid.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process wrote, or may write now.
    pub(super) fn confirm(&self) -> Result<(), StoreError> {
        if check_quiet(&self.data_dir)? && modified(&self.data_dir)? == self.was {
            return Ok(());
        }
        Err(StoreError::Busy { source: "a service was started during the read".into() })
    }
}

fn check_quiet(data_dir: &Path) -> Result<bool, StoreError> {
    let log = beside(&database_in(data_dir), "-wal");
    Ok(holder(data_dir)? == Holder::Nobody && !exists(&log)?)
}

/// Returns the modification time of the database and its size in bytes.
fn modified(data_dir: &Path) -> Result<(SystemTime, u64), StoreError> {
    let path = database_in(data_dir);
    let found = path.metadata().and_then(|found| Ok((found.modified()?, found.len())));
    found.map_err(|source| StoreError::Directory { path, source })
}

async fn examine_all(
    connection: &mut SqliteConnection,
    mark: MarkFound,
) -> Result<Vec<StoreFinding>, StoreError> {
    let mut moment = connection.begin().await?;
    let mut found =
        vec![StoreFinding::of("integrity", "every page and every index", faults(&mut moment).await?)];
    found.push(StoreFinding::of(
        "references",
        "every row that is referenced exists",
        dangling(&mut moment).await?,
    ));
    let known = Schema::known();
    let (is_current, schema) = match Schema::of(&mut moment).await? {
        Schema::Current(version) => (true, Ok(format!("version {version}"))),
        Schema::Older(version) => {
            (false, Ok(format!("version {version}; the next start upgrades it to {known}")))
        }
        Schema::Newer(version) => {
            (false, Err(format!("version {version}, this program supports up to {known}: use a newer one")))
        }
        Schema::Altered => (false, Err("it was not created by this service".to_owned())),
    };
    found.push(StoreFinding { what: "schema", result: schema });
    // An older schema may lack tables or columns.
    if is_current {
        found.push(compare_mark(&mut moment, mark).await?);
        promises::examine(&mut moment, &mut found).await?;
    }
    moment.rollback().await?;
    Ok(found)
}

/// Checks whether everything that the mark names is there.
async fn compare_mark(
    connection: &mut SqliteConnection,
    mark: MarkFound,
) -> Result<StoreFinding, StoreError> {
    let store = match testimony::name(connection).await {
        Ok(name) => StoreName(name),
        // The check of the name reports it.
        Err(StoreError::Corrupt { .. }) => {
            let words = "the store has no name to compare it with".to_owned();
            return Ok(StoreFinding { what: "mark", result: Ok(words) });
        }
        Err(error) => return Err(error),
    };
    let number = transactions::last_sequence(&mut *connection).await?;
    let result = match (LostStore::beside_database(StoreMark { store, number }, mark), mark) {
        (Some(lost), _) => Err(lost.to_string()),
        (None, MarkFound::Readable(mark)) => {
            Ok(format!("the store holds everything up to number {}", mark.number))
        }
        (None, MarkFound::Absent) => Ok("none: the first commit writes it".to_owned()),
        (None, MarkFound::Unreadable) => {
            Ok("unreadable, so that a loss would not be known; the next start writes it again".to_owned())
        }
    };
    Ok(StoreFinding { what: "mark", result })
}

/// Checks every page and every index.
pub(super) async fn check_whole(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    match faults(connection).await? {
        faults if faults.is_empty() => Ok(()),
        faults => Err(StoreError::corrupt(faults.join("; "))),
    }
}

async fn faults(connection: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(10)").fetch_all(connection).await?;
    Ok(found.into_iter().filter(|line| line != "ok").take(FAULTS_MAX).collect())
}

async fn dangling(connection: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check")
            .fetch_all(connection)
            .await?;
    let words = |(table, parent): (String, String)| {
        format!("rows of {table} refer to rows of {parent} that do not exist")
    };
    Ok(rows.into_iter().take(FAULTS_MAX).map(words).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_read_without_locks_is_valid_unless_somebody_wrote() {
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
