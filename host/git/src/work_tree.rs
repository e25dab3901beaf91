//! The work tree: rule files as plain files, for people, for status and for push.
//!
//! Only rule files are written, only regular files are read, and no link is followed. Local changes are never
//! overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};

use super::GitError;
use super::rule_path::{DEPTH_MAX, PathKind, kind_of};
use super::tree::{Leaf, bytes_max};

const FILES_MAX: usize = 20_000;
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A directory of rule files.
#[derive(Debug, Clone)]
pub struct WorkTree {
    path: PathBuf,
}

/// Differences between a work tree and its commit. Paths are sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files with different content.
    pub modified: Vec<String>,
    /// Files only in the commit.
    pub deleted: Vec<String>,
    /// Files only in the work tree.
    pub untracked: Vec<String>,
}

/// Entry at a path of the work tree.
#[derive(Debug)]
pub(super) enum WorkTreeEntry {
    Nothing,
    Bytes(Vec<u8>),
    /// A link, a folder or an oversized file; never written by the service.
    Other,
}

/// Object ids of files by path; `None` for a file that cannot be read as a rule file.
pub(super) type BlobReader = BTreeMap<String, Option<Oid>>;

impl Changes {
    /// Returns whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.modified.is_empty() && self.deleted.is_empty() && self.untracked.is_empty()
    }

    /// Returns the paths of all changes, sorted.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let mut paths = [&self.modified[..], &self.deleted, &self.untracked].concat();
        paths.sort();
        paths
    }

    pub(super) fn between(base: &BTreeMap<String, Leaf>, here: &BlobReader) -> Self {
        let mut changes = Self::default();
        for (path, leaf) in base {
            match here.get(path) {
                None => changes.deleted.push(path.clone()),
                Some(id) if *id != Some(leaf.id) => changes.modified.push(path.clone()),
                Some(_) => {}
            }
        }
        changes.untracked.extend(here.keys().filter(|path| !base.contains_key(*path)).cloned());
        changes
    }
}

impl WorkTree {
    pub(super) const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the object ids of all its rule files.
    pub(super) fn contents(&self) -> Result<BlobReader, GitError> {
        let mut contents = BlobReader::new();
        self.walk(&self.path, "", 0, &mut contents)?;
        Ok(contents)
    }

    /// Reads a regular file; `None` if there is none or it is not acceptable.
    pub(super) fn read(&self, path: &str, kind: PathKind) -> Result<Option<Vec<u8>>, GitError> {
        match self.look(path, kind)? {
            WorkTreeEntry::Bytes(bytes) => Ok(Some(bytes)),
            WorkTreeEntry::Nothing | WorkTreeEntry::Other => Ok(None),
        }
    }

