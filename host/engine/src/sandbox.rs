//! The one room that knows wasmtime: modules come in as bytes, are admitted once, and run many times.
//!
//! ```text
//!  bytes ──admit──▶ AdmittedModule ──┐
//!                                    ├──▶ Runner (one per thread and rule set) ──run──▶ bits, or a RuleFailure
//!  HostCalls (what a module may ask)─┘
//! ```
//!
//! One engine with one hardened profile serves every module, whoever wrote it. A guest that loops, recurses, traps or
//! lies costs a bounded amount and is reported as a [`RuleFailure`](tollgate_model::assessment::RuleFailure); it never takes
//! anything else down.

mod admission;
mod artifact;
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
use std::sync::Arc;

use tollgate_guest_abi::limits::FUEL_PER_RUN;
use tollgate_guest_abi::{Cost, Manifest};
use wasmtime::{Engine, Module};

pub use admission::{AdmissionFinding, AdmissionRefusal};
pub use artifact::Artifact;
pub use execution::Execution;
pub use link::{HistoryAnswer, HostCalls};
pub use manifest_section::{with_manifest, without_manifest};
pub use runner::{ModuleAnswer, Runner};

use admission::{CheckedModule, MEMORY_EXPORT};
use ticker::EpochTicker;
use tollgate_model::instruction::{ContentDigest, Grant, Origin};

/// Magic number and version, and nothing else.
pub const EMPTY_MODULE: &[u8] = b"\0asm\x01\0\0\0";
/// A module with one function, which does nothing: there is code to be made executable.
const ONE_FUNCTION: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x04\x01\x02\0\x0b";

/// The engine and its clock.
#[derive(Debug, Clone)]
pub struct Sandbox {
    engine: Engine,
    execution: Execution,
    _ticker: Arc<EpochTicker>,
}

/// A module that passed every check, compiled.
#[derive(Debug)]
pub struct AdmittedModule {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Of its bytes.
    pub digest: ContentDigest,
    origin: Origin,
    /// How much a run may use.
    fuel: u64,
    /// Whether something of one call could be left for the next.
    remembers: bool,
    module: Module,
}

/// A module that the compiler did not make, and that passed every check. It is yet to be compiled.
#[derive(Debug)]
pub struct CheckedUpload {
    /// What it says of itself; its cost is the worst that it is granted.
    pub manifest: Manifest,
    /// Of its bytes.
    pub digest: ContentDigest,
    grant: Grant,
    remembers: bool,
}

/// Why the sandbox itself cannot be.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine has none for this machine, or the system gives it no thread.
    #[error("the WebAssembly engine could not be set up: {0}")]
    Engine(String),
    /// Rules are machine code once they are compiled.
    #[error(
        "memory cannot be made executable, which every compiled rule needs: {0}; remove MemoryDenyWriteExecute= from the systemd unit, \
         PR_SET_MDWE from whoever starts the service, allow `execmem` in the policy of SELinux, or set SERVICE_EXECUTION to `interpreted`"
    )]
    ExecutableMemory(String),
}

impl Sandbox {
    /// An engine with the hardened profile that compiles.
    ///
    /// # Errors
    /// As those of [`Sandbox::executing`].
    pub fn new() -> Result<Self, SandboxError> {
        Self::executing(Execution::Compiled)
    }

    /// An engine with the hardened profile.
    ///
    /// # Errors
    /// When this machine cannot run it, or does not let memory be made executable where rules are compiled, which is tried once.
    pub fn executing(execution: Execution) -> Result<Self, SandboxError> {
        let failed = |error: &dyn fmt::Display| SandboxError::Engine(format!("{error:#}"));
        let engine = profile::hardened(execution).and_then(|config| Engine::new(&config));
        let engine = engine.map_err(|error| failed(&error))?;
        Module::from_binary(&engine, ONE_FUNCTION)
            .map_err(|error| SandboxError::ExecutableMemory(format!("{error:#}")))?;
        let ticker = EpochTicker::start(engine.weak()).map_err(|error| failed(&error))?;
        Ok(Self { engine, execution, _ticker: Arc::new(ticker) })
    }

