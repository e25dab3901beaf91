//! A ledger that reports payments: its events and rows become payments of the pipeline.
//!
//! ```text
//!  POST /ledgerwebhook ──────────▶ event ──┐
//!                                          ├─▶ kind: an entry ─▶ payments: its payment ─▶ pipeline's monitor
//!  PostgreSQL ─▶ database ─▶ sync: a row ──┘
//! ```
//!
//! Without the settings of a database, `sync` and `database` do not run. The kind of a ledger is `generic` unless it is named;
//! each of its payments is one entry.

pub mod database;
pub mod event;
pub mod kind;
pub mod payments;
pub mod sync;
