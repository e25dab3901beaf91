//! Commands for work on this repository. `cargo xtask help` lists them.

#![expect(clippy::print_stdout, reason = "its output is for the terminal")]

mod arch;
mod bugs;
mod check;
mod console;
mod process;
mod times;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

/// Commands for work on this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs what a commit must pass: formatting, lints, the checks of the files and the unit tests.
    Check,
    /// Runs tests against the real binary: those of a suite, such as `lists`, or with a name that contains NAME.
    Test {
        /// A suite, or a part of a test's name.
        name: String,
        /// In a release build, as the figures in the documents were measured.
        #[arg(long)]
        release: bool,
        /// Arguments for the test program, such as `--nocapture`.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Serves the console from its sources, built again at each change, in front of a service that runs.
    Console {
        /// Address of the service.
        #[arg(default_value = "http://127.0.0.1:8081")]
        service: String,
        /// Port of the console.
        #[arg(long, default_value_t = 8090)]
        port: u16,
    },
    /// Writes MODULES.md, the page of modules.
    Arch {
        /// Fails if the page differs, and writes nothing.
        #[arg(long)]
        check: bool,
    },
    /// Works on the patches below `tests/bugs`.
    Bugs {
        #[command(subcommand)]
        command: bugs::Command,
    },
    /// Prints how long tests took, from the output of a run with `--report-time`.
    Times {
        /// File with the output.
        output: PathBuf,
        /// File with the minutes that each suite may take.
        #[arg(long, default_value = ".ci/budget")]
        budget: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Check => check::run(),
        Command::Test { name, release, arguments } => check::test(&name, release, &arguments),
        Command::Console { service, port } => console::serve(&service, port),
        Command::Arch { check } => arch::run(check),
        Command::Bugs { command } => bugs::run(command),
        Command::Times { output, budget } => times::print(&output, &budget),
    }
}

/// Returns the root of the repository.
fn root() -> &'static Path {
    let member = Path::new(env!("CARGO_MANIFEST_DIR"));
    member.parent().unwrap_or(member)
}
