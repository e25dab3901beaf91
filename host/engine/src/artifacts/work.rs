//! The compiler process: sets its limits and confinement, then compiles one module.

use std::io::{self, Read as _, Write as _};

use tollgate_process::{self as process, ProcessLimits, ProcessNeeds};

use super::reply::{CompilerOutcome, CompilerReply, plain};
use crate::sandbox::Execution;
use crate::sandbox::Sandbox;

/// Limits for compiling one module.
pub(super) const LIMITS: ProcessLimits = ProcessLimits {
    processor_seconds: 5,
    memory_bytes: 512 << 20,
    address_bytes: 512 << 20,
    file_bytes: 0,
    // Three standard streams, and descriptors for the confinement.
    open_files: 8,
};
/// Largest module compiled, in bytes: far above the admission limit, since these limits do not rely on admission.
const MODULE_BYTES_MAX: u32 = 2 << 20;
/// The note written before the module is read by the engine.
pub(super) const COMPILING: &str = "compiling the module";
/// Exit code when limits or confinement fail, the input is invalid, or the service is gone.
pub(super) const FAILED: u8 = 3;

/// Compiles the module on standard input and writes the reply to standard output. Returns the exit code: 0 when the
/// reply was written.
///
/// Only the service starts this command, which drops privileges of its process for good. The caller has performed the
/// admission checks; the limits must hold for any input.
#[must_use]
pub fn work(needs_walls: bool) -> u8 {
    process::note("setting its limits");
    if let Err(error) = process::limit(&LIMITS) {
        process::note(&error.to_string());
        return FAILED;
    }
    process::note("setting up confinement (Landlock, seccomp)");
    let walls = process::raise(&ProcessNeeds::Nothing);
    if needs_walls && walls.is_one_missing() {
        process::note(&walls.needed());
        return FAILED;
    }
    process::note("waiting for the module");
    let Ok((module, execution)) = question() else { return FAILED };
    process::note(COMPILING);
    let (outcome, artifact) = match Sandbox::compile(&module, execution) {
        Ok(artifact) => (CompilerOutcome::Compiled { artifact_bytes: artifact.len() as u64 }, artifact),
        Err(why) => (CompilerOutcome::Refused(plain(&why)), Vec::new()),
    };
    if say(&CompilerReply { walls, outcome }, &artifact).is_ok() { 0 } else { FAILED }
}

fn question() -> io::Result<(Vec<u8>, Execution)> {
    let mut questions = io::stdin().lock();
    let mut head = [0; 5];
    questions.read_exact(&mut head)?;
    let [execution, length @ ..] = head;
    let execution = execution_of(execution).ok_or(io::ErrorKind::InvalidData)?;
    let length = u32::from_le_bytes(length);
    if length > MODULE_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut module = vec![0; length as usize];
    questions.read_exact(&mut module)?;
    Ok((module, execution))
}

/// The byte that encodes an execution mode in a request.
pub(super) const fn byte_of(execution: Execution) -> u8 {
    match execution {
        Execution::Compiled => b'c',
        Execution::Interpreted => b'i',
        Execution::Diagnosed => b'd',
    }
}

fn execution_of(byte: u8) -> Option<Execution> {
    let all = [Execution::Compiled, Execution::Interpreted, Execution::Diagnosed];
    all.into_iter().find(|execution| byte_of(*execution) == byte)
}

fn say(reply: &CompilerReply, artifact: &[u8]) -> io::Result<()> {
    let mut answers = io::stdout().lock();
    serde_json::to_writer(&mut answers, reply)?;
    answers.write_all(b"\n")?;
    answers.write_all(artifact)?;
    answers.flush()
}
