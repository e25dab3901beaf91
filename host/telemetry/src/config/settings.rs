//! All settings: variable, default and allowed values.

use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use tollgate_guest_abi::Window;

use tollgate_engine::sandbox::Execution;
use tollgate_model::secret::Secret;
use tollgate_model::transaction::RequestSettings;

use super::connections::{self, ConnectionSettings};
use super::execution;
use super::git::{self, GitSettings};
use super::ledger;
use super::ledger_settings::LedgerSettings;
use super::links::{self, LinkSettings};
use super::owners;
use super::reader::{ConfigError, SettingsReader, Variable, variable};
use super::sources::{self, ListsShrink, PartialSource, WhenNotReady};
use super::words::{self, WordSettings};
use super::{memory, requests, traces};

/// The settings of the service.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Address to listen on; loopback by default.
    pub host: IpAddr,
    /// Port to listen on; 0 takes a free port.
    pub port: u16,
    /// Limits on HTTP connections.
    pub connections: ConnectionSettings,
    /// Options for requests.
    pub requests: RequestSettings,
    /// For how long a further transaction with the same hash is refused; `None`: never.
    pub hash_window: Option<Window>,
    /// Data directory of the store.
    pub data_dir: PathBuf,
    /// Id of a lost store to start without; an option of the command line.
    pub accept_empty_store: Option<String>,
    /// Directory of rule files.
    pub rules_dir: PathBuf,
    /// Whether `rules_dir` was set explicitly; it must exist then.
    pub rules_dir_is_set: bool,
    /// Whether to watch `rules_dir` by notifications of the system.
    pub rules_dir_notices: bool,
    /// Number of evaluation threads.
    pub evaluation_threads: NonZeroUsize,
    /// Maximum number of transactions in progress; further ones are answered with 503.
    pub transactions_in_flight_max: NonZeroUsize,
    /// Memory limit of the history, in bytes; `None`: a share of the available memory.
    pub memory_limit_bytes: Option<usize>,
    /// Whether modules and Git require the confinement of their processes.
    pub walls_are_needed: bool,
    /// Execution mode of rules.
    pub execution: Execution,
    /// Directory of the spill file; `None`: the system's temporary directory or the data directory.
    pub spill_dir: Option<PathBuf>,
    /// Whether keys leave memory with all their transactions.
    pub keys_on_disk: bool,
    /// Directory of time zone data; the built-in data if absent.
    pub zone_data_dir: Option<PathBuf>,
    /// File that states what rules may use, by their source; `None`: everything.
    pub rule_policy: Option<PathBuf>,
    /// Fuel that all rules of an owner who is trusted may use on one transaction.
    pub fuel_per_owner: u64,
    /// Time for which a rule must fail or cost too much before it is quarantined.
    pub quarantine_after: Duration,
    /// Words of currencies and statuses.
    pub words: WordSettings,
    /// Rules that each owner may save in a minute.
    pub saves_per_minute: NonZeroU32,
    /// Retention of the history beyond the longest window of the rules.
    pub history_margin: Window,
    /// Interval between snapshots while transactions arrive; `None`: only at shutdown.
    pub snapshot_interval: Option<Duration>,
    /// Host names accepted in requests, besides `localhost` and IP literals.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may send requests.
    pub allowed_origins: Vec<String>,
    /// Whether the rules directory or repository may be missing at startup.
    pub sources_are_optional: bool,
    /// Treatment of a new source some of whose files are refused.
    pub partial_source: PartialSource,
    /// Minimum number of rules in force.
    pub rules_required: usize,
    /// Treatment of new transactions while the service is not ready.
    pub when_not_ready: WhenNotReady,
    /// Git repository of the rules.
    pub git: GitSettings,
    /// Ledger that feeds the history.
    pub ledger: LedgerSettings,
    /// Links to other systems.
    pub links: LinkSettings,
    /// Address of the collector of traces; it may contain credentials.
    pub traces_endpoint: Option<Secret>,
    /// Format of log lines.
    pub log_format: LogFormat,
    /// Filter of log lines, in the syntax of `tracing`.
    pub log_filter: String,
    /// Handling of a list file that loses more than half of its entries.
    pub lists_shrink: ListsShrink,
    /// Whether a rule of the API that would stop most transactions has to be confirmed.
    pub confirms_broad_rules: bool,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Text for people.
    Text,
}

