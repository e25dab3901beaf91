//! A read-only connection.

use std::time::Duration;

use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Row as _};
use tokio::time::timeout;
use tollgate_telemetry::config::LedgerKind;

use crate::database::session::SessionScope;
use crate::database::table::{self, Statements, safe};
use crate::database::{Horizon, Ledger, LedgerError, LedgerRow, PagePosition, blnk, horizon, page};

/// Time limit for connecting, including TLS and authentication.
const CONNECT: Duration = Duration::from_secs(5);
/// Time a query may take beyond the statement timeout of the database before the connection counts as dead.
const GRACE: Duration = Duration::from_secs(5);

/// A connection to a ledger with a checked table. Drop it after any error that does not concern a single row.
#[derive(Debug)]
pub struct LedgerConnection {
    connection: PgConnection,
    statements: Statements,
    patience: Duration,
    session: SessionScope,
    /// The reason why running transactions are not visible, if they are not.
    blind: Option<&'static str>,
}

impl Ledger {
    /// Connects and checks the table.
    ///
    /// # Errors
    /// See [`LedgerError`].
    pub async fn connect(&self) -> Result<LedgerConnection, LedgerError> {
        let connected = timeout(CONNECT, self.options.connect()).await;
        let mut connection =
            connected.map_err(|_| LedgerError::Silent(CONNECT))?.map_err(LedgerError::from_sqlx)?;
        let patience = self.statement_timeout.saturating_add(GRACE);
        let session = self.session;
        let prepared = async {
            let blind = look_around(&mut connection).await?;
            session.enter(&mut connection).await?;
            let statements = match self.kind {
                LedgerKind::Blnk => blnk::prepare(&mut connection, self).await,
                LedgerKind::Generic => table::prepare(&mut connection, self).await,
            };
            let left = session.leave(&mut connection).await;
            statements.and_then(|statements| left.map(|()| (blind, statements)))
        };
        let (blind, statements) =
            timeout(patience, prepared).await.map_err(|_| LedgerError::Silent(patience))??;
        Ok(LedgerConnection { connection, statements, patience, session, blind })
    }
}

/// Refuses a database that cannot be read safely. Returns the reason if running transactions are not visible.
async fn look_around(connection: &mut PgConnection) -> Result<Option<&'static str>, LedgerError> {
    // Not prepared, so that the findings are reported even behind a pooler that loses prepared statements.
    let row = sqlx::raw_sql(
        "SELECT current_setting('transaction_read_only') = 'on', current_setting('server_encoding') = 'SQL_ASCII', \
         pg_is_in_recovery(), pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')",
    )
    .fetch_one(connection)
    .await
    .map_err(LedgerError::from_sqlx)?;
    let flag = |column_index| row.try_get::<bool, _>(column_index).map_err(LedgerError::from_sqlx);
    if !flag(0)? {
        return Err(LedgerError::Unusable(
            "the connection is not read-only: a pooler or proxy drops its `options`; connect to the database directly, or set \
             default_transaction_read_only = on for the role of LEDGER_DSN (ALTER ROLE); for a pooler in transaction mode, also put \
             statement-cache-capacity=0 after the `?` of LEDGER_DSN"
                .to_owned(),
        ));
    }
    if flag(1)? {
        return Err(LedgerError::Unusable(
            "the ledger's database has the encoding SQL_ASCII, which does not define what its texts mean: use a database in UTF8".to_owned(),
        ));
    }
    Ok(match (flag(2)?, flag(3)?) {
        (true, _) => Some("it is a standby, which does not see the transactions running on its primary"),
        (false, false) => Some("the role of LEDGER_DSN may not see them: GRANT pg_read_all_stats TO it"),
        (false, true) => None,
    })
}

