//! Rule files and lists as they lie in the rules directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tollgate_guest_abi::limits::SCRIPT_BYTES_MAX;

use crate::registry::{LIST_BYTES_MAX, Lists, RULES_MAX};
use crate::store::ListRecord;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct RuleFiles {
    /// By path.
    pub(super) scripts: Vec<ScriptFile>,
    readable_lists: Lists,
    /// By name: lists whose files are there and cannot be read.
    pub(super) unreadable_lists: Vec<String>,
}

/// One `*.ws` file.
#[derive(Debug)]
pub(super) struct ScriptFile {
    /// Relative to the directory, with `/` between its parts.
    pub(super) path: String,
    pub(super) text: Result<String, UnreadableFile>,
}

/// Why a file's text is not to be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnreadableFile {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the file has {bytes} bytes, it may have {bytes_max}")]
    TooLong { bytes: u64, bytes_max: u64 },
    #[error("the file is not UTF-8")]
    NotUtf8,
}

/// Deepest folder below the rules directory.
const DEPTH_MAX: usize = 16;
/// Folder of the lists, in the rules directory.
const LISTS: &str = "lists";

/// Reads every `*.ws` below the directory and every `lists/*.txt` in it. Links are not followed.
///
/// # Errors
/// When the directory itself cannot be read.
pub(super) fn read(directory: &Path) -> io::Result<RuleFiles> {
    let mut found = RuleFiles::default();
    let mut paths = Vec::new();
    walk(directory, 0, &mut paths)?;
    paths.sort();
    for path in paths {
        let relative = relative_path(directory, &path);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("ws") if found.scripts.len() < RULES_MAX => {
                let text = read_text(&path, SCRIPT_BYTES_MAX as u64);
                found.scripts.push(ScriptFile { path: relative, text });
            }
            Some("ws") => tracing::error!(
                path = relative,
                limit = RULES_MAX,
                "too many rule files; this one is left out"
            ),
            Some("txt") if path.parent() == Some(&directory.join(LISTS)) => found.add_list(&path, &relative),
            _ => {}
        }
    }
    Ok(found)
}

impl RuleFiles {
    /// The lists of the directory. One that cannot be read stays as it was: missing, it would match nothing.
    pub(super) fn lists(&self, stored: &[ListRecord]) -> Lists {
        let mut lists = self.readable_lists.clone();
        for record in stored.iter().filter(|record| self.unreadable_lists.contains(&record.name)) {
            lists.insert(&record.name, &record.entries);
            tracing::warn!(list = record.name, "its last good version stays in force");
        }
        lists
    }

    fn add_list(&mut self, path: &Path, relative: &str) {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        match read_text(path, LIST_BYTES_MAX) {
            Ok(text) => self.readable_lists.insert(&name, &text),
            Err(error) => {
                tracing::error!(path = relative, error = %error, "a list cannot be read");
                self.unreadable_lists.push(name);
            }
        }
    }
}

fn walk(directory: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if kind.is_dir() && !hidden && depth < DEPTH_MAX {
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