const HOST: Variable = variable("SERVICE_HOST", "an IP address", "127.0.0.1", "IP address to listen on.");
const PORT: Variable =
    variable("SERVICE_PORT", "a port from 0 to 65535", "8081", "Port to listen on; 0 takes a free one.");
const DATA_DIR: Variable = variable("SERVICE_DATA_DIR", "a directory", "data", "Directory of the store, the history snapshot, keys on the disk (`history`), clones of repositories (`git`) and compiled modules (`artifacts`).").explained_in("operations.md#the-data-directory");
const RULES_DIR: Variable = variable("WATCH_SCRIPT_DIR", "a directory", "rules", "Directory of rule files (`*.ws`, `*.wasm`) and lists (`lists/*.txt`, `lists/*.csv`). Changes take effect while the service runs.").explained_in("rules.md");
const RULES_DIR_NOTICES: Variable = variable(
    "WATCH_SCRIPT_DIR_NOTICES",
    "`true` or `false`",
    "true",
    "Whether to ask the operating system for change notices. Without them, as on network file systems, changes are found within seconds.",
);
const THREADS: Variable = variable(
    "SERVICE_EVALUATION_THREADS",
    "a whole number from 1 to 256",
    "one per core",
    "Number of threads that evaluate rules.",
);
const IN_FLIGHT: Variable = variable(
    "SERVICE_IN_FLIGHT_MAX",
    "a whole number from 1 to 65536",
    "1024",
    "Maximum number of transactions in flight. One more is answered 503.",
);
const CONFINEMENT: Variable = variable("SERVICE_CONFINEMENT", "`required` or `preferred`", "preferred", "Whether modules and Git refuse to work without Landlock or seccomp (`required`) or continue with a warning (`preferred`).").explained_in("operations.md#confinement");
const ZONES: Variable = variable(
    "SERVICE_TZDATA_DIR",
    "a directory of TZif files, such as /usr/share/zoneinfo",
    "the built-in zone data",
    "Directory from which time zone data is read at the start. Its digest is part of the rule-set version.",
)
.explained_in("operations.md#time-zone-data");
const POLICY: Variable = variable(
    "SERVICE_RULE_POLICY",
    "a JSON file",
    "none: everything is granted",
    "JSON file that states what rules may use, by their source.",
)
.explained_in("untrusted-rules.md");
const MARGIN: Variable = variable(
    "SERVICE_HISTORY_MARGIN",
    "a duration from PT1S to P400D, such as PT12H",
    "P30D",
    "How far behind the latest transaction a transaction may be dated and still be compared with its whole history.",
);
const SNAPSHOT: Variable = variable(
    "SERVICE_SNAPSHOT_INTERVAL",
    "0, or an ISO 8601 duration such as PT15M",
    "PT15M",
    "Time between two snapshots of the history, which make a restart fast; 0 writes one only at the end, except of keys on the disk.",
)
.explained_in("operations.md#history-and-snapshot");
const HOSTS: Variable = variable(
    "SERVICE_ALLOWED_HOSTS",
    "host names, separated by commas",
    "none",
    "Names under which clients may address the service, besides localhost and IP addresses.",
)
.explained_in("api.md");
const ORIGINS: Variable = variable(
    "SERVICE_ALLOWED_ORIGINS",
    "origins such as https://desk.example, separated by commas",
    "none",
    "Origins of web pages that may send changes through a reverse proxy. There is no CORS.",
)
.explained_in("api.md");
const LOG_FORMAT: Variable =
    variable("SERVICE_LOG_FORMAT", "`json` or `text`", "json", "Format of the log lines.");
const LOG_FILTER: Variable = variable("SERVICE_LOG", "a level such as `info`, or filters such as `warn,tollgate=debug`", "info", "Level of the log, or `tracing` filters. At `debug` every verdict is logged. No payment waits for the log.").explained_in("operations.md#log");

