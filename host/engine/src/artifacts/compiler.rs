//! The service's side of compiling: a process for each module, one at a time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_git::confinement::{
    Confinement, ProcessExit, ProcessLauncher, ProcessOutput, ProgressNotes, ended_by, too_little_memory,
};

use super::COMPILER_ARGUMENT;
use super::reply::{self, CompilerOutcome, LINE_BYTES_MAX, plain};
use super::work::{COMPILING, FAILED, LIMITS, byte_of};
use crate::sandbox::Execution;
use crate::sandbox::{EMPTY_MODULE, Sandbox};

/// For one module, from the start of its process to the last byte of the artifact.
const TIME_MAX: Duration = Duration::from_secs(10);
/// How many bytes of artifact a byte of module may make.
const ARTIFACT_BYTES_PER_BYTE: usize = 16;
/// And how many any module may.
const ARTIFACT_BYTES_LEAST: usize = 256 * 1024;

/// Compiles modules, each in a process of its own.
#[derive(Debug)]
pub struct Compiler {
    /// `None`: modules are compiled in this process.
    program: Option<ProcessLauncher>,
    time_max: Duration,
    one: Mutex<()>,
}

/// Why a module has no artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactError {
    /// The engine does not take it, or its compiler came to a bad end; in words for its author.
    Refused(String),
    /// No compiler could be started.
    Unavailable(String),
}

impl Compiler {
    /// Compilers out of the running program, which work without walls only if these are not needed.
    #[must_use]
    pub fn of_this_program(needs_walls: bool) -> Self {
        Self::started_as(ProcessLauncher::this(COMPILER_ARGUMENT, needs_walls), TIME_MAX)
    }

    /// Compiles in this very process, which nothing bounds: for tests, whose program is no compiler.
    #[must_use]
    pub const fn in_this_process() -> Self {
        Self { program: None, time_max: TIME_MAX, one: Mutex::new(()) }
    }

    /// Compilers out of the program in this file.
    #[must_use]
    pub fn of(tollgate: PathBuf) -> Self {
        Self::started_as(ProcessLauncher::at(tollgate, vec![COMPILER_ARGUMENT.into()]), TIME_MAX)
    }

    pub(super) const fn started_as(program: ProcessLauncher, time_max: Duration) -> Self {
        Self { program: Some(program), time_max, one: Mutex::new(()) }
    }

    /// Returns the code that the engine makes of a module that is run so.
    ///
    /// # Errors
    /// Why there is nothing.
    pub fn compile(&self, module: &[u8], execution: Execution) -> Result<Vec<u8>, ArtifactError> {
        let Some(program) = &self.program else {
            return Sandbox::compile(module, execution).map_err(ArtifactError::Refused);
        };
        self.compile_by(program, module, execution).map(|(artifact, _)| artifact)
    }

    /// Compiles nothing, to find out within which walls a module would be compiled.
    ///
    /// # Errors
    /// Why no module can be compiled here.
    pub fn walls(&self) -> Result<Confinement, ArtifactError> {
        let none = || ArtifactError::Unavailable("modules are compiled in this process".to_owned());
        let program = self.program.as_ref().ok_or_else(none)?;
        self.compile_by(program, EMPTY_MODULE, Execution::Compiled).map(|(_, walls)| walls)
    }

