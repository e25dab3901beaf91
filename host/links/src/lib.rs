//! Others that the service is connected with: ledgers, dashboards, webhooks.
//!
//! `ledger` reads the PostgreSQL of others, `outbound` sends alerts, `signature` proves who sent a webhook. It promises that nothing
//! waits without an end and that no password appears in a log or an error.
//!
//! It knows no store, no rule and no setting: addresses and limits are handed in.

pub mod ledger;
pub mod outbound;
pub mod signature;
