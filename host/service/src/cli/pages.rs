//! `tollgate completions` and `tollgate man`: pages that are derived from the command line.

use std::io::{self, Write as _};

use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_mangen::Man;

use super::Cli;

/// Prints the completion script of a shell to standard output. Returns the exit code.
pub(super) fn completions(shell: Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tollgate", &mut script);
    print(&script)
}

/// Prints the manual page to standard output. Returns the exit code.
pub(super) fn man() -> u8 {
    let mut page = Vec::new();
    match Man::new(Cli::command()).render(&mut page) {
        Ok(()) => print(&page),
        Err(_) => 1,
    }
}

/// Writes everything at once. A closed pipe, as of `| head`, is a failure without a message.
fn print(page: &[u8]) -> u8 {
    u8::from(io::stdout().write_all(page).is_err())
}
