//! Programs of a test, each ended by its own handle.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// Number of log lines shown when a test fails.
const LINES_SHOWN: usize = 30;

/// A running program, whose output goes to a file. Killed when dropped.
pub(crate) struct Program {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Program {
    /// Starts a command in this directory. Its log is there too.
    #[track_caller]
    pub(crate) fn start(name: &str, command: &mut Command, directory: &Path) -> Self {
        let log = directory.join(format!("{name}.log"));
        let file = File::create(&log).unwrap();
        let (output, errors) = (file.try_clone().unwrap(), file);
        let command = command.current_dir(directory).stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        Self { child, name: name.to_owned(), log }
    }

    /// Returns its output so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Returns the reason why it is not running, if it ended.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().unwrap()?;
        Some(format!("{} ended: {status}\n{}", self.name, self.log()))
    }

    /// Waits for its end, which must be a success.
    #[track_caller]
    pub(crate) fn finish(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}: {status}\n{}", self.name, self.log());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        if thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            println!("the log of {}, {} lines:", self.name, lines.len());
            lines.iter().rev().take(LINES_SHOWN).rev().for_each(|line| println!("  {line}"));
        }
    }
}