impl LedgerConnection {
    /// Returns the reason why running transactions are not visible, or `None` if they are.
    #[must_use]
    pub const fn blind(&self) -> Option<&'static str> {
        self.blind
    }

    /// Returns whether `created_at` has no time zone. Such times are read as UTC.
    #[must_use]
    pub const fn lacks_zone(&self) -> bool {
        self.statements.lacks_zone
    }

    /// Returns a description of a missing index with the statement that creates it, or `None`.
    #[must_use]
    pub fn lacks(&self) -> Option<&str> {
        self.statements.lacks.as_deref()
    }

    /// Returns the time up to which every row is committed, as far as running transactions are visible. Call it before
    /// reading the rows.
    ///
    /// # Errors
    /// See [`LedgerError`].
    pub async fn horizon(&mut self) -> Result<Horizon, LedgerError> {
        let (sees, session, connection) = (self.blind.is_none(), self.session, &mut self.connection);
        let asked = timeout(self.patience, async {
            session.enter(connection).await?;
            let horizon = horizon::ask(connection, session, sees).await;
            let left = session.leave(connection).await;
            horizon.and_then(|horizon| left.map(|()| horizon))
        });
        asked.await.map_err(|_| LedgerError::Silent(self.patience))?
    }

    /// Returns the first rows after a position, ordered by time and id.
    ///
    /// # Errors
    /// [`LedgerError::Unshowable`] or [`LedgerError::Slow`] if the database cannot return one of the rows; other errors
    /// if the ledger cannot be read at all.
    pub async fn rows(&mut self, behind: &PagePosition, limit: usize) -> Result<Vec<LedgerRow>, LedgerError> {
        let statement = match behind {
            PagePosition::From(_) => &self.statements.from,
            PagePosition::Later(_) => &self.statements.later,
            PagePosition::After { .. } => &self.statements.after,
            PagePosition::At { .. } => &self.statements.at,
        };
        let (session, connection) = (self.session, &mut self.connection);
        let asked = timeout(self.patience, async {
            session.enter(connection).await?;
            let rows = page::rows(connection, session, statement, behind, limit).await;
            let left = session.leave(connection).await;
            rows.and_then(|rows| left.map(|()| rows))
        });
        asked.await.map_err(|_| LedgerError::Silent(self.patience))?
    }

    /// Returns only the time and id of the first row after a position.
    ///
    /// # Errors
    /// The same as [`LedgerConnection::rows`].
    pub async fn key(&mut self, behind: &PagePosition) -> Result<Option<(String, String)>, LedgerError> {
        let statement = match behind {
            PagePosition::From(_) => &self.statements.keys_from,
            PagePosition::Later(_) => &self.statements.keys_later,
            PagePosition::After { .. } => &self.statements.keys_after,
            PagePosition::At { created_at, id } => return Ok(Some((created_at.clone(), id.clone()))),
        };
        let (session, connection) = (self.session, &mut self.connection);
        let asked = timeout(self.patience, async {
            session.enter(connection).await?;
            let key = page::key(connection, session, statement, behind).await;
            let left = session.leave(connection).await;
            key.and_then(|key| left.map(|()| key))
        });
        asked.await.map_err(|_| LedgerError::Silent(self.patience))?
    }

    /// Returns the number of rows from this time on, counting up to ten million. Returns `None` if counting exceeds the
    /// statement timeout.
    ///
    /// # Errors
    /// See [`LedgerError`].
    pub async fn count(&mut self, micros: i64) -> Result<Option<u64>, LedgerError> {
        let from = page::written(micros);
        let (session, connection) = (self.session, &mut self.connection);
        let query = sqlx::query_scalar::<_, i64>(safe(&self.statements.count))
            .bind(from)
            .persistent(session.keeps_statements());
        let counted = timeout(self.patience, async {
            session.enter(connection).await?;
            let counted = query.fetch_one(&mut *connection).await.map_err(LedgerError::from_sqlx);
            let left = session.leave(connection).await;
            counted.and_then(|counted| left.map(|()| counted))
        });
        match counted.await.map_err(|_| LedgerError::Silent(self.patience))? {
            Ok(count) => Ok(Some(count.unsigned_abs())),
            Err(LedgerError::Slow) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Closes the connection.
    pub async fn close(self) {
        // The server may already be gone.
        timeout(GRACE, self.connection.close()).await.map(drop).ok();
    }
}
