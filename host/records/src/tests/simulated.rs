//! A folder in memory that fails at a chosen call, and forgets and tears what was not synced when its power is cut.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::buffer::AlignedBuffer;
use crate::folder::{FolderFile, RecordFolder};

/// Bytes that a disk writes as a whole.
const SECTOR_BYTES: usize = 512;

/// Numbers from a seed.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) const fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[derive(Debug, Default)]
struct Contents {
    on_disk: Vec<u8>,
    now: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Written(usize, Vec<u8>),
    Truncated(usize),
}

type Names = BTreeMap<String, Arc<Mutex<Contents>>>;

#[derive(Debug, Clone)]
enum NameChange {
    Created(String, Arc<Mutex<Contents>>),
    Removed(String),
    Renamed(String, String),
}

#[derive(Debug, Default)]
struct State {
    on_disk: Names,
    now: Names,
    unsynced: Vec<NameChange>,
    n_calls: usize,
    fails_at: Option<usize>,
    n_failures: usize,
    is_nearly_full: bool,
}

/// A folder in memory.
#[derive(Debug, Default, Clone)]
pub(super) struct SimulatedFolder {
    state: Arc<Mutex<State>>,
    /// Whether reads do not end, and what tells them that it has changed.
    hangs: Arc<(Mutex<bool>, Condvar)>,
}

#[derive(Debug)]
struct SimulatedFile {
    contents: Arc<Mutex<Contents>>,
    folder: SimulatedFolder,
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        match self {
            NameChange::Created(name, contents) => {
                names.insert(name.clone(), Arc::clone(contents));
            }
            NameChange::Removed(name) => {
                names.remove(name);
            }
            NameChange::Renamed(from, to) => {
                if let Some(contents) = names.remove(from) {
                    names.insert(to.clone(), contents);
                }
            }
        }
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Written(offset, written) => {
                let end = offset + written.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset..end].copy_from_slice(written);
            }
            Change::Truncated(n_bytes) => bytes.resize(*n_bytes, 0),
        }
    }
}

impl SimulatedFolder {
    /// Lets the calls from the `n`-th from now on fail, `n_failures` of them.
    pub(super) fn fail_at(&self, n: usize, n_failures: usize) {
        let mut state = self.state.lock();
        state.fails_at = Some(state.n_calls + n);
        state.n_failures = n_failures;
    }

    /// Lets the disk be nearly full, or have room again.
    pub(super) fn fill(&self, is_nearly_full: bool) {
        self.state.lock().is_nearly_full = is_nearly_full;
    }

    /// Lets reads hang, or go on.
    pub(super) fn hang(&self, hangs: bool) {
        *self.hangs.0.lock() = hangs;
        self.hangs.1.notify_all();
    }

    pub(super) fn fail_no_more(&self) {
        self.state.lock().fails_at = None;
    }

    /// Returns the folder as a disk shows it after its power was cut: some of what was not synced is missing, and some
    /// is torn.
    pub(super) fn after_power_cut(&self, dice: &mut Dice) -> Self {
        let state = self.state.lock();
        let mut names = state.on_disk.clone();
        let n_done = dice.below(state.unsynced.len() + 1);
        state.unsynced[..n_done].iter().for_each(|change| change.apply(&mut names));
        let mut on_disk = Names::new();
        for (name, contents) in &names {
            let contents = contents.lock();
            let mut bytes = contents.on_disk.clone();
            for change in &contents.unsynced {
                match (dice.below(4), change) {
                    (0, _) => {}
                    (1, Change::Written(offset, written)) => {
                        let n_kept =
                            (dice.below(written.len() + 1) / SECTOR_BYTES * SECTOR_BYTES).min(written.len());
                        Change::Written(*offset, written[..n_kept].to_vec()).apply(&mut bytes);
                    }
                    (_, change) => change.apply(&mut bytes),
                }
            }
            let same = Contents { on_disk: bytes.clone(), now: bytes, unsynced: Vec::new() };
            on_disk.insert(name.clone(), Arc::new(Mutex::new(same)));
        }
        let state = State { now: on_disk.clone(), on_disk, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)), hangs: Arc::default() }
    }

    /// Changes a bit of a file. Returns whether it exists and is not empty.
    pub(super) fn flip_bit(&self, name: &str, dice: &mut Dice) -> bool {
        let state = self.state.lock();
        let Some(contents) = state.now.get(name) else { return false };
        let mut contents = contents.lock();
        let n_bytes = contents.now.len();
        if n_bytes == 0 {
            return false;
        }
        contents.now[dice.below(n_bytes)] ^= 1 << dice.below(8);
        true
    }

    fn called(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.n_calls += 1;
        let n_calls = state.n_calls;
        match state.fails_at {
            Some(at) if n_calls >= at && n_calls < at + state.n_failures => {
                Err(ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }

    fn change(&self, change: NameChange) {
        let mut state = self.state.lock();
        change.apply(&mut state.now);
        state.unsynced.push(change);
    }
}

impl RecordFolder for SimulatedFolder {
    fn create(&self, name: &str) -> io::Result<Box<dyn FolderFile>> {
        self.called()?;
        let contents = Arc::default();
        self.change(NameChange::Created(name.into(), Arc::clone(&contents)));
        Ok(Box::new(SimulatedFile { contents, folder: self.clone() }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn FolderFile>> {
        self.called()?;
        let contents = self.state.lock().now.get(name).cloned();
        let contents = contents.ok_or(ErrorKind::NotFound)?;
        Ok(Box::new(SimulatedFile { contents, folder: self.clone() }))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.called()?;
        Ok(self.state.lock().now.keys().cloned().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.called()?;
        self.change(NameChange::Removed(name.into()));
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.called()?;
        self.change(NameChange::Renamed(from.into(), to.into()));
        Ok(())
    }

    fn check_space(&self) -> io::Result<()> {
        if self.state.lock().is_nearly_full { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        self.called()?;
        let mut state = self.state.lock();
        state.on_disk = state.now.clone();
        state.unsynced.clear();
        Ok(())
    }
}

impl FolderFile for SimulatedFile {
    fn read_at(&self, buffer: &mut AlignedBuffer, offset: u64) -> io::Result<usize> {
        self.folder.hangs.1.wait_while(&mut self.folder.hangs.0.lock(), |hangs| *hangs);
        self.folder.called()?;
        assert_eq!(offset % 4_096, 0, "a direct read begins at a page");
        let contents = self.contents.lock();
        let rest = contents.now.get(offset as usize..).unwrap_or_default();
        let n_read = rest.len().min(buffer.bytes().len());
        buffer.bytes_mut()[..n_read].copy_from_slice(&rest[..n_read]);
        Ok(n_read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.folder.called()?;
        let mut contents = self.contents.lock();
        let change = Change::Written(offset as usize, bytes.to_vec());
        change.apply(&mut contents.now);
        contents.unsynced.push(change);
        Ok(())
    }

    fn truncate(&self, n_bytes: u64) -> io::Result<()> {
        self.folder.called()?;
        let mut contents = self.contents.lock();
        let change = Change::Truncated(n_bytes as usize);
        change.apply(&mut contents.now);
        contents.unsynced.push(change);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.folder.called()?;
        let mut contents = self.contents.lock();
        contents.on_disk = contents.now.clone();
        contents.unsynced.clear();
        Ok(())
    }

    fn n_bytes(&self) -> io::Result<u64> {
        self.folder.called()?;
        Ok(self.contents.lock().now.len() as u64)
    }
}
