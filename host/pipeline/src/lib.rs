//! The pipeline of payments: from a request or a ledger's report to a durable verdict, and what follows from it.
//!
//! ```text
//!  POST /inject ──────────────▶ monitor: admit, evaluate, commit ──▶ answer
//!  reports of a ledger ───────────┘ │              └──▶ alerting: webhooks, tunnel
//!                                   └──▶ activity: figures and events for the console
//! ```
//!
//! This crate changes no rule and knows nothing of HTTP.

pub mod activity;
pub mod alerting;
pub mod monitor;
