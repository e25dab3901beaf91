//! The machine code of a module, loaded at once or when it is first needed.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use wasmtime::Module;

use crate::sandbox::{AdmissionRefusal, AdmittedModule};

/// Bytes of the code of all modules.
static LOADED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Admits the same module again, with its code.
type DeferredAdmission = Box<dyn FnOnce() -> Result<AdmittedModule, AdmissionRefusal> + Send>;

pub(super) enum ModuleCode {
    Loaded(LoadedCode),
    Deferred(Box<LazyLock<Result<AdmittedModule, AdmissionRefusal>, DeferredAdmission>>),
}

/// Code in memory that may be executed.
pub(super) struct LoadedCode {
    module: Module,
    bytes: usize,
}

/// Returns how many bytes the code of all loaded modules takes.
#[must_use]
pub fn code_bytes() -> usize {
    LOADED_BYTES.load(Ordering::Relaxed)
}

impl ModuleCode {
    pub(super) fn new(module: Module) -> Self {
        let range = module.image_range();
        let bytes = range.end.addr().saturating_sub(range.start.addr());
        LOADED_BYTES.fetch_add(bytes, Ordering::Relaxed);
        Self::Loaded(LoadedCode { module, bytes })
    }

    pub(super) fn deferred(admit: DeferredAdmission) -> Self {
        Self::Deferred(Box::new(LazyLock::new(admit)))
    }

    /// Returns the code; the first call may load it.
    pub(super) fn get(&self) -> Result<&Module, AdmissionRefusal> {
        match self {
            Self::Loaded(loaded) => Ok(&loaded.module),
            Self::Deferred(admitted) => match &***admitted {
                Ok(admitted) => admitted.code.get(),
                Err(refusal) => Err(refusal.clone()),
            },
        }
    }
}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        LOADED_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for ModuleCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loaded(_) => "Loaded",
            Self::Deferred(_) => "Deferred",
        })
    }
}