/// All settings by section, in the order of `--help` and of `docs/configuration.md`.
pub const SECTIONS: [(&str, &[Variable]); 8] = [
    ("Service", &[HOST, PORT, DATA_DIR]),
    (
        "Rules and lists",
        &[
            RULES_DIR,
            RULES_DIR_NOTICES,
            sources::OPTIONAL,
            sources::STRICT,
            sources::PARTIAL,
            sources::REQUIRED,
            sources::WHEN_NOT_READY,
            sources::LISTS_SHRINK,
            sources::CONFIRM_BROAD,
            POLICY,
            owners::FUEL,
            owners::QUARANTINE_AFTER,
            owners::SAVES,
            words::CURRENCIES,
            words::STATUS_WORDS,
        ],
    ),
    (
        "Rules in Git",
        &[
            git::REPO,
            git::BRANCH,
            git::TOKEN,
            git::POLL,
            git::TIMEOUT,
            git::SSH_KEY,
            git::SSH_HOST_KEYS,
            git::AUTHOR,
            git::SCHEMES,
            git::HOSTS,
            git::PRIVATE,
        ],
    ),
    (
        "Ledger",
        &[
            ledger::KIND,
            ledger::IDENTITY,
            ledger::PARENT_WAIT,
            ledger::LEFT_OUT,
            ledger::UNREADABLE,
            ledger::DSN,
            ledger::TABLE,
            ledger::COLUMNS,
            ledger::INTERVAL,
            ledger::BATCH,
            ledger::LOOK_BACK,
            ledger::OVERLAP,
            ledger::TIMEOUT,
            ledger::EVALUATE,
            ledger::WAIT,
            links::LEDGER_SECRET,
        ],
    ),
    (
        "Alerts",
        &[
            links::THRESHOLD,
            links::TUNNEL,
            links::TUNNEL_TOKEN,
            links::HEARTBEAT,
            links::RECONNECT_MIN,
            links::RECONNECT_MAX,
            links::WEBHOOK,
            links::WEBHOOK_SECRET,
            links::WEBHOOK_RETRIES,
            links::WEBHOOK_TIMEOUT,
        ],
    ),
    (
        "Evaluation and history",
        &[
            THREADS,
            IN_FLIGHT,
            memory::MEMORY,
            memory::SPILL_DIR,
            memory::KEYS_ON_DISK,
            MARGIN,
            SNAPSHOT,
            ZONES,
            CONFINEMENT,
            execution::EXECUTION,
        ],
    ),
    (
        "Requests and connections",
        &[
            HOSTS,
            ORIGINS,
            requests::IDENTIFIERS,
            requests::OBJECT_KEYS,
            requests::TIME_TOLERANCE,
            requests::TIME_BEYOND,
            requests::WINDOW_CLOCK,
            requests::DEDUPLICATE,
            connections::OPEN_MAX,
            connections::PER_ADDRESS_MAX,
            connections::HEAD,
            connections::BODY,
            connections::WRITE,
            connections::IDLE,
            connections::AGE,
            connections::STOP,
        ],
    ),
    ("Log and traces", &[LOG_FORMAT, LOG_FILTER, traces::ENDPOINT]),
];

