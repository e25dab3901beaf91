//! The compiler's side: limits and walls first, then the one module.

use std::io::{self, Read as _, Write as _};

use tollgate_git::confinement::{self, ProcessLimits, ProcessNeeds};

use super::reply::{CompilerOutcome, CompilerReply, plain};
use crate::sandbox::Execution;
use crate::sandbox::Sandbox;

/// What compiling one module may use.
pub(super) const LIMITS: ProcessLimits = ProcessLimits {
    processor_seconds: 5,
    memory_bytes: 512 << 20,
    address_bytes: 512 << 20,
    file_bytes: 0,
    // Its three, and what it takes to raise the walls.
    open_files: 8,
};
/// Largest module that is compiled, in bytes: far over what the checks let pass, because the limits do not lean on them.
const MODULE_BYTES_MAX: u32 = 2 << 20;
/// The note that comes before the module is touched.
pub(super) const COMPILING: &str = "compiling the module";
/// The exit code of one that cannot work here, was asked for nothing, or whose service is gone.
pub(super) const FAILED: u8 = 3;

/// Compiles the module that standard input brings, and says on standard output what came of it. The exit code: 0 when it
/// has said it.
///
/// Not for people: the service starts this. It takes rights away from its process for good. It checks nothing of the module
/// but what the engine does: whoever asks has done so, and the limits have to hold whatever comes.
#[must_use]
pub fn work(needs_walls: bool) -> u8 {
    confinement::note("setting its limits");
    if let Err(error) = confinement::limit(&LIMITS) {
        confinement::note(&error.to_string());
        return FAILED;
    }
    confinement::note("raising its walls (Landlock, seccomp)");
    let walls = confinement::raise(&ProcessNeeds::Nothing);
    if needs_walls && walls.is_one_missing() {
        confinement::note(&walls.needed());
        return FAILED;
    }
    confinement::note("waiting for the module");
    let Ok((module, execution)) = question() else { return FAILED };
    confinement::note(COMPILING);
    let (outcome, artifact) = match Sandbox::compile(&module, execution) {
        Ok(artifact) => (CompilerOutcome::Compiled { artifact_bytes: artifact.len() as u64 }, artifact),
        Err(why) => (CompilerOutcome::Refused(plain(&why)), Vec::new()),
    };
    if say(&CompilerReply { walls, outcome }, &artifact).is_ok() { 0 } else { FAILED }
}

/// The module, and how it will be run.
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

/// The byte before a module.
pub(super) const fn byte_of(execution: Execution) -> u8 {
    match execution {
        Execution::Compiled => b'c',
        Execution::Interpreted => b'i',
    }
}

fn execution_of(byte: u8) -> Option<Execution> {
    [Execution::Compiled, Execution::Interpreted].into_iter().find(|execution| byte_of(*execution) == byte)
}

fn say(reply: &CompilerReply, artifact: &[u8]) -> io::Result<()> {
    let mut answers = io::stdout().lock();
    serde_json::to_writer(&mut answers, reply)?;
    answers.write_all(b"\n")?;
    answers.write_all(artifact)?;
    answers.flush()
}
