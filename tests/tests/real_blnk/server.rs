//! Blnk itself: its databases, its server and its workers, called over HTTP.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_tests::{Answer, Client, Postgres};

use crate::real_blnk::programs::Program;
use crate::real_blnk::redis::Redis;
use crate::real_blnk::until;

/// The secret of Blnk: its master API key, and the key of its webhooks.
pub(crate) const SECRET: &str = "blnk-secret-71d3-canary";
/// A text that is sent as a number of 39 digits, which no JSON value of this program can hold.
pub(crate) const DIGITS: &str = "a number of 39 digits";
const DATABASE: &str = "blnk";
const PASSWORD: &str = "databases-7f02-canary";
/// The role and the index of docs/ledger.md.
const READER: &str = "
    CREATE ROLE tollgate LOGIN PASSWORD 'databases-7f02-canary';
    GRANT USAGE ON SCHEMA blnk TO tollgate;
    GRANT SELECT ON blnk.transactions, blnk.transaction_journal TO tollgate;
    GRANT pg_read_all_stats TO tollgate;";
const INDEX: &str = r#"CREATE INDEX CONCURRENTLY ON blnk.transaction_journal ("timestamp", transaction_id) WHERE action_type = 'INSERT'"#;
/// Work that Blnk has accepted and not finished: a queued or scheduled entry without its copy, and pending lineage.
const PENDING: &str = "
    SELECT (SELECT count(*) FROM blnk.transactions t WHERE status IN ('QUEUED', 'SCHEDULED') AND NOT EXISTS
            (SELECT 1 FROM blnk.transactions c WHERE c.parent_transaction = t.transaction_id))
        + (SELECT count(*) FROM blnk.lineage_outbox WHERE status IN ('pending', 'processing'))";

/// One Blnk. Its programs end before its databases.
pub(crate) struct Blnk {
    programs: Vec<Program>,
    client: Client,
    port: u16,
    binary: PathBuf,
    redis: Redis,
    postgres: Postgres,
    directory: TempDir,
}

impl Blnk {
    /// Creates the databases. Nothing is served yet.
    pub(crate) fn create(binary: &Path) -> Self {
        let directory = TempDir::new().unwrap();
        let postgres = Postgres::start();
        postgres.run(
            "postgres",
            &format!("CREATE DATABASE {DATABASE}; CREATE ROLE blnk SUPERUSER LOGIN PASSWORD '{PASSWORD}';"),
        );
        let [port, redis_port] = free_ports();
        let redis = Redis::start(redis_port, directory.path());
        let client = Client::new(&format!("127.0.0.1:{port}"));
        let (programs, binary) = (Vec::new(), fs::canonicalize(binary).unwrap());
        let blnk = Self { programs, client, port, binary, redis, postgres, directory };
        blnk.configure(redis_port, "");
        blnk.command("migrate", &["migrate", "up"]).finish();
        blnk.sql(READER);
        blnk.sql(INDEX);
        blnk
    }

    /// Starts the server and the workers, which send webhooks to this URL unless it is empty.
    pub(crate) fn serve(&mut self, webhook: &str) {
        let redis_port = self.redis.port();
        self.configure(redis_port, webhook);
        self.programs.clear();
        for name in ["start", "workers"] {
            let program = self.command(name, &[name]);
            self.programs.push(program);
        }
        let (programs, client) = (&mut self.programs, &self.client);
        until("Blnk answers", || {
            programs.iter_mut().find_map(Program::ended).inspect(|ended| panic!("{ended}"));
            let answer = client.send("GET", "/health", &[], &[]);
            answer.is_err().then(|| "no answer".to_owned())
        });
        let workers = &self.programs[1];
        until("the workers are started", || {
            (!workers.log().contains("Workers started")).then(|| workers.log())
        });
    }

    /// Whether this version sends a webhook again after an answer other than 2xx, as versions from 0.15 on do. They are
    /// told by the hash chain that came with them.
    pub(crate) fn repeats_webhooks(&self) -> bool {
        let columns = "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'blnk' \
            AND table_name = 'transactions' AND column_name = 'chain_seq'";
        self.sql(columns) == "1"
    }

