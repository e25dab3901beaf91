//! The data directory: its files and its lock.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::StoreError;

const DIRECTORY_MODE: u32 = 0o700;
pub(super) const FILE_MODE: u32 = 0o600;
pub(super) const ANYONE_ELSE: u32 = 0o077;
/// Number of times that the list of locks is read before the process counts as unknown.
const LISTINGS_MAX: usize = 8;

/// A directory that this process has locked, or only reads.
pub(super) struct DataDirectory {
    path: PathBuf,
    /// Device and inode of the database, once it is open.
    opened: Option<(u64, u64)>,
    /// Released by the system when the process ends. `None` if the directory is only read.
    _lock: Option<File>,
}

impl DataDirectory {
    /// Creates the directory if necessary, and locks it.
    pub(super) fn claim(path: &Path) -> Result<Self, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Directory { path, source }
        };
        create(path).map_err(failed(path))?;
        let lock_path = lock_in(path);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(&lock_path)
            .map_err(failed(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), opened: None, _lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(StoreError::FileSystem { source: source.into() }),
        }
    }

    /// Opens the directory without a lock, to read an existing database.
    pub(super) fn visit(path: &Path) -> Result<Self, StoreError> {
        let directory = Self { path: path.to_owned(), opened: None, _lock: None };
        let database = directory.database();
        match fs::metadata(&database) {
            Ok(_) => Ok(directory),
            Err(source) => Err(StoreError::Directory { path: database, source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database(&self) -> PathBuf {
        database_in(&self.path)
    }

    pub(super) fn unfinished_database(&self) -> PathBuf {
        self.path.join("tollgate.db.new")
    }

    /// Creates an empty file with mode 0600, replacing the remains of an earlier attempt.
    pub(super) fn make_unfinished(&self) -> Result<PathBuf, StoreError> {
        let path = self.unfinished_database();
        for leftover in
            [path.clone(), beside(&path, "-journal"), beside(&path, "-wal"), beside(&path, "-shm")]
        {
            match fs::remove_file(&leftover) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::Directory { path: leftover, source });
                }
                _ => {}
            }
        }
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&path)
            .map_err(|source| StoreError::Directory { path: path.clone(), source })?;
        Ok(path)
    }

    /// Renames the completed database to its final name, durably.
    pub(super) fn put_in_place(&self) -> Result<(), StoreError> {
        let renamed = fs::rename(self.unfinished_database(), self.database());
        renamed
            .and_then(|()| File::open(&self.path)?.sync_all())
            .map_err(|source| StoreError::Directory { path: self.database(), source })
    }

    /// Returns whether a database exists. A log without its database is an error: the database was lost, and creating a
    /// new one would hide that.
    pub(super) fn find_database(&self) -> Result<bool, StoreError> {
        let database = self.database();
        let found = self.look_for_database()?;
        if !found && exists(&beside(&database, "-wal"))? {
            return Err(StoreError::Missing { path: database });
        }
        Ok(found)
    }

    /// Returns whether a database exists, with or without its log.
    pub(super) fn look_for_database(&self) -> Result<bool, StoreError> {
        exists(&self.database())
    }

    /// Remembers the current database file for [`DataDirectory::check`], and removes the permissions of other users.
    pub(super) fn remember(mut self) -> Result<Self, StoreError> {
        let path = self.database();
        let failed = |source| StoreError::Directory { path: path.clone(), source };
        let metadata = fs::metadata(&path).map_err(failed)?;
        if metadata.permissions().mode() & ANYONE_ELSE != 0 {
            fs::set_permissions(&path, Permissions::from_mode(FILE_MODE)).map_err(failed)?;
        }
        self.opened = Some((metadata.dev(), metadata.ino()));
        Ok(self)
    }

    /// Checks that the database's name still refers to the open file. SQLite itself would continue to write into a file
    /// that was unlinked.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let path = self.database();
        match fs::metadata(&path) {
            Ok(metadata) if self.opened == Some((metadata.dev(), metadata.ino())) => Ok(()),
            Ok(_) => Err(StoreError::Missing { path }),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Err(StoreError::Missing { path }),
            Err(source) => Err(StoreError::Directory { path, source }),
        }
    }
}

pub(super) fn exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(|source| StoreError::Directory { path: path.into(), source })
}

pub(super) fn database_in(directory: &Path) -> PathBuf {
    directory.join("tollgate.db")
}

pub(super) fn lock_in(directory: &Path) -> PathBuf {
    directory.join("tollgate.lock")
}

/// The holder of a data directory's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The directory is not locked.
    Nobody,
    /// A process; its id if the system reports it.
    Process(Option<u32>),
}

/// Returns the holder of a data directory's lock, without taking it or creating a file.
///
/// # Errors
/// When the lock file cannot be read.
pub fn holder(directory: &Path) -> Result<Holder, StoreError> {
    let path = lock_in(directory);
    let failed = |source| StoreError::Directory { path: path.clone(), source };
    let lock = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
        opened => opened.map_err(failed)?,
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(Holder::Nobody),
        Err(TryLockError::WouldBlock) => {
            Ok(Holder::Process(process_of(lock.metadata().map_err(failed)?.ino())))
        }
        Err(TryLockError::Error(source)) => Err(StoreError::FileSystem { source: source.into() }),
    }
}

/// Returns the process that has locked a file. The system's list may lack a line when locks change while it is read, so it
/// is read again.
fn process_of(inode: u64) -> Option<u32> {
    (0..LISTINGS_MAX).find_map(|_| listed_process(inode))
}

/// Reads Linux's list of locks: `1: FLOCK ADVISORY WRITE <process> <device>:<inode> 0 EOF`.
fn listed_process(inode: u64) -> Option<u32> {
    let listed = fs::read_to_string("/proc/locks").ok()?;
    let of_this_file = |line: &&str| line.contains("FLOCK") && line.contains(&format!(":{inode} "));
    listed.lines().find(of_this_file)?.split_whitespace().nth(4)?.parse().ok()
}

/// Creates a directory and its missing parents, durably: a new name is safe only after its parent directory was synced.
fn create(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|above| !above.exists()).collect();
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
    for parent in missing.into_iter().filter_map(Path::parent) {
        let here = Path::new(".");
        File::open(if parent.as_os_str().is_empty() { here } else { parent })?.sync_all()?;
    }
    Ok(())
}

pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
