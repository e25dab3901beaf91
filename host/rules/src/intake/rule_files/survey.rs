//! Reads the whole rules directory once, at startup and for the command line.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::{
    FileKind, GoodContents, HeadCache, PendingFile, SETTLE, Settling, WalkedDirectory, find, find_all,
    hold_back, read,
};
use crate::intake::tree::{RuleTree, UnreadableFile};

/// Maximum number of attempts when files change during reading, and the pause between them.
const READS_MAX: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A consistent reading of a rules directory.
#[derive(Debug)]
pub struct Survey {
    /// Path of the directory, without links.
    pub directory: PathBuf,
    /// Its files.
    pub tree: RuleTree,
    /// Number of its files and followed links.
    pub counts: RuleFileCounts,
}

/// Counts of files by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleFileCounts {
    /// `*.ws` files.
    pub n_scripts: usize,
    /// `*.wasm` files.
    pub n_modules: usize,
    /// `lists/*.txt` and `lists/*.csv` files.
    pub n_lists: usize,
    /// Links that were followed.
    pub n_links: usize,
    /// Files and paths that cannot be taken.
    pub n_refused: usize,
}

/// Reads a rules directory like the service does.
///
/// # Errors
/// Fails if the directory or a folder in it cannot be read, or keeps changing.
pub fn survey(directory: &Path) -> io::Result<Survey> {
    let (found, tree) = take(directory)?;
    let counts = RuleFileCounts::new(&found, &tree);
    Ok(Survey { directory: found.root, tree, counts })
}

/// Reads a rules directory whose files may still be written. If one is not whole, it looks again after a second. Returns
/// also the files that are not whole then; their contents are left out.
///
/// # Errors
/// Those of [`survey`].
pub(in crate::intake) fn survey_settled(
    directory: &Path,
    settling: &mut Settling,
    good: &dyn GoodContents,
) -> io::Result<(Survey, Vec<PendingFile>)> {
    let mut is_second = false;
    loop {
        let (found, mut tree) = take(directory)?;
        let (at, now) = (Instant::now(), SystemTime::now());
        settling.observe(&found, at, now);
        settling.note_read(&found);
        let is_whole = |path: &str| {
            let mut files = found.files.iter().filter(|file| file.relative == path);
            files.all(|file| settling.is_whole(file))
        };
        let held_back = hold_back(&mut tree, Some(good), is_whole);
        if held_back.is_empty() || is_second {
            let counts = RuleFileCounts::new(&found, &tree);
            let pending = held_back.iter().map(|path| settling.pending(path, at, now)).collect();
            return Ok((Survey { directory: found.root, tree, counts }, pending));
        }
        is_second = true;
        thread::sleep(SETTLE + PAUSE);
    }
}

/// Reads every file of a directory consistently.
///
/// # Errors
/// Those of [`survey`].
pub(in crate::intake) fn take(directory: &Path) -> io::Result<(WalkedDirectory, RuleTree)> {
    let mut last = None;
    for _ in 0..READS_MAX {
        match attempt(directory) {
            Ok((found, after, tree)) if found == after => return Ok((found, tree)),
            Ok(changed) => last = Some(changed),
            // A file or folder disappeared during reading, but not the directory itself.
            Err(error) if error.kind() == io::ErrorKind::NotFound && directory.exists() => last = None,
            Err(error) => return Err(error),
        }
        thread::sleep(PAUSE);
    }
    match last {
        Some((found, after, tree)) if differs_in_content_alone(&found, &after) => {
            Ok((after.clone(), without_changing(tree, &found, &after)))
        }
        _ => Err(io::Error::other("it keeps changing while it is read")),
    }
}

fn attempt(directory: &Path) -> io::Result<(WalkedDirectory, WalkedDirectory, RuleTree)> {
    let (found, others) = find_all(directory)?;
    let mut tree = read(&found, |_| None);
    tree.ignored = Some(others.examine(&mut HeadCache::default(), SystemTime::now()));
    Ok((found, find(directory)?, tree))
}

/// Returns whether the same files are present and differ only in their stamps.
fn differs_in_content_alone(before: &WalkedDirectory, after: &WalkedDirectory) -> bool {
    let mut as_before = after.clone();
    for (file, known) in as_before.files.iter_mut().zip(&before.files) {
        file.stamp = known.stamp;
    }
    as_before == *before
}

/// Removes the content of files that are being written.
fn without_changing(mut tree: RuleTree, before: &WalkedDirectory, after: &WalkedDirectory) -> RuleTree {
    let pairs = before.files.iter().zip(&after.files);
    for file in pairs.filter(|(one, other)| one != other).map(|(file, _)| file) {
        let of_rules = tree.rules.iter_mut().filter(|rule| rule.path == file.relative);
        of_rules.for_each(|rule| rule.content = Err(UnreadableFile::BeingWritten));
        let of_lists = tree.lists.iter_mut().filter(|list| list.path == file.relative);
        of_lists.for_each(|list| list.text = Err(UnreadableFile::BeingWritten));
    }
    tree
}

/// Formats the counts, for example `12 scripts, 1 module, 3 lists, 4 links followed`.
impl fmt::Display for RuleFileCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_scripts, n_modules, n_lists, n_links, n_refused } = *self;
        let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        write!(
            f,
            "{}, {}, {}",
            counted(n_scripts, "script"),
            counted(n_modules, "module"),
            counted(n_lists, "list")
        )?;
        if n_links > 0 {
            write!(f, ", {} followed", counted(n_links, "link"))?;
        }
        if n_refused > 0 { write!(f, ", {n_refused} refused") } else { Ok(()) }
    }
}

impl RuleFileCounts {
    fn new(found: &WalkedDirectory, tree: &RuleTree) -> Self {
        let count = |kind| found.files.iter().filter(|file| file.kind == kind).count();
        Self {
            n_scripts: count(FileKind::Script),
            n_modules: count(FileKind::Module),
            n_lists: count(FileKind::List),
            n_links: found.links.len(),
            n_refused: tree.refusals().count(),
        }
    }

    /// Counts the files of a tree from another source.
    #[must_use]
    pub fn of_tree(tree: &RuleTree) -> Self {
        let is_module = |path: &str| FileKind::of_path(path) == Some(FileKind::Module);
        let n_modules = tree.rules.iter().filter(|file| is_module(&file.path)).count();
        Self {
            n_scripts: tree.rules.len() - n_modules,
            n_modules,
            n_lists: tree.lists.len(),
            n_links: 0,
            n_refused: tree.refusals().count(),
        }
    }
}
