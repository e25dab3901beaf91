//! The door for people at a terminal.

mod check;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::config::VARIABLES;
use crate::git::{self, WORKER_ARGUMENT};

/// Real-time transaction monitoring with sandboxed rules.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, after_help = variables())]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the service (the default)
    Serve,
    /// Compiles rule scripts and puts rule modules (*.wasm) through admission, and prints what is wrong; exit code 1 when
    /// one does not compile or is not let in
    Check {
        /// Warn of named lists that are not in this directory (`<name>.txt`)
        #[arg(long, value_name = "DIR")]
        lists: Option<PathBuf>,
        /// Rule scripts, and modules
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Works on what a Git remote sends; the service starts this itself
    #[command(name = WORKER_ARGUMENT, hide = true)]
    GitWorker,
}

/// What is left to do when the arguments are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Run the service.
    Serve,
    /// Nothing; end with this code. 0: done, 1: it failed, 2: the arguments cannot be used.
    Exit(u8),
}

/// Does what the arguments say, short of running the service.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Next {
    match Cli::try_parse_from(arguments) {
        Ok(Cli { command: Some(Command::Check { lists, files }) }) => {
            Next::Exit(check::check(lists.as_deref(), &files))
        }
        Ok(Cli { command: Some(Command::GitWorker) }) => Next::Exit(git::work()),
        Ok(Cli { command: None | Some(Command::Serve) }) => Next::Serve,
        Err(error) => {
            // Help and version come this way too, with exit code 0.
            drop(error.print());
            Next::Exit(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

fn variables() -> String {
    let lines: Vec<String> = VARIABLES.iter().map(|variable| format!("  {variable}")).collect();
    format!(
        "Settings come from the environment, or from a file `.env` in the working directory:\n{}",
        lines.join("\n")
    )
}

/// Says something to the person at the terminal.
#[expect(clippy::print_stderr, reason = "the one place that speaks to a person")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}
