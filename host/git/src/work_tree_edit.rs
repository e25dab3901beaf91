//! Writes changes made through the API into the work tree.
//!
//! The service changes only files that it wrote itself. It removes these, and the file of a removed rule if that still
//! has the content of the rule. All other files stay untouched.

use std::collections::BTreeMap;
use std::fmt;

use git2::{ObjectType, Oid};

use super::GitError;
use super::local_clone::LocalClone;
use super::own_files::OwnFiles;
use super::rule_path::PathKind;
use super::tree::Leaf;
use super::work_tree::WorkTreeEntry;

/// Folder for rules whose usual path is taken.
const BESIDE: &str = "saved";
const LISTS: &str = "lists";

/// A batch of changes to the work tree.
pub struct WorkTreeEdit<'c> {
    clone: &'c LocalClone,
    /// Files of the local branch, on which the work tree is based.
    committed: BTreeMap<String, Leaf>,
    /// Files of the commit in force, if that is another.
    in_force: BTreeMap<String, Leaf>,
    own: OwnFiles,
}

/// Result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditOutcome {
    /// The change is in the work tree.
    Done,
    /// The change is pending, because of a conflict at this path.
    Not(String, EditConflict),
}

/// Conflict with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditConflict {
    /// The path has a file that the service did not write.
    #[error(
        "a file that the service did not write is at this path and stays unchanged; move it away, and the change is written"
    )]
    Taken,
    /// The file was changed by hand.
    #[error(
        "the file was changed by hand and stays unchanged; remove it, revert the change, or push it to keep it"
    )]
    Changed,
    /// The work tree is not at the commit in force.
    #[error("the commit in force contains this file, but the work tree is not at this commit yet")]
    Behind,
}

/// Subject of a file that the service writes; it determines the path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnFileContent {
    /// The script of the rule of this name.
    Script(String),
    /// The module of the rule of this name.
    Module(String),
    /// The list of this name.
    List(String),
}

impl fmt::Display for OwnFileContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(name) | Self::Module(name) => write!(f, "the rule `{name}`"),
            Self::List(name) => write!(f, "the list `{name}`"),
        }
    }
}

impl LocalClone {
    /// Begins a batch of changes.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn saving(&self) -> Result<WorkTreeEdit<'_>, GitError> {
        let (head, in_force) = (self.head(), self.in_force());
        let committed = self.leaves_of(head)?;
        let in_force = if in_force == head { BTreeMap::new() } else { self.leaves_of(in_force)? };
        let mut own = OwnFiles::read(self.repository().path())?;
        own.settle(&committed)?;
        Ok(WorkTreeEdit { clone: self, committed, in_force, own })
    }

    /// Reverts the service's changes at these paths, so that the work tree can advance. Returns `false` and changes
    /// nothing unless all of them are the service's.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn take_back(&self, paths: &[String]) -> Result<bool, GitError> {
        let mut saving = self.saving()?;
        for path in paths {
            if !saving.check_own_change(path)? {
                return Ok(false);
            }
        }
        for path in paths {
            self.work_tree().remove(path)?;
            if let Some(leaf) = saving.committed.get(path) {
                self.put(path, leaf)?;
            }
            saving.own.remove(path)?;
        }
        Ok(true)
    }
}

