//! Rule files and lists as they lie in the rules directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tollgate_guest_abi::limits::{MODULE_BYTES_MAX, SCRIPT_BYTES_MAX};

use crate::instruction::RuleContent;
use crate::intake::tree::{ListFile, Origin, RuleFile, RuleTree, UnreadableFile};
use crate::registry::{LIST_BYTES_MAX, LISTS_MAX, RULES_MAX};

/// Deepest folder below the rules directory; a file below that is refused.
const DEPTH_MAX: usize = 16;
/// Deepest folder in which such files are looked for.
const DEPTH_LOOKED_INTO_MAX: usize = 64;
/// Folder of the lists, in the rules directory.
const LISTS: &str = "lists";

/// Files of the rules directory that matter, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FilePaths {
    /// Scripts and modules.
    pub(super) rules: Vec<PathBuf>,
    pub(super) lists: Vec<PathBuf>,
}

/// What a name says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Script,
    Module,
    List,
}

impl FileKind {
    /// `None` for a file that is none of ours: hidden ones, and what editors leave beside the files they write.
    pub(super) fn of(directory: &Path, path: &Path) -> Option<Self> {
        let relative = path.strip_prefix(directory).ok()?;
        if relative.iter().any(|part| part.to_string_lossy().starts_with('.')) {
            return None;
        }
        match path.extension()?.to_str()? {
            "ws" => Some(Self::Script),
            "wasm" => Some(Self::Module),
            "txt" if relative.parent() == Some(Path::new(LISTS)) => Some(Self::List),
            _ => None,
        }
    }
}

/// Finds every `*.ws` and `*.wasm` below the directory and every `lists/*.txt` in it. Links are not followed.
///
/// # Errors
/// When the directory, or one in it, cannot be read.
pub(super) fn find(directory: &Path) -> io::Result<FilePaths> {
    let mut found = FilePaths::default();
    let mut paths = Vec::new();
    walk(directory, 0, &mut paths)?;
    paths.sort();
    for path in paths {
        match FileKind::of(directory, &path) {
            Some(FileKind::Script | FileKind::Module) => found.rules.push(path),
            Some(FileKind::List) => found.lists.push(path),
            None => {}
        }
    }
    Ok(found)
}

/// Reads the files; `is_being_written` names those that are better left as they were.
pub(super) fn read(
    directory: &Path,
    files: &FilePaths,
    is_being_written: impl Fn(&Path) -> bool,
) -> RuleTree {
    let look_at = |place: usize, path: &Path, limit: usize| {
        if is_being_written(path) {
            return Err(UnreadableFile::BeingWritten);
        }
        if relative_path(directory, path).split('/').count() > DEPTH_MAX + 1 {
            return Err(UnreadableFile::Refused(format!("the file lies deeper than {DEPTH_MAX} folders")));
        }
        if place >= limit {
            return Err(UnreadableFile::Refused(format!("there are more than {limit} such files")));
        }
        Ok(())
    };
    let rules = files.rules.iter().enumerate().map(|(place, path)| RuleFile {
        path: relative_path(directory, path),
        content: look_at(place, path, RULES_MAX).and_then(|()| match FileKind::of(directory, path) {
            Some(FileKind::Module) => read_bytes(path, MODULE_BYTES_MAX as u64).map(RuleContent::Module),
            _ => read_text(path, SCRIPT_BYTES_MAX as u64).map(RuleContent::Script),
        }),
    });
    let lists = files.lists.iter().enumerate().map(|(place, path)| {
        let text = look_at(place, path, LISTS_MAX).and_then(|()| read_text(path, LIST_BYTES_MAX));
        ListFile::new(relative_path(directory, path), text)
    });
    RuleTree { origin: Origin::Directory, rules: rules.collect(), lists: lists.collect() }
}

fn walk(directory: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if kind.is_dir() && !hidden && depth < DEPTH_LOOKED_INTO_MAX {
            walk(&entry.path(), depth + 1, paths)?;
        } else if kind.is_file() && !hidden {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn relative_path(directory: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(directory).unwrap_or(path);
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

fn read_text(path: &Path, bytes_max: u64) -> Result<String, UnreadableFile> {
    String::from_utf8(read_bytes(path, bytes_max)?).map_err(|_| UnreadableFile::NotUtf8)
}

fn read_bytes(path: &Path, bytes_max: u64) -> Result<Vec<u8>, UnreadableFile> {
    let bytes = fs::metadata(path)?.len();
    if bytes > bytes_max {
        return Err(UnreadableFile::TooLong { bytes, bytes_max });
    }
    Ok(fs::read(path)?)
}
