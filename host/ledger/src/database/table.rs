//! The table of a ledger: its quoted name, its column checks and its statements.

use std::collections::HashMap;
use std::fmt;

use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use tollgate_model::transaction::CHANGED_FIELD;

use crate::database::session::SessionScope;
use crate::database::{Ledger, LedgerError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableName {
    pub(super) schema: Option<String>,
    pub(super) name: String,
}

/// The SQL statements for a table, built once per connection.
#[derive(Debug)]
pub(super) struct Statements {
    /// Rows after a time and id.
    pub(super) after: String,
    /// Rows from a time on.
    pub(super) from: String,
    /// Rows later than a time.
    pub(super) later: String,
    /// One row, by time and id.
    pub(super) at: String,
    /// The same positions as the first three, but only time and id, for rows that cannot be shown.
    pub(super) keys_after: String,
    pub(super) keys_from: String,
    pub(super) keys_later: String,
    /// The number of rows from a time on.
    pub(super) count: String,
    /// Whether times have no time zone.
    pub(super) lacks_zone: bool,
    /// A missing index with the statement that creates it.
    pub(super) lacks: Option<String>,
}

/// The SQL parts of the statements.
#[derive(Debug)]
pub(super) struct StatementParts {
    /// Table or join.
    pub(super) from: String,
    /// Filter on its rows.
    pub(super) filter: String,
    /// Time column that orders the rows.
    pub(super) at: String,
    /// Id column of a row.
    pub(super) key: String,
    /// Other values of a [`LedgerRow`](crate::database::LedgerRow).
    pub(super) values: String,
}

/// Maximum number of characters read of a value. A longer id or description is not valid in a transaction. The database
/// truncates it, which bounds the size of a page.
pub(super) const ID_CHARACTERS: usize = 256;
pub(super) const REFERENCE_CHARACTERS: usize = 351;
pub(super) const KEY_CHARACTERS: usize = 8_192;
pub(super) const PROSE_CHARACTERS: usize = 4_097;
pub(super) const NUMBER_CHARACTERS: usize = 129;
pub(super) const METADATA_CHARACTERS: usize = 65_536;
/// Metadata stored in more bytes than this, possibly compressed, is not read.
pub(super) const METADATA_STORED_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of rows counted.
const COUNTED_MAX: u32 = 10_000_000;

pub(super) const WITHOUT_ZONE: &str = "timestamp without time zone";
const NUMBERS: [&str; 6] = ["numeric", "bigint", "integer", "smallint", "double precision", "real"];
/// Types of a change time or of a row version.
const CHANGES: [&str; 5] = ["timestamp with time zone", WITHOUT_ZONE, "bigint", "integer", "smallint"];
/// Columns that a table of Blnk has, and a generic ledger has not.
const COLUMNS_OF_BLNK: [&str; 3] = ["precise_amount", "precision", "parent_transaction"];
const TEXTS: [&str; 3] = ["text", "character varying", "character"];
const OBJECTS: [&str; 4] = ["jsonb", "json", "text", "character varying"];

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{}.", quoted(schema))?;
        }
        f.write_str(&quoted(&self.name))
    }
}

/// Checks the table and suggests a remedy if it is unsuitable.
pub(super) async fn prepare(
    connection: &mut PgConnection,
    ledger: &Ledger,
) -> Result<Statements, LedgerError> {
    let types = types_of(connection, ledger.session, &ledger.table).await?;
    let type_of = |field: &str, allowed: &[&str]| {
        let Some((_, column)) = ledger.columns.iter().find(|(known, _)| *known == field) else {
            return Ok(None);
        };
        let (found, _) = types.get(column).ok_or_else(|| missing(&ledger.table, field, column))?;
        if allowed.is_empty() || allowed.contains(&found.as_str()) {
            return Ok(Some(found.as_str()));
        }
        Err(LedgerError::Unusable(format!(
            "the column {} for `{field}` has type {found}, but must have one of {}: name another column in LEDGER_COLUMNS, or \
             read a view that converts it",
            quoted(column),
            allowed.join(", ")
        )))
    };
    let ids = ["text", "character varying", "character", "uuid", "bigint", "integer", "smallint", "numeric"];
    let id = type_of("transaction_id", &ids)?.unwrap_or_default();
    let time = type_of("created_at", &["timestamp with time zone", WITHOUT_ZONE])?;
    type_of("amount", &NUMBERS)?;
    type_of("meta_data", &OBJECTS)?;
    type_of(CHANGED_FIELD, &CHANGES)?;
    for field in ["currency", "source", "destination", "reference", "description", "status"] {
        type_of(field, &[])?;
    }
    warn_of_nulls(ledger, &types);
    let id = match id {
        "bigint" | "integer" | "smallint" => "bigint",
        // `character` without a length means `character(1)` and would truncate the compared value.
        "character" => "bpchar",
        text if TEXTS.contains(&text) => "text",
        other => other,
    };
    let is_of_blnk = COLUMNS_OF_BLNK.iter().all(|column| types.contains_key(*column));
    let lacks = is_of_blnk.then(|| "it looks like a table of Blnk: set LEDGER_KIND=blnk".to_owned());
    Ok(Statements { lacks, ..statements(ledger, time.unwrap_or_default(), id) })
}

