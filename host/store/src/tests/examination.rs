//! The examination finds every violated guarantee, and none in an intact store.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sqlx::{ConnectOptions as _, Connection as _};

use tollgate_guest_abi::Semantics;
use tollgate_model::alert::AlertId;
use tollgate_model::hold::Holds;

use super::*;
use crate::connection;

/// A store with rows in every table.
async fn filled(directory: &TempDir) -> Store {
    let store = open(directory).await;
    store.install(&set(6, &["a", "b"])).await.unwrap();
    store.install(&set(7, &["a"])).await.unwrap();
    let judged = |sequence: u64| {
        let id = format!("t-{sequence}");
        let assessment = format!(r#"{{"transaction_id":"{id}","rule_set_version":7}}"#);
        TransactionRecord { assessment: Some(assessment), ..record(sequence, &id) }
    };
    let fed = TransactionRecord { rule_set_version: 0, assessment: None, ..record(3, "t-3") };
    let late = DeferredVerdictRecord {
        sequence: Sequence(5),
        target: Sequence(3),
        rule_set_version: 7,
        verdict: DeferredVerdict {
            fingerprint: Fingerprint([3; 32]),
            body: "{}".to_owned(),
            assessment: r#"{"transaction_id":"t-3","rule_set_version":7}"#.to_owned(),
        },
    };
    let alert = |sequence: u64, id: &str| AlertRecord {
        sequence: Sequence(sequence),
        id: AlertId::from_stored(&format!("alert_{sequence}")),
        transaction_id: id.into(),
        payload: "{}".into(),
        created_micros: 0,
    };
    store.record(&[judged(1), judged(2), fed]).await.unwrap();
    let applied = update(4, 2, None, "applied");
    let commit = CommitRecord {
        updates: vec![&applied],
        deferred_verdicts: vec![&late],
        alerts: vec![alert(1, "t-1"), alert(5, "t-3")],
        ..CommitRecord::default()
    };
    store.commit(&commit).await.unwrap();
    store
}

fn set(version: u64, names: &[&str]) -> RuleSetRecord {
    let instruction = |(id, name): (i64, &&str)| InstructionRecord {
        owner: None,
        id: InstructionId(id),
        name: (*name).to_owned(),
        script: Some(format!("rule {name} {{ … }}")),
        source: InstructionSource::Api,
        module: format!("\0asm {name}").into_bytes(),
        created_at: DateTime::UNIX_EPOCH,
        updated_at: DateTime::UNIX_EPOCH,
        quarantine: None,
        origin: None,
    };
    let list = ListRecord {
        name: "stopped".to_owned(),
        entries: "EUR".into(),
        digest: ContentDigest::of_bytes(b"EUR"),
        source: InstructionSource::Api,
    };
    RuleSetRecord {
        version,
        created_at: DateTime::UNIX_EPOCH,
        instructions: (1..).zip(names).map(instruction).map(Arc::new).collect(),
        lists: vec![list],
        commit: None,
        service: None,
        semantics: Semantics::CURRENT,
        zones: None,
        status_words: None,
        holds: Holds::default(),
    }
}

async fn faults(directory: &Path) -> BTreeMap<&'static str, String> {
    let found = examine(directory).await.unwrap();
    assert!(!found.is_empty());
    found.into_iter().filter_map(|StoreFinding { what, result }| Some((what, result.err()?))).collect()
}

#[tokio::test]
async fn a_whole_store_keeps_every_promise_also_while_it_is_open() {
    let directory = directory();
    let store = filled(&directory).await;
    assert_eq!(faults(directory.path()).await, BTreeMap::new());
    store.close().await;
    let before = content(directory.path());
    assert_eq!(faults(directory.path()).await, BTreeMap::new());
    assert_eq!(content(directory.path()), before, "nothing was changed, and no file made");
}

fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let file =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    entries.map(file).collect()
}

