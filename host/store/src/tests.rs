//! Tests of the store, each on a separate directory.

mod alerts;
mod examination;
mod ledger;
mod list_versions;
mod opening;
mod rule_sets;
mod status_updates;
mod transactions;
mod upgrades;

use chrono::{DateTime, Utc};
use tempfile::TempDir;
use tollgate_model::instruction::{ContentDigest, InstructionId, InstructionSource};
use tollgate_model::transaction::Fingerprint;

use super::*;

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

async fn open(directory: &TempDir) -> Store {
    Store::open(directory.path()).await.unwrap()
}

fn record(sequence: u64, transaction_id: &str) -> TransactionRecord {
    TransactionRecord {
        sequence: Sequence(sequence),
        transaction_id: transaction_id.into(),
        fingerprint: Fingerprint([sequence.to_le_bytes()[0]; 32]),
        event_micros: -1,
        accepted_micros: 1_767_323_045_123_456,
        rule_set_version: 7,
        body: format!("{{\"transaction_id\":\"{transaction_id}\"}}"),
        assessment: Some("{\"verdict\":\"approve\"}".to_owned()),
        origin: TransactionOrigin::Request,
    }
}

fn records(sequences: std::ops::RangeInclusive<u64>) -> Vec<TransactionRecord> {
    sequences.map(|sequence| record(sequence, &format!("t-{sequence}"))).collect()
}

fn update(sequence: u64, target: u64, before: Option<&str>, after: &str) -> StatusUpdateRecord {
    StatusUpdateRecord {
        sequence: Sequence(sequence),
        target: Sequence(target),
        before: before.map(Into::into),
        after: after.into(),
        event: format!("transaction.{after}").into(),
        accepted_micros: 1_767_323_045_123_457,
        amounts: None,
    }
}

async fn all(store: &Store) -> Vec<TransactionRecord> {
    store.scan(Sequence(0), usize::MAX).await.unwrap()
}
