//! What can go wrong with a ledger.

use std::time::Duration;

/// The ledger cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The address is none. Nothing of it is shown: it holds a password.
    #[error("{0}; an address is such as postgres://user:password@host/database?sslmode=verify-full")]
    Address(String),
    /// The database does not answer, or went away.
    #[error("the ledger's database cannot be reached")]
    Unreachable(#[source] sqlx::Error),
    /// It did not answer within this time.
    #[error("the ledger's database did not answer within {0:?}")]
    Silent(Duration),
    /// The database answers, but not to us.
    #[error("the ledger's database refuses the credentials of LEDGER_DSN")]
    Refused(#[source] sqlx::Error),
    /// What the settings name is not there, or not of a kind that does. Says what to do.
    #[error("{0}")]
    Unusable(String),
    /// A value among the rows asked for cannot be shown by the database.
    #[error("the ledger's database cannot show a row: {0}")]
    Unshowable(String),
    /// A question took longer than it may.
    #[error("the ledger's database gave a question up after LEDGER_STATEMENT_TIMEOUT")]
    Slow,
    /// Anything else that the database says.
    #[error("the ledger's database refuses a question")]
    Failed(#[source] sqlx::Error),
}

impl LedgerError {
    /// What a failed question says.
    pub(super) fn of(error: sqlx::Error) -> Self {
        let sqlx::Error::Database(reported) = &error else {
            return match error {
                sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                    LedgerError::Unshowable(error.to_string())
                }
                _ => LedgerError::Unreachable(error),
            };
        };
        let code = reported.code().unwrap_or_default();
        let message = reported.message().to_owned();
        match (&*code, code.get(..2).unwrap_or_default()) {
            ("57014", _) => LedgerError::Slow,
            // The message quotes values, which are the ledger's: whoever reads dead letters may see them.
            // So does a value that is too large for the database itself once it is written out.
            (_, "22" | "21" | "54") | ("53200", _) => LedgerError::Unshowable(message),
            ("XX000", _) if message.contains("memory alloc") => LedgerError::Unshowable(message),
            (_, "08" | "53" | "57") => LedgerError::Unreachable(error),
            (_, "28") => LedgerError::Refused(error),
            ("3D000", _) => LedgerError::Unusable(format!("{message}: name another database in LEDGER_DSN")),
            ("42501", _) => LedgerError::Unusable(format!(
                "{message}: grant the role of LEDGER_DSN USAGE on the schema and SELECT on the table"
            )),
            ("42P01" | "42703", _) => LedgerError::Unusable(format!(
                "{message}: the table of LEDGER_TABLE was changed or taken away"
            )),
            _ => LedgerError::Failed(error),
        }
    }

    /// Whether only somebody who changes settings, grants or tables can help.
    #[must_use]
    pub const fn is_for_the_operator(&self) -> bool {
        matches!(self, LedgerError::Unusable(_) | LedgerError::Refused(_) | LedgerError::Address(_))
    }
}
