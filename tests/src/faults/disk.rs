//! What a disk holds when the power fails: what was synced, and of the rest whatever it likes.
//!
//! A write is safe when its file was synced behind it; a name when the directory it stands in was. Nothing else is: what is
//! not safe may be there, or not, or in part, in any combination; only names come in the order in which they were changed.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::record::{Call, Change};
use crate::generator::dice::Dice;

/// What a disk writes as one.
const SECTOR_BYTES: usize = 512;

/// A directory as a disk has it, and what is still on its way there.
#[derive(Debug)]
pub struct Disk {
    directory: PathBuf,
    files: Vec<File>,
    /// As the system shows them now.
    names: BTreeMap<String, usize>,
    safe_names: BTreeMap<String, usize>,
    pending_names: Vec<Naming>,
}

#[derive(Debug, Default)]
struct File {
    safe: Vec<u8>,
    pending: Vec<Change>,
}

/// A name that leads to another file than before, or nowhere.
#[derive(Debug)]
struct Naming {
    name: String,
    file: Option<usize>,
}

/// What becomes of what is not safe.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// All gone.
    Gone,
    /// Some of it, and its last write in part.
    Prefix,
    /// Any of it.
    Any,
    /// Any sectors of it.
    Sectors,
}

impl Disk {
    /// A directory with everything in it safe.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn of(directory: &Path) -> Self {
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

    /// A call was made.
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
            // Names that were not there are asked to go as well.
            Change::Remove if self.names.contains_key(&path) => self.name(path, None),
            // The rest changes nothing, or only what is there without a sync.
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

    /// The power fails: the directory holds what the disk holds then.
    ///
    /// # Panics
    /// When the directory cannot be changed.
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
            // Shared memory; SQLite makes it anew whenever nobody has the database open.
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
        for (place, change) in self.pending.iter().enumerate() {
            match (fate, change) {
                (Fate::Gone, _) => {}
                (Fate::Prefix, Change::Write { offset, data }) if place == n_kept => {
                    let cut = dice.below(data.len() / SECTOR_BYTES + 1) * SECTOR_BYTES;
                    let data = data.get(..cut).unwrap_or_default().to_vec();
                    write(&mut content, &Change::Write { offset: *offset, data });
                }
                (Fate::Prefix, _) if place >= n_kept => {}
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
            if let Some(place) = content.get_mut(*offset..end) {
                place.copy_from_slice(data);
            }
        }
        Change::Truncate { length } => content.resize(*length, 0),
        _ => {}
    }
}
