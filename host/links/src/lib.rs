//! Connections to external systems: dashboards and webhooks.
//!
//! `outbound` sends alerts, and `signature` signs and verifies webhooks. No operation except [`outbound::get()`] can wait
//! forever, and no password appears in a log or an error.
//!
//! The crate depends on no store, rule or setting. Callers pass in addresses and limits.

pub mod outbound;
pub mod signature;
