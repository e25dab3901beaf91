//! A build of the service with seeded bugs, for mutation testing of the other suites.
//!
//! ```text
//!  tests/bugs/switch.patch ─┐
//!  tests/bugs/NAME.patch ───┴─▶ copy of the repository ──cargo build──▶ tollgate with the bug named by `VARIABLE`
//! ```
//!
//! The patches form a series: each applies to the copy with all earlier patches applied, in name order.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::upstream;
use crate::repository;

/// The variable that names the active bug.
pub const VARIABLE: &str = "TOLLGATE_SEEDED_BUG";

/// The patch that adds the module that reads [`VARIABLE`]; applied first.
const SWITCH: &str = "switch";
/// Entries of the repository that are not copied.
const NOT_COPIED: [&str; 4] = ["target", "data", "docs", "node_modules"];

/// A seeded bug: a plausible mistake, as a patch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeededBug {
    /// Name of the patch without its extension, a value of [`VARIABLE`].
    pub name: String,
    /// Description: the first line of the patch.
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

/// Returns every bug, in patch order.
#[must_use]
pub fn bugs() -> Vec<SeededBug> {
    let patches = repository::files("tests/bugs", ".patch").into_iter().map(SeededBug::read);
    patches.filter(|bug| bug.name != SWITCH).collect()
}

/// Creates a copy of the repository with every bug, replacing an earlier copy.
///
/// # Panics
/// Panics if a patch does not apply, and names its bug.
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
    // The copy may lie within another Git repository, which must not be used.
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
        let target = to.join(&name);
        if path.is_dir() {
            copy_folder(&path, &target);
        } else if path.is_file() {
            fs::copy(&path, &target).expect("a file can be copied");
        }
    }
}
