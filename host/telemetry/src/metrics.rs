//! The metrics of one service, in the OpenMetrics text format.
//!
//! There is one file per group. A method is named after an event and is called by the module in which the event
//! happens. Labels contain only fixed words (verdicts, kinds, codes), never ids or texts from input, so the number of
//! metric series is fixed. The exceptions concern rules in force, and are bounded (`rules_in_force`): ids of instructions, and tests.

mod build;
mod commits;
mod connections;
mod disk;
mod git;
mod history;
mod ledger;
mod links;
mod log;
mod plain_text;
#[cfg(target_os = "linux")]
mod process;
mod readiness;
mod requests;
mod rules;
mod rules_in_force;
mod snapshots;
mod transactions;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tollgate_links::outbound::TunnelObserver;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tollgate_guest_abi::Verdict;

use tollgate_engine::registry::RuleSet;
use tollgate_model::assessment::RuleFailure;
use tollgate_model::sequence::Sequence;

use crate::latency::N_CLASSES;
use commits::CommitMetrics;
use connections::ConnectionMetrics;
use disk::DiskMetrics;
pub use disk::DiskOutlook;
use git::GitMetrics;
use history::HistoryMetrics;
use ledger::{LedgerEventMetrics, LedgerMetrics};
use links::{LinkRegistry, TraceMetrics, TunnelMetrics, WebhookMetrics};
pub(crate) use log::set_lines_lost;
use readiness::ReadinessMetrics;
use requests::RequestMetrics;
use rules::RuleMetrics;
use rules_in_force::RuleInForceMetrics;
use snapshots::SnapshotMetrics;
use transactions::TransactionMetrics;

pub(crate) use connections::OpenConnection;
pub use history::HistorySize;
pub use links::MeasuredLink;
pub use plain_text::{PLAIN_TEXT, plain_text};
#[cfg(target_os = "linux")]
pub use process::ProcessUsage;
pub use requests::RequestKind;
pub use rules::RuleSetFigures;
pub use transactions::InFlight;

/// The media type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The first word of every name.
const PREFIX: &str = "tollgate";

/// Transactions that were not approved, of which the numbers are kept until somebody takes them.
const FLAGGED_MAX: usize = 256;

/// One label with a fixed word as its value.
type Label = [(&'static str, &'static str); 1];

/// The metrics of one service.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    of_links: BTreeMap<MeasuredLink, LinkRegistry>,
    /// Metrics whose names have no prefix.
    of_process: Registry,
    transactions: TransactionMetrics,
    rules: RuleMetrics,
    commits: CommitMetrics,
    git: GitMetrics,
    history: HistoryMetrics,
    rules_in_force: RuleInForceMetrics,
    tunnel: TunnelMetrics,
    webhooks: WebhookMetrics,
    traces: TraceMetrics,
    snapshots: SnapshotMetrics,
    disk: DiskMetrics,
    ledger: LedgerMetrics,
    ledger_events: LedgerEventMetrics,
    readiness: ReadinessMetrics,
    requests: RequestMetrics,
    connections: ConnectionMetrics,
    /// Latest transactions that were not approved.
    flagged: Mutex<VecDeque<Sequence>>,
}

