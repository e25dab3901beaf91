//! The binary under test, built once per test process.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::repository;

/// Returns the path of `tollgate`: `TOLLGATE_BINARY` if set, otherwise a build in the profile of the running test.
///
/// # Panics
/// Panics if the build fails.
#[must_use]
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        env::var_os("TOLLGATE_BINARY").map_or_else(|| build(repository::root(), None), PathBuf::from)
    })
}

/// Builds a copy of this repository into `target`, by default the target directory of the running test.
///
/// # Panics
/// Panics if the build fails.
#[must_use]
pub fn build(root: &Path, target: Option<&Path>) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([
            "build",
            "--quiet",
            "--locked",
            "--message-format=json",
            // Uses the features of all members, like the running test, so that nothing is built twice.
            "--workspace",
            "--bin",
            "tollgate",
        ])
        .current_dir(root)
        .stderr(Stdio::inherit());
    if let Some(target) = target.map(Path::to_owned).or_else(target_directory) {
        cargo.arg("--target-dir").arg(target);
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "the binary does not build");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(executable)
        .next_back()
        .expect("cargo names the binary it built")
}

/// Returns the target directory of the running test, which is `<target>/<profile>/deps/<test>`. Reusing it avoids a
/// second build.
#[must_use]
pub fn target_directory() -> Option<PathBuf> {
    let test = env::current_exe().ok()?;
    let is_built = test.parent().and_then(Path::file_name).is_some_and(|folder| folder == "deps");
    test.ancestors().nth(3).filter(|_| is_built).map(Path::to_owned)
}

fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_ours = message.pointer("/target/name").and_then(Value::as_str) == Some("tollgate");
    let path = message.get("executable").and_then(Value::as_str)?;
    is_ours.then(|| PathBuf::from(path))
}