    /// Returns the entry at a path. A path through a link counts as empty.
    pub(super) fn look(&self, path: &str, kind: PathKind) -> Result<WorkTreeEntry, GitError> {
        let full = self.path.join(path);
        if !self.is_inside(&full) {
            return Ok(WorkTreeEntry::Nothing);
        }
        let metadata = match fs::symlink_metadata(&full) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(WorkTreeEntry::Nothing),
            Err(error) => return Err(GitError::disk(full)(error)),
        };
        if !metadata.is_file() || metadata.len() > bytes_max(kind) as u64 {
            return Ok(WorkTreeEntry::Other);
        }
        fs::read(&full).map(WorkTreeEntry::Bytes).map_err(GitError::disk(full))
    }

    /// Returns whether all folders between the work tree and a file are real folders, not links.
    fn is_inside(&self, file: &Path) -> bool {
        let mut folders = file.ancestors().skip(1).take_while(|folder| *folder != self.path);
        folders.all(|folder| fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()))
    }

    /// Writes a file atomically.
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), GitError> {
        if !kind_of(path.as_bytes()).is_rule_file() {
            let odd = io::Error::new(io::ErrorKind::InvalidInput, "not a path of a rule file");
            return Err(GitError::disk(&self.path)(odd));
        }
        let full = self.path.join(path);
        let folder = full.parent().unwrap_or(&self.path);
        self.make_folders(folder)?;
        let beside = folder.join(".tollgate.new");
        let written = (|| {
            fs::remove_file(&beside).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&beside)?;
            file.write_all(bytes)?;
            // A rename replaces a link instead of following it.
            fs::rename(&beside, &full)
        })();
        written.map_err(GitError::disk(full))
    }

    /// Returns whether a file can be created there: only folders lead to it, and the path itself is not a folder.
    pub(super) fn has_room(&self, path: &str) -> bool {
        let full = self.path.join(path);
        let is_folder = |path: &Path| fs::symlink_metadata(path).map(|metadata| metadata.is_dir());
        let mut folders = full.ancestors().skip(1).take_while(|folder| *folder != self.path);
        folders.all(|folder| is_folder(folder).unwrap_or(true)) && !is_folder(&full).unwrap_or(false)
    }

    /// Removes a file and the folders that become empty. A path through a link is left alone.
    pub(super) fn remove(&self, path: &str) -> Result<(), GitError> {
        let full = self.path.join(path);
        if !self.is_inside(&full) {
            return Ok(());
        }
        match fs::remove_file(&full) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(GitError::disk(full)(error)),
            _ => {}
        }
        let above = full.ancestors().skip(1).take_while(|folder| *folder != self.path);
        for folder in above {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Creates the folders between the work tree and a file. Fails if one of them is a link or a file.
    fn make_folders(&self, folder: &Path) -> Result<(), GitError> {
        let inside = folder.strip_prefix(&self.path).unwrap_or(Path::new(""));
        let mut here = self.path.clone();
        for part in inside {
            here.push(part);
            match fs::symlink_metadata(&here) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => {
                    let taken = io::Error::new(
                        io::ErrorKind::AlreadyExists,
                        "a file or link is where a folder should be",
                    );
                    return Err(GitError::disk(here)(taken));
                }
                Err(_) => make_directory(&here).map_err(GitError::disk(here.clone()))?,
            }
        }
        Ok(())
    }

    fn walk(
        &self,
        folder: &Path,
        above: &str,
        depth: usize,
        contents: &mut BlobReader,
    ) -> Result<(), GitError> {
        let failed = || GitError::disk(folder);
        for entry in fs::read_dir(folder).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let kind_on_disk = entry.file_type().map_err(failed())?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{above}{name}");
            if kind_on_disk.is_dir() {
                if depth < DEPTH_MAX && !name.starts_with('.') {
                    self.walk(&entry.path(), &format!("{path}/"), depth + 1, contents)?;
                }
                continue;
            }
            let kind = kind_of(path.as_bytes());
            if kind.is_rule_file() {
                if contents.len() >= FILES_MAX {
                    return Err(GitError::OverLimit(format!("more than {FILES_MAX} files in the work tree")));
                }
                let bytes = self.read(&path, kind)?;
                let id = bytes.map(|bytes| Oid::hash_object(ObjectType::Blob, &bytes)).transpose();
                contents.insert(path, id.map_err(GitError::Damaged)?);
            }
        }
        Ok(())
    }
}

/// Returns the files whose local changes would be lost by moving between two commits.
pub(super) fn in_the_way(
    from: &BTreeMap<String, Leaf>,
    to: &BTreeMap<String, Leaf>,
    here: &BlobReader,
) -> Vec<String> {
    let id = |leaves: &BTreeMap<String, Leaf>, path: &String| leaves.get(path).map(|leaf| leaf.id);
    let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let is_lost = |path: &&String| {
        let (old, new, found) = (id(from, path), id(to, path), here.get(*path));
        let is_as_before = found.copied().flatten() == old && (found.is_some() == old.is_some());
        let is_as_after = found.copied().flatten() == new && (found.is_some() == new.is_some());
        old != new && !is_as_before && !is_as_after
    };
    paths.into_iter().filter(is_lost).cloned().collect()
}

/// Creates a directory for this user alone.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)
}
