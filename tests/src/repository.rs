//! Access to the files of this repository.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::path::{Path, PathBuf};

/// Folders with generated files.
const NOT_WRITTEN: [&str; 5] = ["target", "fuzz/corpus", "fuzz/artifacts", "data", "node_modules"];

/// Returns the root of the repository.
///
/// # Panics
/// Panics if the crate has no parent folder.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository")
}

/// Returns every file below a folder whose name has this ending, sorted. Hidden folders and generated files are
/// skipped.
///
/// # Panics
/// Panics if a folder cannot be read.
#[must_use]
pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("a folder of the repository is readable") {
            let path = entry.expect("a folder entry is readable").path();
            let name = name(&path);
            if path.is_dir() {
                if !name.starts_with('.') && !NOT_WRITTEN.iter().any(|skipped| path.ends_with(skipped)) {
                    pending.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the last component of a path.
#[must_use]
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns a path relative to the root, for messages.
#[must_use]
pub fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns the text of a file.
///
/// # Panics
/// Panics if it cannot be read as UTF-8.
#[must_use]
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| unreadable(path, &error))
}

#[expect(clippy::panic, reason = "the message names the file")]
fn unreadable(path: &Path, error: &std::io::Error) -> ! {
    panic!("{} cannot be read: {error}", relative(path))
}
