//! The work tree: rule files as plain files, for people to look at, for status and for push.
//!
//! Only rule files are written, only regular files are read, and no link is followed. What somebody changed here is never
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

/// Most files that are looked at.
const FILES_MAX: usize = 20_000;
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A directory of rule files.
#[derive(Debug, Clone)]
pub struct WorkTree {
    path: PathBuf,
}

/// How a work tree differs from the commit it stands on; paths, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// In both, with different content.
    pub modified: Vec<String>,
    /// In the commit alone.
    pub deleted: Vec<String>,
    /// In the work tree alone.
    pub untracked: Vec<String>,
}

/// What lies at a path of the work tree.
#[derive(Debug)]
pub(super) enum WorkTreeEntry {
    Nothing,
    /// A regular file.
    Bytes(Vec<u8>),
    /// A link, a folder, a file that is too large: something of somebody's.
    Other,
}

/// The content of a file by its id; `None` for one that cannot be taken.
pub(super) type BlobReader = BTreeMap<String, Option<Oid>>;

impl Changes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.modified.is_empty() && self.deleted.is_empty() && self.untracked.is_empty()
    }

    /// All of them.
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

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every rule file in it.
    pub(super) fn contents(&self) -> Result<BlobReader, GitError> {
        let mut contents = BlobReader::new();
        self.walk(&self.path, "", 0, &mut contents)?;
        Ok(contents)
    }

    /// The bytes of a regular file; `None` when there is none, or one that cannot be taken.
    pub(super) fn read(&self, path: &str, kind: PathKind) -> Result<Option<Vec<u8>>, GitError> {
        match self.look(path, kind)? {
            WorkTreeEntry::Bytes(bytes) => Ok(Some(bytes)),
            WorkTreeEntry::Nothing | WorkTreeEntry::Other => Ok(None),
        }
    }

    /// What lies at a path. Behind a link in the place of a folder there is nothing of ours.
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

    /// Whether all folders between the work tree and a file are folders of its own, and no links to others.
    fn is_inside(&self, file: &Path) -> bool {
        let mut folders = file.ancestors().skip(1).take_while(|folder| *folder != self.path);
        folders.all(|folder| fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()))
    }

    /// Puts a file in its place, whole.
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
            // A rename replaces a link; it does not follow it.
            fs::rename(&beside, &full)
        })();
        written.map_err(GitError::disk(full))
    }

    /// Whether a file could be put there: nothing but folders lies on the way, and none in its place.
    pub(super) fn has_room(&self, path: &str) -> bool {
        let full = self.path.join(path);
        let is_folder = |place: &Path| fs::symlink_metadata(place).map(|metadata| metadata.is_dir());
        let mut folders = full.ancestors().skip(1).take_while(|folder| *folder != self.path);
        folders.all(|folder| is_folder(folder).unwrap_or(true)) && !is_folder(&full).unwrap_or(false)
    }

    /// Takes a file away, and the folders that are empty then. What lies behind a link is not there to be taken.
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

    /// Folders between the work tree and a file; a link among them is an error.
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

/// Which files would be overwritten by going from one commit to another.
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

/// For this user alone.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)
}
