//! `GET /system`

use axum::Json;
use axum::extract::State;
use chrono::SecondsFormat;
use serde::Serialize;
use tollgate_store::{DiskSpace, StoreSize};
use utoipa::ToSchema;

use super::ApiState;
use super::error_code::ErrorCode;
use tollgate_telemetry::config::{SettingOrigin, settings_in_force};

pub(super) const ERRORS: &[ErrorCode] = &[];

/// The service, what it takes of the machine, and its settings.
#[derive(Serialize, ToSchema)]
#[schema(as = System)]
pub(super) struct SystemView {
    /// Version of the program.
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// Time of the start.
    #[schema(value_type = DateTime<Utc>)]
    started_at: String,
    /// Seconds since then.
    uptime_seconds: i64,
    /// Version of the rule set in force.
    rule_set_version: u64,
    /// Rules in force.
    rules: usize,
    /// Transactions in flight.
    in_flight: i64,
    /// Open connections of clients.
    connections: i64,
    /// The process; null where the system does not tell.
    #[schema(required = true)]
    process: Option<ProcessView>,
    /// The disk of the data directory.
    disk: DiskView,
    /// The history.
    history: HistoryView,
    /// All settings, in the order of the documentation.
    settings: Vec<SettingView>,
}

/// Resources that the process takes.
#[derive(Serialize, ToSchema)]
#[schema(as = SystemProcess)]
pub(super) struct ProcessView {
    /// Resident memory.
    resident_bytes: u64,
    /// CPU time, user and system.
    cpu_seconds: f64,
    /// Open files.
    open_files: usize,
}

/// The disk of the data directory.
#[derive(Serialize, ToSchema)]
#[schema(as = SystemDisk)]
pub(super) struct DiskView {
    /// Free space; null where the system does not tell.
    #[schema(required = true)]
    free_bytes: Option<u64>,
    /// Size of the store.
    store_bytes: u64,
    /// Size of the files of the history in the data directory.
    history_bytes: u64,
    /// Bytes by which the store and these files grew for each stored transaction in the last hour; 0 until it is known.
    bytes_per_transaction: u64,
    /// Bytes by which they grow in a day, at the rate of the last hour.
    bytes_per_day: u64,
    /// Time at which the disk is full at that rate; null if they do not grow.
    #[schema(required = true, value_type = Option<DateTime<Utc>>)]
    full_at: Option<String>,
}

/// The history.
#[derive(Serialize, ToSchema)]
#[schema(as = SystemHistory)]
pub(super) struct HistoryView {
    /// Transactions that rules can ask about.
    transactions: u64,
    /// Series.
    series: u64,
    /// Memory, as accounted.
    resident_bytes: u64,
    /// `SERVICE_MEMORY_LIMIT`, or the limit that the service chose.
    limit_bytes: usize,
    /// Size of the part in the spill file.
    spilled_bytes: u64,
}

/// A setting.
#[derive(Serialize, ToSchema)]
#[schema(as = SystemSetting)]
pub(super) struct SettingView {
    /// Name of the environment variable.
    #[schema(example = "SERVICE_PORT")]
    name: &'static str,
    /// Its value, or the default in words; null if it is a secret that is set.
    #[schema(required = true, example = "8081")]
    value: Option<String>,
    /// `environment`, `file` (`.env`) or `default`.
    #[schema(example = "default")]
    origin: &'static str,
}

/// Returns what the service takes of the machine, and its settings. Secrets are left out.
#[utoipa::path(
    get, path = "/system", tag = "Operation",
    responses((status = 200, description = "The service.", body = SystemView))
)]
pub(super) async fn get_system(State(api): State<ApiState>) -> Json<SystemView> {
    let facts = &api.activity.service;
    let (now, size) = (api.activity.statistics.now(), api.metrics.history_size());
    let rule_set = api.intake.rule_set();
    let (store, outlook) = (StoreSize::of(&facts.data_dir), api.metrics.disk_outlook());
    Json(SystemView {
        version: env!("CARGO_PKG_VERSION"),
        started_at: facts.started_at.to_rfc3339_opts(SecondsFormat::Micros, true),
        uptime_seconds: (now - facts.started_at).num_seconds().max(0),
        rule_set_version: rule_set.version,
        rules: rule_set.rules.len(),
        in_flight: api.metrics.totals().n_in_flight,
        connections: api.metrics.n_connections(),
        process: process(),
        disk: DiskView {
            free_bytes: DiskSpace::at(&facts.data_dir).ok().map(|space| space.free_bytes),
            store_bytes: store.total(),
            history_bytes: store.history,
            bytes_per_transaction: outlook.bytes_per_transaction,
            bytes_per_day: outlook.bytes_per_day,
            full_at: outlook.full_at.map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true)),
        },
        history: HistoryView {
            transactions: size.n_transactions,
            series: size.n_series,
            resident_bytes: size.resident_bytes,
            limit_bytes: facts.memory_bytes,
            spilled_bytes: size.spilled_bytes,
        },
        settings: settings(),
    })
}

fn settings() -> Vec<SettingView> {
    let views = settings_in_force().into_iter().map(|setting| SettingView {
        name: setting.name,
        value: setting.value,
        origin: match setting.origin {
            SettingOrigin::Environment => "environment",
            SettingOrigin::File => "file",
            SettingOrigin::Default => "default",
        },
    });
    views.collect()
}

#[cfg(target_os = "linux")]
fn process() -> Option<ProcessView> {
    let usage = tollgate_telemetry::metrics::ProcessUsage::read().ok()?;
    let (resident_bytes, cpu_seconds) = (usage.resident_bytes, usage.cpu_seconds);
    Some(ProcessView { resident_bytes, cpu_seconds, open_files: usage.n_files })
}

#[cfg(not(target_os = "linux"))]
fn process() -> Option<ProcessView> {
    None
}
