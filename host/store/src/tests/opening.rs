//! Opening and closing the store, and files that it refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sqlx::{ConnectOptions as _, Connection as _};

use tollgate_guest_abi::Semantics;
use tollgate_model::hold::Holds;

use super::*;
use crate::connection;

/// Runs SQL on the closed database, like an operator's tool.
async fn tamper(directory: &TempDir, sql: &'static str) {
    let mut connection = connection::writing(&directory.path().join("tollgate.db")).connect().await.unwrap();
    sqlx::query(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn refusal(directory: &Path) -> StoreError {
    match Store::open(directory).await {
        Ok(_) => panic!("the store opened"),
        Err(error) => error,
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_new_directory_and_its_files_are_the_owners_alone() {
    let parent = directory();
    let path = parent.path().join("a/b");
    let store = Store::open(&path).await.unwrap();
    store.record(&records(1..=1)).await.unwrap();
    assert_eq!(mode(&path), 0o700);
    let files: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 5, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_database_that_others_could_read_is_closed_to_them() {
    let directory = directory();
    open(&directory).await.close().await;
    let database = directory.path().join("tollgate.db");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).unwrap();
    let _store = open(&directory).await;
    assert_eq!(mode(&database), 0o600);
    assert_eq!(mode(&directory.path().join("tollgate.db-wal")), 0o600);
}

#[tokio::test]
async fn the_writer_waits_for_the_disk_at_every_commit() {
    let directory = directory();
    let store = open(&directory).await;
    // After a failure the store opens another connection, which must have the same options.
    store.record(&records(1..=1)).await.unwrap();
    store.record(&records(1..=1)).await.unwrap_err();
    let mut lease = store.inner.writer.lease().await.unwrap();
    let expected = [
        ("PRAGMA journal_mode", "wal"),
        ("PRAGMA synchronous", "2"),
        ("PRAGMA foreign_keys", "1"),
        ("PRAGMA wal_autocheckpoint", "500"),
        ("PRAGMA trusted_schema", "0"),
        ("PRAGMA busy_timeout", "2000"),
    ];
    for (pragma, value) in expected {
        let row = sqlx::query(pragma).fetch_one(lease.connection()).await.unwrap();
        let found = match sqlx::Row::try_get::<String, _>(&row, 0) {
            Ok(text) => text,
            Err(_) => sqlx::Row::get::<i64, _>(&row, 0).to_string(),
        };
        assert_eq!(found, value, "{pragma}");
    }
}

#[tokio::test]
async fn readers_cannot_write() {
    let directory = directory();
    let store = open(&directory).await;
    let written = sqlx::query("DELETE FROM transactions").execute(&store.inner.readers).await;
    assert!(written.is_err());
}

#[tokio::test]
async fn a_directory_has_one_store_at_a_time() {
    let directory = directory();
    let store = open(&directory).await;
    let clone = store.clone();
    assert!(matches!(refusal(directory.path()).await, StoreError::Locked { .. }));
    store.close().await;
    assert!(matches!(refusal(directory.path()).await, StoreError::Locked { .. }));
    drop(clone);
    open(&directory).await;
}

#[tokio::test]
async fn a_closed_store_says_so_and_leaves_one_whole_file() {
    let directory = directory();
    let store = open(&directory).await;
    let clone = store.clone();
    store.record(&records(1..=5)).await.unwrap();
    store.close().await;
    assert!(matches!(clone.record(&records(6..=6)).await, Err(StoreError::Closed)));
    assert!(matches!(clone.transaction("t-1").await, Err(StoreError::Closed)));
    assert!(matches!(clone.check().await, Err(StoreError::Closed)));
    assert!(!directory.path().join("tollgate.db-wal").exists());
    drop(clone);
    assert_eq!(all(&open(&directory).await).await, records(1..=5));
}

#[tokio::test]
async fn a_file_that_is_no_database_of_ours_is_refused_and_left_alone() {
    let of_another_program = {
        let directory = directory();
        let path = directory.path().join("other.db");
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        sqlx::query("CREATE TABLE transactions (id)").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        fs::read(path).unwrap()
    };
    let text = b"These are the accounts of the year, kept by hand. ".repeat(40);
    for content in [b"".as_slice(), b"hello", &text, &of_another_program] {
        let directory = directory();
        let path = directory.path().join("tollgate.db");
        fs::write(&path, content).unwrap();
        let error = refusal(directory.path()).await;
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[tokio::test]
async fn a_damaged_database_is_refused() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=200)).await.unwrap();
    store.close().await;
    let path = directory.path().join("tollgate.db");
    let mut content = fs::read(&path).unwrap();
    content[100..4_096].fill(0xaa);
    fs::write(&path, &content).unwrap();
    let error = refusal(directory.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_database_from_before_lists_had_sources_knows_that_they_came_from_files() {
    let directory = directory();
    let store = open(&directory).await;
    let list = ListRecord {
        name: "stopped".to_owned(),
        entries: "EUR".into(),
        digest: ContentDigest::of_bytes(b"EUR"),
        source: InstructionSource::Api,
    };
    let set = RuleSetRecord {
        version: 1,
        created_at: DateTime::UNIX_EPOCH,
        instructions: Vec::new(),
        lists: vec![list],
        commit: None,
        service: None,
        semantics: Semantics::CURRENT,
        zones: None,
        status_words: None,
        holds: Holds::default(),
    };
    store.install(&set).await.unwrap();
    store.close().await;
    for older in [
        "ALTER TABLE rule_set_lists DROP COLUMN source",
        "ALTER TABLE rule_sets DROP COLUMN git_commit",
        "DELETE FROM _sqlx_migrations WHERE version = 4",
    ] {
        tamper(&directory, older).await;
    }
    let store = open(&directory).await;
    let lists = store.lists().await.unwrap();
    assert_eq!(lists[0].source, InstructionSource::File { path: "lists/stopped.txt".to_owned() });
    assert_eq!(store.last_rule_set().await.unwrap().map(|set| set.commit), Some(None));
}

#[tokio::test]
async fn a_database_from_before_uploads_keeps_its_scripts() {
    let directory = directory();
    let store = open(&directory).await;
    let instruction = InstructionRecord {
        owner: None,
        id: InstructionId(1),
        name: "a".to_owned(),
        script: Some("rule a { … }".to_owned()),
        source: InstructionSource::Api,
        module: b"\0asm".to_vec(),
        created_at: DateTime::UNIX_EPOCH,
        updated_at: DateTime::UNIX_EPOCH,
        quarantine: None,
        origin: None,
    };
    let set = |version, instructions: &[InstructionRecord]| RuleSetRecord {
        version,
        created_at: DateTime::UNIX_EPOCH,
        instructions: instructions.iter().cloned().map(Arc::new).collect(),
        lists: Vec::new(),
        commit: None,
        service: None,
        semantics: Semantics::CURRENT,
        zones: None,
        status_words: None,
        holds: Holds::default(),
    };
    store.install(&set(1, std::slice::from_ref(&instruction))).await.unwrap();
    store.close().await;
    for older in [
        "ALTER TABLE instructions ADD COLUMN older TEXT NOT NULL DEFAULT ''",
        "UPDATE instructions SET older = script",
        "ALTER TABLE instructions DROP COLUMN script",
        "ALTER TABLE instructions RENAME COLUMN older TO script",
        "DELETE FROM _sqlx_migrations WHERE version = 7",
    ] {
        tamper(&directory, older).await;
    }
    let store = open(&directory).await;
    assert_eq!(store.instructions().await.unwrap(), std::slice::from_ref(&instruction));
    // The constraints of the table still hold.
    let twin = InstructionRecord { id: InstructionId(2), script: None, ..instruction.clone() };
    assert!(store.install(&set(2, &[instruction, twin.clone()])).await.is_err());
    store.install(&set(2, std::slice::from_ref(&twin))).await.unwrap();
    assert_eq!(store.instructions().await.unwrap(), [twin]);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let directory = directory();
    open(&directory).await.close().await;
    tamper(&directory, "INSERT INTO _sqlx_migrations VALUES (99, 'later', '2099-01-01', TRUE, x'00', 0)")
        .await;
    let error = refusal(directory.path()).await;
    assert!(matches!(error, StoreError::NewerSchema { found: 99, known: ..99, .. }), "{error:?}");
    tamper(&directory, "DELETE FROM _sqlx_migrations WHERE version = 99").await;
    open(&directory).await;
}

#[tokio::test]
async fn a_store_from_before_status_updates_learns_them_and_keeps_everything() {
    let directory = directory();
    let store = open(&directory).await;
    store.record(&records(1..=3)).await.unwrap();
    store.close().await;
    tamper(&directory, "DELETE FROM _sqlx_migrations WHERE version = 2; DROP TABLE status_updates").await;
    let store = open(&directory).await;
    assert_eq!(all(&store).await, records(1..=3));
    store.record_with(&[], &[update(4, 2, None, "applied")]).await.unwrap();
    assert_eq!(store.current("t-2").await.unwrap().unwrap().status.as_deref(), Some("applied"));
}

#[tokio::test]
async fn a_schema_that_was_altered_is_refused() {
    let directory = directory();
    open(&directory).await.close().await;
    tamper(&directory, "UPDATE _sqlx_migrations SET checksum = x'00'").await;
    assert!(matches!(refusal(directory.path()).await, StoreError::Corrupt { .. }));
}

#[tokio::test]
async fn a_log_whose_database_is_lost_is_not_built_over() {
    let directory = directory();
    fs::write(directory.path().join("tollgate.db-wal"), "x").unwrap();
    assert!(matches!(refusal(directory.path()).await, StoreError::Missing { .. }));
    assert!(!directory.path().join("tollgate.db").exists());
}

#[tokio::test]
async fn leftovers_of_an_interrupted_first_start_are_removed() {
    let directory = directory();
    fs::write(directory.path().join("tollgate.db.new"), "half").unwrap();
    fs::write(directory.path().join("tollgate.db.new-journal"), "half").unwrap();
    let store = open(&directory).await;
    store.record(&records(1..=1)).await.unwrap();
    assert!(!directory.path().join("tollgate.db.new").exists());
}

#[tokio::test]
async fn nothing_is_acknowledged_once_the_file_is_gone_or_replaced() {
    for replace in [false, true] {
        let directory = directory();
        let store = open(&directory).await;
        store.record(&records(1..=1)).await.unwrap();
        let path = directory.path().join("tollgate.db");
        fs::rename(&path, directory.path().join("moved.db")).unwrap();
        if replace {
            fs::copy(directory.path().join("moved.db"), &path).unwrap();
        }
        assert!(matches!(store.record(&records(2..=2)).await, Err(StoreError::Missing { .. })));
        assert!(matches!(store.check().await, Err(StoreError::Missing { .. })));
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let parent = directory();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    let error = refusal(&file.join("data")).await;
    assert!(error.to_string().contains("file/data"), "{error}");
}

#[tokio::test]
async fn an_id_of_an_earlier_run_is_found_whether_or_not_all_are_read_already() {
    const ROWS: u64 = 25_000;
    let directory = directory();
    let store = open(&directory).await;
    for first in (1..=ROWS).step_by(500) {
        store.record(&records(first..=first + 499)).await.unwrap();
    }
    store.close().await;
    let store = open(&directory).await;
    let find = |n: u64| {
        let store = store.clone();
        async move { store.current(&format!("t-{n}")).await.unwrap().map(|known| known.record.sequence.0) }
    };
    for n in (1..=ROWS).step_by(997) {
        assert_eq!(find(n).await, Some(n));
        assert_eq!(find(ROWS + n).await, None);
    }
    let ids: Vec<Arc<str>> = (ROWS - 1..ROWS + 3).map(|n| format!("t-{n}").into()).collect();
    assert_eq!(store.known(&ids).await.unwrap().len(), 2);
    store.close().await;
}

#[tokio::test]
async fn a_recorded_transaction_is_found_after_an_earlier_miss() {
    let directory = directory();
    let store = open(&directory).await;
    assert_eq!(store.current("t-1").await.unwrap(), None);
    store.record(&records(1..=1)).await.unwrap();
    assert!(store.current("t-1").await.unwrap().is_some());
    assert_eq!(store.current("t-2").await.unwrap(), None);
}