/// Counts since the service started.
#[derive(Debug, Clone)]
pub struct ServiceTotals {
    /// Verdicts by their word.
    pub verdicts: [(&'static str, u64); 4],
    /// Failures of rules by kind.
    pub failures: [(&'static str, u64); RuleFailure::ALL.len()],
    /// Times of injects by class.
    pub times: [u64; N_CLASSES],
    /// Transactions in flight now.
    pub n_in_flight: i64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Creates metrics that are all zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        build::register(&mut registry);
        log::register(&mut registry);
        let mut of_links: BTreeMap<MeasuredLink, LinkRegistry> = BTreeMap::new();
        let mut of_process = Registry::default();
        #[cfg(target_os = "linux")]
        process::register(&mut of_process);
        Self {
            of_process,
            transactions: TransactionMetrics::register(&mut registry),
            rules: RuleMetrics::register(&mut registry),
            commits: CommitMetrics::register(&mut registry),
            git: GitMetrics::register(of_links.entry(MeasuredLink::Git).or_default().registry()),
            history: HistoryMetrics::register(&mut registry),
            rules_in_force: RuleInForceMetrics::register(&mut registry),
            tunnel: TunnelMetrics::register(of_links.entry(MeasuredLink::Tunnel).or_default().registry()),
            webhooks: WebhookMetrics::register(
                of_links.entry(MeasuredLink::Webhooks).or_default().registry(),
            ),
            traces: TraceMetrics::register(of_links.entry(MeasuredLink::Traces).or_default().registry()),
            snapshots: SnapshotMetrics::register(&mut registry),
            disk: DiskMetrics::register(&mut registry),
            ledger: LedgerMetrics::register(of_links.entry(MeasuredLink::Ledger).or_default().registry()),
            ledger_events: LedgerEventMetrics::register(&mut registry),
            readiness: ReadinessMetrics::register(&mut registry),
            requests: RequestMetrics::register(&mut registry),
            connections: ConnectionMetrics::register(&mut registry),
            flagged: Mutex::default(),
            registry,
            of_links,
        }
    }

    /// Shows the metrics of a link, which is configured.
    pub fn show_link(&self, link: MeasuredLink) {
        if let Some(of_link) = self.of_links.get(&link) {
            of_link.show();
        }
    }

    /// Counts an accepted transaction as in progress until the returned guard is dropped.
    #[must_use]
    pub fn count_in_flight(&self) -> InFlight {
        self.transactions.count_in_flight()
    }

    /// Counts a verdict; `evaluation_time` is the total for all rules. Repeated responses are not counted.
    pub fn judged(&self, verdict: Verdict, evaluation_time: Duration) {
        self.transactions.judged(verdict, evaluation_time);
    }

    /// Returns what was counted so far.
    #[must_use]
    pub fn totals(&self) -> ServiceTotals {
        ServiceTotals {
            verdicts: self.transactions.totals(),
            failures: self.rules.totals(),
            times: self.requests.inject_times(),
            n_in_flight: self.transactions.n_in_flight(),
        }
    }

    /// Notes the number of a transaction that was not approved. Only the latest are kept.
    pub fn flagged(&self, sequence: Sequence) {
        let mut flagged = self.flagged.lock();
        if flagged.len() >= FLAGGED_MAX {
            flagged.pop_front();
        }
        flagged.push_back(sequence);
    }

    /// Returns the numbers that were noted since the last call, the lowest first.
    pub fn take_flagged(&self) -> Vec<Sequence> {
        self.flagged.lock().drain(..).collect()
    }

    /// Counts a transaction refused because another one has its id.
    pub fn conflicted(&self) {
        self.transactions.conflicted();
    }

    /// Counts a ledger event that durably changed the status of a known transaction.
    pub fn status_updated(&self) {
        self.transactions.status_updated();
    }

    /// Counts a ledger event about a known transaction that changed nothing.
    pub fn status_unchanged(&self) {
        self.transactions.status_unchanged();
    }

    /// Counts an accepted transaction with invisible characters in an identifier; `origin` is `inject`, `event` or
    /// `ledger`.
    pub fn unclear_identifier(&self, origin: &'static str) {
        self.transactions.unclear_identifier(origin);
    }

    /// Counts an injected transaction without an id: a repetition of it is judged again.
    pub fn judged_without_id(&self) {
        self.transactions.judged_without_id();
    }

    /// Counts an injected transaction whose time was too far from the clock, so that another one counts.
    pub fn time_clamped(&self) {
        self.transactions.time_clamped();
    }

    /// Counts an acknowledged ledger event that is not about a transaction.
    pub fn event_ignored(&self) {
        self.requests.event_ignored();
    }

    /// Records the time to the response of a request.
    pub fn answered(&self, kind: RequestKind, time: Duration) {
        self.requests.answered(kind, time);
    }

    /// Notes the free space of the disk and the size of the store, in bytes.
    pub fn disk_measured(&self, n_free: u64, n_used: u64) {
        self.disk.measured(n_free, n_used);
    }

    /// Notes how the files of the data directory grow.
    pub fn disk_expected(&self, outlook: DiskOutlook) {
        self.disk.expect(outlook);
    }

    /// Returns how the files of the data directory grow.
    #[must_use]
    pub fn disk_outlook(&self) -> DiskOutlook {
        self.disk.outlook()
    }

    /// Counts a failure of a rule.
    pub fn rule_failed(&self, failure: RuleFailure) {
        self.rules.failed(failure);
    }

    /// Records the figures of a new rule set in force.
    pub fn rule_set_swapped(&self, rule_set: RuleSetFigures) {
        self.rules.swapped(rule_set);
    }

    /// Counts failed fused modules, whose rules were then run one by one.
    pub fn bodies_failed(&self, n_bodies: usize) {
        self.rules.bodies_failed(n_bodies);
    }

    /// Sets the number of instructions waiting for the history.
    pub fn rules_activating(&self, n_rules: usize) {
        self.rules.activating(n_rules);
    }

    /// Sets the number of rule files and lists that are not in force in their current version.
    pub fn rule_files_refused(&self, n_files: usize) {
        self.rules.files_refused(n_files);
    }

    /// Sets the state of a readiness check, ok (0), degraded (1) or failing (2), and its start.
    pub fn readiness_check(&self, check: &'static str, level: i64, since: DateTime<Utc>) {
        self.readiness.set(check, level, since);
    }

    /// Counts a completed operation on the repository, successful or not.
    pub fn git_operation(&self, is_ok: bool, now: DateTime<Utc>) {
        self.show_link(MeasuredLink::Git);
        self.git.ended(is_ok, now);
    }

    /// Counts a delivery attempt of an alert; `result` is `delivered`, `failed` or `dead`.
    pub fn alert_attempted(&self, result: &'static str) {
        self.webhooks.attempt(result).inc();
    }

    /// Counts an export of traces.
    pub fn traces_exported(&self, is_ok: bool) {
        self.traces.export(if is_ok { "accepted" } else { "failed" }).inc();
    }

    /// Sets the numbers of pending alerts and of dead letters.
    pub fn alerts_kept(&self, n_pending: u64, n_dead: u64) {
        if n_pending + n_dead > 0 {
            // Also without a webhook, some may be left from before.
            self.show_link(MeasuredLink::Webhooks);
        }
        self.webhooks.pending.set(i64::try_from(n_pending).unwrap_or(i64::MAX));
        self.webhooks.dead.set(i64::try_from(n_dead).unwrap_or(i64::MAX));
    }

    /// Counts a webhook that no longer accepts alerts.
    pub fn alert_endpoint_gone(&self) {
        self.webhooks.endpoints_gone.inc();
    }

    /// Records a commit of transactions and status updates.
    pub fn committed(&self, n_committed: usize, commit_time: Duration) {
        self.commits.committed(n_committed, commit_time);
    }

    /// Counts a commit that the store refused.
    pub fn commit_failed(&self) {
        self.commits.failed();
    }

    /// Records a restore of the history: transactions from a snapshot, and from the store.
    pub fn history_restored(&self, n_from_snapshot: u64, n_from_store: u64) {
        self.snapshots.restored(n_from_snapshot, n_from_store);
    }

    /// Records a written snapshot of the history.
    pub fn snapshot_written(&self, n_bytes: u64) {
        self.snapshots.written(n_bytes);
    }

    /// Counts a snapshot that could not be written.
    pub fn snapshot_failed(&self) {
        self.snapshots.failed();
    }

    /// Counts an existing snapshot that was invalid.
    pub fn snapshot_refused(&self) {
        self.snapshots.refused();
    }

    /// Sets whether the ledger is readable.
    pub fn ledger_connected(&self, is_connected: bool) {
        self.ledger.connected(is_connected);
    }

    /// Sets the time up to which the ledger was read, in microseconds since 1970 UTC.
    pub fn ledger_mark(&self, micros: i64) {
        self.ledger.mark(micros);
    }

    /// Sets the number of rows that remain in the first pass of this run.
    pub fn ledger_remaining(&self, n_rows: u64) {
        self.ledger.remaining(n_rows);
    }

    /// Counts rows read from the ledger; `result` is `taken`, `updated`, `known` or `dead`.
    pub fn ledger_rows(&self, result: &'static str, n_rows: u64) {
        self.ledger.rows(result, n_rows);
    }

    /// Counts an event of the ledger; `result` is `taken`, `waiting`, `ignored`, `dead` or `refused`.
    pub fn ledger_event(&self, result: &'static str) {
        self.ledger_events.event(result);
    }

    /// Sets the number of ledger entries waiting for their parent.
    pub fn ledger_waiting(&self, n_entries: u64) {
        self.ledger_events.waiting(n_entries);
    }

    /// Counts a completed pass over the ledger, successful or not.
    pub fn ledger_pass(&self, is_ok: bool) {
        self.ledger.passed(is_ok);
    }

    /// Counts an error response; `code` is from the catalogue of error codes.
    pub fn refused(&self, code: &'static str) {
        self.requests.refused(code);
    }

    /// Returns the size of the history.
    pub fn history_size(&self) -> HistorySize {
        self.history.size()
    }

    /// Returns the number of open connections.
    pub fn n_connections(&self) -> i64 {
        self.connections.n_open()
    }

    /// Counts a connection as open until the returned guard is dropped.
    #[must_use]
    pub fn connection_opened(&self) -> OpenConnection {
        self.connections.opened()
    }

    /// Counts a refused connection; `reason` is `full`, `address` or `files`.
    pub fn connection_refused(&self, reason: &'static str) {
        self.connections.refused(reason).inc();
    }

    /// Counts a connection closed at a limit: `head`, `body`, `write`, `idle`, `age` or `stop`.
    pub fn connection_cut(&self, limit: &'static str) {
        self.connections.cut(limit).inc();
    }

    /// Registers a function that measures the history; it is called at every scrape. Only the first registration
    /// counts.
    ///
    /// The closure must not keep alive the owner of these metrics.
    pub fn watch_history(&self, measure: impl Fn() -> HistorySize + Send + Sync + 'static) {
        self.history.watch(measure);
    }

    /// Registers a function that returns the rules in force; see [`Metrics::watch_history`].
    pub fn watch_rules(&self, rules: impl Fn() -> Arc<RuleSet> + Send + Sync + 'static) {
        self.rules_in_force.watch(rules);
    }

    /// Encodes the current values.
    ///
    /// # Errors
    /// None at present: writing to a string cannot fail.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode_registry(&mut page, &self.of_process)?;
        text::encode_registry(&mut page, &self.registry)?;
        for of_link in self.of_links.values().filter(|of_link| of_link.is_shown()) {
            text::encode_registry(&mut page, of_link)?;
        }
        text::encode_eof(&mut page)?;
        Ok(page)
    }
}

impl TunnelObserver for Metrics {
    fn tunnel_came_up(&self) {
        self.tunnel.connections.inc();
        self.tunnel.up.set(1);
    }

    fn tunnel_went_down(&self) {
        self.tunnel.up.set(0);
    }

    fn notice_sent(&self) {
        self.tunnel.notification("sent").inc();
    }

    fn notice_not_sent(&self, reason: &'static str) {
        self.tunnel.notification(reason).inc();
    }

    fn tunnel_message_ignored(&self) {
        self.tunnel.messages_ignored.inc();
    }
}

#[cfg(test)]
mod tests;
