//! Decides when a file that may still be written is whole.
//!
//! ```text
//!  renamed or linked into place, closed after writing, as in force ─▶ whole
//!  behind a link that led elsewhere when the directory was last read ─▶ whole
//!  same size and times at two looks 1 s apart, last change ≥ 1 s old ─▶ whole
//!  otherwise: the last good version stays; after 30 s the service says so
//! ```
//!
//! A writer that pauses for longer than a second between two writes, and does not keep the file open where the system
//! reports that, is not detected. Writing to another name and renaming is safe in every case.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use tollgate_model::instruction::RuleContent;

use super::{FoundFile, ReadLinks, Stamp, WalkedDirectory};
use crate::intake::tree::{RuleTree, UnreadableFile};

/// Time for which a file has to stay the same.
pub(in crate::intake) const SETTLE: Duration = Duration::from_secs(1);
/// Time of changes after which a file is reported.
const REPORT_AFTER: Duration = Duration::from_secs(30);

/// The files of a directory that are not in force with their present content, as the looks found them.
#[derive(Debug, Default)]
pub(in crate::intake) struct Settling {
    files: HashMap<String, SettlingFile>,
    /// Path of the directory without links, and the links, when it was last read; `None` before the first time.
    last: Option<(PathBuf, ReadLinks)>,
}

#[derive(Debug)]
struct SettlingFile {
    stamp: Stamp,
    /// Time of the first look that found this stamp.
    found_at: Instant,
    is_whole: bool,
    changing_since: (Instant, SystemTime),
}

/// A file that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::intake) struct PendingFile {
    /// Path below the rules directory.
    pub(in crate::intake) path: String,
    /// Time of the first look that found it changing.
    pub(in crate::intake) since: SystemTime,
    /// Whether it has been changing for so long that it is reported.
    pub(in crate::intake) is_late: bool,
}

/// The last good contents of a directory.
pub(in crate::intake) trait GoodContents {
    /// Returns whether the rule at this path was last good with this content.
    fn has_rule(&self, path: &str, content: &RuleContent) -> bool;

    /// Returns whether the list at this path was last good with this text.
    fn has_list(&self, path: &str, text: &str) -> bool;

    /// Returns whether a rule or list at this path was ever good.
    fn has_path(&self, path: &str) -> bool;
}

impl Settling {
    /// Records a look at a directory.
    pub(in crate::intake) fn observe(&mut self, found: &WalkedDirectory, at: Instant, now: SystemTime) {
        let present: HashSet<&str> = found.files.iter().map(|file| file.relative.as_str()).collect();
        self.files.retain(|path, _| present.contains(path.as_str()));
        for file in &found.files {
            let Some(stamp) = file.stamp else { continue };
            let new = SettlingFile { stamp, found_at: at, is_whole: false, changing_since: (at, now) };
            let known = self.files.entry(file.relative.clone()).or_insert(new);
            if known.stamp != stamp {
                let changing_since = if known.is_whole { (at, now) } else { known.changing_since };
                *known = SettlingFile { stamp, found_at: at, is_whole: false, changing_since };
            }
            let is_same = at.saturating_duration_since(known.found_at) >= SETTLE;
            known.is_whole |= stamp.was_moved() || is_same && stamp.is_older_than(SETTLE, now);
        }
        // Files behind a swapped link were complete before the swap.
        if let Some((root, _)) = self.last.as_ref().filter(|(_, links)| *links != found.links) {
            let is_moved = *root != found.root;
            let behind = found.files.iter().filter(|file| is_moved || found.is_behind_link(file));
            behind.for_each(|file| self.mark_whole(file));
        }
    }

    /// Records that a directory was read while nothing changed.
    pub(in crate::intake) fn note_read(&mut self, found: &WalkedDirectory) {
        self.last = Some((found.root.clone(), found.links.clone()));
    }

    /// Records that a file is whole as it was found.
    pub(in crate::intake) fn mark_whole(&mut self, file: &FoundFile) {
        if let Some(known) =
            self.files.get_mut(&file.relative).filter(|known| file.stamp == Some(known.stamp))
        {
            known.is_whole = true;
        }
    }

    /// Returns whether a file is whole. A file without a stamp cannot be examined.
    pub(in crate::intake) fn is_whole(&self, file: &FoundFile) -> bool {
        let Some(stamp) = file.stamp else { return true };
        self.files.get(&file.relative).is_some_and(|known| known.is_whole && known.stamp == stamp)
    }

    /// Describes a file that is being written.
    pub(in crate::intake) fn pending(&self, path: &str, at: Instant, now: SystemTime) -> PendingFile {
        let (since, wall) = self.files.get(path).map_or((at, now), |known| known.changing_since);
        let is_late = at.saturating_duration_since(since) >= REPORT_AFTER;
        PendingFile { path: path.to_owned(), since: wall, is_late }
    }
}

