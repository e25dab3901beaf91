//! Reads the rule files of a commit by object id, without a checkout and without following links.

mod unseen;

use std::collections::BTreeMap;

use git2::{ObjectType, Oid, Repository, Tree, TreeEntry};
use tollgate_guest_abi::limits::{MODULE_BYTES_MAX, SCRIPT_BYTES_MAX};
use tollgate_model::instruction::RuleContent;
use tollgate_model::instruction::ignored::{IgnoredFiles, holds_rule, is_misnamed};
use tollgate_model::named_list::LIST_BYTES_MAX;

use super::GitError;
use super::rule_path::{DEPTH_MAX, PathKind, kind_of};

/// Maximum number of scripts and modules of one commit.
const RULES_MAX: usize = 1_000;
/// Maximum number of lists of one commit.
const LISTS_MAX: usize = 1_000;
/// Maximum number of tree entries of one commit, rule files or not.
const ENTRIES_MAX: usize = 100_000;
/// Total size of all rule files and lists of one commit, in bytes.
const TOTAL_BYTES_MAX: usize = 64 << 20;
const TREE_BYTES_MAX: usize = 16 << 20;
/// Maximum number of files of one commit that are searched for a rule although they are not rule files.
const SEARCHED_MAX: usize = 1_000;
/// The bits of a mode that tell files from links, and their value for a file. Nothing in a repository is run, so the
/// permissions of a file do not matter.
const KIND_OF_FILE: i32 = 0o170_000;
const ORDINARY: i32 = 0o100_000;
/// Mode of a symbolic link.
const LINK: i32 = 0o120_000;

/// Rule files of a commit.
#[derive(Debug, Default)]
pub struct TreeFiles {
    /// `*.ws` and `*.wasm`, in any folder.
    pub rules: Vec<CommittedFile<RuleContent>>,
    /// `lists/*.txt`, `lists/*.csv`.
    pub lists: Vec<CommittedFile<String>>,
    /// Other files that look like rules or lists.
    pub ignored: IgnoredFiles,
}

/// One file of a commit.
#[derive(Debug)]
pub struct CommittedFile<C> {
    /// Path with `/` as separator; unsafe paths are escaped.
    pub path: String,
    /// Content, or the reason why it is not accepted.
    pub content: Result<C, UnfitReason>,
}

/// Reason why a file is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnfitReason {
    /// A link.
    #[error("the file is a link, and links are not followed")]
    Link,
    /// A link to a folder with rule files.
    #[error(
        "the path is a link to a folder with rule files, and links are not followed; give the folder itself this name"
    )]
    LinkedFolder,
    /// A link whose target cannot be read.
    #[error("the path is a link out of the repository or into a submodule; rule files behind it are ignored")]
    LinkOut,
    /// Another repository within this one.
    #[error("the path is a submodule, which is not fetched; rule files in it are ignored")]
    Submodule,
    /// In a folder beyond the maximum depth.
    #[error("the folder is nested deeper than {DEPTH_MAX} folders; rule files in it are ignored")]
    Depth,
    /// Not a valid file name.
    #[error(
        "the path cannot be used: it leads elsewhere, is too long or has characters that some systems reserve"
    )]
    Path,
    /// Too large.
    #[error("the file has {bytes} bytes, at most {bytes_max} are allowed")]
    TooLong {
        /// Size, in bytes.
        bytes: usize,
        /// Maximum size, in bytes.
        bytes_max: usize,
    },
    /// Not valid UTF-8.
    #[error("the file is not UTF-8")]
    NotUtf8,
}

/// A rule file in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) id: Oid,
    pub(super) kind: PathKind,
}

/// Every rule file of a tree, acceptable or not.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    /// Files that can be read and written.
    pub(super) fit: BTreeMap<String, Leaf>,
    unfit: Vec<(String, PathKind, UnfitReason)>,
    /// Path and target of links whose names are not those of rule files.
    links: Vec<(Vec<u8>, Oid)>,
    /// Path and content of the files that are not rule files.
    others: Vec<(Vec<u8>, Oid)>,
    n_entries: usize,
}

