//! The same transactions in SQLite, with a covering index for each query.

use std::path::Path;

use anyhow::Context;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, QueryBuilder, Row as _, Sqlite, SqliteConnection};
use tollgate_model::transaction::Transaction;

/// Rows per statement.
const ROWS_PER_INSERT: usize = 4_000;

/// A table of transactions in a separate file.
#[derive(Debug)]
pub struct Table {
    runtime: tokio::runtime::Runtime,
    connection: SqliteConnection,
}

/// A query about one key.
#[derive(Debug, Clone)]
pub struct Question {
    /// Value of the column.
    pub key: String,
    /// First microsecond of the window.
    pub from: i64,
    /// Last microsecond of the window.
    pub to: i64,
}

impl Table {
    /// Creates and indexes a table of these transactions.
    ///
    /// # Errors
    /// Returns an error if SQLite fails.
    pub fn fill(file: &Path, transactions: impl Iterator<Item = Transaction>) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Off)
            .synchronous(SqliteSynchronous::Off)
            .pragma("cache_size", "-2000000");
        let connection = runtime.block_on(async {
            let mut connection = options.connect().await?;
            insert_all(&mut connection, transactions).await?;
            anyhow::Ok(connection)
        })?;
        Ok(Self { runtime, connection })
    }

    /// Counts and sums, in cents, the rows of all queries. A single statement answers all of them, so that the round
    /// trip is negligible.
    ///
    /// # Errors
    /// Returns an error if SQLite fails.
    pub fn ask(&mut self, column: &'static str, questions: &[Question]) -> anyhow::Result<(i64, i64)> {
        let connection = &mut self.connection;
        self.runtime.block_on(async {
            sqlx::raw_sql("DELETE FROM questions").execute(&mut *connection).await?;
            for some in questions.chunks(ROWS_PER_INSERT) {
                let mut insert = QueryBuilder::<Sqlite>::new("INSERT INTO questions ");
                insert.push_values(some, |mut row, question| {
                    row.push_bind(&question.key).push_bind(question.from).push_bind(question.to);
                });
                insert.build().execute(&mut *connection).await?;
            }
            anyhow::Ok(())
        })?;
        self.ask_again(column)
    }

    /// Repeats the last queries.
    ///
    /// # Errors
    /// Returns an error if SQLite fails.
    pub fn ask_again(&mut self, column: &'static str) -> anyhow::Result<(i64, i64)> {
        let text = match column {
            "source" => {
                "SELECT sum(n), sum(cents) FROM (SELECT count(*) AS n, sum(t.cents) AS cents FROM questions q \
                 CROSS JOIN t ON t.source = q.key AND t.micros BETWEEN q.since AND q.until GROUP BY q.rowid)"
            }
            _ => {
                "SELECT sum(n), sum(cents) FROM (SELECT count(*) AS n, sum(t.cents) AS cents FROM questions q \
                 CROSS JOIN t ON t.destination = q.key AND t.micros BETWEEN q.since AND q.until GROUP BY q.rowid)"
            }
        };
        let row = self.runtime.block_on(sqlx::query(text).fetch_one(&mut self.connection))?;
        Ok((row.try_get::<Option<i64>, _>(0)?.unwrap_or(0), row.try_get::<Option<i64>, _>(1)?.unwrap_or(0)))
    }
}

async fn insert_all(
    connection: &mut SqliteConnection,
    mut transactions: impl Iterator<Item = Transaction>,
) -> anyhow::Result<()> {
    sqlx::raw_sql(
        "CREATE TABLE t (source TEXT, destination TEXT, micros INTEGER, cents INTEGER);
         CREATE TABLE questions (key TEXT, since INTEGER, until INTEGER);",
    )
    .execute(&mut *connection)
    .await?;
    let mut commit = connection.begin().await?;
    loop {
        let some: Vec<Transaction> = transactions.by_ref().take(ROWS_PER_INSERT).collect();
        if some.is_empty() {
            break;
        }
        let cents: Vec<i64> = some.iter().map(cents).collect::<anyhow::Result<_>>()?;
        let mut insert = QueryBuilder::<Sqlite>::new("INSERT INTO t ");
        insert.push_values(some.iter().zip(cents), |mut row, (transaction, cents)| {
            row.push_bind(transaction.source.as_deref())
                .push_bind(transaction.destination.as_deref())
                .push_bind(transaction.timestamp.micros())
                .push_bind(cents);
        });
        insert.build().execute(&mut *commit).await?;
    }
    commit.commit().await?;
    sqlx::raw_sql(
        "CREATE INDEX by_source ON t (source, micros, cents);
         CREATE INDEX by_destination ON t (destination, micros, cents);",
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns the amount in cents.
pub(crate) fn cents(transaction: &Transaction) -> anyhow::Result<i64> {
    let amount = transaction.amount.value();
    let power = 10_i128.pow(2_u32.saturating_sub(amount.scale().into()));
    i64::try_from(amount.mantissa() * power).context("an amount of this traffic is small")
}
