//! Resources of the machine: checked at startup, and every second where they can change.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tollgate_engine::artifacts::{ArtifactError, Compiler};
use tollgate_engine::registry::Registry;
use tollgate_history::History;
use tollgate_model::instruction::InstructionStatus;
use tollgate_process::HistoryMemory;
use tollgate_process::tls;

use crate::service::disk_probe::{DiskProbe, each_second};
use tollgate_pipeline::monitor::Monitor;
use tollgate_telemetry::config::{authorities_named, proxies_set, substituted_settings, unknown_settings};
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::{CheckLevel, ReadinessCheck, ReadinessChecks};

/// Number of checks after a failed commit until `/readyz` no longer fails because of it.
const LOOKS_BEFORE_RETRY: u32 = 5;
/// Number of checks over which records that could not be read are counted: ten seconds.
const UNREAD_CHECKS: usize = 10;
/// Records that could not be read in this time, from which `/readyz` names them.
const UNREAD_MIN: u64 = 64;
/// Maximum number of quarantined rules that are named.
const NAMES_MAX: usize = 5;

/// Reports the confinement of processes that handle untrusted input, as such a process measures it.
pub(super) async fn report_walls(are_needed: bool, checks: &ReadinessChecks) {
    let check = checks.add("confinement");
    let looked = move || Compiler::of_this_program(are_needed).walls();
    match tokio::task::spawn_blocking(looked).await {
        Ok(Ok(walls)) if walls.is_one_missing() => check.degraded(format!(
            "{walls}; modules and Git work without it unless SERVICE_CONFINEMENT is `required`"
        )),
        Ok(Ok(walls)) => check.ok_with(walls.to_string()),
        Ok(Err(ArtifactError::Refused(why) | ArtifactError::Unavailable(why))) => {
            check.degraded(format!("modules cannot be compiled, and Git cannot be used: {why}"));
        }
        Err(error) => {
            check.degraded(format!("the processes for modules and Git could not be tested: {error}"))
        }
    }
}

/// Warns of variables that look like settings but are none, of values that `.env` changes, of proxy variables that are
/// ignored, and of missing certificates.
pub(super) fn report_environment() {
    let unknown = unknown_settings();
    if !unknown.is_empty() {
        tracing::warn!(variables = unknown.join(", "), "these variables are not settings and have no effect");
    }
    let substituted = substituted_settings();
    if !substituted.is_empty() {
        tracing::warn!(
            settings = substituted.join(", "),
            "the file `.env` has a `$` in these settings, which is replaced by a variable; single quotes keep it"
        );
    }
    let set = proxies_set();
    if !set.is_empty() {
        tracing::warn!(
            variables = set.join(", "),
            "proxy settings are ignored: connections to Git, webhooks, tunnel and ledger are direct"
        );
    }
    if let Err(why) = tls::authorities(authorities_named()) {
        tracing::warn!(why, "there is a problem with the certificate authorities");
    }
}

/// Resources that can change while the service runs.
pub(super) struct RuntimeProbe {
    pub(super) data_dir: PathBuf,
    pub(super) history: Arc<History>,
    pub(super) memory: HistoryMemory,
    pub(super) registry: Arc<Registry>,
    pub(super) metrics: Arc<Metrics>,
    /// Fails after a failed commit, until a retry is due or a commit succeeds.
    pub(super) commits: ReadinessCheck,
}

struct RuntimeChecks {
    memory: ReadinessCheck,
    /// Number of records that could not be read until each of the last checks, latest last.
    n_unread: VecDeque<u64>,
    quarantine: ReadinessCheck,
}

impl RuntimeChecks {
    /// Returns how many records could not be read lately, of so many since the start.
    fn unread_lately(&mut self, n_unread: u64) -> u64 {
        if self.n_unread.len() > UNREAD_CHECKS {
            self.n_unread.pop_front();
        }
        self.n_unread.push_back(n_unread);
        n_unread - self.n_unread.front().copied().unwrap_or(n_unread)
    }
}

