//! The scope of a database session: our connection, or one transaction behind a pooler.
//!
//! A pooler in transaction mode assigns a server session per transaction. A statement prepared earlier is then unknown,
//! or its name denotes another statement. With `statement-cache-capacity=0`, statements have no name, and each query
//! runs in a separate transaction so that its prepare and execute steps reach the same session.

use sqlx::PgConnection;

use crate::database::LedgerError;

/// The lifetime of a database session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionScope {
    /// The whole connection.
    Connection,
    /// One transaction.
    Transaction,
}

impl SessionScope {
    pub(super) fn of_dsn(dsn: &str) -> Self {
        let (_, parameters) = dsn.split_once('?').unwrap_or_default();
        match parameters.split('&').any(|parameter| parameter == "statement-cache-capacity=0") {
            true => SessionScope::Transaction,
            false => SessionScope::Connection,
        }
    }

    pub(super) const fn keeps_statements(self) -> bool {
        matches!(self, SessionScope::Connection)
    }

    pub(super) async fn enter(self, connection: &mut PgConnection) -> Result<(), LedgerError> {
        self.say(connection, "BEGIN READ ONLY").await
    }

    /// Ends a query, including one that failed: `COMMIT` rolls a failed transaction back.
    pub(super) async fn leave(self, connection: &mut PgConnection) -> Result<(), LedgerError> {
        self.say(connection, "COMMIT").await
    }

    async fn say(self, connection: &mut PgConnection, statement: &'static str) -> Result<(), LedgerError> {
        if self == SessionScope::Transaction {
            sqlx::raw_sql(statement).execute(connection).await.map_err(LedgerError::from_sqlx)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_whether_the_session_is_its_own() {
        for (parameters, expected) in [
            ("", SessionScope::Connection),
            ("?sslmode=disable", SessionScope::Connection),
            ("?statement-cache-capacity=100", SessionScope::Connection),
            ("?statement-cache-capacity=0", SessionScope::Transaction),
            ("?sslmode=disable&statement-cache-capacity=0", SessionScope::Transaction),
        ] {
            assert_eq!(
                SessionScope::of_dsn(&format!("postgres://u:p@h/d{parameters}")),
                expected,
                "{parameters}"
            );
        }
    }
}
