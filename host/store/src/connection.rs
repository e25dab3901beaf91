//! Opens connections and checks that the schema is supported.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;
use std::{panic, process, thread};

use sqlx::migrate::MigrateError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool};

use super::StoreError;
use super::directory::{DataDirectory, Holder, database_in, holder};
use super::examination::UnlockedRead;
use super::migrations::MIGRATIONS;
use super::space::check_writable;
use super::transactions::ROWS_PER_INSERT_MAX;

const READERS_MAX: u32 = 4;
/// How long a call waits for a connection or an operator's lock; well below the 5 seconds after which callers time out.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// Pages in the log that trigger a checkpoint: 2 MiB. The commit that runs the checkpoint delays its whole group. More
/// pages would save up to a seventh of the time with random ids, and nothing otherwise, but pauses would be several
/// times longer. Fewer pages would wait for a slow disk more often (`benches/results/store.md`).
const CHECKPOINT_PAGES: &str = "500";
/// Size in bytes to which the log file is truncated after a burst.
const LOG_BYTES_KEPT: &str = "67108864";
/// Prepared statements cached by the write connection: one for each number of rows in a group, and others.
const STATEMENTS_KEPT: usize = ROWS_PER_INSERT_MAX + 32;
/// Rows that a reader may buffer ahead of its consumer.
const ROWS_AHEAD: usize = 1_024;

const THREADS: &str = "store-";

/// Returns the options common to all connections.
pub(super) fn any(database: &Path) -> SqliteConnectOptions {
    end_with_a_thread_that_panics();
    SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(false)
        .foreign_keys(true)
        .busy_timeout(WAIT_MAX)
        // Detects more kinds of damage, and distrusts functions that a damaged schema may call.
        .pragma("cell_size_check", "ON")
        .pragma("trusted_schema", "OFF")
        .row_buffer_size(ROWS_AHEAD)
        .thread_name(|number| format!("{THREADS}{number}"))
        .disable_statement_logging()
}

/// Aborts the process if a connection thread panics, for example when memory runs out. Otherwise its result would end
/// early as if there were no more rows, and stored data would be taken for missing.
fn end_with_a_thread_that_panics() {
    static IS_SEEN_TO: Once = Once::new();
    IS_SEEN_TO.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            before(panic);
            if thread::current().name().is_some_and(|name| name.starts_with(THREADS)) {
                process::abort();
            }
        }));
    });
}

/// Returns the options of a connection that commits durably: FULL syncs at every commit, which NORMAL does not in WAL
/// mode.
pub(super) fn writing(database: &Path) -> SqliteConnectOptions {
    any(database)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("journal_size_limit", LOG_BYTES_KEPT)
        .statement_cache_capacity(STATEMENTS_KEPT)
}

/// Returns the options for reading only, whether or not a service writes. If the directory is read-only and nothing
/// changes, SQLite creates no files; the reads are then valid only if the [`UnlockedRead`] confirms them.
///
/// # Errors
/// When SQLite would have to write to a directory that is read-only.
pub(super) fn reading(data_dir: &Path) -> Result<(SqliteConnectOptions, Option<UnlockedRead>), StoreError> {
    let options = any(&database_in(data_dir)).read_only(true);
    let Err(error) = check_writable(data_dir) else { return Ok((options, None)) };
    match UnlockedRead::begin(data_dir)? {
        Some(unlocked) => Ok((options.immutable(true), Some(unlocked))),
        // The process that holds the directory has created the files that SQLite needs.
        None if holder(data_dir)? != Holder::Nobody => Ok((options, None)),
        None => Err(StoreError::Log { path: data_dir.to_owned(), source: error }),
    }
}

/// Opens all read connections at once and keeps them. Reads thus work even when no file descriptors are left, and
/// replacing the writer does not checkpoint and restart the log.
pub(super) async fn readers(options: SqliteConnectOptions) -> Result<SqlitePool, StoreError> {
    let pool = SqlitePoolOptions::new()
        .min_connections(READERS_MAX)
        .max_connections(READERS_MAX)
        .acquire_timeout(WAIT_MAX)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(options)
        .await?;
    Ok(pool)
}

/// Creates a database under a temporary name and renames it when it is complete. If this is interrupted, the next start
/// begins again. An existing but empty database was therefore damaged, and is not new.
pub(super) async fn create_if_missing(directory: &DataDirectory) -> Result<(), StoreError> {
    if directory.find_database()? {
        return Ok(());
    }
    let path = directory.make_unfinished()?;
    let mut connection = any(&path).synchronous(SqliteSynchronous::Full).connect().await?;
    migrate(&mut connection, &path).await?;
    connection.close().await?;
    directory.put_in_place()
}

/// Checks that the schema version is the one this service expects.
pub(super) async fn check_schema(readers: &SqlitePool, path: &Path) -> Result<(), StoreError> {
    let known = Schema::known();
    let found: Option<i64> = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
        .fetch_one(readers)
        .await?;
    let (path, found) = (path.to_owned(), found.unwrap_or(0));
    match found.cmp(&known) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(StoreError::OlderSchema { path, found, known }),
        Ordering::Greater => Err(StoreError::NewerSchema { path, found, known }),
    }
}

pub(super) async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let known = Schema::known();
    match MIGRATIONS.run_direct(None, connection, false).await {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(found)) if found > known => {
            Err(StoreError::NewerSchema { path: path.to_owned(), found, known })
        }
        Err(error) => Err(StoreError::of_migration(error)),
    }
}

/// The schema of a database compared with the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    Current(i64),
    /// An older version, migrated at the next start.
    Older(i64),
    /// A version from a newer release of this service.
    Newer(i64),
    /// A schema that no release of this service created.
    Altered,
}

impl Schema {
    /// Reads the schema version, without changes.
    pub(super) async fn of(connection: &mut SqliteConnection) -> Result<Self, StoreError> {
        let applied: Vec<(i64, bool, Vec<u8>)> =
            sqlx::query_as("SELECT version, success, checksum FROM _sqlx_migrations ORDER BY version")
                .fetch_all(connection)
                .await?;
        let known = Self::known();
        let Some((last, ..)) = applied.last() else { return Ok(Self::Altered) };
        if *last > known {
            return Ok(Self::Newer(*last));
        }
        let ours = MIGRATIONS.iter().take(applied.len());
        let is_ours = ours.zip(&applied).all(|(ours, (version, success, checksum))| {
            *success && ours.version == *version && *ours.checksum == **checksum
        });
        Ok(match is_ours {
            false => Self::Altered,
            true if *last < known => Self::Older(*last),
            true => Self::Current(*last),
        })
    }

    pub(super) fn known() -> i64 {
        MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
    }

    /// Checks that the service could start with this schema.
    pub(super) fn check(self, path: &Path) -> Result<(), StoreError> {
        match self {
            Self::Current(_) | Self::Older(_) => Ok(()),
            Self::Newer(found) => {
                Err(StoreError::NewerSchema { path: path.to_owned(), found, known: Self::known() })
            }
            Self::Altered => Err(StoreError::corrupt("its schema was not created by this service")),
        }
    }
}
