//! The numbers of one service, in the OpenMetrics text format.
//!
//! One file per group; a method is named after what happened, and the room in which it happens calls it. Labels hold
//! words of ours alone (verdicts, kinds, codes): no id or text of a caller, so the number of series is fixed. The one exception
//! names tests of rules, and is bounded (`incomparable`).

mod build;
mod commits;
mod connections;
mod git;
mod history;
mod incomparable;
mod ledger;
mod links;
mod log;
mod readiness;
mod requests;
mod rules;
mod snapshots;
mod transactions;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tollgate_links::outbound::TunnelObserver;

use chrono::{DateTime, Utc};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tollgate_guest_abi::Verdict;

use tollgate_engine::registry::RuleSet;
use tollgate_model::assessment::RuleFailure;

use commits::CommitMetrics;
use connections::ConnectionMetrics;
use git::GitMetrics;
use history::HistoryMetrics;
use incomparable::IncomparableMetrics;
use ledger::LedgerMetrics;
use links::LinkMetrics;
use readiness::ReadinessMetrics;
use requests::RequestMetrics;
use rules::RuleMetrics;
use snapshots::SnapshotMetrics;
use transactions::TransactionMetrics;

pub use connections::OpenConnection;
pub use history::HistorySize;
pub use rules::RuleSetFigures;
pub use transactions::InFlight;

/// The media type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// One label with a word of ours behind it.
type Label = [(&'static str, &'static str); 1];

