//! Schemathesis from PyPI. It sends requests that conform to or violate an API description, and checks every response
//! against it.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

use tempfile::TempDir;

use crate::binary::target_directory;
use crate::programs::{Program, require};
use crate::repository;

/// Written last: its presence marks a complete installation.
const STAMP: &str = "requirements.txt";

/// A virtual environment with the versions of `tests/contract/requirements.txt`.
#[derive(Debug)]
pub struct Schemathesis {
    folder: PathBuf,
}

/// The result of a run.
#[derive(Debug)]
pub struct Verdict {
    /// Whether every response conformed to the description.
    pub is_fine: bool,
    /// Number of test cases.
    pub n_cases: usize,
    /// Number of operations tested.
    pub n_operations: usize,
    /// The complete output.
    pub report: String,
}

impl Schemathesis {
    /// Returns the environment. Installs it from PyPI if missing.
    ///
    /// # Panics
    /// Panics if it cannot be installed.
    #[must_use]
    pub fn get() -> &'static Self {
        static SCHEMATHESIS: OnceLock<Schemathesis> = OnceLock::new();
        require(Program::Python);
        SCHEMATHESIS.get_or_init(|| {
            let target = target_directory().unwrap_or_else(env::temp_dir);
            let folder = target.join("schemathesis");
            let wanted = contract().join(STAMP);
            let read = |path: &Path| fs::read(path).ok();
            if read(&folder.join(STAMP)) != read(&wanted) {
                install(&folder, &wanted);
            }
            Self { folder }
        })
    }

    /// Returns its Python, with the packages of the requirements.
    #[must_use]
    pub fn python(&self) -> Command {
        python(&self.folder.join("bin/python"))
    }

    /// Tests the service at `127.0.0.1:port` with this many cases per operation and these further arguments.
    ///
    /// # Panics
    /// Panics if it cannot be run or prints no summary.
    #[must_use]
    #[track_caller]
    pub fn run(&self, address: &str, n_cases: usize, arguments: &[&str]) -> Verdict {
        // Schemathesis writes files to its working directory.
        let elsewhere = TempDir::new().expect("a temporary folder can be made");
        let output = python(&self.folder.join("bin/st"))
            .arg("--no-color")
            .arg("--config-file")
            .arg(contract().join("schemathesis.toml"))
            .args(["run", &format!("http://{address}/openapi.json")])
            .args(["--phases", "coverage,fuzzing", "--mode", "all", "--checks", "all"])
            .args(["--max-examples", &n_cases.to_string(), "--request-timeout", "30"])
            .args(["--continue-on-failure", "--no-shrink", "--suppress-health-check", "all"])
            .args(["--warnings", "off"])
            .args(arguments)
            .env("SCHEMATHESIS_HOOKS", contract().join("hooks.py"))
            .env("COLUMNS", "100")
            .current_dir(elsewhere.path())
            .output()
            .expect("schemathesis can be run");
        let report = [output.stdout, output.stderr].concat();
        let report = String::from_utf8_lossy(&report).into_owned();
        Verdict {
            is_fine: output.status.success(),
            n_cases: number(&report, "", " generated"),
            n_operations: number(&report, "Tested:", ""),
            report,
        }
    }
}

/// Returns the number between these texts, or 0.
fn number(report: &str, before: &str, behind: &str) -> usize {
    let read = |line: &str| {
        let rest = line.trim().strip_prefix(before)?.trim_start();
        let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, rest) = rest.split_at_checked(end)?;
        if rest.starts_with(behind) { digits.parse().ok() } else { None }
    };
    report.lines().find_map(read).unwrap_or(0)
}

/// Returns the folder of its configuration: versions, and limits that a schema cannot express.
fn contract() -> PathBuf {
    repository::root().join("tests/contract")
}

/// Cargo's library path is not meant for this program.
fn python(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_LIBRARY_PATH").env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
    command
}

fn install(folder: &Path, requirements: &Path) {
    fs::remove_dir_all(folder).ok();
    said_well(python(Path::new("python3")).args(["-m", "venv"]).arg(folder));
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    said_well(python(&folder.join("bin/python")).args(pip).arg(requirements));
    fs::copy(requirements, folder.join(STAMP)).expect("a file can be copied");
}

fn said_well(command: &mut Command) {
    let output = command.output().expect("python3 can be run");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "schemathesis is not there and cannot be installed from PyPI:\n{said}");
}
