//! What a module may use.

use tollgate_guest_abi::limits::{FUEL_PER_RUN, HOST_CALLS_MAX, MEMORY_PAGES_MAX};

/// Bytes of a page of WebAssembly memory.
pub const PAGE_BYTES: u64 = 64 * 1024;

/// What a module that the compiler did not make may use on one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Fuel: instructions, and what calls to the host take.
    pub fuel: u64,
    /// Calls to the host.
    pub host_calls: u32,
    /// Memory, in bytes.
    pub memory_bytes: u64,
}

impl Default for Grant {
    fn default() -> Self {
        Self { fuel: FUEL_PER_RUN, host_calls: HOST_CALLS_MAX, memory_bytes: MEMORY_PAGES_MAX * PAGE_BYTES }
    }
}