/// Leaves out the content of files that are not whole, unless it is the last good one; returns their paths.
pub(in crate::intake) fn hold_back(
    tree: &mut RuleTree,
    good: Option<&dyn GoodContents>,
    is_whole: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut held_back = Vec::new();
    for file in &mut tree.rules {
        let is_good = file
            .content
            .as_ref()
            .is_ok_and(|content| good.is_some_and(|good| good.has_rule(&file.path, content)));
        if is_held_back(file.content.as_ref().err(), is_good || is_whole(&file.path)) {
            file.content = Err(UnreadableFile::BeingWritten);
            held_back.push(file.path.clone());
        }
    }
    for file in &mut tree.lists {
        let is_good =
            file.text.as_ref().is_ok_and(|text| good.is_some_and(|good| good.has_list(&file.path, text)));
        if is_held_back(file.text.as_ref().err(), is_good || is_whole(&file.path)) {
            file.text = Err(UnreadableFile::BeingWritten);
            held_back.push(file.path.clone());
        }
    }
    held_back
}

const fn is_held_back(error: Option<&UnreadableFile>, is_whole: bool) -> bool {
    match error {
        Some(UnreadableFile::AsTaken) => false,
        Some(UnreadableFile::BeingWritten) => true,
        _ => !is_whole,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use crate::intake::rule_files::find;

    fn is_whole(settling: &Settling, directory: &Path) -> bool {
        find(directory).unwrap().files.iter().all(|file| settling.is_whole(file))
    }

    #[test]
    fn a_file_is_whole_when_two_looks_a_second_apart_agree() {
        let directory = tempfile::tempdir().unwrap();
        let (at, now) = (Instant::now(), SystemTime::now());
        let mut settling = Settling::default();
        let mut look = |seconds: u64| {
            let after = Duration::from_secs(seconds);
            settling.observe(&find(directory.path()).unwrap(), at + after, now + after);
            (is_whole(&settling, directory.path()), settling.pending("a.ws", at + after, now + after))
        };
        fs::write(directory.path().join("a.ws"), "1").unwrap();
        assert!(!look(0).0);
        fs::write(directory.path().join("a.ws"), "12").unwrap();
        assert!(!look(20).0, "it changed between the looks");
        assert!(!look(20).0, "the looks are not a second apart");
        fs::write(directory.path().join("a.ws"), "123").unwrap();
        let (is_whole, pending) = look(31);
        assert!(!is_whole && pending.is_late && pending.since == now, "{pending:?}");
        assert!(look(32).0);
        assert!(look(33).0);
        fs::write(directory.path().join("a.ws"), "1234").unwrap();
        let (is_whole, pending) = look(34);
        assert!(!is_whole && !pending.is_late, "the next change begins anew: {pending:?}");
    }

    #[test]
    fn a_file_that_changed_within_the_last_second_is_not_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ws");
        fs::write(&path, "1").unwrap();
        let (at, now) = (Instant::now(), fs::metadata(path).unwrap().modified().unwrap());
        let mut settling = Settling::default();
        settling.observe(&find(directory.path()).unwrap(), at, now);
        settling.observe(&find(directory.path()).unwrap(), at + SETTLE, now + Duration::from_millis(900));
        assert!(!is_whole(&settling, directory.path()));
        // A clock that is behind the file system says nothing about its age.
        settling.observe(&find(directory.path()).unwrap(), at + SETTLE, now - Duration::from_secs(100));
        assert!(is_whole(&settling, directory.path()));
    }

    #[test]
    fn a_file_whose_last_change_was_no_write_was_renamed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ws");
        fs::write(&path, "1").unwrap();
        let earlier = SystemTime::now() - Duration::from_secs(5);
        fs::File::options().write(true).open(&path).unwrap().set_modified(earlier).unwrap();
        let mut settling = Settling::default();
        settling.observe(&find(directory.path()).unwrap(), Instant::now(), SystemTime::now());
        assert!(is_whole(&settling, directory.path()));
    }

    /// Swaps a link between versions of a folder, and looks at `rules` after each swap.
    #[track_caller]
    fn check_a_swap(top: &Path, link: &Path, rules: &Path) {
        let mut settling = Settling::default();
        let swap = |version: &str| {
            let folder = top.join(version);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("a.ws"), version).unwrap();
            symlink(&folder, top.join("next")).unwrap();
            fs::rename(top.join("next"), link).unwrap();
        };
        let mut look = |is_steady: bool| {
            let found = find(rules).unwrap();
            settling.observe(&found, Instant::now(), SystemTime::now());
            if is_steady {
                settling.note_read(&found);
            }
            is_whole(&settling, rules)
        };
        swap("v1");
        assert!(!look(true));
        swap("v2");
        assert!(look(true), "it was complete before the swap");
        fs::write(top.join("v2/a.ws"), "v2, being written").unwrap();
        assert!(!look(true), "it changed after the swap");
        for version in ["v3", "v4"] {
            swap(version);
            assert!(look(false), "{version}, in a look that had to be repeated");
        }
        assert!(look(true));
    }

    #[test]
    fn a_file_behind_a_link_that_was_swapped_since_the_last_look_is_whole() {
        let top = tempfile::tempdir().unwrap();
        let rules = top.path().join("rules");
        fs::create_dir(&rules).unwrap();
        check_a_swap(top.path(), &rules.join("current"), &rules);
        // The directory itself is behind the link.
        let top = tempfile::tempdir().unwrap();
        let rules = top.path().join("current");
        check_a_swap(top.path(), &rules, &rules);
    }
}
