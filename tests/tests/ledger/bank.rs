//! A bank: its ledger in PostgreSQL, a role that may read it, and services that follow it.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use tollgate_tests::poll;
use tollgate_tests::{Client, Home, Postgres, Service};

/// The database that a cluster has from its beginning.
pub(crate) const DATABASE: &str = "postgres";
pub(crate) const PASSWORD: &str = "reader-9f41c7-canary";

/// Columns named as in the API, with the widest types for amounts and times.
pub(crate) const TABLE: &str = "CREATE TABLE transactions (
    transaction_id text PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(), amount numeric,
    currency text, source text, destination text, reference text, description text, status text, meta_data jsonb);
    CREATE INDEX ON transactions (created_at, transaction_id);";

pub(crate) struct Bank {
    postgres: Postgres,
}

impl Bank {
    /// Creates a bank with an empty ledger.
    pub(crate) fn open() -> Self {
        let bank = Self::without_table();
        bank.sql(TABLE);
        bank
    }

    /// Creates a bank without a table; the role may read future tables.
    pub(crate) fn without_table() -> Self {
        let bank = Self { postgres: Postgres::start() };
        bank.sql(&format!(
            "CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; GRANT pg_read_all_stats TO reader;
             ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader;"
        ));
        bank
    }

    #[track_caller]
    pub(crate) fn sql(&self, script: &str) -> String {
        self.postgres.run(DATABASE, script)
    }

    pub(crate) fn dsn(&self) -> String {
        format!("postgres://reader:{PASSWORD}@127.0.0.1:{}/{DATABASE}", self.postgres.port())
    }

    /// Configures a home to follow the ledger with a short interval.
    pub(crate) fn feeds(&self, home: &mut Home) {
        home.set("LEDGER_DSN", &self.dsn());
        home.set("LEDGER_SYNC_INTERVAL", "100ms");
    }

    /// Creates a home without rules that follows the ledger.
    pub(crate) fn home(&self) -> Home {
        let mut home = Home::new();
        self.feeds(&mut home);
        home
    }
}

impl Deref for Bank {
    type Target = Postgres;

    fn deref(&self) -> &Postgres {
        &self.postgres
    }
}

impl DerefMut for Bank {
    fn deref_mut(&mut self) -> &mut Postgres {
        &mut self.postgres
    }
}

/// Returns a number of `/metrics`, or 0 if absent.
pub(crate) fn number(client: &Client, name: &str) -> u64 {
    let page = client.get("/metrics").text();
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse::<f64>().ok()).map_or(0, |value| value as u64)
}

fn passes(client: &Client) -> u64 {
    number(client, r#"tollgate_ledger_passes_total{result="ok"}"#)
}

/// Polls for a condition that may take as long as writing a whole ledger.
#[track_caller]
pub(crate) fn until(what: &str, holds: impl FnMut() -> bool) {
    poll::until(what, Duration::from_secs(600), holds);
}

/// Waits until everything committed so far was read. The current pass may have begun earlier; the next one includes it
/// all.
#[track_caller]
pub(crate) fn caught_up(service: &Service) {
    let before = passes(service);
    until("the ledger was read to its end", || passes(service) >= before + 2);
}

/// Returns the state of the ledger according to `/readyz`.
pub(crate) fn ledger_check(client: &Client) -> String {
    client.get("/readyz").at("/checks/ledger").as_str().unwrap_or_default().to_owned()
}

/// Encodes an id for use in a path.
pub(crate) fn in_path(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    id.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
