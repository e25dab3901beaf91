//! The tables of Blnk, read in the order in which rows were inserted.
//!
//! `created_at` is the time of the request, possibly days before the row appears. Rows are therefore read in the order
//! of the insert time in Blnk's journal. A row number would not work: a lower number may be committed after a higher
//! one. The journal time is the start of the database transaction, and the start of the oldest running transaction is
//! available.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::database::table::{
    ID_CHARACTERS, KEY_CHARACTERS, METADATA_STORED_BYTES_MAX, PROSE_CHARACTERS, REFERENCE_CHARACTERS,
    StatementParts, Statements, TableName, WITHOUT_ZONE, statements_of, types_of,
};
use crate::database::{Ledger, LedgerError};

/// The table in which Blnk records inserts, in the schema of its transactions.
const JOURNAL: &str = "transaction_journal";
const OF_TRANSACTIONS: [&str; 16] = [
    "transaction_id",
    "parent_transaction",
    "source",
    "destination",
    "reference",
    "description",
    "amount",
    "precise_amount",
    "precision",
    "currency",
    "status",
    "hash",
    "created_at",
    "scheduled_for",
    "effective_date",
    "meta_data",
];
const OF_JOURNAL: [&str; 3] = ["transaction_id", "action_type", "timestamp"];

/// Checks the tables and suggests a remedy if they are unsuitable.
pub(super) async fn prepare(
    connection: &mut PgConnection,
    ledger: &Ledger,
) -> Result<Statements, LedgerError> {
    let journal = TableName { schema: ledger.table.schema.clone(), name: JOURNAL.to_owned() };
    let of_transactions = types_of(connection, ledger.session, &ledger.table).await?;
    check(&of_transactions, &ledger.table, &OF_TRANSACTIONS)?;
    let of_journal = types_of(connection, ledger.session, &journal).await?;
    check(&of_journal, &journal, &OF_JOURNAL)?;
    let lacks = if find_index(connection, ledger, &journal).await? {
        None
    } else {
        Some(format!(
            "each query reads the whole journal: CREATE INDEX CONCURRENTLY ON {journal} (\"timestamp\", transaction_id) WHERE \
             action_type = 'INSERT'"
        ))
    };
    let source = StatementParts {
        from: format!("{journal} j JOIN {} t USING (transaction_id)", ledger.table),
        filter: "j.action_type = 'INSERT'".to_owned(),
        at: "j.\"timestamp\"".to_owned(),
        key: "j.transaction_id".to_owned(),
        values: values(),
    };
    Ok(Statements { lacks, ..statements_of(&source, WITHOUT_ZONE, "text") })
}

fn check(
    types: &HashMap<String, (String, bool)>,
    table: &TableName,
    columns: &[&str],
) -> Result<(), LedgerError> {
    match columns.iter().find(|column| !types.contains_key(**column)) {
        None => Ok(()),
        Some(column) => Err(LedgerError::Unusable(format!(
            "{table} has no column \"{column}\": upgrade the schema of Blnk (blnk migrate up), or set LEDGER_TABLE to its table \
             of transactions, with the schema name"
        ))),
    }
}

/// Returns whether an index orders the journal by time.
async fn find_index(
    connection: &mut PgConnection,
    ledger: &Ledger,
    journal: &TableName,
) -> Result<bool, LedgerError> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
         WHERE i.indrelid = to_regclass($1) AND a.attname = 'timestamp' AND i.indisvalid)",
    )
    .bind(journal.to_string())
    .persistent(ledger.session.keeps_statements())
    .fetch_one(connection)
    .await
    .map_err(LedgerError::from_sqlx)
}

/// Returns the SQL for a row as one object, in the form of an event.
fn values() -> String {
    let text = |column: &str, characters: usize| format!("'{column}', left(t.{column}, {characters})");
    let time = |column: &str| format!("'{column}', (to_json(t.{column}) #>> '{{}}') || 'Z'");
    let is_large = format!("coalesce(pg_column_size(t.meta_data) > {METADATA_STORED_BYTES_MAX}, false)");
    let members = [
        text("transaction_id", KEY_CHARACTERS),
        text("parent_transaction", ID_CHARACTERS),
        text("source", ID_CHARACTERS),
        text("destination", ID_CHARACTERS),
        text("reference", REFERENCE_CHARACTERS),
        text("description", PROSE_CHARACTERS),
        "'amount', t.amount".to_owned(),
        "'precise_amount', t.precise_amount".to_owned(),
        "'precision', t.precision".to_owned(),
        text("currency", ID_CHARACTERS),
        text("status", ID_CHARACTERS),
        text("hash", ID_CHARACTERS),
        time("created_at"),
        time("scheduled_for"),
        time("effective_date"),
        format!("'meta_data', CASE WHEN {is_large} THEN NULL ELSE t.meta_data END"),
    ];
    let nothing = ["NULL"; 8].join("::text, ");
    format!("{nothing}::text, {is_large}, json_build_object({})::text, NULL::text", members.join(", "))
}
