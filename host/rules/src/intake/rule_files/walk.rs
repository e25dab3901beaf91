//! Walks through the rules directory and follows links.
//!
//! Real folders come first, then the targets of links. A file reached twice therefore has its path without links, and
//! no folder is walked more than once.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use tollgate_model::background::yielding;

use super::content::NOT_REGULAR;
use super::link::{LinkError, Owners, ReadLinks, ResolvedPath, resolve};
use super::{FileKind, FoundFile, LISTS, OtherFiles, Stamp};

/// Maximum folder depth of the walk.
const DEPTH_LOOKED_INTO_MAX: usize = 64;
/// Maximum number of files and folders behind the links of one directory: a link may lead to the root of a disk.
const ENTRIES_BEHIND_LINKS_MAX: usize = 100_000;

/// Files and links of the rules directory at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::intake) struct WalkedDirectory {
    /// Path of the directory, without links.
    pub(in crate::intake) root: PathBuf,
    /// Files, sorted by path.
    pub(in crate::intake) files: Vec<FoundFile>,
    /// Paths that cannot be taken: links that are not followed, and files that are not regular.
    pub(in crate::intake) refused: Vec<RefusedPath>,
    /// Every link that was read, including those on the way to the directory.
    pub(in crate::intake) links: ReadLinks,
    /// Folders walked behind links; paths without links.
    pub(in crate::intake) folders: BTreeSet<PathBuf>,
    /// Missing targets of links.
    pub(in crate::intake) missing: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::intake) struct RefusedPath {
    /// Path below the rules directory, with `/` as separator.
    pub(in crate::intake) relative: String,
    /// Reason, for people, in lower case.
    pub(in crate::intake) why: String,
}

/// Finds every `*.ws` and `*.wasm` below the directory and every list in `lists`, also behind links.
///
/// # Errors
/// Fails if the directory, or one in it, cannot be read.
pub(in crate::intake) fn find(directory: &Path) -> io::Result<WalkedDirectory> {
    Ok(find_all(directory)?.0)
}

/// Returns what [`find`] returns, and the files that are neither rules nor lists.
///
/// # Errors
/// Those of [`find`].
pub(in crate::intake) fn find_all(directory: &Path) -> io::Result<(WalkedDirectory, OtherFiles)> {
    let mut links = ReadLinks::new();
    let ResolvedPath { path: root, metadata } =
        match resolve(&std::path::absolute(directory)?, None, &mut links) {
            Err(LinkError::Io(error)) => return Err(error),
            Err(LinkError::Nowhere(path)) => {
                let why = format!("there is no `{}`", path.display());
                return Err(io::Error::new(io::ErrorKind::NotFound, why));
            }
            Err(other) => return Err(io::Error::other(other.to_string())),
            Ok(resolved) => resolved,
        };
    let mut walk = DirectoryWalk {
        owners: Owners::of_directory(&metadata),
        found: WalkedDirectory {
            root: root.clone(),
            files: Vec::new(),
            refused: Vec::new(),
            links,
            folders: BTreeSet::new(),
            missing: BTreeSet::new(),
        },
        walked: HashSet::new(),
        files: HashSet::new(),
        ahead: VecDeque::new(),
        n_behind_links: 0,
        others: OtherFiles::default(),
    };
    walk.folder(Folder { path: root, relative: String::new(), above: Vec::new(), is_behind_link: false })?;
    while let Some(link) = walk.ahead.pop_front() {
        walk.link(link)?;
    }
    let DirectoryWalk { mut found, others, .. } = walk;
    found.files.sort_by(|one, other| one.relative.split('/').cmp(other.relative.split('/')));
    Ok((found, others))
}

impl WalkedDirectory {
    /// Returns whether this file was reached through a link.
    pub(in crate::intake) fn is_behind_link(&self, file: &FoundFile) -> bool {
        file.path.strip_prefix(&self.root).map_or(true, |below| below != Path::new(&file.relative))
    }
}

struct DirectoryWalk {
    owners: Owners,
    found: WalkedDirectory,
    /// Walked folders, and whether each was the folder of the lists.
    walked: HashSet<(PathBuf, bool)>,
    /// Scripts and modules found; a file reached twice counts once.
    files: HashSet<PathBuf>,
    ahead: VecDeque<LinkAhead>,
    n_behind_links: usize,
    others: OtherFiles,
}

