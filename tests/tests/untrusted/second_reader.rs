//! An independent check of admitted modules. It has its own reader of the binary format and shares no code with the
//! service's checks and no parser with wasmtime. It checks structure and limits according to `docs/abi.md`, but not
//! operand types.
//!
//! ```text
//!  bytes ──cursor──▶ sections ──▶ code, manifest ──▶ every violation, by the name of a check
//! ```

mod code;
mod cursor;
mod manifest;
mod module;

use std::fmt;

/// A property that no admitted module may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Name of the check that must detect it.
    pub(crate) check: &'static str,
    /// Description.
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.what)
    }
}

/// Returns all violations of an uploaded module, as far as it can be read.
pub(crate) fn violations(bytes: &[u8]) -> Vec<Violation> {
    let mut found = Vec::new();
    if bytes.len() > limits::MODULE_BYTES_MAX {
        found.push(Violation { check: "size", what: format!("{} bytes", bytes.len()) });
    }
    let mut module = module::Module::default();
    if let Err(what) = module.read(bytes, &mut found) {
        found.push(Violation { check: "format", what });
    }
    module.judge(&mut found);
    found
}

/// The documented limits, repeated here so that loosening a limit by mistake does not loosen its test.
mod limits {
    pub(super) const MODULE_BYTES_MAX: usize = 65_536;
    pub(super) const FUNCTIONS_MAX: usize = 64;
    pub(super) const TYPES_MAX: usize = 64;
    pub(super) const PARAMS_MAX: usize = 16;
    pub(super) const IMPORTS_MAX: usize = 32;
    pub(super) const GLOBALS_MAX: usize = 64;
    pub(super) const EXPORTS_MAX: usize = 16;
    pub(super) const BODY_BYTES_MAX: usize = 16_384;
    pub(super) const LOCALS_MAX: u64 = 256;
    pub(super) const BLOCKS_MAX: usize = 1_024;
    pub(super) const BLOCK_DEPTH_MAX: usize = 64;
    pub(super) const BRANCH_TARGETS_MAX: usize = 256;
    pub(super) const SEGMENTS_MAX: usize = 16;
    pub(super) const TABLE_ELEMENTS_MAX: u32 = 1_024;
    pub(super) const MEMORY_PAGES_MAX: u32 = 16;
}
