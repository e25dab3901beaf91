//! Rules: their way into force, from files, Git and the API, and the replay of stored verdicts.
//!
//! ```text
//!  API, files ──▶ intake ──▶ a rule set of the registry, durable before it is in force
//!  Git ──git_sync──┘  │
//!                     └── versions in the store ──replay──▶ each stored verdict, derived again
//! ```
//!
//! This crate judges no payment and knows nothing of HTTP.

pub mod git_sync;
pub mod intake;
pub mod replay;
