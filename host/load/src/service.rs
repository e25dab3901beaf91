//! *service*: measures durable injects per second, and latencies at rising loads.

use std::path::Path;
use std::process;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::BenchOptions;
use super::corpus::{Requests, TransactionKind, can_ask, scripts};
use super::error::BenchError;
use super::generator::{self, ArrivalProcess, LoadResult, LoadSpec, OverduePolicy, RefusalPolicy};
use super::machine::{processor_time, resident_kib};
use super::target::HttpTarget;
use super::temporary_service::TemporaryService;

#[derive(Debug)]
pub(super) struct ServiceRun {
    /// Rules and aggregates; `None` for an external service.
    pub(super) corpus: Option<(usize, usize)>,
    /// The closed loop, followed by the load steps.
    pub(super) steps: Vec<LoadStep>,
}

/// One load step and its resource usage.
#[derive(Debug)]
pub(super) struct LoadStep {
    /// Requests due per second; `None` in a closed loop.
    pub(super) offered: Option<f64>,
    pub(super) outcome: LoadResult,
    /// Mean number of cores used by the service and by the generator.
    pub(super) service_cores: Option<f64>,
    pub(super) generator_cores: Option<f64>,
    /// Resident memory of the service at the end, in KiB.
    pub(super) resident_kib: Option<u64>,
}

/// Measures a temporary service for every possible combination of rules and aggregates.
///
/// # Errors
/// When a service does not start, or a load fails. Earlier runs stay in `runs`.
pub(super) fn measure(
    options: &BenchOptions,
    directory: &Path,
    say: &dyn Fn(&str),
    runs: &mut Vec<ServiceRun>,
) -> Result<(), BenchError> {
    for n_rules in options.rules.iter().copied() {
        for n_aggregates in options.aggregates.iter().copied() {
            if !can_ask(n_rules, n_aggregates) {
                say(&format!("service: {n_rules} rules cannot use {n_aggregates} aggregates; skipped"));
                continue;
            }
            say(&format!("service: {n_rules} rules, {n_aggregates} aggregates"));
            let rules = scripts(n_rules, n_aggregates);
            let throwaway = TemporaryService::start(directory, &rules, &options.settings)?;
            let steps = steps(&throwaway.target, options, say)?;
            runs.push(ServiceRun { corpus: Some((n_rules, n_aggregates)), steps });
        }
    }
    Ok(())
}

/// Measures an external service with the rules in force there.
///
/// # Errors
/// When a load fails.
pub(super) fn elsewhere(
    target: &HttpTarget,
    options: &BenchOptions,
    say: &dyn Fn(&str),
) -> Result<ServiceRun, BenchError> {
    Ok(ServiceRun { corpus: None, steps: steps(target, options, say)? })
}

fn steps(
    target: &HttpTarget,
    options: &BenchOptions,
    say: &dyn Fn(&str),
) -> Result<Vec<LoadStep>, BenchError> {
    let requests = Requests::to(&target.host, TransactionKind::Usual);
    let load = |pace| LoadSpec {
        pace,
        n_connections: options.connections,
        duration: options.step,
        refused: RefusalPolicy::GoesOn,
    };
    let closed = LoadStep::take(target, &requests, load(ArrivalProcess::Closed))?;
    let peak = closed.outcome.ok_per_second();
    say(&format!("  closed loop: {peak:.0} a second"));
    if peak <= 0.0 {
        return Err(BenchError::Nothing(format!("{:?}", closed.outcome.by_status())));
    }
    let mut steps = vec![closed];
    for percent in options.loads_percent.iter().copied() {
        let per_second = peak * f64::from(percent) / 100.0;
        let pace = ArrivalProcess::Open { per_second, overdue: OverduePolicy::Waits };
        let step = LoadStep::take(target, &requests, load(pace))?;
        say(&format!("  {percent} %: p99 {:.2} ms", step.outcome.latencies().permille_ms(990)));
        steps.push(step);
    }
    Ok(steps)
}

impl LoadStep {
    fn take(target: &HttpTarget, requests: &Requests, load: LoadSpec) -> Result<Self, BenchError> {
        let before = (Instant::now(), target.pid.and_then(processor_time), processor_time(process::id()));
        let outcome = generator::run(target, requests, load, &AtomicBool::new(false))?;
        let elapsed = before.0.elapsed().as_secs_f64();
        let cores = |then: Option<Duration>, now: Option<Duration>| {
            Some(now?.saturating_sub(then?).as_secs_f64() / elapsed)
        };
        Ok(Self {
            offered: match load.pace {
                ArrivalProcess::Closed | ArrivalProcess::ClosedOf { .. } => None,
                ArrivalProcess::Open { per_second, .. } => Some(per_second),
            },
            outcome,
            service_cores: cores(before.1, target.pid.and_then(processor_time)),
            generator_cores: cores(before.2, processor_time(process::id())),
            resident_kib: target.pid.and_then(resident_kib),
        })
    }

    fn json(&self) -> Json {
        json!({
            "offered_per_second": self.offered,
            "outcome": self.outcome.json(),
            "service_cores": self.service_cores,
            "generator_cores": self.generator_cores,
            "resident_kib": self.resident_kib,
        })
    }
}

impl ServiceRun {
    pub(super) fn json(&self) -> Json {
        json!({
            "rules": self.corpus.map(|(n_rules, _)| n_rules),
            "aggregates": self.corpus.map(|(_, n_aggregates)| n_aggregates),
            "steps": self.steps.iter().map(LoadStep::json).collect::<Vec<_>>(),
        })
    }

    pub(super) fn name(&self) -> String {
        self.corpus.map_or_else(
            || "elsewhere".to_owned(),
            |(n_rules, n_aggregates)| format!("{n_rules} rules, {n_aggregates} aggregates"),
        )
    }
}
