//! Modules compiled elsewhere: made by one process of this program, loaded by another.
//!
//! ```text
//!  bytes ──compile, in a process of its own──▶ artifact ──load──▶ AdmittedModule
//! ```
//!
//! An artifact is machine code, or code of the interpreter. The engine looks whether it was made for it, and believes it in everything else.

use std::hash::{Hash as _, Hasher};

use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, Module};

use super::{AdmissionRefusal, AdmittedModule, CheckedUpload, Sandbox, profile};
use crate::sandbox::Execution;

/// What the engine made of a module.
///
/// Whoever makes one of bytes vouches for them: they are, to the last bit, what [`Sandbox::compile`] gave in a process of
/// this program.
pub struct Artifact {
    bytes: Vec<u8>,
}

impl Artifact {
    /// Takes these bytes for what our own compiler made. The room `artifacts` alone can say so.
    pub(crate) const fn vouched_for(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }
}

impl Sandbox {
    /// Compiles whatever it is given, which may take any amount of memory and time: for a process with limits. It makes
    /// an engine of its own, of the same profile, and starts no thread.
    ///
    /// # Errors
    /// What the engine has against the module, in its words.
    pub fn compile(bytes: &[u8], execution: Execution) -> Result<Vec<u8>, String> {
        let engine = profile::hardened(execution).and_then(|config| Engine::new(&config));
        let engine = engine.map_err(|error| format!("{error:#}"))?;
        engine.precompile_module(bytes).map_err(|error| format!("{error:#}"))
    }

    /// Takes what was compiled elsewhere.
    ///
    /// # Errors
    /// When it was made for another engine, or the system has no memory for it.
    #[expect(
        unsafe_code,
        reason = "the engine offers no other way to take what it compiled in another process"
    )]
    pub fn load(
        &self,
        upload: CheckedUpload,
        artifact: &Artifact,
    ) -> Result<AdmittedModule, AdmissionRefusal> {
        // SAFETY: an `Artifact` holds, unchanged, what `Engine::precompile_module` gave in a process of this program: it
        // came through a pipe from such a process, or out of a file under a MAC whose key this installation alone has.
        // What another version or profile made, the engine itself refuses.
        let module = unsafe { Module::deserialize(&self.engine, &artifact.bytes) };
        let module = module.map_err(|error| {
            AdmissionRefusal::of_compilation(&format!("what was compiled is not taken: {error:#}"))
        })?;
        Ok(upload.compiled(module))
    }

    /// Of everything an artifact depends on but the module: the engine's version, its profile, this machine's processor,
    /// and this program's version.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut digest = Sha256Hasher(Sha256::new_with_prefix(env!("CARGO_PKG_VERSION")));
        self.engine.precompile_compatibility_hash().hash(&mut digest);
        digest.0.finalize().into()
    }
}

/// Keeps all that others would bring down to eight bytes.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Nobody asks for it.
    fn finish(&self) -> u64 {
        0
    }
}
