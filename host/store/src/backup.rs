//! Copies the store into one file, whether or not the service runs.
//!
//! ```text
//!  tollgate.db (+ -wal) ──VACUUM INTO, one read snapshot──▶ FILE.new ──checked, fsync──▶ FILE
//! ```
//!
//! The copy contains exactly the commits made before it began. It blocks no commits, but the write-ahead log grows
//! until it is done. The copy has the same schema and one more table, for data that belongs to the store but is kept
//! outside the database. It gets its final name only after it was read completely and synced to disk.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteJournalMode;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tollgate_model::sequence::Sequence;

use super::directory::{FILE_MODE, beside, database_in};
use super::{BackupError, StoreError, connection, examination, identity};

const UNFINISHED: &str = ".new";
/// Suffixes of files that SQLite may have left beside an incomplete file.
const LEFTOVERS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Data that belongs to the store but is kept outside the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupNote {
    /// Name of the note.
    pub name: String,
    /// Text of the note.
    pub text: String,
}

/// The contents of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupContents {
    /// Number of transactions.
    pub n_transactions: u64,
    /// The highest sequence number of a transaction.
    pub last: Sequence,
    /// Size of the file in bytes.
    pub n_bytes: u64,
}

/// Copies the store of a data directory, and the notes, into a new file. Does not lock the directory.
///
/// # Errors
/// See [`BackupError`]; the file is then not created.
pub async fn backup(
    data_dir: &Path,
    file: &Path,
    notes: &[BackupNote],
) -> Result<BackupContents, BackupError> {
    let database = database_in(data_dir);
    if !database.try_exists().map_err(BackupError::io(&database))? {
        return Err(BackupError::NoDatabase { path: database });
    }
    identity::check(&database)?;
    let unfinished = Unfinished::begin(data_dir, file)?;
    let contents = write(data_dir, &unfinished.path, notes).await?;
    unfinished.put_in_place()?;
    Ok(contents)
}

struct Unfinished {
    path: PathBuf,
    target: PathBuf,
    folder: PathBuf,
    /// Open and locked until the end, so that no other process writes it.
    file: File,
}

impl Unfinished {
    fn begin(data_dir: &Path, target: &Path) -> Result<Self, BackupError> {
        let above = target.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or_else(|| Path::new("."));
        let folder = above.canonicalize().map_err(BackupError::io(above))?;
        let name = target.file_name().ok_or_else(|| BackupError::NoName { path: target.to_owned() })?;
        let target = folder.join(name);
        let data_dir = data_dir.canonicalize().map_err(BackupError::io(data_dir))?;
        if folder.starts_with(&data_dir) {
            return Err(BackupError::Inside { path: target });
        }
        // A dangling symbolic link counts as existing.
        if fs::symlink_metadata(&target).is_ok() {
            return Err(BackupError::Exists { path: target });
        }
        let path = beside(&target, UNFINISHED);
        let file = Self::claim(&path)?;
        Ok(Self { path, target, folder, file })
    }

    /// Creates an empty file with mode 0600, replacing the remains of an earlier attempt.
    fn claim(path: &Path) -> Result<File, BackupError> {
        let failed = || BackupError::io(path);
        if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(BackupError::Exists { path: path.to_owned() });
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(FILE_MODE);
        let file = options.open(path).map_err(failed())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BackupError::UnderWay { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(failed()(error)),
        }
        file.set_permissions(Permissions::from_mode(FILE_MODE)).map_err(failed())?;
        file.set_len(0).map_err(failed())?;
        for leftover in LEFTOVERS.map(|suffix| beside(path, suffix)) {
            remove(&leftover)?;
        }
        Ok(file)
    }

    /// Renames the file to its target. With hard links, this cannot overwrite a file.
    fn put_in_place(&self) -> Result<(), BackupError> {
        self.file.sync_all().map_err(BackupError::io(&self.path))?;
        match fs::hard_link(&self.path, &self.target) {
            Ok(()) => remove(&self.path)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(BackupError::Exists { path: self.target.clone() });
            }
            // The file system does not support hard links. This replaces a file created since `begin`.
            Err(_) => fs::rename(&self.path, &self.target).map_err(BackupError::io(&self.target))?,
        }
        let synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
        synced.map_err(BackupError::io(&self.folder))
    }
}

impl Drop for Unfinished {
    /// Removes an incomplete file. A completed one no longer has this name.
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

fn remove(path: &Path) -> Result<(), BackupError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BackupError::io(path)(error)),
        _ => Ok(()),
    }
}

async fn write(data_dir: &Path, copy: &Path, notes: &[BackupNote]) -> Result<BackupContents, BackupError> {
    let name = copy.to_str().ok_or_else(|| BackupError::NoName { path: copy.to_owned() })?;
    let (options, unlocked) = connection::reading(data_dir)?;
    let mut reader = options.connect().await.map_err(StoreError::from)?;
    let copied = sqlx::query("VACUUM INTO ?1").bind(name).execute(&mut reader).await;
    let closed = reader.close().await;
    copied.and(closed).map_err(StoreError::from)?;
    unlocked.map_or(Ok(()), |unlocked| unlocked.confirm())?;
    // A single file without a write-ahead log.
    let options = connection::any(copy).journal_mode(SqliteJournalMode::Delete);
    let mut writer = options.connect().await.map_err(StoreError::from)?;
    let finished = finish(&mut writer, notes).await;
    let closed = writer.close().await.map_err(StoreError::from);
    let (n_transactions, last) = finished.and_then(|finished| closed.map(|()| finished))?;
    let n_bytes = fs::metadata(copy).map_err(BackupError::io(copy))?.len();
    Ok(BackupContents { n_transactions, last, n_bytes })
}

/// Adds the notes and reads the whole copy once. Returns the number of transactions and the highest of their sequence
/// numbers.
async fn finish(copy: &mut SqliteConnection, notes: &[BackupNote]) -> Result<(u64, Sequence), StoreError> {
    // A database that was restored by hand already has the table.
    for statement in [
        "DROP TABLE IF EXISTS backup_notes",
        "CREATE TABLE backup_notes (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ] {
        sqlx::query(statement).execute(&mut *copy).await?;
    }
    for BackupNote { name, text } in notes {
        let insert = sqlx::query("INSERT INTO backup_notes (name, text) VALUES (?1, ?2)");
        insert.bind(name).bind(text).execute(&mut *copy).await?;
    }
    examination::check_whole(copy).await?;
    super::transactions::extent(copy).await
}