#[tokio::test]
async fn a_broken_promise_is_found() {
    let directory = directory();
    filled(&directory).await.close().await;
    let whole = fs::read(directory.path().join("tollgate.db")).unwrap();
    for (what, damage) in [
        ("numbers", "UPDATE status_updates SET sequence = 3 WHERE sequence = 4"),
        ("numbers", "UPDATE late_verdicts SET sequence = 4 WHERE sequence = 5"),
        ("numbers", "UPDATE transactions SET sequence = 0 WHERE sequence = 1"),
        ("targets", "UPDATE status_updates SET target = 9 WHERE sequence = 4"),
        ("targets", "UPDATE late_verdicts SET target = 2"),
        ("references", "DELETE FROM transactions WHERE sequence = 2"),
        ("verdicts", "UPDATE transactions SET assessment = '{' WHERE sequence = 1"),
        ("verdicts", "UPDATE transactions SET body = '' WHERE sequence = 1"),
        ("verdicts", "UPDATE transactions SET assessment = replace(assessment, 't-1', 't-2')"),
        ("verdicts", "UPDATE transactions SET rule_set_version = 6 WHERE sequence = 1"),
        ("verdicts", "UPDATE transactions SET assessment = '' WHERE sequence = 1"),
        ("verdicts", "UPDATE late_verdicts SET assessment = replace(assessment, 't-3', 't-4')"),
        ("rule sets", "UPDATE transactions SET rule_set_version = 8 WHERE sequence = 1"),
        ("rule sets", "UPDATE late_verdicts SET rule_set_version = 8"),
        ("members", "UPDATE rule_set_members SET until_version = 6 WHERE instruction_id = 2"),
        ("members", "UPDATE rule_set_members SET until_version = 7 WHERE instruction_id = 1"),
        ("members", "UPDATE instructions SET removed_in = NULL WHERE id = 2"),
        ("members", "UPDATE instructions SET removed_in = 7 WHERE id = 1"),
        (
            "members",
            "INSERT INTO rule_set_lists SELECT name, 7, NULL, list_digest, source FROM rule_set_lists",
        ),
        ("modules", "UPDATE modules SET bytes = x'00'"),
        ("lists", "UPDATE lists SET entries = 'USD'"),
        ("alerts", "UPDATE alerts SET transaction_id = 't-9' WHERE sequence = 1"),
        ("alerts", "UPDATE alerts SET sequence = 2 WHERE sequence = 1"),
        ("name", "DELETE FROM store_name"),
        ("schema", "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1"),
        ("schema", "INSERT INTO _sqlx_migrations VALUES (99, 'later', '2099-01-01', TRUE, x'00', 0)"),
    ] {
        fs::write(directory.path().join("tollgate.db"), &whole).unwrap();
        tamper(directory.path(), damage).await;
        let faults = faults(directory.path()).await;
        assert!(faults.contains_key(what), "after `{damage}`: {faults:?}");
    }
}

/// Runs SQL without the database's constraint checks.
async fn tamper(directory: &Path, sql: &'static str) {
    let options = connection::any(&directory.join("tollgate.db")).foreign_keys(false);
    let mut connection = options.pragma("ignore_check_constraints", "ON").connect().await.unwrap();
    sqlx::query(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn an_older_schema_is_no_fault() {
    let directory = directory();
    open(&directory).await.close().await;
    tamper(
        directory.path(),
        "DELETE FROM _sqlx_migrations WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
    )
    .await;
    assert_eq!(faults(directory.path()).await, BTreeMap::new());
}

#[tokio::test]
async fn an_empty_directory_has_nothing_to_be_examined() {
    let directory = directory();
    assert_eq!(examine(directory.path()).await.unwrap(), []);
    fs::write(directory.path().join("tollgate.db-wal"), "").unwrap();
    assert!(matches!(examine(directory.path()).await, Err(StoreError::Missing { .. })));
    fs::write(directory.path().join("tollgate.db"), "no database").unwrap();
    assert!(matches!(examine(directory.path()).await, Err(StoreError::Foreign { .. })));
}
