//! The service side of compiling: one process per module, one at a time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_process::{
    Confinement, ProcessExit, ProcessLauncher, ProcessOutput, ProgressNotes, ended_by, too_little_memory,
};

use super::COMPILER_ARGUMENT;
use super::reply::{self, CompilerOutcome, LINE_BYTES_MAX, plain};
use super::work::{COMPILING, FAILED, LIMITS, byte_of};
use crate::sandbox::Execution;
use crate::sandbox::{EMPTY_MODULE, Sandbox};

/// Time limit for one module, from the start of its process to the last byte of the artifact.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of artifact allowed per byte of module.
const ARTIFACT_BYTES_PER_BYTE: usize = 16;
/// Bytes of artifact allowed for any module, in addition.
const ARTIFACT_BYTES_LEAST: usize = 256 * 1024;

/// Compiles modules, each in a separate process.
#[derive(Debug)]
pub struct Compiler {
    /// `None`: modules are compiled in this process.
    program: Option<ProcessLauncher>,
    time_max: Duration,
    one: Mutex<()>,
}

/// The reason a module has no artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactError {
    /// The engine refuses the module, or its compiler failed; the text is for the author.
    Refused(String),
    /// No compiler could run.
    Unavailable(String),
}

impl Compiler {
    /// Uses the running program as the compiler. Without full confinement it works only if `needs_walls` is false.
    #[must_use]
    pub fn of_this_program(needs_walls: bool) -> Self {
        Self::started_as(ProcessLauncher::this(COMPILER_ARGUMENT, needs_walls), TIME_MAX)
    }

    /// Compiles in this process, without limits: for tests, whose program has no compiler mode.
    #[must_use]
    pub const fn in_this_process() -> Self {
        Self { program: None, time_max: TIME_MAX, one: Mutex::new(()) }
    }

    /// Uses the program at this path as the compiler.
    #[must_use]
    pub fn new(tollgate: PathBuf) -> Self {
        Self::started_as(ProcessLauncher::at(tollgate, vec![COMPILER_ARGUMENT.into()]), TIME_MAX)
    }

    pub(super) const fn started_as(program: ProcessLauncher, time_max: Duration) -> Self {
        Self { program: Some(program), time_max, one: Mutex::new(()) }
    }

    /// Returns the code the engine generates for a module in this execution mode.
    ///
    /// # Errors
    /// The reason there is no artifact.
    pub fn compile(&self, module: &[u8], execution: Execution) -> Result<Vec<u8>, ArtifactError> {
        let Some(program) = &self.program else {
            return Sandbox::compile(module, execution).map_err(ArtifactError::Refused);
        };
        self.compile_by(program, module, execution).map(|(artifact, _)| artifact)
    }

    /// Compiles an empty module to determine the confinement of the compiler.
    ///
    /// # Errors
    /// The reason no module can be compiled here.
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
            ArtifactError::Unavailable(format!("a compiler process cannot {what}: {error}"))
        };
        let mut process = program.start().map_err(|error| unavailable("be started", error))?;
        let reply = process.ask(&question, LINE_BYTES_MAX + bytes_max, deadline);
        let ending = process.end().map_err(|error| unavailable("be waited for", error))?;
        let said = match reply.map_err(|error| unavailable("be read from", error))? {
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

    /// Decides whether the module is to blame: yes for exceeded limits and crashes while compiling, no for external
    /// signals and failed starts. A reply before the crash is not trusted.
    fn bad_end(&self, ending: ProcessExit, notes: &ProgressNotes) -> ArtifactError {
        let refused = |why: &str| ArtifactError::Refused(why.to_owned());
        let doing = notes.last();
        match ending {
            ProcessExit::ProcessorTime => self.too_slow(),
            ProcessExit::FileSize => refused("the compiler tried to write to a file"),
            ProcessExit::Other(_) if ending.is_success() => {
                refused("the compiler did not return a complete result")
            }
            ProcessExit::Other(_) if notes.tell_of(&OUT_OF_MEMORY) => out_of_memory(),
            ProcessExit::Other(status) => match (ending.signal(), status.code()) {
                // The compiler crashed on this module; another module may succeed.
                (Some(signal), _) if doing == COMPILING && OWN_FAULTS.contains(&signal.as_str()) => {
                    refused(&format!(
                        "the module crashed the compiler with {signal}; make its functions smaller, with fewer locals and less nesting"
                    ))
                }
                (Some(signal), _) => {
                    ArtifactError::Unavailable(format!("the compiler {}", ended_by(&signal, &doing)))
                }
                (None, Some(code)) if code == i32::from(FAILED) => {
                    ArtifactError::Unavailable(format!("the compiler cannot run: {doing}"))
                }
                (None, _) => ArtifactError::Refused(format!(
                    "the compiler failed on the module ({status}); make its functions smaller, with fewer locals and less \
                     nesting"
                )),
            },
        }
    }
}

/// Signals caused by a fault of the process.
const OWN_FAULTS: [&str; 6] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP"];

/// Messages of the runtime before it ends a process without memory or stack.
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

/// The largest artifact allowed for a module of this size.
pub(super) const fn artifact_bytes_max(module_bytes: usize) -> usize {
    module_bytes.saturating_mul(ARTIFACT_BYTES_PER_BYTE).saturating_add(ARTIFACT_BYTES_LEAST)
}

fn too_large(bytes_max: usize) -> ArtifactError {
    ArtifactError::Refused(format!("the compiled module is larger than {bytes_max} bytes"))
}
