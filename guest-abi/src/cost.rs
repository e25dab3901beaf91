//! Worst-case cost of a rule, computed before it runs.

use serde::{Deserialize, Serialize};

/// Static worst case of one evaluation. It is finite because the language has no loops.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// WebAssembly instructions executed.
    pub instructions: u32,
    /// Calls from the module to the host.
    pub host_calls: u32,
    /// History lookups among those calls.
    pub history_lookups: u32,
}
