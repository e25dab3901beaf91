//! How connections are opened, and that the schema is the one this service knows.

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

/// Connections that read at the same time.
const READERS_MAX: u32 = 4;
/// How long a call waits for a connection, or for a lock that an operator's tool holds: well below the 5 seconds after
/// which callers give up.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// Pages in the log before they are moved into the database: 2 MiB. The commit that happens to move them keeps its whole group
/// waiting. More pages would spare up to a seventh of the time where ids fall by chance and nothing otherwise, for pauses that
/// are several times as long; fewer would wait for a slow disk more often (`benches/README.md`, Store).
const CHECKPOINT_PAGES: &str = "500";
/// The log file shrinks back to this size after a burst.
const LOG_BYTES_KEPT: &str = "67108864";
/// Prepared statements that the connection that writes keeps: one for each number of rows of a group, and others.
const STATEMENTS_KEPT: usize = ROWS_PER_INSERT_MAX + 32;
/// Rows a reader may be ahead of its consumer.
const ROWS_AHEAD: usize = 1_024;

/// What the names of the threads begin with that work for connections.
const THREADS: &str = "store-";

/// A connection as careful as all of this service's.
pub(super) fn any(database: &Path) -> SqliteConnectOptions {
    end_with_a_thread_that_panics();
    SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(false)
        .foreign_keys(true)
        .busy_timeout(WAIT_MAX)
        // Finds damage on more pages, and trusts no function that a damaged schema may call.
        .pragma("cell_size_check", "ON")
        .pragma("trusted_schema", "OFF")
        .row_buffer_size(ROWS_AHEAD)
        .thread_name(|number| format!("{THREADS}{number}"))
        .disable_statement_logging()
}

/// A thread of a connection that panics, as it does for want of memory, ends its answer without a word, as if there were no
/// more rows: what is there would be taken for gone. So the process ends before anybody hears it.
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

/// A connection that commits durably: FULL waits for the disk at every commit, which NORMAL does not in this mode.
pub(super) fn writing(database: &Path) -> SqliteConnectOptions {
    any(database)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("journal_size_limit", LOG_BYTES_KEPT)
        .statement_cache_capacity(STATEMENTS_KEPT)
}

/// How a database is read alone, whether or not a service writes. Where nothing can be written and nothing changes, SQLite makes no
/// file beside the database: what was read counts once the [`UnlockedRead`] confirms it.
///
/// # Errors
/// When SQLite would have to write where nothing can be written.
pub(super) fn reading(data_dir: &Path) -> Result<(SqliteConnectOptions, Option<UnlockedRead>), StoreError> {
    let options = any(&database_in(data_dir)).read_only(true);
    let Err(error) = check_writable(data_dir) else { return Ok((options, None)) };
    match UnlockedRead::begin(data_dir)? {
        Some(unlocked) => Ok((options.immutable(true), Some(unlocked))),
        // Whoever writes it elsewhere keeps the files that SQLite needs.
        None if holder(data_dir)? != Holder::Nobody => Ok((options, None)),
        None => Err(StoreError::Log { path: data_dir.to_owned(), source: error }),
    }
}

/// All are opened at once and stay: without files left to open, a service that lets nobody else in still reads for those who are,
/// and the log is not folded up and started anew each time the writer is replaced.
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

/// Makes a new database beside its place and puts it there when it is whole. Whatever stops this half-way, the next
/// start begins again; and a database that is there but empty was damaged, not new.
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

/// Looks that the schema is the one this service knows.
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

/// Brings an older schema up to date.
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

/// How the schema of a database stands to the one this service makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schema {
    /// It is the same.
    Current(i64),
    /// It is brought up to date at the next start.
    Older(i64),
    /// A newer version of this service made it.
    Newer(i64),
    /// No version of this service made it.
    Altered,
}

impl Schema {
    /// Reads it; changes nothing.
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

    /// The one this version makes.
    pub(super) fn known() -> i64 {
        MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
    }

    /// Whether the service could start on it.
    pub(super) fn check(self, path: &Path) -> Result<(), StoreError> {
        match self {
            Self::Current(_) | Self::Older(_) => Ok(()),
            Self::Newer(found) => {
                Err(StoreError::NewerSchema { path: path.to_owned(), found, known: Self::known() })
            }
            Self::Altered => Err(StoreError::corrupt("its schema is not one this service made")),
        }
    }
}
