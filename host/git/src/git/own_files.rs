//! Which files of the work tree the service itself wrote there or took away: those it may change again, all others are
//! somebody's.
//!
//! It is kept in the clone's `.git`, for it must outlive the process: `written` or `removed`, an object id, a path; one a line.
//! A file is noted before it is touched, so after a crash there may be two ids for one path; both are ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::GitError;
use super::tree::Leaf;

const FILE: &str = "tollgate-own-files";

/// What the service did in the work tree and nobody has committed yet.
#[derive(Debug, Default)]
pub(super) struct OwnFiles {
    file: PathBuf,
    /// What was written, by path.
    written: BTreeMap<String, BTreeSet<Oid>>,
    /// What was taken away, by path.
    removed: BTreeMap<String, Oid>,
}

impl OwnFiles {
    /// Reads the notes of a clone; without any, nothing is ours.
    pub(super) fn of(git: &Path) -> Result<Self, GitError> {
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

    /// Whether the service wrote this there.
    pub(super) fn has_written(&self, path: &str, id: Oid) -> bool {
        self.written.get(path).is_some_and(|ids| ids.contains(&id))
    }

    /// Whether the service wrote anything there.
    pub(super) fn has_touched(&self, path: &str) -> bool {
        self.written.contains_key(path)
    }

    /// Whether the service took this away.
    pub(super) fn has_removed(&self, path: &str, id: Oid) -> bool {
        self.removed.get(path) == Some(&id)
    }

    /// Paths of what it wrote.
    pub(super) fn written_paths(&self) -> Vec<String> {
        self.written.keys().cloned().collect()
    }

    /// Before this is written there.
    pub(super) fn note_writing(&mut self, path: &str, id: Oid) -> Result<(), GitError> {
        self.removed.remove(path);
        self.written.entry(path.to_owned()).or_default().insert(id);
        self.store()
    }

    /// When this, and nothing else, is there.
    pub(super) fn note_written(&mut self, path: &str, id: Oid) -> Result<(), GitError> {
        let ids = BTreeSet::from([id]);
        if self.written.get(path) == Some(&ids) {
            return Ok(());
        }
        self.written.insert(path.to_owned(), ids);
        self.store()
    }

    /// When the file that the local branch has there is taken away.
    pub(super) fn note_removed(&mut self, path: &str, id: Oid) -> Result<(), GitError> {
        self.written.remove(path);
        self.removed.insert(path.to_owned(), id);
        self.store()
    }

    /// When nothing there is ours any more.
    pub(super) fn forget(&mut self, path: &str) -> Result<(), GitError> {
        let is_known = self.written.remove(path).is_some() | self.removed.remove(path).is_some();
        if is_known { self.store() } else { Ok(()) }
    }

    /// Forgets what the local branch has by now as it is here: it is the repository's.
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
