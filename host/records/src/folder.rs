//! The folder of the files. Tests replace it by one that fails, tears and forgets.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Advice, OFlags, fadvise, statvfs};

use crate::buffer::{AlignedBuffer, PAGE_BYTES};

/// A folder of files.
pub trait RecordFolder: Debug + Send + Sync {
    /// Creates an empty file, or empties the existing one.
    ///
    /// # Errors
    /// When the system refuses it.
    fn create(&self, name: &str) -> io::Result<Box<dyn FolderFile>>;

    /// Opens an existing file.
    ///
    /// # Errors
    /// When it does not exist or the system refuses it.
    fn open(&self, name: &str) -> io::Result<Box<dyn FolderFile>>;

    /// Returns the names of all files.
    ///
    /// # Errors
    /// When the folder cannot be read.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Removes a file; does nothing when it does not exist.
    ///
    /// # Errors
    /// When the system refuses it.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Gives a file another name, in place of the file that has it.
    ///
    /// # Errors
    /// When the system refuses it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Checks whether there is so much free space that files may grow.
    ///
    /// # Errors
    /// [`ErrorKind::StorageFull`] when there is not; others when the system does not tell.
    fn check_space(&self) -> io::Result<()>;

    /// Waits until created, removed and renamed files are on the disk.
    ///
    /// # Errors
    /// When the system refuses it.
    fn sync(&self) -> io::Result<()>;
}

/// A file that several threads read and write.
pub trait FolderFile: Debug + Send + Sync {
    /// Reads the bytes from an offset on into the buffer, as many as it takes; fewer at the end of the file.
    ///
    /// # Errors
    /// When the system refuses it.
    fn read_at(&self, buffer: &mut AlignedBuffer, offset: u64) -> io::Result<usize>;

    /// Writes bytes at an offset.
    ///
    /// # Errors
    /// When the system refuses it; some bytes may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Shortens or lengthens the file to so many bytes.
    ///
    /// # Errors
    /// When the system refuses it.
    fn truncate(&self, n_bytes: u64) -> io::Result<()>;

    /// Waits until all bytes are on the disk.
    ///
    /// # Errors
    /// When the system refuses it.
    fn sync(&self) -> io::Result<()>;

    /// Returns the length in bytes.
    ///
    /// # Errors
    /// When the system refuses it.
    fn n_bytes(&self) -> io::Result<u64>;
}

/// A folder on the disk. Its files are read around the page cache where the file system allows that, and written through
/// it.
#[derive(Debug)]
pub struct DiskFolder {
    path: PathBuf,
    reads_directly: bool,
    /// Whether files keep their names, so that another process finds them.
    keeps_names: bool,
}

/// A file, opened for reads around the page cache where possible.
#[derive(Debug)]
struct DiskFile {
    file: File,
    /// Same file, read around the page cache.
    direct: Option<File>,
}

/// Free space below which files do not grow, if it is also less than its share: others need it more.
const FREE_BYTES_MIN: u64 = 1 << 30;
/// The size of the disk divided by this is its share.
const FREE_SHARE: u64 = 20;
/// Name of the file by which direct reads are tried, before the number of the process and of the trial.
const TRIAL_FILE: &str = "tollgate-trial";
/// Number of trials in this process.
static N_TRIALS: AtomicU64 = AtomicU64::new(0);

impl DiskFolder {
    /// Opens a folder, which is created, with mode 0700, when it does not exist.
    ///
    /// # Errors
    /// When the folder cannot be created or written.
    pub fn open(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let mut folder = Self { path: path.to_owned(), reads_directly: true, keeps_names: true };
        folder.reads_directly = folder.tries_direct_read()?;
        Ok(folder)
    }

    /// Same as [`DiskFolder::open`], for files that nobody opens again: they have no names, and disappear when this process
    /// ends.
    ///
    /// # Errors
    /// When the folder cannot be created or written.
    pub fn open_unnamed(path: &Path) -> io::Result<Self> {
        Ok(Self { keeps_names: false, ..Self::open(path)? })
    }

    /// Returns whether files are read around the page cache.
    #[must_use]
    pub const fn reads_directly(&self) -> bool {
        self.reads_directly
    }

    fn tries_direct_read(&self) -> io::Result<bool> {
        let number = N_TRIALS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TRIAL_FILE}-{}-{number}", std::process::id());
        let path = self.path.join(&name);
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)?
            .write_all_at(&[1; PAGE_BYTES], 0)?;
        let read = open_directly(&path)
            .and_then(|direct| direct.read_at(AlignedBuffer::new(PAGE_BYTES).bytes_mut(), 0));
        fs::remove_file(&path)?;
        Ok(read.is_ok_and(|n_bytes| n_bytes == PAGE_BYTES))
    }

    fn with(&self, name: &str, options: &OpenOptions) -> io::Result<Box<dyn FolderFile>> {
        let path = self.path.join(name);
        let file = options.open(&path)?;
        let direct = if self.reads_directly { Some(open_directly(&path)?) } else { None };
        if direct.is_none() {
            fadvise(&file, 0, None, Advice::Random)?;
        }
        if !self.keeps_names {
            fs::remove_file(&path)?;
        }
        Ok(Box::new(DiskFile { file, direct }))
    }
}

fn open_directly(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

impl RecordFolder for DiskFolder {
    fn create(&self, name: &str) -> io::Result<Box<dyn FolderFile>> {
        self.with(name, OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn FolderFile>> {
        self.with(name, OpenOptions::new().read(true).write(true))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn check_space(&self) -> io::Result<()> {
        let disk = statvfs(&self.path)?;
        let (free, all) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
        if free >= FREE_BYTES_MIN.min(all / FREE_SHARE) { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

impl FolderFile for DiskFile {
    fn read_at(&self, buffer: &mut AlignedBuffer, offset: u64) -> io::Result<usize> {
        let file = self.direct.as_ref().unwrap_or(&self.file);
        let bytes = buffer.bytes_mut();
        let mut n_read = 0;
        while let Some(rest) = bytes.get_mut(n_read..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, offset + n_read as u64) {
                Ok(0) => break,
                // The rest of a direct read is not aligned; it is the end of the file.
                Ok(n_more) if self.direct.is_some() => {
                    n_read += n_more;
                    break;
                }
                Ok(n_more) => n_read += n_more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.direct.is_none() {
            fadvise(&self.file, offset, std::num::NonZeroU64::new(n_read as u64), Advice::DontNeed)?;
        }
        Ok(n_read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn truncate(&self, n_bytes: u64) -> io::Result<()> {
        self.file.set_len(n_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        // What is on the disk is not read again soon.
        Ok(fadvise(&self.file, 0, None, Advice::DontNeed)?)
    }

    fn n_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}