impl Settings {
    /// Reads all settings from `environment`.
    ///
    /// # Errors
    /// Returns the first invalid value.
    pub fn read(
        environment: impl Fn(&'static str) -> Result<Option<String>, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let read = SettingsReader { environment };
        Ok(Self {
            host: read.parsed(HOST)?.unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: read.parsed(PORT)?.unwrap_or(8081),
            connections: ConnectionSettings::read(&read)?,
            requests: requests::read(&read)?,
            hash_window: requests::hash_window(&read)?,
            data_dir: read.path(DATA_DIR)?,
            accept_empty_store: None,
            rules_dir: read.path(RULES_DIR)?,
            rules_dir_is_set: read.text(RULES_DIR)?.is_some(),
            rules_dir_notices: read.parsed(RULES_DIR_NOTICES)?.unwrap_or(true),
            evaluation_threads: read
                .count(THREADS, 256)?
                .unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)),
            transactions_in_flight_max: read.count(IN_FLIGHT, 65_536)?.unwrap_or(IN_FLIGHT_DEFAULT),
            memory_limit_bytes: read.size(memory::MEMORY)?,
            walls_are_needed: read.walls_are_needed()?,
            execution: execution::read(&read)?,
            rule_policy: read.text(POLICY)?.map(PathBuf::from),
            fuel_per_owner: owners::fuel(&read)?,
            quarantine_after: owners::quarantine_after(&read)?,
            words: WordSettings::read(&read)?,
            saves_per_minute: owners::saves_per_minute(&read)?,
            spill_dir: read.text(memory::SPILL_DIR)?.map(PathBuf::from),
            keys_on_disk: read.parsed(memory::KEYS_ON_DISK)?.unwrap_or(true),
            zone_data_dir: read.text(ZONES)?.map(PathBuf::from),
            history_margin: read.window(MARGIN)?,
            snapshot_interval: read.interval(SNAPSHOT)?,
            allowed_hosts: read.names(HOSTS)?,
            allowed_origins: read.origins()?,
            sources_are_optional: read.parsed(sources::OPTIONAL)?.unwrap_or(false),
            partial_source: sources::partial_source(&read)?,
            rules_required: read.up_to(sources::REQUIRED, RULES_REQUIRED_MAX)?,
            when_not_ready: sources::when_not_ready(&read)?,
            git: GitSettings::read(&read)?,
            ledger: ledger::read(&read)?,
            links: LinkSettings::read(&read)?,
            traces_endpoint: read.secret(traces::ENDPOINT)?,
            log_format: read.log_format()?,
            log_filter: read.log_filter()?,
            lists_shrink: sources::lists_shrink(&read)?,
            confirms_broad_rules: read.parsed(sources::CONFIRM_BROAD)?.unwrap_or(false),
        })
    }
}

