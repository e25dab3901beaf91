//! Settings of the ledger that feeds the history.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::time::Duration;

use tollgate_model::secret::Secret;
use tollgate_model::transaction::CHANGED_FIELD;

use super::ledger_settings::{
    LEDGER_FIELDS, LedgerIdentity, LedgerKind, LedgerSettings, LeftOutTreatment, UnreadableVerdict,
};
use super::reader::{ConfigError, SettingsReader, Variable, variable};

pub(super) const KIND: Variable = variable("LEDGER_KIND", "`generic` or `blnk`", "generic", "Kind of the ledger that reports payments by events and rows: one id for each payment (`generic`), or Blnk (`blnk`).").explained_in("ledger.md#blnk");
pub(super) const IDENTITY: Variable = variable("LEDGER_IDENTITY", "`id` or `reference`", "id", "Identity of a Blnk payment: the id of its first entry, or its reference, if that is the `transaction_id` of POST /inject.").explained_in("ledger.md#blnk");
pub(super) const PARENT_WAIT: Variable = variable(
    "LEDGER_PARENT_WAIT",
    "a time such as 15m, from 1s to 1d",
    "15m",
    "Time that a Blnk entry waits for its parent before it becomes a payment of its own.",
)
.explained_in("ledger.md#blnk");
pub(super) const LEFT_OUT: Variable = variable(
    "LEDGER_LEFT_OUT",
    "`review` or `judge`",
    "review",
    "Treatment of a Blnk payment with a description or metadata beyond the limits: at least `review`, or judged without that part.",
)
.explained_in("ledger.md#blnk");
pub(super) const UNREADABLE: Variable = variable(
    "LEDGER_UNREADABLE",
    "`alert`, `review` or `block`",
    "review",
    "Verdict in the alert about a Blnk entry that cannot be read.",
)
.explained_in("ledger.md#blnk");
pub(super) const DSN: Variable = variable(
    "LEDGER_DSN",
    "an address such as postgres://user:password@host/database?sslmode=verify-full",
    "none",
    "PostgreSQL ledger whose transactions feed the history.",
)
.secret()
.explained_in("ledger.md");
pub(super) const TABLE: Variable = variable(
    "LEDGER_TABLE",
    "the name of a table or view, or schema.name",
    "transactions",
    "Table or view with the transactions, exactly as named. The default for LEDGER_KIND=blnk is blnk.transactions.",
);
/// Default table of Blnk.
const TABLE_OF_BLNK: &str = "blnk.transactions";
pub(super) const COLUMNS: Variable = variable(
    "LEDGER_COLUMNS",
    "pairs of a field and its column, such as transaction_id=id,description=; without a column if the ledger has none",
    "the names of the fields",
    "Columns whose names differ from the names of the fields.",
);
pub(super) const INTERVAL: Variable = variable(
    "LEDGER_SYNC_INTERVAL",
    "a time such as 500ms, 5s or 1m, from 100ms to 1d",
    "5s",
    "Time between two reads of the ledger.",
);
pub(super) const BATCH: Variable = variable(
    "LEDGER_SYNC_BATCH",
    "a whole number from 1 to 5000",
    "500",
    "Maximum number of rows of one read.",
);
pub(super) const LOOK_BACK: Variable = variable(
    "LEDGER_SYNC_LOOKBACK",
    "a time such as 48h or 30d, up to 400d",
    "48h",
    "Age of the oldest rows of the first read. A larger value at a later start also reads the earlier rows.",
);
pub(super) const OVERLAP: Variable = variable(
    "LEDGER_SYNC_OVERLAP",
    "a time such as 10m or 0s, up to 30d",
    "10m",
    "Time before the last row at which each read begins, for rows that were committed late.",
);
pub(super) const TIMEOUT: Variable = variable(
    "LEDGER_STATEMENT_TIMEOUT",
    "a time such as 30s, from 100ms to 1h",
    "30s",
    "Time after which the database cancels a query of the service.",
);
pub(super) const EVALUATE: Variable = variable(
    "LEDGER_EVALUATE",
    "`true` or `false`",
    "false",
    "Whether transactions that the ledger reports first are judged.",
);

