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

/// What to do about a pooler between us and the database; `None` when that is not what the database complains of.
///
/// In transaction mode a pooler gives every question to another session, so a statement that was prepared in one is unknown in the
/// next (26000), there already (42P05), or another one of the same name (08P01).
fn advice_on_poolers(code: &str, message: &str) -> Option<&'static str> {
    if matches!(code, "26000" | "42P05") || message.contains("prepared statement") {
        return Some(
            "a pooler in transaction mode stands before it; put statement-cache-capacity=0 behind the `?` of LEDGER_DSN, or \
             connect to the database itself",
        );
    }
    message.contains("unsupported startup parameter").then_some(
        "a pooler stands before it that takes no `options`; let it ignore them (ignore_startup_parameters = options in PgBouncer) and \
         ALTER ROLE the role of LEDGER_DSN SET default_transaction_read_only = on, with statement-cache-capacity=0 behind the `?` \
         of LEDGER_DSN, or connect to the database itself",
    )
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
        if let Some(advice) = advice_on_poolers(&code, &message) {
            return LedgerError::Unusable(format!("{message}: {advice}"));
        }
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
