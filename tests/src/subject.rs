//! The service's own engine as a subject: modules in the sandbox, lookups in the real history.
//!
//! ```text
//!  checked rules ──emit──▶ modules ──admit──▶ bound rules ──▶ evaluation ──▶ answers
//!  stream ──parse, admit──▶ history ──────────────┘
//! ```

mod live;
mod rules;

pub use live::{Fared, Fused, Late, Live};
pub use rules::{bind, bind_within, transactions};