pub(super) const WAIT: Variable = variable(
    "LEDGER_WAIT_FOR_FIRST_READING",
    "`true` or `false`",
    "false",
    "Whether /readyz answers 503 until the ledger has been read to its end once since the start.",
);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const INTERVALS: RangeInclusive<Duration> = Duration::from_millis(100)..=DAY;
const LOOKS_BACK: RangeInclusive<Duration> = Duration::ZERO..=DAY.saturating_mul(400);
const OVERLAPS: RangeInclusive<Duration> = Duration::ZERO..=DAY.saturating_mul(30);
const PARENT_WAITS: RangeInclusive<Duration> = Duration::from_secs(1)..=DAY;
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60 * 60);
const BATCH_DEFAULT: NonZeroUsize = NonZeroUsize::new(500).unwrap();
const BATCH_MAX: usize = 5_000;
/// Maximum length of a PostgreSQL identifier, in bytes.
const NAME_BYTES_MAX: usize = 63;

pub(super) fn read<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
    read: &SettingsReader<E>,
) -> Result<LedgerSettings, ConfigError> {
    let kind = read.parsed_by(KIND, LedgerKind::named)?.unwrap_or_default();
    let (schema, table) = table(read, kind)?;
    Ok(LedgerSettings {
        kind,
        identity: read.parsed_by(IDENTITY, LedgerIdentity::named)?.unwrap_or_default(),
        parent_wait: read.time(PARENT_WAIT, PARENT_WAITS)?,
        left_out: read.parsed_by(LEFT_OUT, LeftOutTreatment::named)?.unwrap_or_default(),
        unreadable: read.parsed_by(UNREADABLE, UnreadableVerdict::named)?.unwrap_or_default(),
        dsn: dsn(read)?,
        schema,
        table,
        columns: columns(read)?,
        interval: read.time(INTERVAL, INTERVALS)?,
        batch_rows: read.count(BATCH, BATCH_MAX)?.unwrap_or(BATCH_DEFAULT),
        look_back: read.time(LOOK_BACK, LOOKS_BACK)?,
        overlap: read.time(OVERLAP, OVERLAPS)?,
        statement_timeout: read.time(TIMEOUT, TIMEOUTS)?,
        evaluate: read.parsed(EVALUATE)?.unwrap_or(false),
        waits_for_first_reading: read.parsed(WAIT)?.unwrap_or(false),
    })
}

/// The error omits the value, because it contains a password.
fn dsn<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
    read: &SettingsReader<E>,
) -> Result<Option<Secret>, ConfigError> {
    let dsn = read.secret(DSN)?;
    let is_address =
        |dsn: &Secret| ["postgres://", "postgresql://"].iter().any(|s| dsn.expose().starts_with(s));
    match dsn {
        Some(dsn) if !is_address(&dsn) => Err(DSN.refuse("***")),
        dsn => Ok(dsn),
    }
}

fn table<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
    read: &SettingsReader<E>,
    kind: LedgerKind,
) -> Result<(Option<String>, String), ConfigError> {
    let default = || match kind {
        LedgerKind::Generic => TABLE.default.to_owned(),
        LedgerKind::Blnk => TABLE_OF_BLNK.to_owned(),
    };
    let text = read.text(TABLE)?.unwrap_or_else(default);
    let (schema, name) = match text.trim().split_once('.') {
        Some((schema, name)) => (Some(schema), name),
        None => (None, text.trim()),
    };
    if !is_name(name) || name.contains('.') || schema.is_some_and(|schema| !is_name(schema)) {
        return Err(TABLE.refuse(&text));
    }
    Ok((schema.map(str::to_owned), name.to_owned()))
}

/// Returns whether a name is a valid PostgreSQL identifier. Quotes are allowed; they are doubled on use.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(char::is_control)
}

