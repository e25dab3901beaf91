//! Rule files and lists in the rules directory.
//!
//! ```text
//!  find: folders, then links, resolved one by one ─▶ read: regular files, bounded ─▶ find again: all unchanged?
//! ```
//!
//! A link is followed only if its owner may decide which rules are in force. Some tools (Kubernetes `ConfigMap`,
//! git-sync) publish all files through one link and swap it. If a walk sees files of both sides, the second walk
//! detects it, and reading starts again.

mod content;
mod link;
mod others;
mod settling;
mod stamp;
mod survey;
mod walk;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tollgate_engine::registry::{LISTS_MAX, RULES_MAX};
use tollgate_guest_abi::limits::{MODULE_BYTES_MAX, SCRIPT_BYTES_MAX};
use tollgate_model::background::yielding;
use tollgate_model::instruction::RuleContent;
use tollgate_model::named_list::LIST_BYTES_MAX;

use crate::intake::tree::{ListFile, RuleFile, RuleTree, TreeOrigin, UnreadableFile, UnreadablePath};
use content::{read_bytes, read_text};

pub(super) use link::ReadLinks;
pub(super) use others::{HeadCache, OtherFiles};
pub(super) use settling::{GoodContents, PendingFile, SETTLE, Settling, hold_back};
pub(super) use stamp::Stamp;
pub(super) use survey::survey_settled;
pub use survey::{RuleFileCounts, Survey, survey};
pub(super) use walk::{RefusedPath, WalkedDirectory, find, find_all};

/// Maximum folder depth below the rules directory; deeper files are refused.
const DEPTH_MAX: usize = 16;
const LISTS: &str = "lists";

/// A rule file or list in the rules directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Path without links.
    pub(super) path: PathBuf,
    /// Path below the rules directory, with `/` as separator.
    pub(super) relative: String,
    pub(super) kind: FileKind,
    /// `None` if the system does not provide it.
    pub(super) stamp: Option<Stamp>,
}

/// Kind of a file, determined by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Script,
    Module,
    List,
}

impl FileKind {
    /// Returns whether this is an extension of rule files.
    pub(super) fn has_extension(extension: &OsStr) -> bool {
        ["ws", "wasm", "txt", "csv"].iter().any(|known| extension == *known)
    }

    /// Returns the kind for a path below the rules directory. `None` for other files, hidden files and temporary files
    /// of editors.
    pub(super) fn of_path(relative: &str) -> Option<Self> {
        if relative.split('/').any(|part| part.starts_with('.')) {
            return None;
        }
        let (folder, name) = relative.rsplit_once('/').unwrap_or(("", relative));
        match name.rsplit_once('.')? {
            (_, "ws") => Some(Self::Script),
            (_, "wasm") => Some(Self::Module),
            (_, "txt" | "csv") if folder == LISTS => Some(Self::List),
            _ => None,
        }
    }
}

/// Reads the files, except those for which `left_alone` returns a reason.
pub(super) fn read(
    found: &WalkedDirectory,
    left_alone: impl Fn(&FoundFile) -> Option<UnreadableFile>,
) -> RuleTree {
    let (lists, rules): (Vec<_>, Vec<_>) = found.files.iter().partition(|file| file.kind == FileKind::List);
    let look_at = |index: usize, file: &FoundFile, limit: usize| {
        if file.relative.split('/').count() > DEPTH_MAX + 1 {
            return Err(UnreadableFile::Refused(format!(
                "the file is nested deeper than {DEPTH_MAX} folders"
            )));
        }
        if index >= limit {
            return Err(UnreadableFile::Refused(format!("there are more than {limit} such files")));
        }
        left_alone(file).map_or(Ok(()), Err)
    };
    let rules = yielding(rules).enumerate().map(|(index, file)| RuleFile {
        path: file.relative.clone(),
        content: look_at(index, file, RULES_MAX).and_then(|()| match file.kind {
            FileKind::Module => read_bytes(file, MODULE_BYTES_MAX as u64).map(RuleContent::Module),
            _ => read_text(file, SCRIPT_BYTES_MAX as u64).map(RuleContent::Script),
        }),
    });
    let lists = yielding(lists).enumerate().map(|(index, file)| {
        let text = look_at(index, file, LISTS_MAX).and_then(|()| read_text(file, LIST_BYTES_MAX));
        ListFile::new(file.relative.clone(), text)
    });
    let mut tree = RuleTree {
        origin: TreeOrigin::Directory,
        rules: rules.collect(),
        lists: lists.collect(),
        unreadable: Vec::new(),
        ignored: None,
    };
    found.refused.iter().for_each(|refused| add_refused(&mut tree, refused));
    tree
}

/// Adds a refused path: by its name a rule file, a list, or possibly a folder of them.
fn add_refused(tree: &mut RuleTree, refused: &RefusedPath) {
    let RefusedPath { relative: path, why } = refused;
    let error = UnreadableFile::Refused(why.clone());
    match FileKind::of_path(path) {
        Some(FileKind::List) => tree.lists.push(ListFile::new(path.clone(), Err(error))),
        Some(FileKind::Script | FileKind::Module) => {
            tree.rules.push(RuleFile { path: path.clone(), content: Err(error) });
        }
        None => tree.unreadable.push(UnreadablePath { path: path.clone(), why: Some(why.clone()) }),
    }
}

/// Returns the path below the rules directory; `None` if it is outside.
pub(super) fn relative_path(directory: &Path, path: &Path) -> Option<String> {
    let parts: Vec<_> =
        path.strip_prefix(directory).ok()?.iter().map(|part| part.to_string_lossy()).collect();
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(relative: &str, kind: Option<FileKind>) {
        assert_eq!(FileKind::of_path(relative), kind, "{relative}");
        // A change of such a file behind a link is noticed by its extension.
        let extension = Path::new(relative).extension().unwrap_or_default();
        assert!(kind.is_none() || FileKind::has_extension(extension), "{relative}");
    }

    #[test]
    fn a_name_says_what_a_file_is() {
        check("a.ws", Some(FileKind::Script));
        check("deep/er/a.b.ws", Some(FileKind::Script));
        check("a.wasm", Some(FileKind::Module));
        check("lists/l.txt", Some(FileKind::List));
        check("lists/l.csv", Some(FileKind::List));
        for none in
            ["l.txt", "x/lists/l.txt", "lists/x/l.txt", "a", "a.ws~", ".a.ws", ".git/a.ws", "ws", ".ws"]
        {
            check(none, None);
        }
    }
}