/// Reads the rule files of a commit.
pub(super) fn read(repository: &Repository, commit: Oid) -> Result<TreeFiles, GitError> {
    let leaves = leaves(repository, commit)?;
    let odb = repository.odb().map_err(GitError::Damaged)?;
    let mut files = TreeFiles::default();
    let mut n_bytes = 0;
    for (path, leaf) in leaves.fit {
        let bytes_max = bytes_max(leaf.kind);
        // The header reveals the size before the content is unpacked.
        let (bytes, _) = odb.read_header(leaf.id).map_err(GitError::Damaged)?;
        let content = if bytes > bytes_max {
            Err(UnfitReason::TooLong { bytes, bytes_max })
        } else {
            n_bytes += bytes;
            if n_bytes > TOTAL_BYTES_MAX {
                return Err(GitError::OverLimit(format!(
                    "more than {TOTAL_BYTES_MAX} bytes of rule files in total"
                )));
            }
            Ok(odb.read(leaf.id).map_err(GitError::Damaged)?.data().to_vec())
        };
        files.add(leaf.kind, path, content);
    }
    for (path, kind, unfit) in leaves.unfit {
        files.add(kind, path, Err(unfit));
    }
    files.check_counts()?;
    files.ignored = ignored(repository, &leaves.others)?;
    Ok(files)
}

/// Finds the files that were meant as rules. Larger files than a rule may be are not searched.
fn ignored(repository: &Repository, others: &[(Vec<u8>, Oid)]) -> Result<IgnoredFiles, GitError> {
    let odb = repository.odb().map_err(GitError::Damaged)?;
    let (mut ignored, mut n_searched) = (IgnoredFiles::default(), 0);
    for (path, blob) in others {
        let path = String::from_utf8_lossy(path);
        if is_misnamed(&path) {
            ignored.add(&path);
            continue;
        }
        let (bytes, _) = odb.read_header(*blob).map_err(GitError::Damaged)?;
        if bytes > SCRIPT_BYTES_MAX {
            continue;
        }
        n_searched += 1;
        if n_searched > SEARCHED_MAX {
            ignored.add_unexamined();
        } else if holds_rule(&path, odb.read(*blob).map_err(GitError::Damaged)?.data()) {
            ignored.add(&path);
        }
    }
    Ok(ignored)
}

/// Finds the rule files of a commit.
pub(super) fn leaves(repository: &Repository, commit: Oid) -> Result<Leaves, GitError> {
    let commit = repository.find_commit(commit).map_err(GitError::Damaged)?;
    let mut leaves = Leaves::default();
    leaves.walk(repository, commit.tree_id(), &[], 0)?;
    leaves.look_behind_links(repository, commit.tree_id())?;
    Ok(leaves)
}

/// Returns the maximum size of a file of this kind, in bytes.
pub(super) fn bytes_max(kind: PathKind) -> usize {
    match kind {
        PathKind::List => usize::try_from(LIST_BYTES_MAX).unwrap_or(usize::MAX),
        PathKind::Module => MODULE_BYTES_MAX,
        PathKind::Script | PathKind::Odd | PathKind::Other => SCRIPT_BYTES_MAX,
    }
}

impl TreeFiles {
    fn add(&mut self, kind: PathKind, path: String, content: Result<Vec<u8>, UnfitReason>) {
        match kind {
            PathKind::List => self.lists.push(CommittedFile { path, content: content.and_then(text_of) }),
            PathKind::Module => {
                self.rules.push(CommittedFile { path, content: content.map(RuleContent::Module) });
            }
            PathKind::Script | PathKind::Odd | PathKind::Other => {
                let content = content.and_then(text_of).map(RuleContent::Script);
                self.rules.push(CommittedFile { path, content });
            }
        }
    }

    fn check_counts(&self) -> Result<(), GitError> {
        if self.rules.len() > RULES_MAX {
            return Err(GitError::OverLimit(format!("more than {RULES_MAX} rule files")));
        }
        if self.lists.len() > LISTS_MAX {
            return Err(GitError::OverLimit(format!("more than {LISTS_MAX} lists")));
        }
        Ok(())
    }
}