impl WorkTreeEdit<'_> {
    /// Writes a list or a rule. If another file has the path of a rule, the rule goes into a folder beside it.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn write_file(&mut self, subject: &OwnFileContent, bytes: &[u8]) -> Result<EditOutcome, GitError> {
        self.save(&subject.paths(), bytes, subject.kind())
    }

    /// Removes a list that the service wrote, or the file of a rule if it still contains these bytes. `path` is its
    /// path in the repository.
    ///
    /// # Errors
    /// [`GitError::Disk`] and [`GitError::Damaged`].
    pub fn remove_file(
        &mut self,
        subject: &OwnFileContent,
        path: Option<&str>,
        bytes: &[u8],
    ) -> Result<EditOutcome, GitError> {
        let said = match subject {
            OwnFileContent::List(_) => None,
            OwnFileContent::Script(_) | OwnFileContent::Module(_) => Some(id_of(bytes)?),
        };
        if let Some(path) = path {
            return self.remove(path, subject.kind(), said);
        }
        subject.paths().iter().try_fold(EditOutcome::Done, |placed, path| {
            let own = self.own.has_touched(path);
            Ok(if own { placed.and(self.remove(path, subject.kind(), said)?) } else { placed })
        })
    }

    /// Returns the subjects of the files that the service wrote and that are not committed.
    #[must_use]
    pub fn own_subjects(&self) -> Vec<OwnFileContent> {
        self.own.written_paths().iter().filter_map(|path| subject_of(path)).collect()
    }

    fn save(&mut self, paths: &[String], bytes: &[u8], kind: PathKind) -> Result<EditOutcome, GitError> {
        let id = id_of(bytes)?;
        let mut free = None;
        let mut taken = None;
        for path in paths {
            let found = self.clone.work_tree().look(path, kind)?;
            match found {
                WorkTreeEntry::Bytes(found) => {
                    let found = id_of(&found)?;
                    if found == id {
                        return self.keep(path, id);
                    }
                    if self.own.has_written(path, found) {
                        return self.write(path, bytes, id);
                    }
                    taken.get_or_insert(EditOutcome::Not(path.clone(), EditConflict::Taken));
                }
                WorkTreeEntry::Other => {
                    taken.get_or_insert(EditOutcome::Not(path.clone(), EditConflict::Taken));
                }
                WorkTreeEntry::Nothing if self.is_to_come(path, id) => {
                    taken.get_or_insert(EditOutcome::Not(path.clone(), EditConflict::Behind));
                }
                WorkTreeEntry::Nothing => drop(free.get_or_insert(path)),
            }
        }
        match (free, taken) {
            (Some(path), taken) => {
                if let Some(EditOutcome::Not(taken, _)) = taken {
                    tracing::warn!(
                        path,
                        taken,
                        "the path of a rule is taken by a file that the service did not write; the rule is written to another path"
                    );
                }
                self.write(path, bytes, id)
            }
            (None, taken) => Ok(taken.unwrap_or(EditOutcome::Done)),
        }
    }

    /// Keeps a file that already has this content. An identical file written by hand remains the user's.
    fn keep(&mut self, path: &str, id: Oid) -> Result<EditOutcome, GitError> {
        if self.own.has_written(path, id) {
            self.own.note_written(path, id)?;
        }
        Ok(EditOutcome::Done)
    }

    fn write(&mut self, path: &str, bytes: &[u8], id: Oid) -> Result<EditOutcome, GitError> {
        self.own.note_writing(path, id)?;
        self.clone.work_tree().write(path, bytes)?;
        self.own.note_written(path, id)?;
        Ok(EditOutcome::Done)
    }

    /// Removes a file that the service wrote, or that has the content the rule was removed with.
    fn remove(&mut self, path: &str, kind: PathKind, said: Option<Oid>) -> Result<EditOutcome, GitError> {
        let committed = self.committed.get(path).map(|leaf| leaf.id);
        let in_force = self.in_force.get(path).map(|leaf| leaf.id);
        if said.is_some() && in_force == said && committed != said {
            return Ok(EditOutcome::Not(path.to_owned(), EditConflict::Behind));
        }
        let found = match self.clone.work_tree().look(path, kind)? {
            WorkTreeEntry::Bytes(bytes) => id_of(&bytes)?,
            WorkTreeEntry::Nothing => {
                if committed.is_none() {
                    self.own.remove(path)?;
                }
                return Ok(EditOutcome::Done);
            }
            WorkTreeEntry::Other => return Ok(EditOutcome::Not(path.to_owned(), EditConflict::Changed)),
        };
        if Some(found) != said && !self.own.has_written(path, found) {
            if committed != Some(found) {
                return Ok(EditOutcome::Not(path.to_owned(), EditConflict::Changed));
            }
            // The repository has a new file there, not the one that was removed.
            self.own.remove(path)?;
            return Ok(EditOutcome::Done);
        }
        if let Some(committed) = committed {
            self.own.note_removed(path, committed)?;
        }
        self.clone.work_tree().remove(path)?;
        if committed.is_none() {
            self.own.remove(path)?;
        }
        Ok(EditOutcome::Done)
    }

    /// Returns whether the commit in force has a different file there that the work tree does not have yet.
    fn is_to_come(&self, path: &str, id: Oid) -> bool {
        !self.committed.contains_key(path) && self.in_force.get(path).is_some_and(|leaf| leaf.id != id)
    }

    fn check_own_change(&self, path: &str) -> Result<bool, GitError> {
        let kind = super::rule_path::kind_of(path.as_bytes());
        Ok(match self.clone.work_tree().look(path, kind)? {
            WorkTreeEntry::Bytes(bytes) => self.own.has_written(path, id_of(&bytes)?),
            WorkTreeEntry::Nothing => {
                self.committed.get(path).is_some_and(|leaf| self.own.has_removed(path, leaf.id))
            }
            WorkTreeEntry::Other => false,
        })
    }
}

impl EditOutcome {
    /// Returns the first result that is not done.
    fn and(self, other: Self) -> Self {
        if self == Self::Done { other } else { self }
    }
}

impl OwnFileContent {
    /// Returns the possible paths, in order of preference.
    fn paths(&self) -> Vec<String> {
        match self {
            Self::Script(name) => vec![format!("{name}.ws"), format!("{BESIDE}/{name}.ws")],
            Self::Module(name) => vec![format!("{name}.wasm"), format!("{BESIDE}/{name}.wasm")],
            Self::List(name) => vec![format!("{LISTS}/{name}.txt")],
        }
    }

    const fn kind(&self) -> PathKind {
        match self {
            Self::Script(_) => PathKind::Script,
            Self::Module(_) => PathKind::Module,
            Self::List(_) => PathKind::List,
        }
    }
}

/// Returns the subject of a path; the inverse of `paths`.
fn subject_of(path: &str) -> Option<OwnFileContent> {
    let list = path.strip_prefix("lists/").and_then(|file| file.strip_suffix(".txt"));
    if let Some(name) = list {
        return Some(OwnFileContent::List(name.to_owned()));
    }
    let file = path.strip_prefix("saved/").unwrap_or(path);
    let script = file.strip_suffix(".ws").map(|name| OwnFileContent::Script(name.to_owned()));
    script.or_else(|| file.strip_suffix(".wasm").map(|name| OwnFileContent::Module(name.to_owned())))
}

fn id_of(bytes: &[u8]) -> Result<Oid, GitError> {
    Oid::hash_object(ObjectType::Blob, bytes).map_err(GitError::Damaged)
}
