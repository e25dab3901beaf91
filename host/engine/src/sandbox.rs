//! Runs modules in wasmtime: bytes are admitted once and run many times. No other module uses wasmtime.
//!
//! ```text
//!  bytes ──admit──▶ AdmittedModule ──┐
//!                                    ├──▶ Runner (one per thread and rule set) ──run──▶ bits, or a RuleFailure
//!  HostCalls (calls of a module) ────┘
//! ```
//!
//! One engine with one hardened profile runs all modules. A guest that loops, recurses, traps or returns invalid output
//! has a bounded cost. It becomes a [`RuleFailure`](tollgate_model::assessment::RuleFailure) and affects nothing else.

mod admission;
mod artifact;
mod code;
mod execution;
mod failure;
mod guest_state;
mod link;
mod manifest_section;
mod plain_text;
mod profile;
mod runner;
mod ticker;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use tollgate_guest_abi::limits::FUEL_PER_RUN;
use tollgate_guest_abi::{Cost, Manifest};
use wasmtime::{Engine, Module};

pub use admission::{AdmissionFinding, AdmissionRefusal, CallSites};
pub use artifact::Artifact;
pub use code::code_bytes;
pub use execution::Execution;
pub use failure::FailureDetail;
pub use guest_state::CallCharges;
pub use link::{HistoryAnswer, HostCalls};
pub use manifest_section::{with_manifest, without_manifest};
pub use runner::{RunCost, RunTerms, Runner};

use admission::MEMORY_EXPORT;
use code::ModuleCode;
use ticker::EpochTicker;
use tollgate_model::instruction::{ContentDigest, Grant, Origin};

/// A module with only a magic number and a version.
pub(crate) const EMPTY_MODULE: &[u8] = b"\0asm\x01\0\0\0";
/// A module with one empty function, so that there is code to make executable.
const ONE_FUNCTION: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x04\x01\x02\0\x0b";

/// The engine and its epoch ticker.
#[derive(Debug, Clone)]
pub struct Sandbox {
    engine: Engine,
    execution: Execution,
    _ticker: Arc<EpochTicker>,
}

/// A module that passed every check and is not yet compiled.
#[derive(Debug)]
pub struct CheckedModule {
    /// The manifest. The cost of an untrusted module is the worst case of its grant.
    pub manifest: Manifest,
    /// Digest of its bytes.
    pub digest: ContentDigest,
    origin: Origin,
    /// Whether the module has state that could survive a call.
    remembers: bool,
    calls: CallSites,
}

/// A compiled module that passed every check.
#[derive(Debug)]
pub struct AdmittedModule {
    /// The manifest.
    pub manifest: Manifest,
    /// Digest of its bytes.
    pub digest: ContentDigest,
    origin: Origin,
    /// Whether the module has state that could survive a call.
    remembers: bool,
    calls: CallSites,
    /// How much a run may use.
    fuel: u64,
    code: ModuleCode,
}

/// The reason the sandbox cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine does not support this machine, or the system cannot create a thread.
    #[error("the WebAssembly engine could not be set up: {0}")]
    Engine(String),
    /// Compiled rules are machine code, but the system forbids executable memory.
    #[error(
        "memory cannot be made executable, which every compiled rule needs: {0}; remove MemoryDenyWriteExecute= from the systemd unit, \
         PR_SET_MDWE from the program that starts the service, allow `execmem` in the SELinux policy, or set SERVICE_EXECUTION to `interpreted`"
    )]
    ExecutableMemory(String),
}

impl Sandbox {
    /// Creates an engine with the hardened profile that compiles rules.
    ///
    /// # Errors
    /// As [`Sandbox::executing`].
    pub fn new() -> Result<Self, SandboxError> {
        Self::executing(Execution::Compiled)
    }

