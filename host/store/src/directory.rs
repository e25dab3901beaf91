//! The data directory: its files, and that it belongs to one process.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::StoreError;

const DIRECTORY_MODE: u32 = 0o700;
pub(super) const FILE_MODE: u32 = 0o600;
pub(super) const ANYONE_ELSE: u32 = 0o077;

/// A directory this process has for itself, or only looks into.
pub(super) struct DataDirectory {
    path: PathBuf,
    /// The database's device and inode, once it is open.
    opened: Option<(u64, u64)>,
    /// Unlocked by the system when it is closed, however the process ends. `None` of one that is only looked into.
    _lock: Option<File>,
}

impl DataDirectory {
    /// Creates it if need be, and takes its lock.
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

    /// Looks into it, whoever has it; there has to be a database.
    pub(super) fn visit(path: &Path) -> Result<Self, StoreError> {
        let directory = Self { path: path.to_owned(), opened: None, _lock: None };
        let database = directory.database();
        match fs::metadata(&database) {
            Ok(_) => Ok(directory),
            Err(source) => Err(StoreError::Directory { path: database, source }),
        }
    }

    /// Where the database is.
    pub(super) fn database(&self) -> PathBuf {
        database_in(&self.path)
    }

    /// Where a database is made before it is whole.
    pub(super) fn unfinished_database(&self) -> PathBuf {
        self.path.join("tollgate.db.new")
    }

    /// Makes an empty file that nobody else may read, in place of what an earlier attempt left.
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

    /// Puts the finished database in its place, durably.
    pub(super) fn put_in_place(&self) -> Result<(), StoreError> {
        let renamed = fs::rename(self.unfinished_database(), self.database());
        renamed
            .and_then(|()| File::open(&self.path)?.sync_all())
            .map_err(|source| StoreError::Directory { path: self.database(), source })
    }

    /// Whether a database is there. A log without the database it belongs to is an error: the database was lost, and a
    /// new one in its place would hide that.
    pub(super) fn find_database(&self) -> Result<bool, StoreError> {
        let database = self.database();
        let exists = |path: &Path| {
            path.try_exists().map_err(|source| StoreError::Directory { path: path.into(), source })
        };
        let found = exists(&database)?;
        if !found && exists(&beside(&database, "-wal"))? {
            return Err(StoreError::Missing { path: database });
        }
        Ok(found)
    }

    /// From here on, [`DataDirectory::check`] looks for the file that is there now. A database that others could read,
    /// perhaps a copy, is closed to them.
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

    /// Whether the database's name still leads to the file that is open. SQLite itself would go on writing into a file
    /// that nobody can ever open again.
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

/// Where the database of a data directory is.
pub(super) fn database_in(directory: &Path) -> PathBuf {
    directory.join("tollgate.db")
}

/// The file whose lock a process has that has the directory for itself.
pub(super) fn lock_in(directory: &Path) -> PathBuf {
    directory.join("tollgate.lock")
}

/// Who has a data directory for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Nobody.
    Nobody,
    /// A process; its id where the system says it.
    Process(Option<u32>),
}

/// Who has a data directory; takes and makes nothing.
///
/// # Errors
/// When the lock file cannot be looked at.
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

/// The process that has locked a file, as Linux lists it: `1: FLOCK ADVISORY WRITE <process> <device>:<inode> 0 EOF`.
fn process_of(inode: u64) -> Option<u32> {
    let listed = fs::read_to_string("/proc/locks").ok()?;
    let of_this_file = |line: &&str| line.contains("FLOCK") && line.contains(&format!(":{inode} "));
    listed.lines().find(of_this_file)?.split_whitespace().nth(4)?.parse().ok()
}

/// Makes a directory and those above it, durably: a new name is safe only when the directory it stands in has been
/// written.
fn create(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|above| !above.exists()).collect();
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
    for parent in missing.into_iter().filter_map(Path::parent) {
        let here = Path::new(".");
        File::open(if parent.as_os_str().is_empty() { here } else { parent })?.sync_all()?;
    }
    Ok(())
}

/// The file beside a database whose name has this suffix.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
