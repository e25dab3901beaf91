//! Backups contain every transaction acknowledged before they began, and can be restored on another machine.

mod drill;
mod refused;

use std::path::Path;
use std::process::Output;

use tollgate_tests::Home;

/// Runs a command of the binary on this home.
fn run(home: &Home, arguments: &[&str]) -> Output {
    home.command(arguments).output().unwrap()
}

fn backup(home: &Home, file: &Path) -> Output {
    run(home, &["backup", file.to_str().unwrap()])
}

fn restore(home: &Home, file: &Path) -> Output {
    run(home, &["restore", file.to_str().unwrap()])
}

#[track_caller]
fn check_done(output: &Output) -> String {
    let said = said(output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

#[track_caller]
fn check_refused(output: &Output, words: &str) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: ") && said.contains(words), "no `{words}` in:\n{said}");
    assert!(!said.contains("panicked"), "{said}");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
