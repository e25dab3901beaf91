//! Record of the files that the service wrote or removed in the work tree. It may change these again; all others belong
//! to the user.
//!
//! The record is a file in `.git`, so it outlives the process. Each line has `written` or `removed`, an object id and a
//! path. A file is recorded before it is touched. After a crash a path may therefore have two ids, both written by the
//! service.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::GitError;
use super::tree::Leaf;

const FILE: &str = "tollgate-own-files";

/// Changes of the service in the work tree that are not committed yet.
#[derive(Debug, Default)]
pub(super) struct OwnFiles {
    file: PathBuf,
    /// Ids of written files, by path.
    written: BTreeMap<String, BTreeSet<Oid>>,
    /// Ids of removed files, by path.
    removed: BTreeMap<String, Oid>,
}

impl OwnFiles {
    /// Reads the record of a clone; empty if there is none.
    pub(super) fn read(git: &Path) -> Result<Self, GitError> {
        let file = git.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(GitError::disk(file)(error)),
        };
        let mut own = Self { file, ..Self::default() };
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(what), Some(id), Some(path)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let Ok(id) = Oid::from_str(id) else { continue };
            match what {
                "written" => drop(own.written.entry(path.to_owned()).or_default().insert(id)),
                "removed" => drop(own.removed.insert(path.to_owned(), id)),
                _ => {}
            }
        }
        Ok(own)
    }

    /// Returns whether the service wrote this content there.
    pub(super) fn has_written(&self, path: &str, id: Oid) -> bool {
        self.written.get(path).is_some_and(|ids| ids.contains(&id))
    }

    /// Returns whether the service wrote any content there.
    pub(super) fn has_touched(&self, path: &str) -> bool {
        self.written.contains_key(path)
    }

    /// Returns whether the service removed this content.
    pub(super) fn has_removed(&self, path: &str, id: Oid) -> bool {
        self.removed.get(path) == Some(&id)
    }

    pub(super) fn written_paths(&self) -> Vec<String> {
        self.written.keys().cloned().collect()
    }

    /// Records a write, before it happens.
    pub(super) fn note_writing(&mut self, path: &str, id: Oid) -> Result<(), GitError> {
        self.removed.remove(path);
        self.written.entry(path.to_owned()).or_default().insert(id);
        self.store()
    }

    /// Records that the file has exactly this content.
    pub(super) fn note_written(&mut self, path: &str, id: Oid) -> Result<(), GitError> {
        let ids = BTreeSet::from([id]);
        if self.written.get(path) == Some(&ids) {
            return Ok(());
        }
        self.written.insert(path.to_owned(), ids);
        self.store()
    }

    /// Records the removal of a file that the local branch contains.
    pub(super) fn note_removed(&mut self, path: &str, id: Oid) -> Result<(), GitError> {
        self.written.remove(path);
        self.removed.insert(path.to_owned(), id);
        self.store()
    }

    /// Forgets a path at which nothing is the service's any more.
    pub(super) fn remove(&mut self, path: &str) -> Result<(), GitError> {
        let is_known = self.written.remove(path).is_some() | self.removed.remove(path).is_some();
        if is_known { self.store() } else { Ok(()) }
    }

    /// Forgets the changes that the local branch contains by now.
    pub(super) fn settle(&mut self, committed: &BTreeMap<String, Leaf>) -> Result<(), GitError> {
        let n_before = self.written.len() + self.removed.len();
        let id_at = |path: &String| committed.get(path).map(|leaf| leaf.id);
        self.written.retain(|path, ids| !id_at(path).is_some_and(|id| ids.contains(&id)));
        self.removed.retain(|path, id| id_at(path) == Some(*id));
        if self.written.len() + self.removed.len() == n_before { Ok(()) } else { self.store() }
    }

    fn store(&self) -> Result<(), GitError> {
        let mut text = String::new();
        for (path, ids) in &self.written {
            for id in ids {
                let _ = writeln!(text, "written {id} {path}");
            }
        }
        for (path, id) in &self.removed {
            let _ = writeln!(text, "removed {id} {path}");
        }
        let beside = self.file.with_extension("new");
        fs::write(&beside, text).map_err(GitError::disk(&beside))?;
        fs::rename(&beside, &self.file).map_err(GitError::disk(&self.file))
    }
}
