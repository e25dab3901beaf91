//! The one room that knows wasmtime: modules come in as bytes, are admitted once, and run many times.
//!
//! ```text
//!  bytes ──admit──▶ AdmittedModule ──┐
//!                                    ├──▶ Runner (one per thread and rule set) ──run──▶ bits, or a RuleFailure
//!  HostCalls (what a module may ask)─┘
//! ```
//!
//! One engine with one hardened profile serves every module, whoever wrote it. A guest that loops, recurses, traps or
//! lies costs a bounded amount and is reported as a [`RuleFailure`](crate::assessment::RuleFailure); it never takes
//! anything else down.

mod admission;
mod artifact;
mod failure;
mod link;
mod profile;
mod runner;
mod ticker;

use std::sync::Arc;

use tollgate_guest_abi::Manifest;
use wasmtime::{Engine, Module};

pub use admission::Refusal;
pub use artifact::{Artifact, Upload};
pub use link::HostCalls;
pub use runner::Runner;

use crate::instruction::ContentDigest;
use ticker::Ticker;

/// The engine and its clock.
#[derive(Debug, Clone)]
pub struct Sandbox {
    engine: Engine,
    _ticker: Arc<Ticker>,
}

/// A module that passed every check, compiled.
#[derive(Debug)]
pub struct AdmittedModule {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Of its bytes.
    pub digest: ContentDigest,
    module: Module,
}

/// Why the sandbox itself cannot be.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine could not be set up: {0}")]
pub struct SandboxError(String);

impl Sandbox {
    /// An engine with the hardened profile.
    ///
    /// # Errors
    /// When this machine cannot run it.
    pub fn new() -> Result<Self, SandboxError> {
        let engine = Engine::new(&profile::hardened()).map_err(|error| SandboxError(format!("{error:#}")))?;
        let ticker = Ticker::start(engine.weak()).map_err(|error| SandboxError(error.to_string()))?;
        Ok(Self { engine, _ticker: Arc::new(ticker) })
    }

    /// Checks and compiles a module.
    ///
    /// # Errors
    /// The first check it does not pass.
    pub fn admit(&self, bytes: &[u8]) -> Result<AdmittedModule, Refusal> {
        let manifest = admission::check(bytes)?;
        let module = Module::from_binary(&self.engine, bytes)
            .map_err(|error| Refusal::Compile(format!("{error:#}")))?;
        Ok(AdmittedModule { manifest, digest: ContentDigest::of(bytes), module })
    }
}

#[cfg(test)]
mod tests;
