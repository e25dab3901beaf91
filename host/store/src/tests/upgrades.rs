//! Migrations from every older schema keep all data, even when a migration is killed half-way.

use std::fs;
use std::path::Path;

use sqlx::migrate::{Migration, Migrator};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};

use super::*;
use crate::connection::{self, Schema};
use crate::migrations::MIGRATIONS;

/// Creates a store with the first `n_migrations` migrations, and fills the tables of the first one.
async fn of_schema(n_migrations: usize, directory: &Path) {
    let first: Vec<Migration> = MIGRATIONS.iter().take(n_migrations).cloned().collect();
    let database = directory.join("tollgate.db");
    fs::write(&database, "").unwrap();
    let mut connection = connection::writing(&database).connect().await.unwrap();
    Migrator::with_migrations(first).run_direct(None, &mut connection, false).await.unwrap();
    for filling in [
        "INSERT INTO transactions (sequence, transaction_id, fingerprint, event_micros, accepted_micros, \
         rule_set_version, body, assessment) VALUES (1, 't-1', zeroblob(32), 0, 0, 1, '{}', '{}')",
        "INSERT INTO rule_sets (version, created_at) VALUES (1, '2026-01-01T00:00:00Z')",
        "INSERT INTO modules VALUES (zeroblob(32), x'00')",
        "INSERT INTO instructions (id, name, script, source, module_digest, created_at, updated_at) \
         VALUES (1, 'a', 'rule a', '{\"kind\":\"api\"}', zeroblob(32), '2026-01-01T00:00:00Z', \
         '2026-01-01T00:00:00Z')",
        "INSERT INTO rule_set_members (instruction_id, since_version, module_digest) \
         VALUES (1, 1, zeroblob(32))",
        "INSERT INTO lists (digest, entries) VALUES (zeroblob(32), 'EUR')",
        "INSERT INTO rule_set_lists (name, since_version, list_digest) VALUES ('stopped', 1, zeroblob(32))",
    ] {
        connection.execute(filling).await.unwrap();
    }
    connection.close().await.unwrap();
}

/// Checks that the store opens, has the current schema and has kept all data.
async fn check_whole(directory: &Path, when: &str) {
    let store = Store::open(directory).await.unwrap_or_else(|error| panic!("{when}: {error:?}"));
    let mut lease = store.inner.writer.lease().await.unwrap();
    let schema = Schema::of(lease.connection()).await.unwrap();
    assert_eq!(schema, Schema::Current(Schema::known()), "{when}");
    lease.give_back(Ok(())).await.unwrap();
    assert!(store.transaction("t-1").await.unwrap().is_some(), "{when}");
    let instructions = store.instructions().await.unwrap();
    assert_eq!(instructions[0].script.as_deref(), Some("rule a"), "{when}");
    assert_eq!(store.lists().await.unwrap()[0].name, "stopped", "{when}");
    store.record_with(&[record(2, "t-2")], &[update(3, 1, None, "applied")]).await.unwrap();
    store.close().await;
    let broken: Vec<StoreFinding> = examine(directory).await.unwrap();
    // The modules and lists here have invalid digests, and the first verdict is empty.
    let is_meant =
        |finding: &&StoreFinding| ["modules", "lists", "verdicts", "rule sets"].contains(&finding.what);
    let broken: Vec<&StoreFinding> =
        broken.iter().filter(|one| one.result.is_err() && !is_meant(one)).collect();
    assert!(broken.is_empty(), "{when}: {broken:?}");
}

#[test]
fn every_file_of_a_migration_is_one_of_the_steps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.map(|file| (named(&file), fs::read_to_string(file).unwrap())).collect();
    files.sort();
    let steps = MIGRATIONS.iter().map(|step| {
        (format!("{:04}_{}", step.version, step.description.replace(' ', "_")), step.sql.as_str().to_owned())
    });
    assert_eq!(files, steps.collect::<Vec<_>>());
}

fn named(file: &Path) -> String {
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_store_of_every_older_schema_is_brought_up_to_date() {
    for n_migrations in 1..=MIGRATIONS.iter().count() {
        let directory = directory();
        of_schema(n_migrations, directory.path()).await;
        check_whole(directory.path(), &format!("from schema {n_migrations}")).await;
    }
}

#[tokio::test]
async fn an_upgrade_that_is_killed_at_any_statement_is_finished_by_the_next_start() {
    let mut n_killed = 0;
    for (n_done, migration) in MIGRATIONS.iter().enumerate().skip(1) {
        let statements = statements(migration);
        for n_run in 0..=statements.len() {
            let (directory, copy) = (directory(), self::directory());
            of_schema(n_done, directory.path()).await;
            let database = directory.path().join("tollgate.db");
            let mut connection = connection::writing(&database).connect().await.unwrap();
            let mut upgrade = connection.begin().await.unwrap();
            for statement in &statements[..n_run] {
                run(&mut upgrade, statement).await;
            }
            // A killed process leaves the files as they are at this moment.
            for file in fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap()) {
                if !file.file_name().to_string_lossy().ends_with("-shm") {
                    fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
                }
            }
            let when = format!("{}, killed behind statement {n_run}", migration.description);
            check_whole(copy.path(), &when).await;
            n_killed += 1;
        }
    }
    assert!(n_killed >= 20, "{n_killed}");
}

async fn run(connection: &mut SqliteConnection, statement: &str) {
    connection.execute(AssertSqlSafe(statement.to_owned())).await.unwrap();
}

/// Returns the statements of a migration, and the one that records it.
fn statements(migration: &Migration) -> Vec<String> {
    let text: Vec<&str> =
        migration.sql.as_str().lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let text = text.join("\n");
    let statements = text.split(';').map(str::trim).filter(|statement| !statement.is_empty());
    let mut statements: Vec<String> = statements.map(str::to_owned).collect();
    let Migration { version, description, .. } = migration;
    statements
        .push(format!("INSERT INTO _sqlx_migrations VALUES ({version}, '{description}', '', TRUE, x'', -1)"));
    statements
}
