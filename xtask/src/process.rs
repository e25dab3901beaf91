//! Programs that the commands run.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Runs a program to its end, with its output on the terminal.
pub(crate) fn run(directory: &Path, program: &str, arguments: &[impl AsRef<OsStr>]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    let status = command.args(arguments).current_dir(directory).status();
    let status = status.with_context(|| format!("{program} cannot be run"))?;
    ensure!(status.success(), "{program} failed: {status}");
    Ok(())
}

/// Runs a program to its end. Returns its standard output.
pub(crate) fn output(
    directory: &Path,
    program: &str,
    arguments: &[impl AsRef<OsStr>],
) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(directory).output();
    let output = output.with_context(|| format!("{program} cannot be run"))?;
    ensure!(output.status.success(), "{program} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
