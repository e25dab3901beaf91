//! A ledger that reports payments: its events and rows become payments of the pipeline.
//!
//! ```text
//!  POST /ledgerwebhook ──────────▶ event ──┐
//!                                          ├─▶ kind: an entry ─▶ payments: its payment ─▶ pipeline's monitor
//!  PostgreSQL ─▶ database ─▶ sync: a row ──┘
//! ```
//!
//! An installation without a ledger runs none of this but `payments`, to which every payment of a generic ledger is one entry.

pub mod database;
pub mod event;
pub mod kind;
pub mod payments;
pub mod sync;
