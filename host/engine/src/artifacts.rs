//! Compiles modules once and caches the results: untrusted ones in a confined process, those of scripts in this one.
//!
//! ```text
//!  bytes ──every check──▶ cached under this digest? ──no──▶ a confined process compiles ──▶ cached, with a MAC
//!                             │ yes, and the MAC is valid                                      │
//!                             └────────────────▶ load ──▶ AdmittedModule ◀─────────────────────┘
//! ```
//!
//! The size of a module does not bound the cost of compiling it, and a compiler may have faults. Each module is
//! therefore compiled in its own process, one at a time, with limits on CPU time, memory and elapsed time. A process
//! that exceeds a limit or crashes is a refusal of the module; an external signal or a failed start is not.
//!
//! INVARIANT: a cached artifact is loaded only if its MAC is valid for this engine and this module. The key exists only
//! in this installation. Anything else is compiled again.

mod cache;
mod compiler;
mod key;
mod private_file;
mod reply;
mod work;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_model::instruction::ContentDigest;

use tollgate_model::instruction::Grant;

use crate::sandbox::{AdmissionRefusal, AdmittedModule, Artifact, CheckedModule, Sandbox};
use cache::Cache;

pub use cache::recognise;
pub use compiler::{ArtifactError, Compiler};
pub use work::work;

/// The argument that starts this program as a module compiler.
pub const COMPILER_ARGUMENT: &str = "module-compiler";

/// Admits untrusted modules.
#[derive(Debug)]
pub struct Artifacts {
    sandbox: Sandbox,
    compiler: Compiler,
    /// `None` if no cache is available; then each admission compiles.
    cache: Option<Cache>,
    /// Modules that the compiler refused recently.
    refused: Mutex<HashMap<ContentDigest, AdmissionRefusal>>,
}

const REFUSED_MAX: usize = 4_096;

/// The reason a module is not admitted.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// The module fails a check, or its compilation fails.
    #[error(transparent)]
    Refused(#[from] AdmissionRefusal),
    /// No compiler process is available; a retry may succeed.
    #[error("the module cannot be compiled for now: {0}")]
    Unavailable(String),
}

impl Artifacts {
    /// Opens the cache in this data directory. Without a usable cache it logs a warning and continues.
    #[must_use]
    pub fn open(data_dir: &Path, sandbox: &Sandbox, compiler: Compiler) -> Self {
        let cache = match Cache::open(data_dir, sandbox.fingerprint()) {
            Ok(cache) => Some(cache),
            Err(error) => {
                tracing::warn!(%error, "compiled modules cannot be cached; each start compiles them again");
                None
            }
        };
        Self { cache, ..Self::without_cache(sandbox, compiler) }
    }

    /// Creates an instance without a cache.
    #[must_use]
    pub fn without_cache(sandbox: &Sandbox, compiler: Compiler) -> Self {
        Self { sandbox: sandbox.clone(), compiler, cache: None, refused: Mutex::default() }
    }

    /// Checks, compiles and loads an untrusted module with these grants. Blocks while another module is compiled, and
    /// up to ten seconds more. A refused module is not compiled again until [`Self::remove_refusal`].
    ///
    /// # Errors
    /// The failed checks, or that no module can be compiled at present.
    pub fn admit(&self, bytes: &[u8], grant: Grant) -> Result<AdmittedModule, AdmitError> {
        let upload = CheckedModule::check(bytes, grant)?;
        let digest = upload.digest;
        if let Some(kept) = self.cache.as_ref().and_then(|cache| cache.read(digest)) {
            match self.sandbox.load(upload, &Artifact::vouched_for(kept)) {
                Ok(admitted) => return Ok(admitted),
                Err(refusal) => not_loaded(digest, &refusal),
            }
        }
        let artifact = self.made(bytes, digest)?;
        Ok(self.sandbox.load(CheckedModule::check(bytes, grant)?, &artifact)?)
    }

    /// Checks and loads a module made by the compiler of this process. It is compiled here unless its code is cached.
    ///
    /// # Errors
    /// Every failed check.
    pub fn admit_own(&self, bytes: &[u8]) -> Result<AdmittedModule, AdmissionRefusal> {
        let Some(cache) = &self.cache else { return self.sandbox.admit(bytes) };
        let checked = CheckedModule::check_own(bytes)?;
        let digest = checked.digest;
        if let Some(kept) = cache.read(digest) {
            match self.sandbox.load(checked, &Artifact::vouched_for(kept)) {
                Ok(admitted) => return Ok(admitted),
                Err(refusal) => not_loaded(digest, &refusal),
            }
        }
        let admitted = self.sandbox.admit(bytes)?;
        if let Some(artifact) = admitted.artifact() {
            cache.write(digest, &artifact);
        }
        Ok(admitted)
    }

    /// As [`Self::admit_own`], but code that is cached is only loaded when it is first needed.
    ///
    /// # Errors
    /// Every failed check.
    pub fn admit_known(self: &Arc<Self>, bytes: &[u8]) -> Result<AdmittedModule, AdmissionRefusal> {
        let checked = CheckedModule::check_own(bytes)?;
        if !self.cache.as_ref().is_some_and(|cache| cache.holds(checked.digest)) {
            return self.admit_own(bytes);
        }
        let (artifacts, bytes) = (Arc::clone(self), bytes.to_vec());
        Ok(checked.with_deferred_code(move || artifacts.admit_own(&bytes)))
    }

    /// Allows this module to be compiled again after a refusal.
    pub fn remove_refusal(&self, bytes: &[u8]) {
        self.refused.lock().remove(&ContentDigest::of_bytes(bytes));
    }

    /// Removes the cached artifacts of all other modules.
    pub fn retain(&self, digests: &[ContentDigest]) {
        if let Some(cache) = &self.cache {
            cache.retain(digests);
        }
    }

    /// Compiles a module and caches its artifact.
    fn made(&self, bytes: &[u8], digest: ContentDigest) -> Result<Artifact, AdmitError> {
        if let Some(refusal) = self.refused.lock().get(&digest) {
            return Err(AdmitError::Refused(refusal.clone()));
        }
        let artifact = self.compiler.compile(bytes, self.sandbox.execution()).map_err(|none| match none {
            ArtifactError::Refused(why) => self.refused(digest, &why),
            ArtifactError::Unavailable(why) => AdmitError::Unavailable(why),
        })?;
        if let Some(cache) = &self.cache {
            cache.write(digest, &artifact);
        }
        Ok(Artifact::vouched_for(artifact))
    }

    fn refused(&self, digest: ContentDigest, why: &str) -> AdmitError {
        let refusal = AdmissionRefusal::of_compilation(why);
        let mut refused = self.refused.lock();
        if refused.len() >= REFUSED_MAX {
            refused.clear();
        }
        refused.insert(digest, refusal.clone());
        AdmitError::Refused(refusal)
    }
}

fn not_loaded(digest: ContentDigest, refusal: &AdmissionRefusal) {
    tracing::warn!(module = %digest, %refusal, "a cached module cannot be loaded; it is compiled again");
}

#[cfg(test)]
mod tests;
