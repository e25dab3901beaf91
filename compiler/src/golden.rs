//! Golden files: a script and the recorded output of a stage for it. `UPDATE_GOLDEN=1` rewrites them.

use std::fs;
use std::path::{Path, PathBuf};

/// Runs a stage on every `tests/golden/<stage>/*.ws` and compares the output with the file of the same name and this
/// extension.
#[track_caller]
pub(crate) fn check_all(stage: &str, extension: &str, run: impl Fn(&str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(stage);
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    for script_path in scripts(&folder) {
        let script = fs::read_to_string(&script_path).unwrap();
        let made = run(&script);
        let recorded_path = script_path.with_extension(extension);
        if update {
            fs::write(&recorded_path, &made).unwrap();
        } else if fs::read_to_string(&recorded_path).ok().as_deref() != Some(&made) {
            wrong.push(format!("── {} ──\n{made}", recorded_path.display()));
        }
    }
    assert!(wrong.is_empty(), "not as recorded:\n{}", wrong.join("\n"));
}

/// Returns every script of a folder, sorted by name; panics if there is none.
pub(crate) fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ws"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no script in {}", folder.display());
    paths
}
