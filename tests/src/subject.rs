//! The service's own engine before the oracle: modules in the sandbox, questions to the real history.
//!
//! ```text
//!  checked rules ──emit──▶ modules ──admit──▶ bound rules ──▶ evaluation ──▶ answers
//!  stream ──parse, admit──▶ history ──────────────┘
//! ```

mod live;
mod rules;

pub use live::{Fared, Fused, Late, Live};
pub use rules::{bind, bind_within};
