//! `tollgate check`: compile, and draw the diagnostics as a compiler would.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use tollgate_compiler::emit::emit;
use tollgate_compiler::{Compilation, Options, compile, render};

use crate::cli::say;

/// The exit code: 1 when a script does not compile, or the directory of lists cannot be read.
pub(super) fn check(lists: Option<&Path>, files: &[PathBuf]) -> u8 {
    let named_lists = match lists.map(names_in).transpose() {
        Ok(names) => names,
        Err(error) => {
            say(&format!("error: cannot read the directory of lists: {error}"));
            return 1;
        }
    };
    let options = Options { named_lists: named_lists.as_ref() };
    let n_bad = files.iter().filter(|file| !check_file(file, &options)).count();
    let n_files = files.len();
    if n_bad == 0 {
        say(&format!("{n_files} {} without errors", plural(n_files)));
        0
    } else {
        say(&format!("{n_bad} of {n_files} {} with errors", plural(n_files)));
        1
    }
}

/// The lists of a directory, by the names of their files.
fn names_in(directory: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    Ok(names)
}

const fn plural(n_files: usize) -> &'static str {
    if n_files == 1 { "script" } else { "scripts" }
}

/// Whether it compiles to a module.
fn check_file(file: &Path, options: &Options<'_>) -> bool {
    let shown = file.display().to_string();
    let script = match fs::read_to_string(file) {
        Ok(script) => script,
        Err(error) => {
            say(&format!("error: cannot read {shown}: {error}"));
            return false;
        }
    };
    let Compilation { rule, diagnostics } = compile(&script, options);
    if !diagnostics.is_empty() {
        say(&render(&script, &shown, &diagnostics, io::stderr().is_terminal()));
    }
    let Some(rule) = rule else { return false };
    match emit(std::slice::from_ref(&rule)) {
        Ok(_) => true,
        Err(error) => {
            say(&format!("error: {shown}: {error}"));
            false
        }
    }
}