impl Leaves {
    fn walk(
        &mut self,
        repository: &Repository,
        tree: Oid,
        above: &[u8],
        depth: usize,
    ) -> Result<(), GitError> {
        for entry in &self.open(repository, tree)? {
            let mut path = above.to_vec();
            path.extend_from_slice(entry.name_bytes());
            match entry.kind() {
                Some(ObjectType::Tree) if entry.name_bytes().starts_with(b".") => {}
                Some(ObjectType::Tree) if depth < DEPTH_MAX => {
                    path.push(b'/');
                    self.walk(repository, entry.id(), &path, depth + 1)?;
                }
                Some(ObjectType::Tree) => self.look_below(repository, entry.id(), &path)?,
                _ => self.add(&path, &entry),
            }
        }
        Ok(())
    }

    /// Reports rule files in a folder beyond the maximum depth, which is not read.
    fn look_below(&mut self, repository: &Repository, folder: Oid, path: &[u8]) -> Result<(), GitError> {
        let mut pending = vec![folder];
        while let Some(folder) = pending.pop() {
            for entry in &self.open(repository, folder)? {
                if entry.kind() == Some(ObjectType::Tree) {
                    pending.push(entry.id());
                } else if [&b".ws"[..], b".wasm"].iter().any(|end| entry.name_bytes().ends_with(end)) {
                    self.unfit.push((escaped(path), PathKind::Script, UnfitReason::Depth));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Opens a folder, after checks of its size and of the total number of entries.
    fn open<'r>(&mut self, repository: &'r Repository, folder: Oid) -> Result<Tree<'r>, GitError> {
        let odb = repository.odb().map_err(GitError::Damaged)?;
        let (bytes, _) = odb.read_header(folder).map_err(GitError::Damaged)?;
        if bytes > TREE_BYTES_MAX {
            return Err(GitError::OverLimit(format!("a folder of more than {TREE_BYTES_MAX} bytes")));
        }
        let folder = repository.find_tree(folder).map_err(GitError::Damaged)?;
        self.n_entries += folder.len();
        if self.n_entries > ENTRIES_MAX {
            return Err(GitError::OverLimit(format!("more than {ENTRIES_MAX} files and folders")));
        }
        Ok(folder)
    }

    fn add(&mut self, path: &[u8], entry: &TreeEntry<'_>) {
        let kind = kind_of(path);
        let shown = String::from_utf8_lossy(path).into_owned();
        match (kind, entry.kind(), entry.filemode_raw()) {
            (PathKind::Other, ..) if is_hidden(entry) => {}
            // The content of a submodule is not available here.
            (_, Some(ObjectType::Commit), _) => {
                self.unfit.push((escaped(path), rule_kind(kind), UnfitReason::Submodule));
            }
            (PathKind::Other, _, LINK) => self.links.push((path.to_vec(), entry.id())),
            (PathKind::Other, Some(ObjectType::Blob), _) => self.others.push((path.to_vec(), entry.id())),
            (PathKind::Other, ..) => {}
            (PathKind::Odd, ..) => {
                self.unfit.push((escaped(path), kind, UnfitReason::Path));
            }
            (_, Some(ObjectType::Blob), mode) if mode & KIND_OF_FILE == ORDINARY => {
                self.fit.insert(shown, Leaf { id: entry.id(), kind });
            }
            _ => self.unfit.push((shown, kind, UnfitReason::Link)),
        }
    }
}

fn is_hidden(entry: &TreeEntry<'_>) -> bool {
    entry.name_bytes().starts_with(b".")
}

/// Reports paths without the suffix of a rule file as scripts.
const fn rule_kind(kind: PathKind) -> PathKind {
    match kind {
        PathKind::Other => PathKind::Script,
        known => known,
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String, UnfitReason> {
    String::from_utf8(bytes).map_err(|_| UnfitReason::NotUtf8)
}

/// Escapes an arbitrary path for display.
fn escaped(path: &[u8]) -> String {
    String::from_utf8_lossy(path).chars().take(200).flat_map(char::escape_debug).collect()
}