struct Folder {
    /// Path without links.
    path: PathBuf,
    /// Path below the rules directory, with a trailing `/`; empty for the directory itself.
    relative: String,
    /// Folders on the way here.
    above: Vec<PathBuf>,
    is_behind_link: bool,
}

/// A link to resolve later.
struct LinkAhead {
    path: PathBuf,
    relative: String,
    above: Vec<PathBuf>,
}

impl DirectoryWalk {
    fn folder(&mut self, folder: Folder) -> io::Result<()> {
        let Folder { path, relative, mut above, is_behind_link } = folder;
        if above.contains(&path) {
            self.refuse(relative.trim_end_matches('/'), "the link leads back to a folder above it");
            return Ok(());
        }
        if above.len() > DEPTH_LOOKED_INTO_MAX
            || !self.walked.insert((path.clone(), relative.strip_suffix('/') == Some(LISTS)))
        {
            return Ok(());
        }
        let mut entries = fs::read_dir(&path)?.collect::<io::Result<Vec<DirEntry>>>()?;
        if is_behind_link {
            self.n_behind_links += entries.len();
            if self.n_behind_links > ENTRIES_BEHIND_LINKS_MAX {
                return Err(io::Error::other(format!(
                    "its links lead to more than {ENTRIES_BEHIND_LINKS_MAX} files and folders"
                )));
            }
            self.found.folders.insert(path.clone());
        }
        above.push(path);
        entries.sort_by_cached_key(DirEntry::file_name);
        for entry in yielding(entries) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with('.') {
                self.entry(&entry, format!("{relative}{name}"), &above, is_behind_link)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        entry: &DirEntry,
        relative: String,
        above: &[PathBuf],
        is_behind_link: bool,
    ) -> io::Result<()> {
        let kind = entry.file_type()?;
        let (path, above) = (entry.path(), above.to_vec());
        if kind.is_symlink() {
            self.ahead.push_back(LinkAhead { path, relative, above });
        } else if kind.is_dir() {
            return self.folder(Folder { path, relative: format!("{relative}/"), above, is_behind_link });
        } else if let Some(kind_of_file) = FileKind::of_path(&relative) {
            if !kind.is_file() {
                self.refuse(&relative, NOT_REGULAR);
                return Ok(());
            }
            match entry.metadata() {
                Ok(metadata) => {
                    self.file(path, relative, kind_of_file, Some(Stamp::from_metadata(&metadata)))
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => self.file(path, relative, kind_of_file, None),
            }
        } else if kind.is_file() {
            self.others.add(path, relative);
        }
        Ok(())
    }

    fn link(&mut self, link: LinkAhead) -> io::Result<()> {
        let LinkAhead { path, relative, above } = link;
        let kind = FileKind::of_path(&relative);
        match resolve(&path, Some(self.owners), &mut self.found.links) {
            Ok(ResolvedPath { path, metadata }) if metadata.is_dir() => {
                let folder = Folder { path, relative: format!("{relative}/"), above, is_behind_link: true };
                match self.folder(folder) {
                    // Other errors, such as a disappeared folder, make the caller start again.
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        self.refuse(&relative, &format!("the link cannot be followed: {error}"));
                    }
                    walked => return walked,
                }
            }
            Ok(ResolvedPath { path, metadata }) => match kind {
                Some(kind) if metadata.is_file() => {
                    self.file(path, relative, kind, Some(Stamp::from_metadata(&metadata)));
                }
                Some(_) => self.refuse(&relative, NOT_REGULAR),
                None if metadata.is_file() => self.others.add(path, relative),
                None => {}
            },
            // A target that is not a rule file would not be read anyway.
            Err(LinkError::Owner { .. }) if kind.is_none() && path.is_file() => {}
            Err(error) => {
                if let LinkError::Nowhere(missing) = &error {
                    self.found.missing.insert(missing.clone());
                }
                self.refuse(&relative, &error.to_string());
            }
        }
        Ok(())
    }

    fn file(&mut self, path: PathBuf, relative: String, kind: FileKind, stamp: Option<Stamp>) {
        // A list is identified by its path, so two names are two lists.
        if kind == FileKind::List || self.files.insert(path.clone()) {
            self.found.files.push(FoundFile { path, relative, kind, stamp });
        }
    }

    fn refuse(&mut self, relative: &str, why: &str) {
        self.found.refused.push(RefusedPath { relative: relative.to_owned(), why: why.to_owned() });
    }
}

#[cfg(test)]
mod tests;
