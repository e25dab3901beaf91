//! The service's own engine before the oracle: modules in the sandbox, questions to the real history.
//!
//! ```text
//!  checked rules ──emit──▶ modules ──admit──▶ bound rules ──▶ evaluation ──▶ answers
//!  stream ──parse, admit──▶ history ──────────────┘
//! ```

mod fused;
mod live;
mod rules;

pub use fused::Fused;
pub use live::{Late, Live};