    fn compile_by(
        &self,
        program: &ProcessLauncher,
        module: &[u8],
        execution: Execution,
    ) -> Result<(Vec<u8>, Confinement), ArtifactError> {
        let _one = self.one.lock();
        let length = u32::try_from(module.len())
            .map_err(|_| ArtifactError::Refused("the module is too large".to_owned()))?;
        let question = [&[byte_of(execution)], &length.to_le_bytes()[..], module].concat();
        let bytes_max = artifact_bytes_max(module.len());
        let deadline = Instant::now() + self.time_max;
        let unavailable = |what: &str, error: std::io::Error| {
            ArtifactError::Unavailable(format!("a compiler cannot {what}: {error}"))
        };
        let mut process = program.start().map_err(|error| unavailable("be started", error))?;
        let heard = process.ask(&question, LINE_BYTES_MAX + bytes_max, deadline);
        let ending = process.end().map_err(|error| unavailable("be waited for", error))?;
        let said = match heard.map_err(|error| unavailable("be heard", error))? {
            ProcessOutput::Whole(said) => said,
            ProcessOutput::TooLate => return Err(self.too_slow()),
            ProcessOutput::TooMuch => return Err(too_large(bytes_max)),
        };
        let whole = reply::read(said).filter(|_| ending.is_success());
        let Some((reply, artifact)) = whole else { return Err(self.bad_end(ending, &process.notes())) };
        program.describe("the module compiler", &reply.walls);
        match reply.outcome {
            CompilerOutcome::Compiled { .. } if artifact.len() > bytes_max => Err(too_large(bytes_max)),
            CompilerOutcome::Compiled { .. } => Ok((artifact, reply.walls)),
            CompilerOutcome::Refused(why) => Err(ArtifactError::Refused(plain(&why))),
        }
    }

    fn too_slow(&self) -> ArtifactError {
        let (processor, clock) = (LIMITS.processor_seconds, self.time_max.as_secs());
        ArtifactError::Refused(format!(
            "compiling the module takes longer than {processor} s of processor time, or {clock} s; make its functions \
             smaller, with fewer locals and less nesting"
        ))
    }

    /// Whether a death is the module's fault: its limits are, and what the engine makes of it, a fault of its own among that. A signal from
    /// outside and a process that cannot begin are not. What the process had said by then, nobody can believe.
    fn bad_end(&self, ending: ProcessExit, notes: &ProgressNotes) -> ArtifactError {
        let refused = |why: &str| ArtifactError::Refused(why.to_owned());
        let doing = notes.last();
        match ending {
            ProcessExit::ProcessorTime => self.too_slow(),
            ProcessExit::FileSize => refused("the compiler wrote to a file"),
            ProcessExit::Other(_) if ending.is_success() => {
                refused("the compiler did not say in whole what came of the module")
            }
            ProcessExit::Other(_) if notes.tell_of(&OUT_OF_MEMORY) => out_of_memory(),
            ProcessExit::Other(status) => match (ending.signal(), status.code()) {
                // The compiler's own fault over this module: another one may do better.
                (Some(signal), _) if doing == COMPILING && OWN_FAULTS.contains(&signal.as_str()) => {
                    refused(&format!(
                        "the compiler was ended by {signal} over the module; make its functions smaller, with fewer locals and less nesting"
                    ))
                }
                (Some(signal), _) => {
                    ArtifactError::Unavailable(format!("the compiler {}", ended_by(&signal, &doing)))
                }
                (None, Some(code)) if code == i32::from(FAILED) => {
                    ArtifactError::Unavailable(format!("the compiler cannot work: {doing}"))
                }
                (None, _) => ArtifactError::Refused(format!(
                    "the compiler came to a bad end over the module ({status}); make its functions smaller, with fewer locals and \
                     less nesting"
                )),
            },
        }
    }
}

/// Signals that a process brings upon itself.
const OWN_FAULTS: [&str; 6] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP"];

/// The runtime notes these before it ends a process that has no memory left, or no stack.
const OUT_OF_MEMORY: [&str; 2] = ["memory allocation of", "has overflowed its stack"];

fn out_of_memory() -> ArtifactError {
    too_little_memory(&LIMITS).map_or_else(
        || {
            ArtifactError::Refused(format!(
                "compiling the module needs more memory than {} MiB; make its functions smaller, with fewer locals and less nesting",
                LIMITS.address_bytes >> 20
            ))
        },
        ArtifactError::Unavailable,
    )
}

/// The largest artifact of a module of this many bytes.
pub(super) const fn artifact_bytes_max(module_bytes: usize) -> usize {
    module_bytes.saturating_mul(ARTIFACT_BYTES_PER_BYTE).saturating_add(ARTIFACT_BYTES_LEAST)
}

fn too_large(bytes_max: usize) -> ArtifactError {
    ArtifactError::Refused(format!("what is compiled of the module is larger than {bytes_max} bytes"))
}
