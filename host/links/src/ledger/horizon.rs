//! Up to where a ledger is complete.
//!
//! A row becomes visible when its transaction commits, which may be long after the time it carries. PostgreSQL's `now()`
//! is when the transaction began, so rows that are not visible yet are not older than the oldest transaction that runs:
//! up to there nothing is missing. That holds for times the database sets, and only where running transactions can be
//! seen; for the rest there is the overlap.

use sqlx::{PgConnection, Row as _};

use crate::ledger::LedgerError;
use crate::ledger::session::SessionScope;

/// A transaction shows up among those that run a moment after it began.
const MARGIN_MICROS: i64 = 1_000_000;

/// How far a ledger is known, in microseconds since 1970 UTC, by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// Its time now.
    pub now: i64,
    /// No transaction that may still bring rows began before.
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
        .map_err(LedgerError::of)?;
    let micros = |place| row.try_get::<i64, _>(place).map_err(LedgerError::of);
    Ok(Horizon { now: micros(0)?, complete: micros(1)?.saturating_sub(MARGIN_MICROS) })
}
