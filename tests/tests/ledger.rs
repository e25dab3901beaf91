//! The ledger feed with a real PostgreSQL: every committed row is read once, whatever fails on either side.

mod bank;
mod complete;
mod history;
mod orders;
mod outage;
mod poison;
mod pooler;
mod settings;
mod words;