/// Reads the directory of time zone data only.
///
/// # Errors
/// Returns an error if the variable is not valid text.
pub fn zone_data_dir(
    environment: impl Fn(&'static str) -> Result<Option<String>, ConfigError>,
) -> Result<Option<PathBuf>, ConfigError> {
    Ok(SettingsReader { environment }.text(ZONES)?.map(PathBuf::from))
}

/// Reads the data directory only.
///
/// # Errors
/// Returns an error if the variable is not valid text.
pub fn data_dir(
    environment: impl Fn(&'static str) -> Result<Option<String>, ConfigError>,
) -> Result<PathBuf, ConfigError> {
    SettingsReader { environment }.path(DATA_DIR)
}

/// Maximum number of rules that can be in force.
const RULES_REQUIRED_MAX: usize = 10_000;
const IN_FLIGHT_DEFAULT: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

impl<E: Fn(&'static str) -> Result<Option<String>, ConfigError>> SettingsReader<E> {
    fn origins(&self) -> Result<Vec<String>, ConfigError> {
        let origins = self.names(ORIGINS)?;
        let is_origin = |origin: &&String| origin.starts_with("http://") || origin.starts_with("https://");
        match origins.iter().find(|origin| !is_origin(origin)) {
            Some(other) => Err(ORIGINS.refuse(other)),
            None => Ok(origins),
        }
    }

    /// Reads the log filter. An unknown level is refused: `tracing` would treat it as a module name and log nothing
    /// else.
    fn log_filter(&self) -> Result<String, ConfigError> {
        let filter = self.text(LOG_FILTER)?.unwrap_or_else(|| LOG_FILTER.default.to_owned());
        let levels = ["off", "error", "warn", "info", "debug", "trace"];
        let is_known =
            |part: &str| part.contains('=') || levels.contains(&part.to_ascii_lowercase().as_str());
        if filter.split(',').map(str::trim).all(is_known) {
            Ok(filter)
        } else {
            Err(LOG_FILTER.refuse(&filter))
        }
    }

    fn walls_are_needed(&self) -> Result<bool, ConfigError> {
        match self.text(CONFINEMENT)?.as_deref() {
            None | Some("preferred") => Ok(false),
            Some("required") => Ok(true),
            Some(other) => Err(CONFINEMENT.refuse(other)),
        }
    }

    fn log_format(&self) -> Result<LogFormat, ConfigError> {
        match self.text(LOG_FORMAT)?.as_deref() {
            None | Some("json") => Ok(LogFormat::Json),
            Some("text") => Ok(LogFormat::Text),
            Some(other) => Err(LOG_FORMAT.refuse(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(name: &'static str, value: &'static str) -> Result<Settings, ConfigError> {
        Settings::read(|asked| Ok((asked == name).then(|| value.to_owned())))
    }

    #[track_caller]
    fn refused(name: &'static str, value: &'static str) {
        let error = settings(name, value).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
        assert!(error.contains("it takes "), "{error}");
    }

    #[test]
    fn without_any_variable_the_defaults_hold() {
        let settings = settings("NOTHING", "").unwrap();
        assert_eq!((settings.host.to_string().as_str(), settings.port), ("127.0.0.1", 8081));
        assert_eq!(settings.rules_dir, PathBuf::from("rules"));
    }

    #[test]
    fn a_value_that_does_not_do_is_refused_with_its_name_and_what_does() {
        refused("SERVICE_PORT", "eighty");
        refused("SERVICE_PORT", "65536");
        refused("SERVICE_PORT", "-1");
        refused("SERVICE_HOST", "localhost");
        refused("SERVICE_EVALUATION_THREADS", "0");
        refused("SERVICE_EVALUATION_THREADS", "257");
        refused("SERVICE_IN_FLIGHT_MAX", "1e3");
        refused("SERVICE_HISTORY_MARGIN", "30 days");
        refused("SERVICE_HISTORY_MARGIN", "P401D");
        refused("SERVICE_RULES_REQUIRED", "10001");
        refused("SERVICE_RULES_REQUIRED", "-1");
        refused("SERVICE_SOURCES_OPTIONAL", "yes");
        refused("SERVICE_WHEN_NOT_READY", "block");
        refused("SERVICE_LISTS_SHRINK", "refuse");
        refused("SERVICE_LOG_FORMAT", "xml");
        refused("SERVICE_LOG", "loud");
        refused("SERVICE_LOG", "info,louder");
        refused("SERVICE_ALLOWED_ORIGINS", "desk.example");
        for size in ["", "much", "2GB", "-1MiB", "1.5GiB", "1048575", "99999999999TiB", "MiB"] {
            refused("SERVICE_MEMORY_LIMIT", size);
        }
    }

    #[test]
    fn sizes_are_bytes_or_have_their_unit() {
        for (size, bytes) in
            [("1048576", 1 << 20), ("2048KiB", 2 << 20), ("512MiB", 512 << 20), (" 2 GiB", 2 << 30)]
        {
            assert_eq!(settings("SERVICE_MEMORY_LIMIT", size).unwrap().memory_limit_bytes, Some(bytes));
        }
        assert_eq!(settings("NOTHING", "").unwrap().memory_limit_bytes, None);
    }

    #[test]
    fn an_interval_is_written_as_rules_write_durations() {
        let interval = |text| settings("SERVICE_SNAPSHOT_INTERVAL", text).unwrap().snapshot_interval;
        assert_eq!(interval("PT1M30S"), Some(Duration::from_secs(90)));
        assert_eq!(interval("0"), None);
        assert_eq!(settings("NOTHING", "").unwrap().snapshot_interval, Some(Duration::from_secs(900)));
        for text in ["", "15", "15m", "PT0S", "-PT1M", "P1Y"] {
            refused("SERVICE_SNAPSHOT_INTERVAL", text);
        }
    }

    #[test]
    fn names_are_separated_by_commas() {
        let settings = settings("SERVICE_ALLOWED_HOSTS", " Pay.example ,, desk.example").unwrap();
        assert_eq!(settings.allowed_hosts, ["pay.example", "desk.example"]);
    }
}