fn columns<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
    read: &SettingsReader<E>,
) -> Result<Vec<(&'static str, String)>, ConfigError> {
    let text = read.text(COLUMNS)?.unwrap_or_default();
    let mut named = LEDGER_FIELDS.map(|(field, is_required)| {
        let column = if field == CHANGED_FIELD { "" } else { field };
        (field, is_required, column.to_owned())
    });
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (field, column) = pair.split_once('=').ok_or_else(|| COLUMNS.refuse(pair))?;
        let (field, column) = (field.trim(), column.trim());
        let known = named.iter_mut().find(|(known, ..)| *known == field);
        let (_, is_required, name) = known.ok_or_else(|| COLUMNS.refuse(pair))?;
        let is_left_out = column.is_empty() && !*is_required;
        if !is_left_out && !is_name(column) {
            return Err(COLUMNS.refuse(pair));
        }
        column.clone_into(name);
    }
    Ok(named.into_iter().map(|(field, _, column)| (field, column)).filter(|(_, c)| !c.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn settings(name: &'static str, value: &'static str) -> Result<LedgerSettings, ConfigError> {
        Settings::read(|asked| Ok((asked == name).then(|| value.to_owned()))).map(|settings| settings.ledger)
    }

    #[track_caller]
    fn refused(name: &'static str, value: &'static str) {
        let error = settings(name, value).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("it takes "), "{error}");
    }

    #[test]
    fn without_any_variable_the_defaults_hold() {
        let settings = settings("NOTHING", "").unwrap();
        assert_eq!((settings.dsn, settings.schema, settings.evaluate), (None, None, false));
        assert_eq!((settings.table.as_str(), settings.batch_rows.get()), ("transactions", 500));
        assert_eq!(settings.look_back, DAY * 2);
        assert_eq!(settings.overlap, Duration::from_secs(600));
        assert!(settings.columns.iter().all(|(field, column)| field == column));
        assert_eq!(settings.columns.len(), LEDGER_FIELDS.len() - 1);
    }

    #[test]
    fn a_value_that_does_not_do_is_refused() {
        for table in ["", "a.b.c", ".a", "a.", "a\nb"] {
            refused("LEDGER_TABLE", table);
        }
        for columns in ["id", "id=", "transaction_id=", "amount=", "hash=h", "amount=a\u{7}", "=x"] {
            refused("LEDGER_COLUMNS", columns);
        }
        for (name, value) in [
            ("LEDGER_SYNC_INTERVAL", "0"),
            ("LEDGER_SYNC_BATCH", "5001"),
            ("LEDGER_SYNC_LOOKBACK", "401d"),
            ("LEDGER_SYNC_OVERLAP", "-1s"),
            ("LEDGER_STATEMENT_TIMEOUT", "2h"),
            ("LEDGER_EVALUATE", "yes"),
            ("LEDGER_WAIT_FOR_FIRST_READING", "1"),
            ("LEDGER_KIND", "Blnk"),
            ("LEDGER_IDENTITY", "hash"),
            ("LEDGER_PARENT_WAIT", "500ms"),
            ("LEDGER_LEFT_OUT", "approve"),
            ("LEDGER_UNREADABLE", "approve"),
        ] {
            refused(name, value);
        }
    }

    #[test]
    fn tables_may_be_of_a_schema_and_columns_have_other_names_or_none() {
        let named = settings("LEDGER_TABLE", "blnk.transactions").unwrap();
        assert_eq!((named.schema.as_deref(), named.table.as_str()), (Some("blnk"), "transactions"));
        let columns =
            settings("LEDGER_COLUMNS", "transaction_id=id, description=,amount=Sum \"x\",updated_at=moved")
                .unwrap()
                .columns;
        assert!(columns.contains(&("transaction_id", "id".to_owned())));
        assert!(columns.contains(&("amount", "Sum \"x\"".to_owned())));
        assert!(columns.contains(&("updated_at", "moved".to_owned())));
        assert!(!columns.iter().any(|(field, _)| *field == "description"));
    }

    #[test]
    fn an_address_is_not_shown_when_it_is_refused() {
        for dsn in ["host=db password=canary", "mysql://u:canary@h/d", "postgres://u:canary\u{7}@h/d"] {
            let error = settings("LEDGER_DSN", dsn).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
        }
        let settings = settings("LEDGER_DSN", "postgres://u:canary@h/d").unwrap();
        assert!(settings.dsn.is_some() && !format!("{settings:?}").contains("canary"));
    }
}
