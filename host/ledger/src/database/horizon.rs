//! The time up to which a ledger is complete.
//!
//! A row becomes visible when its transaction commits, possibly long after the time it carries. PostgreSQL's `now()` is
//! the start of the transaction. No invisible row is therefore older than the oldest running transaction. This holds
//! only for times set by the database, and only if running transactions are visible. The overlap covers the other
//! cases.

use sqlx::{PgConnection, Row as _};

use crate::database::LedgerError;
use crate::database::session::SessionScope;

/// Margin for a transaction that has begun but is not listed as running yet.
const MARGIN_MICROS: i64 = 1_000_000;

/// The state of a ledger, in microseconds since 1970 UTC by the clock of its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// Current time.
    pub now: i64,
    /// Time before which every row is committed, as far as running transactions are visible.
    pub complete: i64,
}

pub(super) async fn ask(
    connection: &mut PgConnection,
    session: SessionScope,
    sees: bool,
) -> Result<Horizon, LedgerError> {
    let statement = if sees {
        "SELECT (extract(epoch FROM now()) * 1000000)::bigint, (extract(epoch FROM least(now(), \
         (SELECT min(xact_start) FROM pg_stat_activity WHERE datname = current_database() \
         AND pid <> pg_backend_pid() AND backend_type NOT IN ('autovacuum worker', 'walsender')), \
         (SELECT min(prepared) FROM pg_prepared_xacts WHERE database = current_database()))) * 1000000)::bigint"
    } else {
        "SELECT (extract(epoch FROM now()) * 1000000)::bigint, (extract(epoch FROM now()) * 1000000)::bigint"
    };
    let row = sqlx::query(statement)
        .persistent(session.keeps_statements())
        .fetch_one(connection)
        .await
        .map_err(LedgerError::from_sqlx)?;
    let micros = |column_index| row.try_get::<i64, _>(column_index).map_err(LedgerError::from_sqlx);
    Ok(Horizon { now: micros(0)?, complete: micros(1)?.saturating_sub(MARGIN_MICROS) })
}
