//! Rule files and lists as they lie in the rules directory.

mod stamp;

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use tollgate_guest_abi::limits::{MODULE_BYTES_MAX, SCRIPT_BYTES_MAX};

use crate::courtesy::considerately;
use crate::instruction::RuleContent;
use crate::intake::tree::{ListFile, Origin, RuleFile, RuleTree, UnreadableFile};
use crate::registry::{LIST_BYTES_MAX, LISTS_MAX, RULES_MAX};

pub(super) use stamp::Stamp;

/// Deepest folder below the rules directory; a file below that is refused.
const DEPTH_MAX: usize = 16;
/// Deepest folder in which such files are looked for.
const DEPTH_LOOKED_INTO_MAX: usize = 64;
/// Folder of the lists, in the rules directory.
const LISTS: &str = "lists";

/// A file of the rules directory that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    /// Below the rules directory, with `/` between its parts.
    pub(super) relative: String,
    pub(super) kind: FileKind,
    /// `None` where the system does not say.
    pub(super) stamp: Option<Stamp>,
}

/// What a name says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Script,
    Module,
    List,
}

impl FileKind {
    /// By the path below the rules directory. `None` for a file that is none of ours: hidden ones, and what editors leave beside
    /// the files they write.
    pub(super) fn of(relative: &str) -> Option<Self> {
        if relative.split('/').any(|part| part.starts_with('.')) {
            return None;
        }
        let (folder, name) = relative.rsplit_once('/').unwrap_or(("", relative));
        match name.rsplit_once('.')? {
            (_, "ws") => Some(Self::Script),
            (_, "wasm") => Some(Self::Module),
            (_, "txt") if folder == LISTS => Some(Self::List),
            _ => None,
        }
    }
}

/// Finds every `*.ws` and `*.wasm` below the directory and every `lists/*.txt` in it, by the order of their paths. Links are not
/// followed.
///
/// # Errors
/// When the directory, or one in it, cannot be read.
pub(super) fn find(directory: &Path) -> io::Result<Vec<FoundFile>> {
    let mut found = Vec::new();
    walk(directory, "", 0, &mut found)?;
    Ok(found)
}

/// Reads the files but those that are better left alone, for a reason.
pub(super) fn read(
    files: &[FoundFile],
    left_alone: impl Fn(&FoundFile) -> Option<UnreadableFile>,
) -> RuleTree {
    let (lists, rules): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.kind == FileKind::List);
    let look_at = |place: usize, file: &FoundFile, limit: usize| {
        if file.relative.split('/').count() > DEPTH_MAX + 1 {
            return Err(UnreadableFile::Refused(format!("the file lies deeper than {DEPTH_MAX} folders")));
        }
        if place >= limit {
            return Err(UnreadableFile::Refused(format!("there are more than {limit} such files")));
        }
        left_alone(file).map_or(Ok(()), Err)
    };
    let rules = considerately(rules).enumerate().map(|(place, file)| RuleFile {
        path: file.relative.clone(),
        content: look_at(place, file, RULES_MAX).and_then(|()| match file.kind {
            FileKind::Module => read_bytes(&file.path, MODULE_BYTES_MAX as u64).map(RuleContent::Module),
            _ => read_text(&file.path, SCRIPT_BYTES_MAX as u64).map(RuleContent::Script),
        }),
    });
    let lists = considerately(lists).enumerate().map(|(place, file)| {
        let text = look_at(place, file, LISTS_MAX).and_then(|()| read_text(&file.path, LIST_BYTES_MAX));
        ListFile::new(file.relative.clone(), text)
    });
    RuleTree { origin: Origin::Directory, rules: rules.collect(), lists: lists.collect() }
}

/// `above` is where this directory lies below the first one, with a `/` behind it.
fn walk(directory: &Path, above: &str, depth: usize, found: &mut Vec<FoundFile>) -> io::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<DirEntry>>>()?;
    entries.sort_by_cached_key(DirEntry::file_name);
    for entry in considerately(entries) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let relative = format!("{above}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < DEPTH_LOOKED_INTO_MAX {
            walk(&entry.path(), &format!("{relative}/"), depth + 1, found)?;
        } else if let Some(kind) = FileKind::of(&relative).filter(|_| kind.is_file()) {
            let stamp = match entry.metadata() {
                Ok(metadata) => Some(Stamp::of(&metadata)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => None,
            };
            found.push(FoundFile { path: entry.path(), relative, kind, stamp });
        }
    }
    Ok(())
}

/// The path below the rules directory; `None` of one that is not there.
pub(super) fn relative_path(directory: &Path, path: &Path) -> Option<String> {
    let parts: Vec<_> =
        path.strip_prefix(directory).ok()?.iter().map(|part| part.to_string_lossy()).collect();
    Some(parts.join("/"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(relative: &str, kind: Option<FileKind>) {
        assert_eq!(FileKind::of(relative), kind, "{relative}");
    }

    #[test]
    fn a_name_says_what_a_file_is() {
        check("a.ws", Some(FileKind::Script));
        check("deep/er/a.b.ws", Some(FileKind::Script));
        check("a.wasm", Some(FileKind::Module));
        check("lists/l.txt", Some(FileKind::List));
        for none in
            ["l.txt", "x/lists/l.txt", "lists/x/l.txt", "a", "a.ws~", ".a.ws", ".git/a.ws", "ws", ".ws"]
        {
            check(none, None);
        }
    }

    #[test]
    fn files_are_found_in_the_order_of_their_paths_and_links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["b.ws", "a/z.ws", "a.ws", "a-b/c.ws", "lists/l.txt", "lists/no.ws.bak", ".hidden/d.ws"] {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("b.ws", directory.path().join("link.ws")).unwrap();
        let found = find(directory.path()).unwrap();
        let paths: Vec<&str> = found.iter().map(|file| file.relative.as_str()).collect();
        assert_eq!(paths, ["a/z.ws", "a-b/c.ws", "a.ws", "b.ws", "lists/l.txt"]);
        assert!(found.iter().all(|file| file.path == directory.path().join(&file.relative)));
    }
}
