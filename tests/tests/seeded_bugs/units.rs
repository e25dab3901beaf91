//! The tests of the crates of the history, with a bug in them.

use std::process::Command;

use tollgate_tests::seeded::VARIABLE;

use crate::seeded_bugs::Build;

/// Runs the tests of the history and of its records; with a bug, those that are to find it. They compare keys that leave
/// memory, and what a start opens, with a reference in random histories.
pub(crate) fn history(build: &Build) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "--locked", "--lib", "--package", "tollgate-records"]);
    cargo.args(["--package", "tollgate-history", "--target-dir"]).arg(&build.target);
    cargo.args(["--", build.word]).current_dir(&build.tree);
    // To the usual extent, which suffices for these bugs: the full one takes an hour for each.
    cargo.env_remove("TOLLGATE_PROOF");
    match build.bug {
        Some(bug) => cargo.env(VARIABLE, bug),
        // This process may have been told to look for one.
        None => cargo.env_remove(VARIABLE),
    };
    let output = cargo.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // The names of the tests that failed stand at the end.
    let failed = text.rsplit_once("failures:").map_or(&*text, |(_, names)| names);
    assert!(output.status.success(), "these tests fail: {failed}{}", String::from_utf8_lossy(&output.stderr));
}
