//! Rule files and lists as they lie in the rules directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tollgate_guest_abi::limits::SCRIPT_BYTES_MAX;

use crate::intake::tree::{ListFile, Origin, RuleTree, ScriptFile, UnreadableFile};
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
    pub(super) scripts: Vec<PathBuf>,
    pub(super) lists: Vec<PathBuf>,
}

/// What a name says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Script,
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
            "txt" if relative.parent() == Some(Path::new(LISTS)) => Some(Self::List),
            _ => None,
        }
    }
}

/// Finds every `*.ws` below the directory and every `lists/*.txt` in it. Links are not followed.
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
            Some(FileKind::Script) => found.scripts.push(path),
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
    let text_of = |place: usize, path: &Path, limit: usize, bytes_max: u64| {
        if is_being_written(path) {
            return Err(UnreadableFile::BeingWritten);
        }
        if relative_path(directory, path).split('/').count() > DEPTH_MAX + 1 {
            return Err(UnreadableFile::Refused(format!("the file lies deeper than {DEPTH_MAX} folders")));
        }
        if place >= limit {
            return Err(UnreadableFile::Refused(format!("there are more than {limit} such files")));
        }
        read_text(path, bytes_max)
    };
    let scripts = files.scripts.iter().enumerate().map(|(place, path)| ScriptFile {
        path: relative_path(directory, path),
        text: text_of(place, path, RULES_MAX, SCRIPT_BYTES_MAX as u64),
    });
    let lists = files.lists.iter().enumerate().map(|(place, path)| {
        ListFile::new(relative_path(directory, path), text_of(place, path, LISTS_MAX, LIST_BYTES_MAX))
    });
    RuleTree { origin: Origin::Directory, scripts: scripts.collect(), lists: lists.collect() }
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
    let bytes = fs::metadata(path)?.len();
    if bytes > bytes_max {
        return Err(UnreadableFile::TooLong { bytes, bytes_max });
    }
    String::from_utf8(fs::read(path)?).map_err(|_| UnreadableFile::NotUtf8)
}