    /// Returns the name of its version for a table.
    pub(crate) fn name(&self) -> String {
        let version = if self.repeats_webhooks() { "0.15 or later" } else { "before 0.15" };
        format!("Blnk {version}, {}", self.binary.display())
    }

    /// Returns the address of its database for the service.
    pub(crate) fn dsn(&self) -> String {
        format!("postgres://tollgate:{PASSWORD}@127.0.0.1:{}/{DATABASE}", self.postgres.port())
    }

    /// Returns the URL of its API.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    #[track_caller]
    pub(crate) fn sql(&self, script: &str) -> String {
        self.postgres.run(DATABASE, script)
    }

    /// Runs a query that selects JSON objects, one a row.
    #[track_caller]
    pub(crate) fn select(&self, query: &str) -> Vec<Value> {
        let rows = self.sql(&format!("SELECT to_jsonb(r) FROM ({query}) r"));
        rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
    }

    /// Sends a request with the master key.
    #[track_caller]
    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("x-blnk-key", SECRET)];
        let body = body.to_string().replace(&format!("\"{DIGITS}\""), &"7".repeat(39));
        self.client.send(method, path, &headers, body.as_bytes()).unwrap()
    }

    /// Sends a request that must succeed.
    #[track_caller]
    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.accepted(method, path, body).json()
    }

    /// Sends a request that must succeed, and whose answer may be deeper than a parser of JSON goes.
    #[track_caller]
    pub(crate) fn accepted(&self, method: &str, path: &str, body: &Value) -> Answer {
        let answer = self.send(method, path, body);
        assert!((200..300).contains(&answer.status), "{method} {path} {body}: {}", answer.text());
        answer
    }

    /// Waits until every entry with one of these references exists and nothing is left to do. Blnk accepts a queued
    /// payment before it stores it.
    #[track_caller]
    pub(crate) fn settle(&self, references: &[String]) {
        let list = references.iter().map(|one| format!("'{}'", one.replace('\'', "''"))).collect::<Vec<_>>();
        let missing = format!(
            "SELECT r FROM unnest(ARRAY[{}]::text[]) r WHERE NOT EXISTS
             (SELECT 1 FROM blnk.transactions WHERE reference = r) LIMIT 3",
            list.join(", ")
        );
        until("Blnk has nothing left to do", || {
            let (missing, pending) = (self.sql(&missing), self.sql(PENDING));
            let n_tasks = self.redis.n_unfinished();
            (!missing.is_empty() || pending != "0" || n_tasks > 0)
                .then(|| format!("missing: {missing}; {pending} rows pending, {n_tasks} tasks"))
        });
    }

    fn configure(&self, redis_port: u16, webhook: &str) {
        let [monitoring] = free_ports();
        let database = format!("postgres://blnk:{PASSWORD}@127.0.0.1:{}/{DATABASE}", self.postgres.port());
        let configuration = json!({
            "project_name": "test",
            "data_source": {"dns": format!("{database}?sslmode=disable")},
            "redis": {"dns": format!("127.0.0.1:{redis_port}")},
            "server": {"port": self.port.to_string(), "secure": true, "secret_key": SECRET},
            "queue": {"monitoring_port": monitoring.to_string()},
            "notification": {"webhook": {"url": webhook}},
            "enable_telemetry": false,
            "enable_observability": false,
        });
        fs::write(self.directory.path().join("blnk.json"), configuration.to_string()).unwrap();
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Program {
        let mut command = Command::new(&self.binary);
        command.args(arguments).env_clear();
        Program::start(name, &mut command, self.directory.path())
    }
}

/// Returns ports of the loopback that nobody listens on.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Creates a ledger, and returns its id.
pub(crate) fn create_ledger(blnk: &Blnk) -> String {
    let ledger = blnk.call("POST", "/ledgers", &json!({"name": "customers"}));
    ledger["ledger_id"].as_str().unwrap().to_owned()
}
