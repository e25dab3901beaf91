//! Pages of rows after a position.

use chrono::{DateTime, NaiveDateTime, SecondsFormat};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row as _};

use crate::database::session::SessionScope;
use crate::database::table::safe;
use crate::database::{LedgerError, LedgerRow};

/// A position in the order of a ledger's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagePosition {
    /// Before every row of this time, in microseconds since 1970 UTC.
    From(i64),
    /// After the row with this time and id, in the format of the database.
    After {
        /// Time of the row.
        created_at: String,
        /// Id of the row.
        id: String,
    },
    /// After every row of this time, in the format of the database.
    Later(String),
    /// At the single row with this time and id, in the format of the database.
    At {
        /// Time of the row.
        created_at: String,
        /// Id of the row.
        id: String,
    },
}

impl PagePosition {
    /// Returns the position after the row with this time, in microseconds since 1970 UTC, and this id.
    #[must_use]
    pub fn behind(micros: i64, id: &str) -> Self {
        PagePosition::After { created_at: written(micros), id: id.to_owned() }
    }
}

pub(super) async fn rows(
    connection: &mut PgConnection,
    session: SessionScope,
    statement: &str,
    behind: &PagePosition,
    limit: usize,
) -> Result<Vec<LedgerRow>, LedgerError> {
    let rows = bound(session, statement, behind, limit)
        .fetch_all(connection)
        .await
        .map_err(LedgerError::from_sqlx)?;
    rows.iter().map(row_of).collect()
}

pub(super) async fn key(
    connection: &mut PgConnection,
    session: SessionScope,
    statement: &str,
    behind: &PagePosition,
) -> Result<Option<(String, String)>, LedgerError> {
    let row = bound(session, statement, behind, 1)
        .fetch_optional(connection)
        .await
        .map_err(LedgerError::from_sqlx)?;
    let column = |row: &PgRow, column_index: usize| row.try_get(column_index).map_err(LedgerError::from_sqlx);
    row.map(|row| Ok((column(&row, 0)?, column(&row, 1)?))).transpose()
}

fn bound<'q>(
    session: SessionScope,
    statement: &str,
    behind: &'q PagePosition,
    limit: usize,
) -> Query<'q, Postgres, PgArguments> {
    let query = sqlx::query(safe(statement)).persistent(session.keeps_statements());
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    match behind {
        PagePosition::From(micros) => query.bind(written(*micros)).bind(limit),
        PagePosition::Later(created_at) => query.bind(created_at).bind(limit),
        PagePosition::After { created_at, id } | PagePosition::At { created_at, id } => {
            query.bind(created_at).bind(limit).bind(id)
        }
    }
}

fn row_of(row: &PgRow) -> Result<LedgerRow, LedgerError> {
    let text =
        |column_index: usize| row.try_get::<Option<String>, _>(column_index).map_err(LedgerError::from_sqlx);
    Ok(LedgerRow {
        created_at: text(0)?.unwrap_or_default(),
        id: text(1)?.unwrap_or_default(),
        amount: text(2)?,
        currency: text(3)?,
        source: text(4)?,
        destination: text(5)?,
        reference: text(6)?,
        description: text(7)?,
        status: text(8)?,
        metadata: text(9)?,
        has_large_metadata: row.try_get(10).map_err(LedgerError::from_sqlx)?,
        row_text: text(11)?,
        changed: text(12)?,
    })
}

/// Formats a time for PostgreSQL.
pub(super) fn written(micros: i64) -> String {
    let time = DateTime::from_timestamp_micros(micros).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Parses a time as PostgreSQL writes it in UTC, into microseconds since 1970 UTC. Returns `None` for `infinity`, years
/// before Christ and years of five digits.
#[must_use]
pub fn micros_of(written: &str) -> Option<i64> {
    let time = written.strip_suffix("+00").unwrap_or(written);
    let year = time.split('-').next().filter(|year| year.len() == 4);
    year?;
    NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M:%S%.f")
        .ok()
        .map(|time| time.and_utc().timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_postgresql_writes_them() {
        for (text, expected) in [
            ("2026-01-02 03:04:05.000006+00", Some(1_767_323_045_000_006)),
            ("2026-01-02 03:04:05.5", Some(1_767_323_045_500_000)),
            ("1970-01-01 00:00:00+00", Some(0)),
            ("9999-12-31 23:59:59.999999+00", Some(253_402_300_799_999_999)),
            ("10000-01-01 00:00:00+00", None),
            ("294276-12-31 23:59:59+00", None),
            ("0044-03-15 12:00:00+00 BC", None),
            ("infinity", None),
            ("-infinity", None),
            ("", None),
        ] {
            assert_eq!(micros_of(text), expected, "{text}");
        }
        assert_eq!(written(1_767_323_045_000_006), "2026-01-02T03:04:05.000006Z");
    }
}