    /// Creates an engine with the hardened profile.
    ///
    /// # Errors
    /// When the machine does not support it, or compiled execution is requested and memory cannot be made executable.
    pub fn executing(execution: Execution) -> Result<Self, SandboxError> {
        Self::for_threads(execution, available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    /// Creates an engine with the hardened profile, whose modules run on at most so many threads.
    ///
    /// # Errors
    /// As [`Sandbox::executing`].
    pub fn for_threads(execution: Execution, n_threads: NonZeroUsize) -> Result<Self, SandboxError> {
        let failed = |error: &dyn fmt::Display| SandboxError::Engine(format!("{error:#}"));
        let engine = profile::engine(execution, n_threads).map_err(|error| failed(&error))?;
        Module::from_binary(&engine, ONE_FUNCTION)
            .map_err(|error| SandboxError::ExecutableMemory(format!("{error:#}")))?;
        let ticker = EpochTicker::start(engine.weak()).map_err(|error| failed(&error))?;
        Ok(Self { engine, execution, _ticker: Arc::new(ticker) })
    }

    /// The execution mode.
    #[must_use]
    pub const fn execution(&self) -> Execution {
        self.execution
    }

    /// Checks and compiles a module made by the compiler.
    ///
    /// # Errors
    /// Every failed check.
    pub fn admit(&self, bytes: &[u8]) -> Result<AdmittedModule, AdmissionRefusal> {
        Ok(CheckedModule::check_own(bytes)?.compiled(self.module_of(bytes)?))
    }

    /// Creates a stand-in for a module that is no longer admitted; every run of it fails.
    ///
    /// # Errors
    /// When the engine cannot compile even an empty module.
    pub fn placeholder(
        &self,
        manifest: Manifest,
        digest: ContentDigest,
    ) -> Result<AdmittedModule, AdmissionRefusal> {
        // A fresh instance per run: no warm instance is made, which would look up the missing function first.
        let checked = CheckedModule {
            manifest,
            digest,
            origin: Origin::Nobody,
            remembers: true,
            calls: CallSites::default(),
        };
        Ok(checked.compiled(self.module_of(EMPTY_MODULE)?))
    }

    fn module_of(&self, bytes: &[u8]) -> Result<Module, AdmissionRefusal> {
        Module::from_binary(&self.engine, bytes).map_err(|error| {
            AdmissionRefusal::of_compilation(&format!("the module does not compile: {error:#}"))
        })
    }
}

impl AdmittedModule {
    /// Whether this is a stand-in, which cannot run.
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        self.origin == Origin::Nobody
    }

    /// Lowers the fuel per run to at most `fuel`.
    #[must_use]
    pub fn within(self, fuel: u64) -> Self {
        Self { fuel: self.fuel.min(fuel), ..self }
    }

    /// Returns the code that the engine generated, to load it again; `None` if the engine cannot write it.
    #[must_use]
    pub fn artifact(&self) -> Option<Vec<u8>> {
        self.code.get().ok()?.serialize().ok()
    }

    /// Loads its code, which the first run would do otherwise.
    ///
    /// # Errors
    /// When it cannot be loaded; every run fails then.
    pub fn load_code(&self) -> Result<(), AdmissionRefusal> {
        self.code.get().map(drop)
    }

    /// The calls to the host in its code.
    #[must_use]
    pub const fn calls(&self) -> CallSites {
        self.calls
    }

    /// The fuel of a run.
    #[must_use]
    pub const fn fuel(&self) -> u64 {
        self.fuel
    }

    /// The maker of the module, and its limits.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }
}

impl CheckedModule {
    /// Checks an untrusted module. It must not be compiled in this process.
    ///
    /// # Errors
    /// Every failed check.
    pub fn check(bytes: &[u8], grant: Grant) -> Result<Self, AdmissionRefusal> {
        let mut checked = admission::check(bytes, Origin::Untrusted(grant))?;
        let n_lookups = checked.manifest.needs.aggregates.len() + checked.manifest.needs.previous.len();
        checked.manifest.cost = Cost {
            instructions: u32::try_from(grant.fuel).unwrap_or(u32::MAX),
            host_calls: grant.host_calls,
            history_lookups: u32::try_from(n_lookups).unwrap_or(u32::MAX),
        };
        Ok(checked)
    }

    /// Checks a module made by the compiler of this process.
    ///
    /// # Errors
    /// Every failed check.
    pub fn check_own(bytes: &[u8]) -> Result<Self, AdmissionRefusal> {
        admission::check(bytes, Origin::Compiler)
    }

    /// Compiles it in this process without limits, for tools and tests. The service uses a separate process.
    ///
    /// # Errors
    /// When it does not compile, or the bytes differ from the checked ones.
    pub fn compile_here(self, sandbox: &Sandbox, bytes: &[u8]) -> Result<AdmittedModule, AdmissionRefusal> {
        if self.digest != ContentDigest::of_bytes(bytes) {
            return Err(AdmissionRefusal::of_compilation("these are not the bytes that were checked"));
        }
        Ok(self.compiled(sandbox.module_of(bytes)?))
    }

    /// Admits the module now, and once more with its code when that is first needed.
    pub(crate) fn with_deferred_code(
        self,
        admit: impl FnOnce() -> Result<AdmittedModule, AdmissionRefusal> + Send + 'static,
    ) -> AdmittedModule {
        self.admitted(ModuleCode::deferred(Box::new(admit)))
    }

    /// Combines the checked module with its compiled code.
    fn compiled(self, module: Module) -> AdmittedModule {
        self.admitted(ModuleCode::new(module))
    }

    fn admitted(self, code: ModuleCode) -> AdmittedModule {
        let Self { manifest, digest, origin, remembers, calls } = self;
        let fuel = origin.grant().map_or(FUEL_PER_RUN, |grant| grant.fuel);
        AdmittedModule { manifest, digest, origin, remembers, calls, fuel, code }
    }
}

/// Returns the manifest of a module, if there is one. Ignores everything else in the module.
///
/// # Errors
/// When the manifest is invalid, or the module is too large.
pub fn manifest_of(bytes: &[u8]) -> Result<Option<Manifest>, AdmissionRefusal> {
    admission::manifest_of(bytes)
}

#[cfg(test)]
mod tests;
