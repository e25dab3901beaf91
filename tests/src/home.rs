//! The rules, data and environment of a service. They outlive the process, so that a service can be restarted.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::binary::binary;
use crate::repository;

/// The folder of one service. It is removed when no clone of it and no service on it is left.
#[derive(Debug, Clone)]
pub struct Home {
    directory: Arc<TempDir>,
    variables: Vec<(String, String)>,
    /// Argument of the service, beside `serve`.
    argument: Option<String>,
    /// The binary to run; `None` for the binary under test.
    binary: Option<PathBuf>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// Creates an empty home: no rules, no data.
    ///
    /// # Panics
    /// Panics if no folder can be created.
    #[must_use]
    pub fn new() -> Self {
        let directory = TempDir::new().expect("a temporary folder can be made");
        for part in ["data", "rules", "elsewhere"] {
            fs::create_dir(directory.path().join(part)).expect("a folder can be made");
        }
        Self { directory: Arc::new(directory), variables: Vec::new(), argument: None, binary: None }
    }

    /// Creates a home with these files in the rules directory: path and text.
    #[must_use]
    pub fn with_rules<P: AsRef<str>, T: AsRef<str>>(files: &[(P, T)]) -> Self {
        let home = Self::new();
        for (path, text) in files {
            home.write_rule(path.as_ref(), text.as_ref());
            home.age_rule(path.as_ref());
        }
        home
    }

    /// Creates a home with the rules and lists that the project ships.
    ///
    /// # Panics
    /// Panics if they cannot be read or written.
    #[must_use]
    pub fn with_shipped_rules() -> Self {
        let (home, rules) = (Self::new(), repository::root().join("rules"));
        for path in [".ws", ".txt", ".csv"].iter().flat_map(|suffix| repository::files("rules", suffix)) {
            let relative =
                path.strip_prefix(&rules).expect("it is below the rules").to_string_lossy().into_owned();
            home.write_rule(&relative, fs::read(&path).expect("a rule can be read"));
        }
        home
    }

    /// Writes a file below the rules directory.
    ///
    /// # Panics
    /// Panics if it cannot be written.
    pub fn write_rule(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.rules().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("a folder can be made");
        }
        fs::write(path, text.as_ref()).expect("a file can be written");
    }

    /// Lets a rule file look as if it was renamed into place. Otherwise a start waits until its last change is a second
    /// old, because it could still be written.
    ///
    /// # Panics
    /// Panics if there is no such file.
    pub fn age_rule(&self, path: &str) {
        let file = fs::File::options().write(true).open(self.rules().join(path)).expect("a rule file");
        file.set_modified(SystemTime::now() - Duration::from_secs(10)).expect("a time can be set");
    }

    /// Sets an environment variable of the service; the last value wins.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Starts the service with this argument from now on, and no other.
    pub fn serve_with(&mut self, argument: &str) {
        self.argument = Some(argument.to_owned());
    }

    /// Runs another binary from now on.
    pub fn serve_by(&mut self, binary: &Path) {
        self.binary = Some(binary.to_owned());
    }

    /// Returns the data directory.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Removes what a start opens of the history, so that it reads the store. Returns whether there was anything.
    pub fn remove_history(&self) -> bool {
        let snapshot = fs::remove_file(self.data().join("history.snapshot"));
        let keys = fs::remove_dir_all(self.data().join("history"));
        snapshot.is_ok() || keys.is_ok()
    }

    /// Returns the rules directory.
    #[must_use]
    pub fn rules(&self) -> PathBuf {
        self.directory.path().join("rules")
    }

    /// Returns a path in the folder that contains `rules`, `data` and `elsewhere`.
    #[must_use]
    pub fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Returns the working directory of the service.
    #[must_use]
    pub fn current(&self) -> PathBuf {
        self.directory.path().join("elsewhere")
    }

    /// Returns a command of the binary with only the environment of this home.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let binary = self.binary.as_deref().unwrap_or_else(|| binary());
        let mut command = command_of(binary, &self.current(), arguments);
        command
            .env("SERVICE_PORT", "0")
            .env("SERVICE_DATA_DIR", self.data())
            .env("WATCH_SCRIPT_DIR", self.rules())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns the command that runs the service.
    #[must_use]
    pub fn serve(&self) -> Command {
        let arguments: Vec<&str> = ["serve"].into_iter().chain(self.argument.as_deref()).collect();
        self.command(&arguments)
    }

    /// Returns the service command wrapped in a shell script. `$0` is the binary; `exec` replaces the shell with it.
    #[must_use]
    pub fn serve_by_shell(&self, script: &str) -> Command {
        let service = self.serve();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(service.get_program()).env_clear().current_dir(self.current());
        shell.envs(service.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        shell
    }
}

/// Returns a command of the binary in this directory, with an empty environment and no stream on the terminal.
#[must_use]
pub fn bare_command(directory: &Path, arguments: &[&str]) -> Command {
    command_of(binary(), directory, arguments)
}

fn command_of(binary: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .env_clear()
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}
