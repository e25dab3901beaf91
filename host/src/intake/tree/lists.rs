//! The lists of a tree, beside those from elsewhere.

use std::collections::BTreeSet;

use crate::instruction::InstructionSource;
use crate::intake::tree::failure::{Failure, FileError};
use crate::intake::tree::{ListFile, Origin, Place, RuleTree, TreeReport, UnreadableFile};
use crate::registry::{ListInForce, Lists};

/// The lists of the next rule set.
pub(super) struct NextLists {
    pub(super) lists: Lists,
    pub(super) failures: Vec<Failure>,
}

/// Puts the lists of a tree in the place of those its place gave before. One that cannot be read stays as it was: missing,
/// it would match nothing.
pub(super) fn next_lists(current: &Lists, tree: &RuleTree, report: &mut TreeReport) -> NextLists {
    let mut next = NextLists { lists: current.clone(), failures: Vec::new() };
    let kept: BTreeSet<&str> = tree.lists.iter().map(|file| file.name.as_str()).collect();
    for (name, list) in current.iter() {
        if Place::of(&list.source) == Some(tree.origin.place())
            && !kept.contains(name)
            && !list.source.path().is_some_and(|path| tree.hides(path))
        {
            next.lists.remove(name);
            report.removed.extend(list.source.path().map(str::to_owned));
        }
    }
    let mut files: Vec<&ListFile> = tree.lists.iter().collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    for file in files {
        next.take(file, &tree.origin, report);
    }
    next
}

impl NextLists {
    fn take(&mut self, file: &ListFile, origin: &Origin, report: &mut TreeReport) {
        let before = self.lists.get(&file.name);
        let is_own = before.is_some_and(|before| Place::of(&before.source) == Some(origin.place()));
        let text = match &file.text {
            Ok(text) => text,
            Err(error) if error.is_worth_a_word() => return self.fail(file, &error.into(), is_own),
            Err(error) => {
                report.n_unchanged += usize::from(is_own && matches!(error, UnreadableFile::AsTaken));
                return;
            }
        };
        let new = ListInForce::new(text, origin.source(&file.path));
        match before {
            Some(before) if is_own && is_at(&before.source, &file.path) && before.digest == new.digest => {
                report.n_unchanged += 1;
                return;
            }
            Some(before) if !is_own && !is_adopted(before, &new) => {
                let (name, by) = (file.name.clone(), before.source.clone());
                return self.fail(file, &FileError::Taken { what: "a list", name, by }, false);
            }
            _ => {}
        }
        if !self.lists.has_room_for(&file.name, text.len()) {
            return self.fail(file, &FileError::TooManyLists, is_own);
        }
        let paths = if before.is_some() { &mut report.changed } else { &mut report.loaded };
        paths.push(file.path.clone());
        self.lists.insert(&file.name, new);
    }

    fn fail(&mut self, file: &ListFile, error: &FileError, has_last_good: bool) {
        let mut failure = Failure::new(&file.path, "", error);
        failure.script.has_last_good = has_last_good;
        self.failures.push(failure);
    }
}

fn is_at(source: &InstructionSource, path: &str) -> bool {
    source.path() == Some(path)
}

/// What was saved over the API and is now in the repository as well, word for word, is the repository's from then on.
fn is_adopted(saved: &ListInForce, in_tree: &ListInForce) -> bool {
    saved.source == InstructionSource::Api
        && Place::of(&in_tree.source) == Some(Place::Git)
        && saved.text.trim() == in_tree.text.trim()
}
