//! Errors of a ledger.

use std::time::Duration;

/// A reason why a ledger cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The address is invalid. The message omits it because it contains a password.
    #[error(
        "{0}; an example of a valid address is postgres://user:password@host/database?sslmode=verify-full"
    )]
    Address(String),
    /// The database does not answer, or the connection broke.
    #[error("the ledger's database cannot be reached")]
    Unreachable(#[source] sqlx::Error),
    /// The database did not answer within this time.
    #[error("the ledger's database did not answer within {0:?}")]
    Silent(Duration),
    /// The database rejects the credentials.
    #[error("the ledger's database refuses the credentials of LEDGER_DSN")]
    Refused(#[source] sqlx::Error),
    /// A table or column named in the settings is missing or unsuitable. The message states the remedy.
    #[error("{0}")]
    Unusable(String),
    /// The database cannot return a value among the requested rows.
    #[error("the ledger's database cannot return a row: {0}")]
    Unshowable(String),
    /// A query exceeded the statement timeout.
    #[error("the ledger's database cancelled a query after LEDGER_STATEMENT_TIMEOUT")]
    Slow,
    /// Any other database error.
    #[error("the ledger's database rejected a query")]
    Failed(#[source] sqlx::Error),
}

/// Returns the remedy for an error caused by a pooler, or `None` for any other error.
///
/// A pooler in transaction mode may send each query to another session. A statement prepared in one session is then
/// unknown in the next (26000), exists already (42P05), or denotes another statement (08P01).
fn advice_on_poolers(code: &str, message: &str) -> Option<&'static str> {
    if matches!(code, "26000" | "42P05") || message.contains("prepared statement") {
        return Some(
            "the connection goes through a pooler in transaction mode; put statement-cache-capacity=0 after the `?` of LEDGER_DSN, \
             or connect to the database directly",
        );
    }
    message.contains("unsupported startup parameter").then_some(
        "the connection goes through a pooler that rejects `options`; let it ignore them (ignore_startup_parameters = options in \
         PgBouncer), set default_transaction_read_only = on for the role of LEDGER_DSN (ALTER ROLE) and put \
         statement-cache-capacity=0 after the `?` of LEDGER_DSN, or connect to the database directly",
    )
}

impl LedgerError {
    /// Classifies the error of a query.
    pub(super) fn from_sqlx(error: sqlx::Error) -> Self {
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
        if let Some(advice) = advice_on_poolers(&code, &message) {
            return LedgerError::Unusable(format!("{message}: {advice}"));
        }
        match (&*code, code.get(..2).unwrap_or_default()) {
            ("57014", _) => LedgerError::Slow,
            // The message quotes ledger values; readers of dead letters may see them. The same class covers values that
            // are too large for the database once written as text.
            (_, "22" | "21" | "54") | ("53200", _) => LedgerError::Unshowable(message),
            ("XX000", _) if message.contains("memory alloc") => LedgerError::Unshowable(message),
            (_, "08" | "53" | "57") => LedgerError::Unreachable(error),
            (_, "28") => LedgerError::Refused(error),
            ("3D000", _) => LedgerError::Unusable(format!("{message}: name another database in LEDGER_DSN")),
            ("42501", _) => LedgerError::Unusable(format!(
                "{message}: grant the role of LEDGER_DSN USAGE on the schema and SELECT on the table"
            )),
            ("42P01" | "42703", _) => LedgerError::Unusable(format!(
                "{message}: the table of LEDGER_TABLE was altered, dropped or renamed"
            )),
            _ => LedgerError::Failed(error),
        }
    }

    /// Returns whether only an operator who changes settings, grants or tables can fix this.
    #[must_use]
    pub const fn is_for_the_operator(&self) -> bool {
        matches!(self, LedgerError::Unusable(_) | LedgerError::Refused(_) | LedgerError::Address(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_in_transaction_mode_is_named_with_the_parameter_that_helps() {
        for (code, message) in [
            ("26000", "prepared statement \"sqlx_s_1\" does not exist"),
            ("42P05", "prepared statement \"sqlx_s_1\" already exists"),
            ("08P01", "bind message supplies 2 parameters, but prepared statement \"sqlx_s_1\" requires 3"),
            ("08P01", "unsupported startup parameter in options: statement_timeout"),
        ] {
            let advice = advice_on_poolers(code, message).unwrap();
            assert!(
                advice.contains("statement-cache-capacity=0") && advice.contains("LEDGER_DSN"),
                "{advice}"
            );
        }
        for (code, message) in
            [("08006", "connection failure"), ("42P01", "relation \"x\" does not exist"), ("", "")]
        {
            assert_eq!(advice_on_poolers(code, message), None, "{message}");
        }
    }
}