/// Returns the columns, their types (for a domain, its base type), and whether they can be null.
pub(super) async fn types_of(
    connection: &mut PgConnection,
    session: SessionScope,
    table: &TableName,
) -> Result<HashMap<String, (String, bool)>, LedgerError> {
    let rows = sqlx::query(
        "SELECT a.attname::text, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL), \
         NOT a.attnotnull AND c.relkind = 'r', has_table_privilege(c.oid, 'SELECT') \
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid \
         WHERE c.oid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped",
    )
    .bind(table.to_string())
    .persistent(session.keeps_statements())
    .fetch_all(connection)
    .await
    .map_err(LedgerError::from_sqlx)?;
    if rows.is_empty() {
        return Err(LedgerError::Unusable(format!(
            "there is no table {table} in the ledger's database: set LEDGER_TABLE to its name, with its schema and in its \
             exact case (schema.name)"
        )));
    }
    let mut types = HashMap::new();
    for row in rows {
        let column = |column_index| row.try_get::<String, _>(column_index).map_err(LedgerError::from_sqlx);
        let flag = |column_index| row.try_get::<bool, _>(column_index).map_err(LedgerError::from_sqlx);
        if !flag(3)? {
            return Err(LedgerError::Unusable(format!(
                "the role of LEDGER_DSN may not read {table}: GRANT SELECT ON {table} TO it"
            )));
        }
        types.insert(column(0)?, (column(1)?, flag(2)?));
    }
    Ok(types)
}

fn missing(table: &TableName, field: &str, column: &str) -> LedgerError {
    LedgerError::Unusable(format!(
        "{table} has no column {} for `{field}`: name the right column in LEDGER_COLUMNS, as {field}=column; if the ledger has \
         no such column, write {field}=",
        quoted(column)
    ))
}

/// Warns about nullable key columns: rows without a time or an id are never read.
fn warn_of_nulls(ledger: &Ledger, types: &HashMap<String, (String, bool)>) {
    for (field, column) in &ledger.columns {
        let can_be_null = types.get(column).is_some_and(|(_, can_be_null)| *can_be_null);
        if can_be_null && ["transaction_id", "created_at"].contains(field) {
            tracing::warn!(table = %ledger.table, column, "ledger rows in which this column is null are not read");
        }
    }
}

/// Builds the statements. The type names `time` and `id` were checked against fixed lists, so they need no quoting.
fn statements(ledger: &Ledger, time: &str, id: &str) -> Statements {
    let column = |field: &str| {
        let named = ledger.columns.iter().find(|(known, _)| *known == field);
        named.map_or_else(|| "NULL".to_owned(), |(_, column)| quoted(column))
    };
    let (at, key) = (column("created_at"), column("transaction_id"));
    let cut = |field: &str, characters: usize| format!("left({}::text, {characters})", column(field));
    let is_large =
        format!("coalesce(pg_column_size({}) > {METADATA_STORED_BYTES_MAX}, false)", column("meta_data"));
    let values = [
        cut("amount", NUMBER_CHARACTERS),
        cut("currency", ID_CHARACTERS),
        cut("source", ID_CHARACTERS),
        cut("destination", ID_CHARACTERS),
        cut("reference", REFERENCE_CHARACTERS),
        cut("description", PROSE_CHARACTERS),
        cut("status", ID_CHARACTERS),
        format!("CASE WHEN {is_large} THEN NULL ELSE {} END", cut("meta_data", METADATA_CHARACTERS + 1)),
        is_large,
        "NULL::text".to_owned(),
        cut(CHANGED_FIELD, ID_CHARACTERS),
    ];
    let source = StatementParts {
        from: ledger.table.to_string(),
        filter: "true".to_owned(),
        values: values.join(", "),
        at,
        key,
    };
    statements_of(&source, time, id)
}

/// Builds the statements. `time` and `id` are names of types, from fixed lists.
pub(super) fn statements_of(source: &StatementParts, time: &str, id: &str) -> Statements {
    let StatementParts { from: table, filter, at, key, values } = source;
    let keys = format!("{at}::text, left({key}::text, {KEY_CHARACTERS})");
    let rows = format!("{keys}, {values}");
    let order = format!("AND {key} IS NOT NULL ORDER BY {at}, {key} LIMIT $2");
    let which = |column: &str| format!("FROM {table} WHERE {filter} AND {column} {order}");
    let after = which(&format!("({at}, {key}) > ($1::text::{time}, $3::text::{id})"));
    let from = which(&format!("{at} >= $1::text::{time}"));
    let later = which(&format!("{at} > $1::text::{time}"));
    let one = which(&format!("({at}, {key}) = ($1::text::{time}, $3::text::{id})"));
    Statements {
        lacks_zone: time == WITHOUT_ZONE,
        lacks: None,
        at: format!("SELECT {rows} {one}"),
        after: format!("SELECT {rows} {after}"),
        from: format!("SELECT {rows} {from}"),
        later: format!("SELECT {rows} {later}"),
        keys_after: format!("SELECT {keys} {after}"),
        keys_from: format!("SELECT {keys} {from}"),
        keys_later: format!("SELECT {keys} {later}"),
        count: format!(
            "SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {filter} AND {at} >= $1::text::{time} LIMIT {COUNTED_MAX}) counted"
        ),
    }
}

/// Marks a statement as safe: the only external parts in it are quoted names.
pub(super) fn safe(statement: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(statement.to_owned())
}
