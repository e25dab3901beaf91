//! The pipeline of payments: from a request or a ledger's report to a durable verdict, and what follows from it.
//!
//! ```text
//!  POST /inject ──────────────▶ monitor: admit, evaluate, commit ──▶ answer
//!  events, rows ──▶ payments ─────┘ │              └──▶ alerting: webhooks, tunnel
//!          ▲                        └──▶ activity: figures and events for the console
//!  ledger_sync: reads rows
//! ```
//!
//! This crate changes no rule and knows nothing of HTTP.

pub mod activity;
pub mod alerting;
pub mod ledger_sync;
pub mod monitor;
pub mod payments;
