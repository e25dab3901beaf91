//! Precompiled modules: one process of this program compiles them, another loads them.
//!
//! ```text
//!  bytes ──compile, in a separate process──▶ artifact ──load──▶ AdmittedModule
//! ```
//!
//! An artifact is machine code, or code of the interpreter. The engine checks only that it was made for this engine.

use std::hash::{Hash as _, Hasher};

use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, Module};

use super::{AdmissionRefusal, AdmittedModule, CheckedModule, Sandbox, profile};
use crate::sandbox::Execution;

/// The code the engine generated for a module.
///
/// INVARIANT: the bytes are, unchanged, the result of [`Sandbox::compile`] or [`AdmittedModule::artifact`] in a process
/// of this program.
pub struct Artifact {
    bytes: Vec<u8>,
}

impl Artifact {
    /// Wraps bytes produced by the compiler. Only the module `artifacts` may call this.
    pub(crate) const fn vouched_for(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }
}

impl Sandbox {
    /// Compiles any module, with unbounded memory and time: for a process with limits. Creates a separate engine with
    /// the same profile, and starts no thread.
    ///
    /// # Errors
    /// The message of the engine.
    pub fn compile(bytes: &[u8], execution: Execution) -> Result<Vec<u8>, String> {
        let engine = profile::hardened(execution).and_then(|config| Engine::new(&config));
        let engine = engine.map_err(|error| format!("{error:#}"))?;
        engine.precompile_module(bytes).map_err(|error| format!("{error:#}"))
    }

    /// Loads an artifact compiled in another process, or by another run.
    ///
    /// # Errors
    /// When it was made for another engine, or there is not enough memory.
    #[expect(unsafe_code, reason = "the engine offers no other way to load code compiled in another process")]
    pub fn load(
        &self,
        checked: CheckedModule,
        artifact: &Artifact,
    ) -> Result<AdmittedModule, AdmissionRefusal> {
        // SAFETY: an `Artifact` holds, unchanged, the result of `Engine::precompile_module` or `Module::serialize` in a
        // process of this program. It came through a pipe from that process, or from a file whose MAC was verified with
        // the key of this installation. The engine rejects artifacts of other versions or profiles.
        let module = unsafe { Module::deserialize(&self.engine, &artifact.bytes) };
        let module = module.map_err(|error| {
            AdmissionRefusal::of_compilation(&format!("the compiled module cannot be loaded: {error:#}"))
        })?;
        Ok(checked.compiled(module))
    }

    /// Hash of everything an artifact depends on except the module: engine version, profile, processor and program
    /// version.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut digest = Sha256Hasher(Sha256::new_with_prefix(env!("CARGO_PKG_VERSION")));
        self.engine.precompile_compatibility_hash().hash(&mut digest);
        digest.0.finalize().into()
    }
}

/// Feeds all input to SHA-256, since `Hasher` returns only 64 bits.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Unused.
    fn finish(&self) -> u64 {
        0
    }
}
