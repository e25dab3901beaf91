//! The address of a ledger and the connection options.

use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use tollgate_model::secret::Secret;
use tollgate_telemetry::config::LedgerKind;

use crate::database::LedgerError;
use crate::database::session::SessionScope;
use crate::database::table::TableName;
use tollgate_telemetry::config::LedgerSettings;

/// Parameters accepted after the `?` of an address. Others are refused: sqlx would log their name and value, which may
/// be a password under a misspelled name.
const PARAMETERS: [&str; 15] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
];
const SSL_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/// A ledger that is not connected yet. Its `Debug` output does not contain the password.
#[derive(Clone)]
pub struct Ledger {
    pub(super) kind: LedgerKind,
    pub(super) options: PgConnectOptions,
    pub(super) table: TableName,
    pub(super) columns: Vec<(&'static str, String)>,
    pub(super) statement_timeout: Duration,
    pub(super) session: SessionScope,
    feed: Arc<str>,
}

impl Ledger {
    /// Parses an address.
    ///
    /// # Errors
    /// [`LedgerError::Address`] if the address is invalid.
    pub fn at(dsn: &Secret, settings: &LedgerSettings) -> Result<Self, LedgerError> {
        check_parameters(dsn.expose())?;
        let unreadable = |_| LedgerError::Address("it is not a valid address".to_owned());
        let options: PgConnectOptions = dsn.expose().parse().map_err(unreadable)?;
        let timeout = settings.statement_timeout.as_millis();
        // The connection is read-only regardless of the role's privileges, and its output format is fixed.
        let options = options.application_name("tollgate").options([
            ("default_transaction_read_only", "on"),
            ("statement_timeout", &timeout.to_string()),
            ("lock_timeout", &timeout.to_string()),
            ("idle_in_transaction_session_timeout", &timeout.to_string()),
            ("TimeZone", "UTC"),
            ("DateStyle", "ISO"),
            ("extra_float_digits", "1"),
        ]);
        let table = TableName { schema: settings.schema.clone(), name: settings.table.clone() };
        let feed = format!("{}/{table}", options.get_database().unwrap_or_default()).into();
        let columns = settings.columns.clone();
        let options = options.disable_statement_logging();
        let session = SessionScope::of_dsn(dsn.expose());
        Ok(Self {
            kind: settings.kind,
            options,
            table,
            columns,
            statement_timeout: settings.statement_timeout,
            session,
            feed,
        })
    }

    /// Returns the key under which the read position is stored: the names of the database and of the table. A ledger
    /// that moves to another host keeps its key.
    #[must_use]
    pub const fn feed(&self) -> &Arc<str> {
        &self.feed
    }
}

fn check_parameters(dsn: &str) -> Result<(), LedgerError> {
    let (_, parameters) = dsn.split_once('?').unwrap_or_default();
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if !PARAMETERS.contains(&name) {
            let known = PARAMETERS.join(", ");
            return Err(LedgerError::Address(format!("a parameter after the `?` is not one of {known}")));
        }
        if matches!(name, "sslmode" | "ssl-mode") && !SSL_MODES.contains(&value) {
            return Err(LedgerError::Address(format!("`{name}` is not one of {}", SSL_MODES.join(", "))));
        }
    }
    Ok(())
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("feed", &self.feed).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroUsize;
    use tollgate_telemetry::config::{LedgerIdentity, LeftOutTreatment, UnreadableVerdict};

    fn ledger(dsn: &str) -> Result<Ledger, LedgerError> {
        let settings = LedgerSettings {
            kind: LedgerKind::default(),
            identity: LedgerIdentity::default(),
            parent_wait: Duration::ZERO,
            dsn: None,
            schema: None,
            table: "transactions".to_owned(),
            columns: Vec::new(),
            interval: Duration::ZERO,
            batch_rows: NonZeroUsize::MIN,
            look_back: Duration::ZERO,
            overlap: Duration::ZERO,
            statement_timeout: Duration::ZERO,
            left_out: LeftOutTreatment::default(),
            unreadable: UnreadableVerdict::default(),
            evaluate: false,
            waits_for_first_reading: false,
        };
        Ledger::at(&Secret::new(dsn.to_owned()), &settings)
    }

    #[test]
    fn a_ledger_is_known_by_its_database_and_table() {
        for dsn in
            ["postgres://u:p@one/core", "postgresql://v@two:6432/core?sslmode=verify-full&sslrootcert=/ca"]
        {
            assert_eq!(&**ledger(dsn).unwrap().feed(), "core/\"transactions\"");
        }
    }

    #[test]
    fn an_address_that_is_none_is_refused_and_nothing_of_it_is_shown() {
        for dsn in [
            "postgres://u:canary@h:99999/d",
            "postgres://u:canary@h/d?pasword=canary",
            "postgres://h/d?password=canary&sslmode=canary",
            "postgres://u:canary@h/d?sslmode=allow",
            "postgres://u:canary@h/d?options=-c%20canary",
        ] {
            let error = ledger(dsn).unwrap_err();
            assert!(matches!(error, LedgerError::Address(_)), "{dsn}");
            assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
        }
        assert!(!format!("{:?}", ledger("postgres://u:canary@h/d").unwrap()).contains("canary"));
    }
}