/// The numbers of one service.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    transactions: TransactionMetrics,
    rules: RuleMetrics,
    commits: CommitMetrics,
    git: GitMetrics,
    history: HistoryMetrics,
    incomparable: IncomparableMetrics,
    links: LinkMetrics,
    snapshots: SnapshotMetrics,
    ledger: LedgerMetrics,
    readiness: ReadinessMetrics,
    requests: RequestMetrics,
    connections: ConnectionMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Everything at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("tollgate");
        build::register(&mut registry);
        log::register(&mut registry);
        Self {
            transactions: TransactionMetrics::register(&mut registry),
            rules: RuleMetrics::register(&mut registry),
            commits: CommitMetrics::register(&mut registry),
            git: GitMetrics::register(&mut registry),
            history: HistoryMetrics::register(&mut registry),
            incomparable: IncomparableMetrics::register(&mut registry),
            links: LinkMetrics::register(&mut registry),
            snapshots: SnapshotMetrics::register(&mut registry),
            ledger: LedgerMetrics::register(&mut registry),
            readiness: ReadinessMetrics::register(&mut registry),
            requests: RequestMetrics::register(&mut registry),
            connections: ConnectionMetrics::register(&mut registry),
            registry,
        }
    }

    /// A transaction was taken on; it is under way until the answer is dropped.
    #[must_use]
    pub fn taken_on(&self) -> InFlight {
        self.transactions.taken_on()
    }

    /// A transaction got its verdict; `evaluation_time` is what all rules took together. Not for an answer repeated.
    pub fn judged(&self, verdict: Verdict, evaluation_time: Duration) {
        self.transactions.judged(verdict, evaluation_time);
    }

    /// A transaction was refused because another one has its id.
    pub fn conflicted(&self) {
        self.transactions.conflicted();
    }

    /// A ledger event changed the status of a known transaction, durably.
    pub fn status_updated(&self) {
        self.transactions.status_updated();
    }

    /// A ledger event about a known transaction changed nothing.
    pub fn status_unchanged(&self) {
        self.transactions.status_unchanged();
    }

    /// A transaction was taken in of which an identifier holds what nobody sees: `origin` is `inject`, `event` or `ledger`.
    pub fn unclear_identifier(&self, origin: &'static str) {
        self.transactions.unclear_identifier(origin);
    }

    /// A ledger event about no transaction was acknowledged.
    pub fn event_ignored(&self) {
        self.requests.event_ignored();
    }

    /// A rule could not answer for a transaction.
    pub fn rule_failed(&self, failure: RuleFailure) {
        self.rules.failed(failure);
    }

    /// Another rule set came into force.
    pub fn rule_set_swapped(&self, rule_set: RuleSetFigures) {
        self.rules.swapped(rule_set);
    }

    /// Modules of several rules failed, and their rules were run one by one.
    pub fn bodies_failed(&self, n_bodies: usize) {
        self.rules.bodies_failed(n_bodies);
    }

    /// How many instructions wait for the history to know what they ask.
    pub fn rules_activating(&self, n_rules: usize) {
        self.rules.activating(n_rules);
    }

    /// Rule files and lists that are not in force as they lie there.
    pub fn rule_files_refused(&self, n_files: usize) {
        self.rules.files_refused(n_files);
    }

    /// A readiness check is ok (0), degraded (1) or failing (2), since this time.
    pub fn readiness_check(&self, check: &'static str, level: i64, since: DateTime<Utc>) {
        self.readiness.set(check, level, since);
    }

    /// An operation on the repository ended, well or not.
    pub fn git_operation(&self, is_ok: bool, now: DateTime<Utc>) {
        self.git.ended(is_ok, now);
    }

    /// An attempt to deliver an alert ended: `result` is `delivered`, `failed` or `dead`.
    pub fn alert_attempted(&self, result: &'static str) {
        self.links.attempt(result).inc();
    }

    /// How many alerts are on their way, and how many are dead letters.
    pub fn alerts_kept(&self, n_pending: u64, n_dead: u64) {
        self.links.pending.set(i64::try_from(n_pending).unwrap_or(i64::MAX));
        self.links.dead.set(i64::try_from(n_dead).unwrap_or(i64::MAX));
    }

    /// A webhook wants to hear of nothing any more.
    pub fn alert_endpoint_gone(&self) {
        self.links.endpoints_gone.inc();
    }

    /// A group of transactions and status updates became durable together.
    pub fn committed(&self, n_kept: usize, commit_time: Duration) {
        self.commits.committed(n_kept, commit_time);
    }

    /// A group of transactions and status updates was refused by the store.
    pub fn commit_failed(&self) {
        self.commits.failed();
    }

    /// The history was brought back: so many transactions from a snapshot, and so many from the store.
    pub fn history_restored(&self, n_from_snapshot: u64, n_from_store: u64) {
        self.snapshots.restored(n_from_snapshot, n_from_store);
    }

    /// A snapshot of the history was written.
    pub fn snapshot_written(&self, n_bytes: u64) {
        self.snapshots.written(n_bytes);
    }

    /// A snapshot of the history could not be written.
    pub fn snapshot_failed(&self) {
        self.snapshots.failed();
    }

    /// A snapshot of the history was there and was not believed.
    pub fn snapshot_refused(&self) {
        self.snapshots.refused();
    }

    /// Whether the ledger can be read at the moment.
    pub fn ledger_connected(&self, is_connected: bool) {
        self.ledger.connected(is_connected);
    }

    /// Up to which time the ledger was read, in microseconds since 1970 UTC.
    pub fn ledger_mark(&self, micros: i64) {
        self.ledger.mark(micros);
    }

    /// How many rows the first reading of this run has before it.
    pub fn ledger_remaining(&self, n_rows: u64) {
        self.ledger.remaining(n_rows);
    }

    /// So many rows of the ledger were read: `taken`, `updated`, `known` or `dead`.
    pub fn ledger_rows(&self, result: &'static str, n_rows: u64) {
        self.ledger.rows(result, n_rows);
    }

    /// This became of an event of the ledger: `taken`, `waiting`, `ignored`, `dead` or `refused`.
    pub fn ledger_event(&self, result: &'static str) {
        self.ledger.event(result);
    }

    /// So many entries of the ledger wait for their parent.
    pub fn ledger_waiting(&self, n_entries: u64) {
        self.ledger.waiting(n_entries);
    }

    /// A reading of the ledger ended, well or not.
    pub fn ledger_pass(&self, is_ok: bool) {
        self.ledger.passed(is_ok);
    }

    /// A request was answered with an error; `code` is a word of the catalogue of error codes.
    pub fn refused(&self, code: &'static str) {
        self.requests.refused(code);
    }

    /// A client was let in; its connection is open until this is dropped.
    #[must_use]
    pub fn connection_opened(&self) -> OpenConnection {
        self.connections.opened()
    }

    /// A client was not let in: `reason` is `full`, `address` or `files`.
    pub fn connection_refused(&self, reason: &'static str) {
        self.connections.refused(reason).inc();
    }

    /// A connection came to a limit: `head`, `body`, `write`, `idle`, `age` or `stop`.
    pub fn connection_cut(&self, limit: &'static str) {
        self.connections.cut(limit).inc();
    }

    /// Names who knows the size of the history; asked at every scrape. The first call counts.
    ///
    /// The closure must not keep alive what holds these metrics.
    pub fn watch_history(&self, measure: impl Fn() -> HistorySize + Send + Sync + 'static) {
        self.history.watch(measure);
    }

    /// Names who knows the rules in force, as [`Metrics::watch_history`].
    pub fn watch_rules(&self, rules: impl Fn() -> Arc<RuleSet> + Send + Sync + 'static) {
        self.incomparable.watch(rules);
    }

    /// Everything as it stands now.
    ///
    /// # Errors
    /// None today: writing to a string cannot fail.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode(&mut page, &self.registry)?;
        Ok(page)
    }
}

impl TunnelObserver for Metrics {
    fn tunnel_came_up(&self) {
        self.links.tunnel_connections.inc();
        self.links.tunnel_up.set(1);
    }

    fn tunnel_went_down(&self) {
        self.links.tunnel_up.set(0);
    }

    fn notice_sent(&self) {
        self.links.notification("sent").inc();
    }

    fn notice_not_sent(&self, reason: &'static str) {
        self.links.notification(reason).inc();
    }

    fn tunnel_message_ignored(&self) {
        self.links.messages_ignored.inc();
    }
}

#[cfg(test)]
mod tests;
