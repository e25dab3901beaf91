//! The mark beside the database: the name of the store, and a number that it held.
//!
//! The mark is written after a commit, at most once a second, and is not synced. The commit was, so the mark is never
//! ahead of the database. It proves that a store existed whose database or write-ahead log is gone.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tollgate_model::sequence::Sequence;

use super::StoreError;
use super::directory::FILE_MODE;

/// Name of the file, next to the database.
const MARK_FILE: &str = "tollgate.mark";
/// First word of the file, with the version of its format.
const FORMAT: &str = "tollgate-mark-1";
/// Shortest interval between two writes.
const INTERVAL: Duration = Duration::from_secs(1);
/// Number of bytes of the digest at the end of the line.
const DIGEST_BYTES: usize = 8;

/// The random name that a store got when it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreName(pub(super) [u8; 16]);

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hexadecimal(&self.0, f)
    }
}

/// A store, and a number up to which it was durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreMark {
    pub(super) store: StoreName,
    pub(super) number: Sequence,
}

/// The mark of a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkFound {
    Absent,
    Readable(StoreMark),
    /// The file exists, but its contents are not a mark.
    Unreadable,
}

impl MarkFound {
    /// Reads the mark of a data directory.
    pub(super) fn read(data_dir: &Path) -> Result<Self, StoreError> {
        let path = data_dir.join(MARK_FILE);
        match fs::read(&path) {
            Ok(bytes) => Ok(StoreMark::parse(&bytes).map_or(Self::Unreadable, Self::Readable)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::Absent),
            Err(source) => Err(StoreError::Directory { path, source }),
        }
    }
}

impl StoreMark {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let (covered, digest) = line.rsplit_once(' ')?;
        let words: Vec<&str> = covered.split(' ').collect();
        let [format, name, number] = words[..] else { return None };
        let mark = Self { store: StoreName(name_of(name)?), number: Sequence(number.parse().ok()?) };
        (format == FORMAT && digest == digest_of(covered)).then_some(mark)
    }

    /// Returns the line of the file. All lines have the same length, so that one can be written over another.
    fn line(&self) -> String {
        let covered = format!("{FORMAT} {} {:020}", self.store, self.number.0);
        format!("{covered} {}\n", digest_of(&covered))
    }

    /// Writes the mark of a data directory durably.
    pub(super) fn write_durably(&self, data_dir: &Path) -> Result<(), StoreError> {
        let path = data_dir.join(MARK_FILE);
        let written = self.write_over(&path).and_then(|file| {
            // A file that was no mark may have been longer.
            file.set_len(self.line().len() as u64)?;
            file.sync_all()?;
            File::open(data_dir)?.sync_all()
        });
        written.map_err(|source| StoreError::Directory { path, source })
    }

    fn write_over(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(FILE_MODE).open(path)?;
        file.write_all_at(self.line().as_bytes(), 0)?;
        Ok(file)
    }
}

/// Removes the mark of a data directory durably.
pub(super) fn remove(data_dir: &Path) -> io::Result<()> {
    match fs::remove_file(data_dir.join(MARK_FILE)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => File::open(data_dir)?.sync_all(),
    }
}

/// Writes the mark after commits.
pub(super) struct MarkWriter {
    path: PathBuf,
    store: StoreName,
    state: Mutex<MarkState>,
    /// Wakes the task that writes a number that came too early.
    is_due: Notify,
    has_failed: AtomicBool,
}

struct MarkState {
    /// The highest number that was committed.
    committed: Sequence,
    /// The number in the file; `None` before the first write.
    written: Option<Sequence>,
    /// When the number in the file was changed last.
    last_change: Option<Instant>,
}

impl MarkWriter {
    /// Creates a writer for a store that is durable up to `number`, which the file has as well if it was written.
    pub(super) fn new(data_dir: &Path, mark: StoreMark, is_written: bool) -> Arc<Self> {
        let state = MarkState {
            committed: mark.number,
            written: is_written.then_some(mark.number),
            last_change: None,
        };
        Arc::new(Self {
            path: data_dir.join(MARK_FILE),
            store: mark.store,
            state: Mutex::new(state),
            is_due: Notify::new(),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Notes a commit with numbers up to `through`, or 0 if it has none. Writes the mark if its number has changed and was
    /// not changed within the last second.
    pub(super) fn committed(&self, through: Sequence) {
        let mut state = self.state.lock();
        state.committed = state.committed.max(through);
        if state.written == Some(state.committed) {
            return;
        }
        if state.last_change.is_some_and(|last| last.elapsed() < INTERVAL) {
            self.is_due.notify_one();
            return;
        }
        if through > Sequence::default() {
            state.last_change = Some(Instant::now());
        }
        self.write(&mut state);
    }

    /// Writes the mark if it is behind.
    pub(super) fn write_last(&self) {
        let mut state = self.state.lock();
        if state.written.is_some_and(|written| written < state.committed) {
            state.last_change = Some(Instant::now());
            self.write(&mut state);
        }
    }

    /// Writes numbers that came within a second of the last write; never returns.
    pub(super) async fn follow(self: Arc<Self>) {
        loop {
            self.is_due.notified().await;
            tokio::time::sleep(INTERVAL).await;
            let writer = Arc::clone(&self);
            spawn_blocking(move || writer.write_last()).await.ok();
        }
    }

    /// A mark that cannot be written changes nothing but what can be proven later.
    fn write(&self, state: &mut MarkState) {
        let mark = StoreMark { store: self.store, number: state.committed };
        match mark.write_over(&self.path) {
            Ok(_) => {
                state.written = Some(state.committed);
                self.has_failed.store(false, Ordering::Relaxed);
            }
            Err(error) if !self.has_failed.swap(true, Ordering::Relaxed) => {
                tracing::warn!(%error, path = %self.path.display(), "the mark of the store cannot be written");
            }
            Err(_) => {}
        }
    }
}

fn name_of(text: &str) -> Option<[u8; 16]> {
    let is_hexadecimal = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = is_hexadecimal.then(|| u128::from_str_radix(text, 16).ok())??;
    Some(name.to_be_bytes())
}

fn digest_of(covered: &str) -> String {
    struct Hexadecimal<'a>(&'a [u8]);
    impl fmt::Display for Hexadecimal<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_hexadecimal(self.0, f)
        }
    }
    let digest: [u8; 32] = Sha256::digest(covered).into();
    Hexadecimal(digest.get(..DIGEST_BYTES).unwrap_or_default()).to_string()
}

fn write_hexadecimal(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is_a_mark() {
        let mark = StoreMark { store: StoreName([7; 16]), number: Sequence(180) };
        let line = mark.line();
        assert_eq!(StoreMark::parse(line.as_bytes()), Some(mark));
        for place in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[place] ^= 1;
            assert_eq!(StoreMark::parse(&bytes), None, "byte {place}");
            assert_eq!(StoreMark::parse(&line.as_bytes()[..place]), None, "{place} bytes");
        }
    }
}
