//! Combines the lists of a tree with those of other sources.

mod loss;

use std::collections::{BTreeMap, BTreeSet};

use tollgate_engine::registry::{ListInForce, Lists};
use tollgate_model::instruction::InstructionSource;

use crate::intake::list_texts::warn_of_oddities;
use crate::intake::tree::failure::{FileError, FileFailure};
use crate::intake::tree::known::CurrentRules;
use crate::intake::tree::{ListFile, RuleTree, TreeKind, TreeOrigin, TreeReport, UnreadableFile};
use crate::intake::{HoldBack, IntakeError};
use tollgate_telemetry::config::ListsShrink;

pub(super) struct NextLists {
    pub(super) lists: Lists,
    pub(super) failures: Vec<FileFailure>,
}

/// State and settings while lists are taken.
struct ListPolicy<'t> {
    next: NextLists,
    origin: &'t TreeOrigin,
    shrink: ListsShrink,
    hold_back: HoldBack,
    /// Whether the content of a list is refused, so that its entries may be lost.
    is_any_refused: bool,
}

/// Replaces the lists of the tree's source. A list that is unreadable, invalid or suddenly empty keeps its previous
/// content.
///
/// # Errors
/// [`IntakeError::ListsRefused`] if lists of a commit are refused, another commit is in force, and the whole commit is
/// to be held back.
pub(super) fn next_lists(
    current_rules: &CurrentRules,
    shrink: ListsShrink,
    tree: &RuleTree,
    report: &mut TreeReport,
) -> Result<NextLists, IntakeError> {
    let current = &current_rules.base.lists;
    let mut taking = ListPolicy {
        next: NextLists { lists: current.clone(), failures: Vec::new() },
        origin: &tree.origin,
        shrink,
        hold_back: current_rules.hold_back,
        is_any_refused: false,
    };
    let next = &mut taking.next;
    let kept: BTreeSet<&str> = tree.lists.iter().map(|file| file.name.as_str()).collect();
    for (name, list) in current.iter() {
        if TreeKind::of_source(&list.source) == Some(tree.origin.kind())
            && !kept.contains(name)
            && !list.source.path().is_some_and(|path| tree.hides(path))
        {
            next.lists.remove(name);
            report.removed.extend(list.source.path().map(str::to_owned));
        }
    }
    let mut files: Vec<&ListFile> = tree.lists.iter().collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let holders = holders(&files, current, tree.origin.kind());
    for file in files {
        match holders.get(&*file.name) {
            Some(holder) if *holder != file.path => taking.refuse_second(file, holder),
            _ => taking.take(file, report),
        }
    }
    let in_force = current_rules.base.commit.as_deref();
    let is_another_commit = match &tree.origin {
        TreeOrigin::Directory => false,
        TreeOrigin::Git { commit } => in_force.is_some_and(|in_force| in_force != commit),
    };
    let ListPolicy { next, hold_back, is_any_refused, .. } = taking;
    if is_any_refused && is_another_commit && hold_back == HoldBack::Commit {
        let failed = next.failures.into_iter().map(|failure| failure.script).collect();
        return Err(IntakeError::ListsRefused(failed));
    }
    Ok(next)
}

/// If several files define one list, such as `a.csv` and `a.txt`, the one in force keeps the name, otherwise the first.
fn holders<'t>(files: &[&'t ListFile], current: &Lists, tree_kind: TreeKind) -> BTreeMap<&'t str, &'t str> {
    let mut holders = BTreeMap::new();
    for file in files {
        let is_in_force = current.get(&file.name).is_some_and(|list| {
            TreeKind::of_source(&list.source) == Some(tree_kind) && is_at(&list.source, &file.path)
        });
        if is_in_force {
            holders.insert(&*file.name, &*file.path);
        } else {
            holders.entry(&*file.name).or_insert(&*file.path);
        }
    }
    holders
}

impl ListPolicy<'_> {
    fn take(&mut self, file: &ListFile, report: &mut TreeReport) {
        let (origin, shrink) = (self.origin, self.shrink);
        let before = self.next.lists.get(&file.name);
        let is_own = before.is_some_and(|before| TreeKind::of_source(&before.source) == Some(origin.kind()));
        let text = match &file.text {
            Ok(text) => text,
            Err(error) if error.is_worth_a_word() => {
                self.is_any_refused = true;
                return self.fail(file, &error.into(), is_own);
            }
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
            Some(before) if self.hold_back != HoldBack::Nothing => {
                if let Err(why) = loss::check(&file.name, before, &new, shrink) {
                    self.is_any_refused = true;
                    return self.fail(file, &FileError::HeldBack(why), is_own);
                }
            }
            _ => {}
        }
        if !self.next.lists.has_room_for(&file.name, text.len()) {
            return self.fail(file, &FileError::TooManyLists, is_own);
        }
        let paths = if before.is_some() { &mut report.changed } else { &mut report.loaded };
        paths.push(file.path.clone());
        warn_of_oddities(&file.name, &new, &file.warnings);
        self.next.lists.insert(&file.name, new);
    }

    fn refuse_second(&mut self, file: &ListFile, holder: &str) {
        let by = self.origin.source(holder);
        self.fail(file, &FileError::Taken { what: "a list", name: file.name.clone(), by }, false);
    }

    fn fail(&mut self, file: &ListFile, error: &FileError, has_last_good: bool) {
        let mut failure = FileFailure::new(&file.path, "", error);
        failure.script.has_last_good = has_last_good;
        self.next.failures.push(failure);
    }
}

fn is_at(source: &InstructionSource, path: &str) -> bool {
    source.path() == Some(path)
}

/// Returns whether the same content was saved over the API and is now in the repository, which then takes over the
/// list.
fn is_adopted(saved: &ListInForce, in_tree: &ListInForce) -> bool {
    saved.source == InstructionSource::Api
        && TreeKind::of_source(&in_tree.source) == Some(TreeKind::Git)
        && saved.text.trim() == in_tree.text.trim()
}
