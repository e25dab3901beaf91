#![cfg(test)]
//! The ledger feed with a real PostgreSQL: every committed row is read once, whatever fails on either side.

#[path = "ledger/bank.rs"]
mod bank;
#[path = "ledger/complete.rs"]
mod complete;
#[path = "ledger/history.rs"]
mod history;
#[path = "ledger/orders.rs"]
mod orders;
#[path = "ledger/outage.rs"]
mod outage;
#[path = "ledger/poison.rs"]
mod poison;
#[path = "ledger/pooler.rs"]
mod pooler;
#[path = "ledger/settings.rs"]
mod settings;
#[path = "ledger/words.rs"]
mod words;
