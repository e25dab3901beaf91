//! Changes a store behind the service's back.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs;
use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use tempfile::TempDir;

use crate::home::Home;

/// Copies the store of a home on which no service runs.
///
/// # Panics
/// Panics if it cannot be copied.
#[must_use]
pub fn copy(home: &Home) -> TempDir {
    let copy = TempDir::new().expect("a temporary folder can be made");
    for name in ["tollgate.db", "tollgate.db-wal"] {
        let from = home.data().join(name);
        if from.exists() {
            fs::copy(from, copy.path().join(name)).expect("a file can be copied");
        }
    }
    copy
}

/// Runs statements on the store in a directory. Returns the number of rows changed.
///
/// # Panics
/// Panics if a statement fails.
#[must_use]
pub fn sql(directory: &Path, statements: &str) -> u64 {
    let options = SqliteConnectOptions::new().filename(directory.join("tollgate.db")).foreign_keys(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be had").block_on(async {
        let mut connection = options.connect().await.expect("the database can be opened");
        let done = sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection).await;
        connection.close().await.expect("the database can be closed");
        done.expect("the statements can be run").rows_affected()
    })
}
