//! The console, built in a copy, and Chromium, for one test at a time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tollgate_tests::programs::{Program, require};
use tollgate_tests::{binary::binary, proof, repository};

/// Files and folders that the build and the tests of the console read.
const SOURCES: [&str; 7] =
    ["package.json", "package-lock.json", "tsconfig.json", "build.mjs", "build", "src", "tests"];

static COPY: LazyLock<PathBuf> = LazyLock::new(build);
static IN_USE: Mutex<()> = Mutex::new(());

/// The built copy, while no other test uses a browser: some measure times.
pub(crate) struct Browser {
    _alone: MutexGuard<'static, ()>,
}

impl Browser {
    /// Waits until no other test uses it.
    pub(crate) fn take() -> Self {
        [Program::Chromium, Program::Node].into_iter().for_each(require);
        let alone = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        LazyLock::force(&COPY);
        Self { _alone: alone }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        COPY.join(relative)
    }

    /// Runs Node in the copy.
    #[track_caller]
    pub(crate) fn node(&self, arguments: &[String], variables: &[(&str, &Path)]) -> String {
        let full = proof::is_full();
        let mut command = Command::new("node");
        command.args(arguments).envs(variables.iter().copied());
        command.env("TOLLGATE_BIN", binary()).env("CONSOLE_DIST", COPY.join("dist"));
        command.env("TOLLGATE_REPOSITORY", repository::root());
        // The limits of time are for a release build on a quiet machine.
        command.env("TIME_SLACK", if full { "1" } else { "5" });
        command.env("HEAP_SECONDS", if full { "600" } else { "20" });
        command.env("FULL", if full { "1" } else { "0" });
        run(&mut command, &COPY)
    }
}

fn build() -> PathBuf {
    let directory = repository::root().join("target/console");
    fs::remove_dir_all(directory.join("src")).ok();
    fs::remove_dir_all(directory.join("tests")).ok();
    for source in SOURCES {
        copy(&repository::root().join("console").join(source), &directory.join(source));
    }
    run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]), &directory);
    run(Command::new("npx").args(["--no-install", "tsc", "--noEmit"]), &directory);
    run(Command::new("node").args(["build.mjs", "dist"]), &directory);
    directory
}

#[track_caller]
fn run(command: &mut Command, directory: &Path) -> String {
    let output = command.current_dir(directory).output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}\n{text}");
    text
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        copy(&from.join(&name), &to.join(&name));
    }
}