impl RuntimeProbe {
    /// Reports immediately, and then every second until the task is aborted.
    pub(super) fn follow(self, checks: &ReadinessChecks, monitor: &Monitor) -> JoinHandle<()> {
        let [memory, disk, quarantine] = ["memory", "disk", "rules"].map(|name| checks.add(name));
        let mut reports = RuntimeChecks { memory, n_unread: VecDeque::new(), quarantine };
        let disk = DiskProbe::new(&self.data_dir, &self.metrics, &self.history, disk).follow();
        let clock = monitor.clone().watch_clock(checks.add("clock"));
        tracing::info!("{}", self.memory);
        self.report(&mut reports);
        let others = async move {
            let (mut seconds, mut n_failing) = (each_second(), 0);
            loop {
                seconds.tick().await;
                self.report(&mut reports);
                self.let_one_try(&mut n_failing);
            }
        };
        tokio::spawn(async move {
            tokio::join!(disk, others, clock);
        })
    }

    fn report(&self, reports: &mut RuntimeChecks) {
        let n_unread = reports.unread_lately(self.history.n_unread_records());
        if !self.history.has_room() {
            reports.memory.failing(format!(
                "the history is over SERVICE_MEMORY_LIMIT and cannot be moved to disk: every transaction is refused; raise the \
                 limit{}, or make room in SERVICE_DATA_DIR and SERVICE_SPILL_DIR", self.limit_for_index()
            ));
        } else if self.history.kept_excess() > 0 {
            reports.memory.degraded(format!(
                "what stays in memory of the history exceeds SERVICE_MEMORY_LIMIT; rules of the API are \
                 suspended until they fit; a fifth above the limit every transaction is refused; raise the limit{}, or remove rules",
                self.limit_for_index()
            ));
        } else if self.history.has_damaged_records() {
            reports.memory.degraded(
                "a file of the history is damaged; rules that ask about the keys in it fail, and the payments are at least `review`; \
                 restart the service, which then reads the history from the store",
            );
        } else if n_unread >= UNREAD_MIN {
            reports.memory.degraded(format!(
                "{n_unread} reads of keys of the history failed in the last {UNREAD_CHECKS} seconds; rules that ask about such keys \
                 fail, and the payments are at least `review`; look at the disk of SERVICE_DATA_DIR"
            ));
        } else if self.history.limit_for_index().is_some() {
            reports.memory.degraded(format!(
                "the index of the history takes more than half of SERVICE_MEMORY_LIMIT: payments are slow, and rules may be \
                 suspended; raise the limit{}", self.limit_for_index()
            ));
        } else if let Some(lack) = self.memory.lack() {
            reports.memory.degraded(lack);
        } else {
            reports.memory.ok_with(self.memory.to_string());
        }
        self.report_quarantine(&reports.quarantine);
    }

    /// Returns " to N MiB" if the index needs that, else nothing. N is a power of two: each change of a text is logged.
    fn limit_for_index(&self) -> String {
        let needed = self.history.limit_for_index().map(|n_bytes| n_bytes.next_power_of_two() >> 20);
        needed.map_or_else(String::new, |mib| format!(" to {} MiB", mib.max(1)))
    }

    fn report_quarantine(&self, check: &ReadinessCheck) {
        let rule_set = self.registry.current();
        let with = |status| {
            let records = rule_set.rules.iter().map(|in_force| &in_force.rule.instruction.record);
            let names = records.filter(|record| InstructionStatus::of_record(record) == status);
            names.map(|record| record.name.as_str()).collect::<Vec<_>>()
        };
        let of = |status, words: &str| {
            let names = with(status);
            let named = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
            let others = if names.len() > NAMES_MAX { ", …" } else { "" };
            (!names.is_empty()).then(|| format!("{} rules are {words} ({named}{others})", names.len()))
        };
        let stopped = [
            of(InstructionStatus::Quarantined, "in quarantine"),
            of(InstructionStatus::Suspended, "suspended for lack of memory"),
        ];
        let stopped: Vec<String> = stopped.into_iter().flatten().collect();
        if stopped.is_empty() {
            check.ok();
            return;
        }
        check.degraded(format!("{}: transactions are held for review instead", stopped.join("; ")));
    }

    /// After a failed commit, `/readyz` fails for a while, so that a load balancer sends no transactions. Then the
    /// service counts as ready again: only the next transaction can show whether the disk accepts it.
    fn let_one_try(&self, n_failing: &mut u32) {
        if self.commits.level() != CheckLevel::Failing {
            *n_failing = 0;
            return;
        }
        *n_failing += 1;
        if *n_failing >= LOOKS_BEFORE_RETRY {
            *n_failing = 0;
            self.commits.degraded("the last commit failed; the next payment tries again");
        }
    }
}