    /// How it runs modules.
    #[must_use]
    pub const fn execution(&self) -> Execution {
        self.execution
    }

    /// Checks and compiles a module that the compiler made.
    ///
    /// # Errors
    /// Every check it does not pass.
    pub fn admit(&self, bytes: &[u8]) -> Result<AdmittedModule, AdmissionRefusal> {
        let origin = Origin::Compiler;
        let CheckedModule { manifest, remembers } = admission::check(bytes, origin)?;
        let module = self.module_of(bytes)?;
        let (digest, fuel) = (ContentDigest::of(bytes), FUEL_PER_RUN);
        Ok(AdmittedModule { manifest, digest, origin, fuel, remembers, module })
    }

    /// Stands where a module was that is not let in any more: whoever runs it sees it fail.
    ///
    /// # Errors
    /// When the engine compiles nothing at all.
    pub fn stand_in(
        &self,
        manifest: Manifest,
        digest: ContentDigest,
    ) -> Result<AdmittedModule, AdmissionRefusal> {
        let module = self.module_of(EMPTY_MODULE)?;
        // So that nobody makes an instance of it, and looks for its function, before it is run.
        let remembers = true;
        Ok(AdmittedModule { manifest, digest, origin: Origin::Nobody, fuel: FUEL_PER_RUN, remembers, module })
    }

    fn module_of(&self, bytes: &[u8]) -> Result<Module, AdmissionRefusal> {
        Module::from_binary(&self.engine, bytes).map_err(|error| {
            AdmissionRefusal::of_compilation(&format!("the module does not compile: {error:#}"))
        })
    }
}

impl AdmittedModule {
    /// Whether it stands where another was, and cannot run.
    #[must_use]
    pub fn is_stand_in(&self) -> bool {
        self.origin == Origin::Nobody
    }

    /// The same, with at most so much fuel for a run.
    #[must_use]
    pub fn within(self, fuel: u64) -> Self {
        Self { fuel: self.fuel.min(fuel), ..self }
    }

    /// Its author, and what it may use.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }
}

impl CheckedUpload {
    /// Checks a module that the compiler did not make. Compiling it is not for this process.
    ///
    /// # Errors
    /// Every check it does not pass.
    pub fn check(bytes: &[u8], grant: Grant) -> Result<Self, AdmissionRefusal> {
        let CheckedModule { mut manifest, remembers } = admission::check(bytes, Origin::Untrusted(grant))?;
        let n_lookups = manifest.needs.aggregates.len() + manifest.needs.previous.len();
        manifest.cost = Cost {
            instructions: u32::try_from(grant.fuel).unwrap_or(u32::MAX),
            host_calls: grant.host_calls,
            history_lookups: u32::try_from(n_lookups).unwrap_or(u32::MAX),
        };
        Ok(Self { manifest, digest: ContentDigest::of(bytes), grant, remembers })
    }

    /// Compiles it in this very process, which nothing bounds: for tools and tests. The service has it done elsewhere.
    ///
    /// # Errors
    /// When it does not compile, or these are not the bytes that were checked.
    pub fn compile_here(self, sandbox: &Sandbox, bytes: &[u8]) -> Result<AdmittedModule, AdmissionRefusal> {
        if self.digest != ContentDigest::of(bytes) {
            return Err(AdmissionRefusal::of_compilation("these are not the bytes that were checked"));
        }
        Ok(self.compiled(sandbox.module_of(bytes)?))
    }

    /// The same, compiled.
    fn compiled(self, module: Module) -> AdmittedModule {
        let Self { manifest, digest, grant, remembers } = self;
        AdmittedModule {
            manifest,
            digest,
            origin: Origin::Untrusted(grant),
            fuel: grant.fuel,
            remembers,
            module,
        }
    }
}

/// The manifest that a module carries, if it carries one. Nothing else of it is looked at.
///
/// # Errors
/// When what it carries is no manifest.
pub fn manifest_of(bytes: &[u8]) -> Result<Option<Manifest>, AdmissionRefusal> {
    admission::manifest_of(bytes)
}

#[cfg(test)]
mod tests;
