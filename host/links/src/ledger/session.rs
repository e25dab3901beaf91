//! Whose session answers a question: our own, or whichever a pooler has free.
//!
//! A pooler in transaction mode keeps a session for a client for one transaction. A statement that was prepared before it is then
//! unknown, or another one of the same name. So with `statement-cache-capacity=0` no statement gets a name, and every question
//! is asked in a transaction of its own, in which preparing and asking reach the same session.

use sqlx::PgConnection;

use crate::ledger::LedgerError;

/// How long a session of the database stays the one of our connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionScope {
    /// From one question to the next.
    Connection,
    /// For one transaction.
    Transaction,
}

impl SessionScope {
    /// As an address says it.
    pub(super) fn of(dsn: &str) -> Self {
        let (_, parameters) = dsn.split_once('?').unwrap_or_default();
        match parameters.split('&').any(|parameter| parameter == "statement-cache-capacity=0") {
            true => SessionScope::Transaction,
            false => SessionScope::Connection,
        }
    }

    /// Whether statements that are prepared can be asked again.
    pub(super) const fn keeps_statements(self) -> bool {
        matches!(self, SessionScope::Connection)
    }

    /// Before a question.
    pub(super) async fn enter(self, connection: &mut PgConnection) -> Result<(), LedgerError> {
        self.say(connection, "BEGIN READ ONLY").await
    }

    /// Behind a question, also one that failed: a transaction that failed is rolled back by this as well.
    pub(super) async fn leave(self, connection: &mut PgConnection) -> Result<(), LedgerError> {
        self.say(connection, "COMMIT").await
    }

    async fn say(self, connection: &mut PgConnection, statement: &'static str) -> Result<(), LedgerError> {
        if self == SessionScope::Transaction {
            sqlx::raw_sql(statement).execute(connection).await.map_err(LedgerError::of)?;
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
                SessionScope::of(&format!("postgres://u:p@h/d{parameters}")),
                expected,
                "{parameters}"
            );
        }
    }
}
