//! Modules of strangers, compiled where that can do no harm, once.
//!
//! ```text
//!  bytes ──every check──▶ kept under this digest? ──no──▶ a process with walls compiles ──▶ kept, with a MAC
//!                             │ yes: the MAC is right                                          │
//!                             └────────────────▶ load ──▶ AdmittedModule ◀─────────────────────┘
//! ```
//!
//! What compiling costs is not bounded by a module's size, and a compiler may have faults: so it runs in a process for each
//! module, one at a time, with limits of processor time, memory and time. Its death by these limits, or of itself, is a
//! refusal of the module; a signal, or a process that cannot begin, says nothing about the module. What it made is kept in the data directory. Nobody but this installation can have a file there loaded: it is
//! loaded only when a MAC under a key that stands nowhere else says that it was written here, for this engine and this
//! module; anything else is compiled again.

mod cache;
mod compiler;
mod key;
mod reply;
mod work;

use std::collections::HashMap;
use std::path::Path;

use parking_lot::Mutex;
use tollgate_model::instruction::ContentDigest;

use tollgate_model::instruction::Grant;

use crate::sandbox::{AdmissionRefusal, AdmittedModule, Artifact, CheckedUpload, Sandbox};
use cache::Cache;

pub use cache::recognise;
pub use compiler::{ArtifactError, Compiler};
pub use work::work;

/// What the program is started with to compile a module.
pub const COMPILER_ARGUMENT: &str = "module-compiler";

/// Admits modules of strangers.
#[derive(Debug)]
pub struct Artifacts {
    sandbox: Sandbox,
    compiler: Compiler,
    /// `None` where nothing can be kept: then everything is compiled each time.
    cache: Option<Cache>,
    /// What the compiler had against modules that it was given lately.
    refused: Mutex<HashMap<ContentDigest, AdmissionRefusal>>,
}

/// Most modules of which that is remembered.
const REFUSED_MAX: usize = 4_096;

/// Why a module is not admitted.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// It fails a check, or compiling it does not come to a good end.
    #[error(transparent)]
    Refused(#[from] AdmissionRefusal),
    /// The system gives no process to compile it in; another time it may.
    #[error("the module cannot be compiled for now: {0}")]
    Unavailable(String),
}

impl Artifacts {
    /// With what is kept in this data directory. A cache that cannot be had is no failure.
    #[must_use]
    pub fn open(data_dir: &Path, sandbox: &Sandbox, compiler: Compiler) -> Self {
        let cache = match Cache::open(data_dir, sandbox.fingerprint()) {
            Ok(cache) => Some(cache),
            Err(error) => {
                tracing::warn!(%error, "compiled modules cannot be kept: each start compiles them again");
                None
            }
        };
        Self { cache, ..Self::without_cache(sandbox, compiler) }
    }

    /// Keeps nothing.
    #[must_use]
    pub fn without_cache(sandbox: &Sandbox, compiler: Compiler) -> Self {
        Self { sandbox: sandbox.clone(), compiler, cache: None, refused: Mutex::default() }
    }

    /// Checks, compiles and loads a module of a stranger, which is granted so much. Blocks: while another one is compiled, and
    /// up to ten seconds more. One that the compiler did not take is not given to it again until somebody asks for that.
    ///
    /// # Errors
    /// What the module does not pass; or that nothing can be compiled for now.
    pub fn admit(&self, bytes: &[u8], grant: Grant) -> Result<AdmittedModule, AdmitError> {
        let upload = CheckedUpload::check(bytes, grant)?;
        let digest = upload.digest;
        if let Some(kept) = self.cache.as_ref().and_then(|cache| cache.read(digest)) {
            match self.sandbox.load(upload, &Artifact::vouched_for(kept)) {
                Ok(admitted) => return Ok(admitted),
                Err(refusal) => {
                    tracing::warn!(module = %digest, %refusal, "a compiled module is not taken: it is compiled again");
                }
            }
        }
        let artifact = self.made(bytes, digest)?;
        Ok(self.sandbox.load(CheckedUpload::check(bytes, grant)?, &artifact)?)
    }

    /// Has this module compiled again, though it came to no good before.
    pub fn forget_refusal(&self, bytes: &[u8]) {
        self.refused.lock().remove(&ContentDigest::of(bytes));
    }

    /// Forgets what was made of all modules but these.
    pub fn retain(&self, digests: &[ContentDigest]) {
        if let Some(cache) = &self.cache {
            cache.retain(digests);
        }
    }

    /// Has it compiled, and keeps what comes of it.
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

#[cfg(test)]
mod tests;
