//! A PostgreSQL database with Blnk's tables: its columns and types, a journal written by a trigger, and rows that are
//! never updated.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tollgate_tests::poll::{PATIENCE, until};
use tollgate_tests::{Home, Postgres, Service};

use crate::blnk::recordings::Stored;
use crate::blnk::truth::number;

/// The database that a cluster has from its beginning.
const DATABASE: &str = "postgres";
const PASSWORD: &str = "reader-31ac09-canary";
const TABLES: &str = "
CREATE SCHEMA blnk;
CREATE TABLE blnk.transactions (
    id serial PRIMARY KEY, transaction_id text NOT NULL UNIQUE, source text, destination text, description text,
    reference text UNIQUE, amount numeric, currency text, status text, hash text, created_at timestamp NOT NULL DEFAULT now(),
    scheduled_for timestamp, meta_data jsonb, precise_amount numeric, \"precision\" bigint DEFAULT 1, parent_transaction text,
    effective_date timestamp, chain_seq bigint, chain_prev_hash char(64), chain_hash char(64));
CREATE TABLE blnk.transaction_journal (
    id serial PRIMARY KEY, transaction_id text NOT NULL, action_type text NOT NULL, client_addr inet, backend_pid integer,
    \"timestamp\" timestamp NOT NULL DEFAULT now(), old_data jsonb, new_data jsonb, succeeded boolean NOT NULL);
CREATE FUNCTION blnk.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO blnk.transaction_journal (transaction_id, action_type, backend_pid, new_data, succeeded)
    VALUES (NEW.transaction_id, TG_OP, pg_backend_pid(), to_jsonb(NEW), true);
    RETURN NULL; END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON blnk.transactions FOR EACH ROW EXECUTE FUNCTION blnk.note();
CREATE FUNCTION blnk.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF to_jsonb(NEW) - 'meta_data' IS DISTINCT FROM to_jsonb(OLD) - 'meta_data' THEN RAISE EXCEPTION 'immutable'; END IF;
    RETURN NEW; END $$;
CREATE TRIGGER keep BEFORE UPDATE ON blnk.transactions FOR EACH ROW EXECUTE FUNCTION blnk.keep();";
/// The index that `/readyz` suggests.
pub(crate) const INDEX: &str = r#"CREATE INDEX CONCURRENTLY ON "blnk"."transaction_journal" ("timestamp", transaction_id) WHERE action_type = 'INSERT'"#;

/// The tables and their reader role.
pub(crate) struct Tables {
    postgres: Postgres,
}

impl Tables {
    /// Creates the tables without rows.
    pub(crate) fn open() -> Self {
        let tables = Self { postgres: Postgres::start() };
        tables.sql(TABLES);
        tables.sql(&format!(
            "CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; GRANT pg_read_all_stats TO reader;
             GRANT USAGE ON SCHEMA blnk TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA blnk TO reader;"
        ));
        tables
    }

    #[track_caller]
    pub(crate) fn sql(&self, script: &str) -> String {
        self.postgres.run(DATABASE, script)
    }

    /// Removes every row.
    pub(crate) fn empty(&self) {
        self.sql("TRUNCATE blnk.transactions, blnk.transaction_journal;");
    }

    /// Stores each row in a separate database transaction.
    #[track_caller]
    pub(crate) fn store<'r>(&self, rows: impl IntoIterator<Item = &'r Stored>) {
        let mut script = String::new();
        for row in rows {
            let reported = row.columns.iter().filter(|(name, value)| name != "id" && value.is_some());
            let (names, values): (Vec<_>, Vec<_>) = reported
                .map(|(name, value)| (format!("\"{name}\""), quoted(value.as_deref().unwrap())))
                .unzip();
            let _ = writeln!(
                script,
                "INSERT INTO blnk.transactions ({}) VALUES ({});",
                names.join(", "),
                values.join(", ")
            );
        }
        self.sql(&script);
    }

    /// Stores an entry as a row.
    #[track_caller]
    pub(crate) fn insert(&self, entry: &Value) {
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        self.sql(&format!(
            "INSERT INTO blnk.transactions (transaction_id, parent_transaction, reference, status, source, destination, amount,
             precise_amount, precision, currency, created_at, meta_data)
             VALUES ('{}', '{}', '{}', '{}', '{}', '{}', {}, {}, {}, '{}', '2026-11-25 03:00:00', '{}');",
            text("transaction_id"),
            text("parent_transaction"),
            text("reference"),
            text("status"),
            text("source"),
            text("destination"),
            entry["amount"],
            entry["precise_amount"],
            entry["precision"],
            text("currency"),
            entry.get("meta_data").unwrap_or(&json!({})),
        ));
    }

    /// Configures a home to read the rows.
    pub(crate) fn feeds(&self, home: &mut Home) {
        let port = self.postgres.port();
        home.set("LEDGER_DSN", &format!("postgres://reader:{PASSWORD}@127.0.0.1:{port}/{DATABASE}"));
        home.set("LEDGER_SYNC_INTERVAL", "100ms");
    }
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// Waits until every row committed so far was read. The current pass may have begun earlier; the next one includes them
/// all.
#[track_caller]
pub(crate) fn caught_up(service: &Service) {
    let passes = || number(service, r#"tollgate_ledger_passes_total{result="ok"}"#);
    let before = passes();
    until("the ledger is read", PATIENCE, || passes() >= before + 2);
}
