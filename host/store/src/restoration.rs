//! Restores a backup into a data directory that has no store.
//!
//! ```text
//!  FILE ──copied──▶ tollgate.db.new ──checked, fsync, rename──▶ tollgate.db
//! ```
//!
//! The copy that was checked is the one that is renamed. If this is interrupted, no database exists and the restoration
//! can be repeated.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteJournalMode;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tollgate_model::sequence::Sequence;

use super::directory::{DataDirectory, beside};
use super::mark::{self, StoreMark, StoreName};
use super::{
    BackupContents, BackupError, BackupNote, StoreError, connection, examination, identity, testimony,
};

/// A checked copy of a backup, not yet renamed to its final name.
pub struct CheckedBackup {
    directory: DataDirectory,
    /// The contents of the backup.
    pub contents: BackupContents,
    /// The notes of the backup.
    pub notes: Vec<BackupNote>,
    /// Name of the store; `None` if the backup is of a version that gave none.
    name: Option<StoreName>,
}

impl std::fmt::Debug for CheckedBackup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restoration").field("contents", &self.contents).finish_non_exhaustive()
    }
}

impl CheckedBackup {
    /// Copies a backup into a directory, which is created if necessary, and checks the copy. `beside_it` lists further
    /// names that must not exist in the directory.
    ///
    /// # Errors
    /// When a service has the directory, it contains a store, or the file is no valid backup for this version. See
    /// [`BackupError`].
    pub async fn prepare(file: &Path, data_dir: &Path, beside_it: &[&str]) -> Result<Self, BackupError> {
        let n_bytes = fs::metadata(file).map_err(BackupError::io(file))?.len();
        identity::check(file)?;
        for log in ["-wal", "-journal"].map(|suffix| beside(file, suffix)) {
            if log.try_exists().map_err(BackupError::io(&log))? {
                return Err(BackupError::Log { path: log });
            }
        }
        let directory = DataDirectory::claim(data_dir)?;
        let database = directory.database();
        let files = ["", "-wal", "-shm", "-journal"].map(|suffix| beside(&database, suffix));
        let others = beside_it.iter().map(|name| data_dir.join(name));
        if let Some(path) = files.into_iter().chain(others).find(|path| fs::symlink_metadata(path).is_ok()) {
            return Err(BackupError::Occupied { path });
        }
        let mut restoration = Self {
            contents: BackupContents { n_transactions: 0, last: Sequence::default(), n_bytes },
            notes: Vec::new(),
            name: None,
            directory,
        };
        restoration.copy_and_check(file).await?;
        Ok(restoration)
    }

    async fn copy_and_check(&mut self, file: &Path) -> Result<(), BackupError> {
        let path = self.directory.make_unfinished()?;
        let mut from = File::open(file).map_err(BackupError::io(file))?;
        let mut to = OpenOptions::new().write(true).open(&path).map_err(BackupError::io(&path))?;
        self.contents.n_bytes = io::copy(&mut from, &mut to).map_err(BackupError::io(&path))?;
        drop(to);
        identity::check(&path)?;
        let options = connection::any(&path).journal_mode(SqliteJournalMode::Delete);
        let mut copy = options.connect().await.map_err(StoreError::from)?;
        let read = read(&mut copy, file).await;
        copy.close().await.map_err(StoreError::from)?;
        let ((n_transactions, last), notes, name) = read?;
        self.contents = BackupContents { n_transactions, last, ..self.contents };
        (self.notes, self.name) = (notes, name);
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(BackupError::io(&path))
    }

    /// Makes the copy the store of the directory, durably.
    ///
    /// # Errors
    /// When the rename or the sync fails.
    pub fn put_in_place(self) -> Result<PathBuf, BackupError> {
        // The mark comes first: if this is interrupted, it still says that a store is missing.
        let data_dir = self.directory.path();
        match self.name {
            Some(store) => StoreMark { store, number: self.contents.last }.write_durably(data_dir)?,
            None => mark::remove(data_dir).map_err(BackupError::io(data_dir))?,
        }
        self.directory.put_in_place()?;
        Ok(self.directory.database())
    }
}

impl Drop for CheckedBackup {
    /// Removes the copy, unless it was renamed.
    fn drop(&mut self) {
        fs::remove_file(self.directory.unfinished_database()).ok();
    }
}

/// Checks the copy, and moves the notes out of it.
async fn read(
    copy: &mut SqliteConnection,
    file: &Path,
) -> Result<((u64, Sequence), Vec<BackupNote>, Option<StoreName>), StoreError> {
    connection::Schema::of(copy).await?.check(file)?;
    examination::check_whole(copy).await?;
    let mut notes = Vec::new();
    if find_table(copy, "backup_notes").await? {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT name, text FROM backup_notes").fetch_all(&mut *copy).await?;
        notes.extend(rows.into_iter().map(|(name, text)| BackupNote { name, text }));
        sqlx::query("DROP TABLE backup_notes").execute(&mut *copy).await?;
    }
    let name = match find_table(copy, "store_name").await? {
        true => Some(StoreName(testimony::name(copy).await?)),
        false => None,
    };
    Ok((super::transactions::extent(copy).await?, notes, name))
}

async fn find_table(copy: &mut SqliteConnection, name: &str) -> Result<bool, StoreError> {
    let count = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = ?1").bind(name);
    Ok(count.fetch_one(copy).await?)
}
