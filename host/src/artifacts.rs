//! Modules of strangers, compiled where that can do no harm, once.
//!
//! ```text
//!  bytes ──every check──▶ kept under this digest? ──no──▶ a process with walls compiles ──▶ kept, with a MAC
//!                             │ yes: the MAC is right                                          │
//!                             └────────────────▶ load ──▶ AdmittedModule ◀─────────────────────┘
//! ```
//!
//! What compiling costs is not bounded by a module's size, and a compiler may have faults: so it runs in a process for each
//! module, one at a time, with limits of processor time, memory and time, and its death in whatever way is a refusal of
//! the module. What it made is kept in the data directory. Nobody but this installation can have a file there loaded: it is
//! loaded only when a MAC under a key that stands nowhere else says that it was written here, for this engine and this
//! module; anything else is compiled again.

mod cache;
mod compiler;
mod key;
mod reply;
mod work;

use std::path::Path;

use crate::instruction::ContentDigest;
use crate::sandbox::{AdmittedModule, Artifact, Grant, Refusal, Sandbox, Upload};
use cache::Cache;

pub use compiler::{Compiler, NoArtifact};
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
}

/// Why a module is not admitted.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// It fails a check, or compiling it does not come to a good end.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The system gives no process to compile it in; another time it may.
    #[error("the module cannot be compiled for now: {0}")]
    Unavailable(String),
}

impl Artifacts {
    /// With what is kept in this data directory. A cache that cannot be had is no failure.
    #[must_use]
    pub fn open(data_dir: &Path, sandbox: &Sandbox) -> Self {
        let cache = match Cache::open(data_dir, sandbox.fingerprint()) {
            Ok(cache) => Some(cache),
            Err(error) => {
                tracing::warn!(%error, "compiled modules cannot be kept: each start compiles them again");
                None
            }
        };
        Self { sandbox: sandbox.clone(), compiler: Compiler::of_this_program(), cache }
    }

    /// Checks, compiles and loads a module of a stranger, which is granted so much. Blocks: while another one is compiled, and up to ten seconds more.
    ///
    /// # Errors
    /// What the module does not pass; or that nothing can be compiled for now.
    pub fn admit(&self, bytes: &[u8], grant: Grant) -> Result<AdmittedModule, AdmitError> {
        let upload = Upload::check(bytes, grant)?;
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
        Ok(self.sandbox.load(Upload::check(bytes, grant)?, &artifact)?)
    }

    /// Forgets what was made of all modules but these.
    pub fn retain(&self, digests: &[ContentDigest]) {
        if let Some(cache) = &self.cache {
            cache.retain(digests);
        }
    }

    /// Has it compiled, and keeps what comes of it.
    fn made(&self, bytes: &[u8], digest: ContentDigest) -> Result<Artifact, AdmitError> {
        let artifact = self.compiler.compile(bytes).map_err(|none| match none {
            NoArtifact::Refused(why) => AdmitError::Refused(Refusal::of_compilation(&why)),
            NoArtifact::Unavailable(why) => AdmitError::Unavailable(why),
        })?;
        if let Some(cache) = &self.cache {
            cache.write(digest, &artifact);
        }
        Ok(Artifact::vouched_for(artifact))
    }
}

#[cfg(test)]
mod tests;
