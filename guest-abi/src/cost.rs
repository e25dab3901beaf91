//! What a rule costs at worst, known before it runs.

use serde::{Deserialize, Serialize};

/// Static worst case of one evaluation: the language has no loops, so every path has an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// WebAssembly instructions executed.
    pub instructions: u32,
    /// Calls from the module to the host.
    pub host_calls: u32,
    /// Questions to the history among them.
    pub history_lookups: u32,
}
