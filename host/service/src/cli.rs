//! The command line.

mod audit;
mod backup;
mod bench;
mod check;
mod demo;
mod doctor;
mod from_watch;
mod healthcheck;
mod import;
mod offline;
mod pack;
mod pages;
mod scenarios;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use tollgate_engine::artifacts::{self, COMPILER_ARGUMENT};
use tollgate_git::WORKER_ARGUMENT;

use tollgate_telemetry::config::{SECTIONS, Variable};

/// Real-time transaction monitoring with sandboxed rules.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, after_help = settings_help(), args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArguments,
}

/// The arguments of `tollgate serve`, which is the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ServeArguments {
    /// Start without the lost store that a refused start named; has no effect on any other store
    #[arg(long, value_name = "STORE_ID")]
    pub accept_empty_store: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the service (the default)
    Serve(ServeArguments),
    /// Checks rule scripts, rule modules (*.wasm), lists and directories, and prints their errors; exit code 1 if there is one,
    /// or nothing to check
    Check(check::CheckArguments),
    /// Runs the scenarios beside rules and modules in this process, without a service; exit code 1 if a case fails, or there is
    /// none
    Test(scenarios::TestArguments),
    /// Writes a manifest into a rule module and replaces the one it has
    Pack {
        /// The module, as a compiler wrote it
        #[arg(value_name = "MODULE.wasm")]
        module: PathBuf,
        /// The manifest, in JSON
        #[arg(long, value_name = "MANIFEST.json")]
        manifest: PathBuf,
        /// Output file; it may be the input file
        #[arg(long, value_name = "FILE.wasm")]
        output: PathBuf,
    },
    /// Measures the service on this machine, with temporary services on loopback, and prints the results
    Bench(Box<bench::BenchArguments>),
    /// Runs a service on loopback in which made-up customers pay, on data of its own, until it is stopped
    Demo(demo::DemoArguments),
    /// Sends the transactions of files to a running service, which judges them in order; exit code 1 if rows were refused, 2 if
    /// it ended early
    Import(Box<import::ImportArguments>),
    /// Verifies the integrity of the store
    Audit {
        #[command(subcommand)]
        what: AuditCommand,
    },
    /// Copies the store into one file, also while the service runs; everything answered before the command is included
    Backup {
        /// Data directory [default: SERVICE_DATA_DIR]
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
        /// Output file, outside the data directory; an existing file is not overwritten
        file: PathBuf,
    },
    /// Restores a backup into a data directory without a store, while no service runs on it
    Restore {
        /// Data directory [default: SERVICE_DATA_DIR]
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
        /// The backup
        file: PathBuf,
    },
    /// Checks a data directory and the settings without changing them; exit code 1 if a check fails, 2 if it cannot be made
    Doctor {
        /// Data directory [default: SERVICE_DATA_DIR]
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
    /// Asks the running service whether it is alive, for images without a shell; exit code 0 if it is, otherwise 1
    Healthcheck {
        /// Ask whether it is ready
        #[arg(long)]
        ready: bool,
    },
    /// Prints a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Prints the manual page, in roff
    Man,
    /// Processes what a Git remote sends; started by the service itself
    #[command(name = WORKER_ARGUMENT, hide = true)]
    GitWorker {
        /// Refuse to work without Landlock and seccomp
        #[arg(long)]
        walls_needed: bool,
    },
    /// Compiles one module; started by the service itself
    #[command(name = COMPILER_ARGUMENT, hide = true)]
    ModuleCompiler {
        /// Refuse to work without Landlock and seccomp
        #[arg(long)]
        walls_needed: bool,
    },
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Derives every stored verdict again with the rules of its time and lists those that differ, without writing; exit code 0
    /// if all are equal, 1 if one differs, 2 on failure; see docs/reliability.md
    Replay(audit::ReplayArguments),
}

/// The action that remains after the arguments are parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CliAction {
    /// Run the service.
    Serve(ServeArguments),
    /// Exit with this code: 0 on success, 1 on failure, 2 for invalid arguments.
    Exit(u8),
}

/// Runs the command in the arguments, except for running the service.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> CliAction {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match Cli::try_parse_from(&arguments) {
        Ok(Cli { command: Some(Command::Check(asked)), .. }) => CliAction::Exit(check::check(&asked)),
        Ok(Cli { command: Some(Command::Test(asked)), .. }) => CliAction::Exit(scenarios::test(&asked)),
        Ok(Cli { command: Some(Command::Pack { module, manifest, output }), .. }) => {
            CliAction::Exit(pack::pack(&module, &manifest, &output))
        }
        Ok(Cli { command: Some(Command::Bench(asked)), .. }) => {
            CliAction::Exit(bench::bench(*asked, as_given(&arguments)))
        }
        Ok(Cli { command: Some(Command::Demo(asked)), .. }) => CliAction::Exit(demo::demo(asked)),
        Ok(Cli { command: Some(Command::Import(asked)), .. }) => CliAction::Exit(import::import(&asked)),
        Ok(Cli { command: Some(Command::Audit { what: AuditCommand::Replay(asked) }), .. }) => {
            CliAction::Exit(audit::replay(&asked))
        }
        Ok(Cli { command: Some(Command::Backup { data_dir, file }), .. }) => {
            CliAction::Exit(backup::backup(data_dir, &file))
        }
        Ok(Cli { command: Some(Command::Restore { data_dir, file }), .. }) => {
            CliAction::Exit(backup::restore(data_dir, &file))
        }
        Ok(Cli { command: Some(Command::Doctor { data_dir }), .. }) => {
            CliAction::Exit(doctor::doctor(data_dir))
        }
        Ok(Cli { command: Some(Command::Healthcheck { ready }), .. }) => {
            CliAction::Exit(healthcheck::healthcheck(ready))
        }
        Ok(Cli { command: Some(Command::Completions { shell }), .. }) => {
            CliAction::Exit(pages::completions(shell))
        }
        Ok(Cli { command: Some(Command::Man), .. }) => CliAction::Exit(pages::man()),
        Ok(Cli { command: Some(Command::GitWorker { walls_needed }), .. }) => {
            CliAction::Exit(tollgate_git::work(walls_needed))
        }
        Ok(Cli { command: Some(Command::ModuleCompiler { walls_needed }), .. }) => {
            CliAction::Exit(artifacts::work(walls_needed))
        }
        Ok(Cli { command: Some(Command::Serve(serve)), .. } | Cli { command: None, serve }) => {
            CliAction::Serve(serve)
        }
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

/// Width of the longest setting name, and of the text beside it.
const NAME_WIDTH: usize = 31;
const TEXT_WIDTH: usize = 88;

/// Lists all settings by section, in two aligned columns.
fn settings_help() -> String {
    let mut text =
        "Settings come from the environment, or from a file `.env` in the working directory.".to_owned();
    for (title, variables) in SECTIONS {
        text.push_str(&format!("\n\n{title}:"));
        for Variable { name, allowed, default, meaning, .. } in variables {
            let lines = wrapped(&format!("{meaning} Takes {allowed}; default: {default}."));
            for (n, line) in lines.iter().enumerate() {
                let name = if n == 0 { name } else { "" };
                text.push_str(&format!("\n  {name:<NAME_WIDTH$} {line}"));
            }
        }
    }
    text
}

/// Breaks a text at blanks into lines of at most [`TEXT_WIDTH`] characters.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= TEXT_WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Writes a line to standard error, if it is open.
pub(crate) fn say(line: &str) {
    // A single write keeps lines of several threads apart. If it fails, the exit code still reports the result.
    io::stderr().write_all(format!("{line}\n").as_bytes()).ok();
}
