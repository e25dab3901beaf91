//! A build of the service with seeded bugs, for the suite that looks whether the others find them (mutation testing).
//!
//! ```text
//!  tests/bugs/switch.patch ─┐
//!  tests/bugs/NAME.patch ───┴─▶ a copy of the repository ──cargo build──▶ tollgate, with the bug that [`VARIABLE`] names
//! ```
//!
//! The patches are a series: each is made against the copy with all patches before it, in the order of their names, applied.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::upstream;
use crate::repository;

/// The variable that names the bug that is on.
pub const VARIABLE: &str = "TOLLGATE_SEEDED_BUG";

/// Adds the module that reads [`VARIABLE`]; applied before every bug.
const SWITCH: &str = "switch";
/// Entries of the repository that the copy does without.
const NOT_COPIED: [&str; 4] = ["target", "data", "docs", "node_modules"];

/// A mistake that somebody could make, as a patch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeededBug {
    /// The name of the patch without its ending, which [`VARIABLE`] takes.
    pub name: String,
    /// What goes wrong: the first line of the patch.
    pub what: String,
    patch: PathBuf,
}

impl SeededBug {
    fn read(patch: PathBuf) -> Self {
        let text = repository::read(&patch);
        let name = repository::name(&patch).trim_end_matches(".patch").to_owned();
        let what = text.lines().next().unwrap_or_default().to_owned();
        assert!(
            name == SWITCH || text.contains(&format!("seeded::is(\"{name}\")")),
            "{name}.patch asks for another bug"
        );
        Self { name, what, patch }
    }
}

/// Every bug, in the order in which their patches are applied.
#[must_use]
pub fn bugs() -> Vec<SeededBug> {
    let patches = repository::files("tests/bugs", ".patch").into_iter().map(SeededBug::read);
    patches.filter(|bug| bug.name != SWITCH).collect()
}

/// Makes a copy of the repository with every bug in it, in place of an earlier one.
///
/// # Panics
/// When a patch does not apply: the message names its bug.
pub fn copy_with_bugs(copy: &Path) {
    if copy.exists() {
        fs::remove_dir_all(copy).expect("an earlier copy can be removed");
    }
    copy_folder(repository::root(), copy);
    let switch = SeededBug::read(repository::root().join(format!("tests/bugs/{SWITCH}.patch")));
    for bug in std::iter::once(switch).chain(bugs()) {
        apply(&bug, copy);
    }
}

fn apply(bug: &SeededBug, copy: &Path) {
    let mut git = upstream::command(copy.to_owned(), &["apply", "--whitespace=nowarn"]);
    // The copy may lie in a repository of Git, whose files are not meant.
    git.arg(&bug.patch).env("GIT_CEILING_DIRECTORIES", copy.parent().unwrap_or(copy));
    let applied = git.output().expect("git runs");
    let complaint = String::from_utf8_lossy(&applied.stderr);
    assert!(applied.status.success(), "the bug `{}` no longer applies: {complaint}", bug.name);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder of the repository is readable") {
        let path = entry.expect("a folder entry is readable").path();
        let name = repository::name(&path);
        if name.starts_with('.') || NOT_COPIED.contains(&name.as_str()) {
            continue;
        }
        let place = to.join(&name);
        if path.is_dir() {
            copy_folder(&path, &place);
        } else if path.is_file() {
            fs::copy(&path, &place).expect("a file can be copied");
        }
    }
}
