//! The command line.

mod audit;
mod backup;
mod bench;
mod check;
mod doctor;
mod from_watch;
mod healthcheck;
mod offline;
mod pack;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use tollgate_engine::artifacts::{self, COMPILER_ARGUMENT};
use tollgate_git::git::{self, WORKER_ARGUMENT};

use crate::config::VARIABLES;

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
        /// Warn of named lists that are not in this directory (`<name>.txt`, `<name>.csv`)
        #[arg(long, value_name = "DIR")]
        lists: Option<PathBuf>,
        /// Take the scripts for rules of Watch: mark what is read otherwise here, and print each rule that has to be
        /// rewritten, on the standard output; see docs/from-watch.md
        #[arg(long)]
        from_watch: bool,
        /// Rule scripts, modules, and directories of them, which are walked as the service walks its rules directory
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Puts a manifest into a rule module, in place of the one it may have
    Pack {
        /// The module, as a compiler wrote it
        #[arg(value_name = "MODULE.wasm")]
        module: PathBuf,
        /// The manifest, in JSON
        #[arg(long, value_name = "MANIFEST.json")]
        manifest: PathBuf,
        /// Where the module with its manifest goes; the file it came from will do
        #[arg(long, value_name = "FILE.wasm")]
        output: PathBuf,
    },
    /// Measures the whole service on this machine, with throwaway services on loopback, and prints what it saw
    Bench(Box<bench::BenchArguments>),
    /// Looks whether what is stored holds together
    Audit {
        #[command(subcommand)]
        what: AuditCommand,
    },
    /// Copies the store into one file, also while the service runs; what was answered before is in it
    Backup {
        /// The data directory; SERVICE_DATA_DIR when left out
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
        /// Where the copy goes: outside the data directory, and nothing is overwritten
        file: PathBuf,
    },
    /// Makes a backup the store of a data directory that has none, while no service runs on it
    Restore {
        /// The data directory; SERVICE_DATA_DIR when left out
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
        /// The backup
        file: PathBuf,
    },
    /// Examines a data directory and the settings, and changes nothing: a line for each check; exit code 1 when something is
    /// wrong, 2 when it cannot look
    Doctor {
        /// The data directory; SERVICE_DATA_DIR when left out
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
    /// Asks the service of these settings whether it is alive, for images that have no other program. Exit code 0 when it is,
    /// otherwise 1
    Healthcheck {
        /// Ask whether it is ready instead
        #[arg(long)]
        ready: bool,
    },
    /// Works on what a Git remote sends; the service starts this itself
    #[command(name = WORKER_ARGUMENT, hide = true)]
    GitWorker {
        /// Refuse to work without Landlock and seccomp
        #[arg(long)]
        walls_needed: bool,
    },
    /// Compiles one module; the service starts this itself
    #[command(name = COMPILER_ARGUMENT, hide = true)]
    ModuleCompiler {
        /// Refuse to work without Landlock and seccomp
        #[arg(long)]
        walls_needed: bool,
    },
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Derives every stored verdict again, by the rules it was given by, and names those that differ. Reads only. Exit code 0
    /// when all are equal, 1 when one differs, 2 when it cannot be done; see docs/audit.md
    Replay(audit::ReplayArguments),
}

/// The action that remains after the arguments are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CliAction {
    /// Run the service.
    Serve,
    /// Exit with this code: 0 on success, 1 on failure, 2 for invalid arguments.
    Exit(u8),
}

/// Runs the command in the arguments, except for running the service.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> CliAction {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match Cli::try_parse_from(&arguments) {
        Ok(Cli { command: Some(Command::Check { lists, from_watch, files }) }) => {
            CliAction::Exit(check::check(lists.as_deref(), from_watch, &files))
        }
        Ok(Cli { command: Some(Command::Pack { module, manifest, output }) }) => {
            CliAction::Exit(pack::pack(&module, &manifest, &output))
        }
        Ok(Cli { command: Some(Command::Bench(asked)) }) => {
            CliAction::Exit(bench::bench(*asked, as_given(&arguments)))
        }
        Ok(Cli { command: Some(Command::Audit { what: AuditCommand::Replay(asked) }) }) => {
            CliAction::Exit(audit::replay(&asked))
        }
        Ok(Cli { command: Some(Command::Backup { data_dir, file }) }) => {
            CliAction::Exit(backup::backup(data_dir, &file))
        }
        Ok(Cli { command: Some(Command::Restore { data_dir, file }) }) => {
            CliAction::Exit(backup::restore(data_dir, &file))
        }
        Ok(Cli { command: Some(Command::Doctor { data_dir }) }) => CliAction::Exit(doctor::doctor(data_dir)),
        Ok(Cli { command: Some(Command::Healthcheck { ready }) }) => {
            CliAction::Exit(healthcheck::healthcheck(ready))
        }
        Ok(Cli { command: Some(Command::GitWorker { walls_needed }) }) => {
            CliAction::Exit(git::work(walls_needed))
        }
        Ok(Cli { command: Some(Command::ModuleCompiler { walls_needed }) }) => {
            CliAction::Exit(artifacts::work(walls_needed))
        }
        Ok(Cli { command: None | Some(Command::Serve) }) => CliAction::Serve,
        Err(error) => {
            // Help and version also arrive here, with exit code 0.
            drop(error.print());
            CliAction::Exit(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

/// Returns a command in a repeatable form, independent of the path of the program.
fn as_given(arguments: &[OsString]) -> String {
    let words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    ["tollgate".into()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn variables() -> String {
    let lines: Vec<String> = VARIABLES.iter().map(|variable| format!("  {variable}")).collect();
    format!(
        "Settings come from the environment, or from a file `.env` in the working directory:\n{}",
        lines.join("\n")
    )
}

/// Writes a line to standard error, if it is open.
pub(crate) fn say(line: &str) {
    // A single write keeps lines of several threads apart. If it fails, the exit code still reports the result.
    io::stderr().write_all(format!("{line}\n").as_bytes()).ok();
}
