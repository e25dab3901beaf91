//! A model of a disk at a power failure: synced data survives, any part of the rest may.
//!
//! A write is safe once its file was synced afterwards; a name is safe once its directory was. Anything else may
//! survive fully, in part or not at all, in any combination. Name changes survive only in the order in which they were
//! made.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::record::{Call, Change};
use crate::generator::dice::Dice;

/// Unit of atomic writes.
const SECTOR_BYTES: usize = 512;

/// A directory as it is on disk, and the changes that are not yet safe.
#[derive(Debug)]
pub struct Disk {
    directory: PathBuf,
    files: Vec<File>,
    /// Names as the system shows them now.
    names: BTreeMap<String, usize>,
    safe_names: BTreeMap<String, usize>,
    pending_names: Vec<Naming>,
}

#[derive(Debug, Default)]
struct File {
    safe: Vec<u8>,
    pending: Vec<Change>,
}

/// A change of the file behind a name; `None` removes the name.
#[derive(Debug)]
struct Naming {
    name: String,
    file: Option<usize>,
}

/// The outcome for changes that are not safe.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// None survive.
    Gone,
    /// A prefix survives, its last write in part.
    Prefix,
    /// Any subset survives.
    Any,
    /// Any subset of the sectors survives.
    Sectors,
}

impl Disk {
    /// Creates a model of a directory with all contents safe.
    ///
    /// # Panics
    /// Panics if it cannot be read.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        let mut disk = Self {
            directory: directory.to_owned(),
            files: Vec::new(),
            names: BTreeMap::new(),
            safe_names: BTreeMap::new(),
            pending_names: Vec::new(),
        };
        let mut folders = vec![directory.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder can be read") {
                let path = entry.expect("a folder can be read").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let safe = fs::read(&path).expect("a file can be read");
                disk.safe_names.insert(path.to_string_lossy().into_owned(), disk.files.len());
                disk.files.push(File { safe, pending: Vec::new() });
            }
        }
        disk.names = disk.safe_names.clone();
        disk
    }

    /// Applies a recorded call.
    pub fn take(&mut self, call: Call) {
        let Call { what, path, .. } = call;
        match what {
            Change::Write { .. } | Change::Truncate { .. } => {
                if let Some(file) = self.names.get(&path).and_then(|&file| self.files.get_mut(file)) {
                    file.pending.push(what);
                }
            }
            Change::Sync => self.sync(&path),
            Change::Create => {
                let file = self.files.len();
                self.files.push(File::default());
                self.name(path, Some(file));
            }
            Change::Rename { to } => {
                let file = self.names.get(&path).copied();
                self.name(to, file);
                self.name(path, None);
            }
            Change::Link { to } => {
                let file = self.names.get(&path).copied();
                self.name(to, file);
            }
            // The service also removes names that do not exist.
            Change::Remove if self.names.contains_key(&path) => self.name(path, None),
            // All other calls change nothing that survives without a sync.
            _ => {}
        }
    }

    fn name(&mut self, name: String, file: Option<usize>) {
        apply(&mut self.names, &name, file);
        self.pending_names.push(Naming { name, file });
    }

    fn sync(&mut self, path: &str) {
        if let Some(file) = self.names.get(path).and_then(|&file| self.files.get_mut(file)) {
            for change in std::mem::take(&mut file.pending) {
                write(&mut file.safe, &change);
            }
            return;
        }
        let is_here = |naming: &Naming| Path::new(&naming.name).parent() == Some(Path::new(path));
        let (safe, pending) = std::mem::take(&mut self.pending_names).into_iter().partition(is_here);
        self.pending_names = pending;
        for Naming { name, file } in safe {
            apply(&mut self.safe_names, &name, file);
        }
    }

    /// Cuts the power: rewrites the directory to a state the disk could hold.
    ///
    /// # Panics
    /// Panics if the directory cannot be changed.
    pub fn fail(self, dice: &mut Dice) {
        let mut names = self.safe_names;
        let n_names = dice.below(self.pending_names.len() + 1);
        for Naming { name, file } in self.pending_names.into_iter().take(n_names) {
            apply(&mut names, &name, file);
        }
        let fate = dice.pick([Fate::Gone, Fate::Prefix, Fate::Any, Fate::Sectors]);
        for entry in fs::read_dir(&self.directory).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.expect("a file can be removed");
        }
        for (name, file) in names {
            // Shared memory, which SQLite recreates.
            if name.ends_with("-shm") {
                continue;
            }
            let Some(file) = self.files.get(file) else { continue };
            let path = Path::new(&name);
            fs::create_dir_all(path.parent().expect("a file stands somewhere"))
                .expect("a folder can be made");
            fs::write(path, file.after(fate, dice)).expect("a file can be written");
        }
    }
}

impl File {
    fn after(&self, fate: Fate, dice: &mut Dice) -> Vec<u8> {
        let mut content = self.safe.clone();
        let n_kept = dice.below(self.pending.len() + 1);
        for (index, change) in self.pending.iter().enumerate() {
            match (fate, change) {
                (Fate::Gone, _) => {}
                (Fate::Prefix, Change::Write { offset, data }) if index == n_kept => {
                    let cut = dice.below(data.len() / SECTOR_BYTES + 1) * SECTOR_BYTES;
                    let data = data.get(..cut).unwrap_or_default().to_vec();
                    write(&mut content, &Change::Write { offset: *offset, data });
                }
                (Fate::Prefix, _) if index >= n_kept => {}
                (Fate::Sectors, Change::Write { offset, data }) => {
                    for (n, sector) in data.chunks(SECTOR_BYTES).enumerate().filter(|_| dice.chance(50)) {
                        let offset = offset + n * SECTOR_BYTES;
                        write(&mut content, &Change::Write { offset, data: sector.to_vec() });
                    }
                }
                (Fate::Any | Fate::Sectors, _) if dice.chance(50) => {}
                (Fate::Prefix | Fate::Any | Fate::Sectors, change) => write(&mut content, change),
            }
        }
        content
    }
}

fn apply(names: &mut BTreeMap<String, usize>, name: &str, file: Option<usize>) {
    match file {
        Some(file) => names.insert(name.to_owned(), file),
        None => names.remove(name),
    };
}

fn write(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, data } => {
            let end = offset + data.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            if let Some(target) = content.get_mut(*offset..end) {
                target.copy_from_slice(data);
            }
        }
        Change::Truncate { length } => content.resize(*length, 0),
        _ => {}
    }
}
