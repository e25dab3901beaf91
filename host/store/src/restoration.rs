//! A backup, brought back into a data directory where no store is.
//!
//! ```text
//!  FILE ──copied──▶ tollgate.db.new ──checked, fsync, rename──▶ tollgate.db
//! ```
//!
//! What is put in place is the very copy that was checked. Whatever stops this half-way, there is no database, and it can be
//! begun again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteJournalMode;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tollgate_model::sequence::Sequence;

use super::directory::{DataDirectory, beside};
use super::{BackupContents, BackupError, BackupNote, StoreError, connection, examination, identity};

/// A checked copy of a backup, about to be the store of a directory. Until it is put in place, nothing is there.
pub struct CheckedBackup {
    directory: DataDirectory,
    /// What is in it.
    pub contents: BackupContents,
    /// What else the backup holds.
    pub notes: Vec<BackupNote>,
}

impl std::fmt::Debug for CheckedBackup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restoration").field("contents", &self.contents).finish_non_exhaustive()
    }
}

impl CheckedBackup {
    /// Copies a backup into a directory, which is made when it is not there, and checks the copy. `beside_it` are names of
    /// what may not be there either.
    ///
    /// # Errors
    /// When a service has the directory, something is in it, or the file is no backup, damaged, or of a newer version of this
    /// service; see [`BackupError`].
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
        let ((n_transactions, last), notes) = read?;
        self.contents = BackupContents { n_transactions, last, ..self.contents };
        self.notes = notes;
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(BackupError::io(&path))
    }

    /// Makes it the store of the directory, durably.
    ///
    /// # Errors
    /// When the disk does not do as it should.
    pub fn put_in_place(self) -> Result<PathBuf, BackupError> {
        self.directory.put_in_place()?;
        Ok(self.directory.database())
    }
}

impl Drop for CheckedBackup {
    /// What was put in place has lost this name.
    fn drop(&mut self) {
        fs::remove_file(self.directory.unfinished_database()).ok();
    }
}

/// Checks everything, and takes the notes out.
async fn read(
    copy: &mut SqliteConnection,
    file: &Path,
) -> Result<((u64, Sequence), Vec<BackupNote>), StoreError> {
    connection::Schema::of(copy).await?.check(file)?;
    examination::check_whole(copy).await?;
    let has_notes: bool =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'backup_notes'")
            .fetch_one(&mut *copy)
            .await?;
    let mut notes = Vec::new();
    if has_notes {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT name, text FROM backup_notes").fetch_all(&mut *copy).await?;
        notes.extend(rows.into_iter().map(|(name, text)| BackupNote { name, text }));
        sqlx::query("DROP TABLE backup_notes").execute(&mut *copy).await?;
    }
    Ok((super::transactions::extent(copy).await?, notes))
}
