//! *overload*: offers a multiple of the peak for a while.
//!
//! ```text
//!  flood                    ████████████████████
//!  steady   ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
//!           unloaded        overloaded           normal again, when?
//! ```
//!
//! A steady load of one percent of the peak shows the normal latency before the flood, and the recovery after it. It is
//! small because each of its requests wakes the generator, on cores the service could use. A flood request without a
//! free connection is dropped and counted; queued, it would measure the generator.
//!
//! Accepted transactions enlarge the store and the history. The peak is therefore measured before and after the flood,
//! and memory is reported with and without the growth of the history.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::BenchOptions;
use super::corpus::{Requests, TransactionKind, usual_scripts};
use super::error::BenchError;
use super::generator::{
    self, ArrivalProcess, LoadResult, LoadSpec, OverduePolicy, RefusalPolicy, RequestSample,
};
use super::interrupt;
use super::machine::resident_kib;
use super::samples::Samples;
use super::temporary_service::TemporaryService;

/// Rate of the steady load, as a fraction of the peak.
const STEADY_SHARE: f64 = 0.01;
/// Connections of the steady load: enough to send each request on time even if a response takes a third of a second.
/// With fewer, requests would still queue in the generator after the service has recovered.
const STEADY_CONNECTIONS: usize = 1_024;
/// The interval of memory samples.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The length of a latency window.
pub(super) const WINDOW: Duration = Duration::from_millis(500);
/// A p99 below this is normal, however fast the unloaded service is.
const USUAL_MS: f64 = 50.0;

/// Results before, during and after the flood.
#[derive(Debug)]
pub(super) struct OverloadRun {
    pub(super) n_rules: usize,
    pub(super) factor: f64,
    /// Whether refused connections wait as `Retry-After` says.
    pub(super) obeys_retry_after: bool,
    /// Throughput in a closed loop, per second, before the flood and at the end.
    pub(super) peaks: [f64; 2],
    /// Requests refused during the peak measurements; their cost reduces the peaks.
    pub(super) n_refused_at_peaks: usize,
    pub(super) steady: LoadResult,
    pub(super) flood: LoadResult,
    /// The time the flood began to open its connections.
    asked: Instant,
    /// Resident memory of the service: time and KiB.
    resident: Vec<(Instant, u64)>,
    /// Reported size of the history before and after, in KiB.
    history_kib: (u64, u64),
}

/// Floods a temporary service once.
///
/// # Errors
/// When the service does not start, or a load fails.
pub(super) fn measure(
    options: &BenchOptions,
    directory: &Path,
    say: &dyn Fn(&str),
) -> Result<OverloadRun, BenchError> {
    let n_rules = options.overload_rules;
    let throwaway = TemporaryService::start(directory, &usual_scripts(n_rules), &options.settings)?;
    let requests = Requests::to(&throwaway.target.host, TransactionKind::Usual);
    let closed = LoadSpec {
        pace: ArrivalProcess::Closed,
        n_connections: options.connections,
        duration: options.step,
        refused: refused(options),
    };
    let in_closed_loop = || {
        let closed = generator::run(&throwaway.target, &requests, closed, &AtomicBool::new(false))?;
        match closed.ok_per_second() {
            peak if peak > 0.0 => Ok((peak, closed.refusals().count())),
            _ => Err(BenchError::Nothing(format!("{:?}", closed.by_status()))),
        }
    };
    if !options.overload_warm_up.is_zero() {
        let used = LoadSpec { duration: options.overload_warm_up, ..closed };
        generator::run(&throwaway.target, &requests, used, &AtomicBool::new(false))?;
    }
    let (peak, n_refused) = in_closed_loop()?;
    say(&format!("overload: {n_rules} rules, {} times {peak:.0} a second", options.overload_factor));
    let before = history_kib(&throwaway)?;
    let run = flood(options, &throwaway, &requests, peak)?;
    let history_kib = (before, history_kib(&throwaway)?);
    let (peak_after, n_refused_after) = in_closed_loop()?;
    let (peaks, n_refused_at_peaks) = ([peak, peak_after], n_refused + n_refused_after);
    let run = OverloadRun { n_rules, peaks, n_refused_at_peaks, history_kib, ..run };
    say(&format!("  goodput {:.0} % of the peak", run.goodput() * 100.0));
    Ok(run)
}

const fn refused(options: &BenchOptions) -> RefusalPolicy {
    if options.obeys_retry_after { RefusalPolicy::ComesBack } else { RefusalPolicy::GoesOn }
}

fn history_kib(throwaway: &TemporaryService) -> Result<u64, BenchError> {
    let metrics = throwaway.client().expect(200, "GET", "/metrics", "")?;
    let bytes = metrics.lines().find_map(|line| line.strip_prefix("tollgate_history_resident_bytes "));
    let bytes: Option<u64> = bytes.and_then(|number| number.trim().parse().ok());
    Ok(bytes.unwrap_or_default() / 1_024)
}

fn flood(
    options: &BenchOptions,
    throwaway: &TemporaryService,
    requests: &Requests,
    peak: f64,
) -> Result<OverloadRun, BenchError> {
    let (before, after) = (options.step, options.step * 2);
    let load = |share: f64, overdue, n_connections, duration| LoadSpec {
        pace: ArrivalProcess::Open { per_second: (peak * share).max(1.0), overdue },
        n_connections,
        duration,
        refused: refused(options),
    };
    let steady =
        load(STEADY_SHARE, OverduePolicy::Waits, STEADY_CONNECTIONS, before + options.overload + after);
    let steady = LoadSpec { refused: RefusalPolicy::GoesOn, ..steady };
    let flood =
        load(options.overload_factor, OverduePolicy::Left, options.overload_connections, options.overload);
    let put = |load| generator::run(&throwaway.target, requests, load, &AtomicBool::new(false));
    let mut resident = Vec::new();
    let mut look = || resident.extend(resident_kib(throwaway.pid()).map(|kib| (Instant::now(), kib)));
    let (asked, steady, flood) = thread::scope(|scope| {
        let began = Instant::now();
        let steady = scope.spawn(|| put(steady));
        while began.elapsed() < before && !steady.is_finished() && interrupt::check().is_ok() {
            look();
            thread::sleep(LOOK_EVERY);
        }
        let asked = Instant::now();
        let flood = scope.spawn(|| put(flood));
        while !steady.is_finished() || !flood.is_finished() {
            look();
            thread::sleep(LOOK_EVERY);
        }
        (asked, steady.join(), flood.join())
    });
    let failed = |_| Err(BenchError::Answer("the generator failed".to_owned()));
    let (steady, flood) = (steady.unwrap_or_else(failed)?, flood.unwrap_or_else(failed)?);
    Ok(OverloadRun {
        n_rules: 0,
        factor: options.overload_factor,
        obeys_retry_after: options.obeys_retry_after,
        peaks: [peak; 2],
        n_refused_at_peaks: 0,
        steady,
        flood,
        asked,
        resident,
        history_kib: (0, 0),
    })
}

impl OverloadRun {
    /// Verdicts per second during the flood, as a fraction of the mean of the two peaks.
    pub(super) fn goodput(&self) -> f64 {
        let [before, after] = self.peaks;
        self.verdicts_per_second() / f64::midpoint(before, after)
    }

    /// Verdicts per second during the flood, including those of the steady load.
    fn verdicts_per_second(&self) -> f64 {
        let (from, to) = self.flooded_us();
        let steady = self.steady.ok().filter(|one| (from..to).contains(&end_us(one))).count();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let steady = steady as f64;
        self.flood.ok_per_second() + steady / self.flood.lasted.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Latencies of the steady load before the flood.
    pub(super) fn unloaded(&self) -> Samples {
        let (from, _) = self.flooded_us();
        Samples::new(self.steady.ok().filter(|one| end_us(one) < from).map(|one| one.latency_us))
    }

    /// Upper bound of a normal p99: twice the unloaded p99, at least 50 ms.
    pub(super) fn usual_ms(&self) -> f64 {
        (2.0 * self.unloaded().permille_ms(990)).max(USUAL_MS)
    }

    /// Seconds from the end of the flood until the steady load is back to normal and stays so; `None` if it never is.
    pub(super) fn normal_after(&self) -> Option<f64> {
        let (_, to) = self.flooded_us();
        let end = f64::from(to) / 1e6;
        let windows = self.windows();
        let last_bad =
            windows.iter().filter(|window| window.at > end && !self.is_usual(window)).map(|window| window.at);
        let last_bad = last_bad.fold(end, f64::max);
        windows.last().is_some_and(|window| window.at > last_bad).then_some(last_bad - end)
    }

    fn is_usual(&self, window: &LoadWindow) -> bool {
        window.n_failed == 0 && window.p99_ms <= self.usual_ms()
    }

    /// The steady load by window.
    pub(super) fn windows(&self) -> Vec<LoadWindow> {
        let window_us = u32::try_from(WINDOW.as_micros()).unwrap_or(u32::MAX);
        let mut windows: Vec<Vec<&RequestSample>> = Vec::new();
        for answered in &self.steady.answered {
            let window = usize::try_from(answered.due_us / window_us).unwrap_or_default();
            if windows.len() <= window {
                windows.resize(window + 1, Vec::new());
            }
            if let Some(window) = windows.get_mut(window) {
                window.push(answered);
            }
        }
        let shown = windows.iter().enumerate().map(|(window, answered)| {
            let ok = answered.iter().filter(|one| one.status == 200);
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let end = (window + 1) as f64;
            LoadWindow {
                at: end * WINDOW.as_secs_f64(),
                p99_ms: Samples::new(ok.map(|one| one.latency_us)).permille_ms(990),
                n_failed: answered.iter().filter(|one| one.status != 200).count(),
            }
        });
        shown.filter(|window| !window.p99_ms.is_nan() || window.n_failed > 0).collect()
    }

    /// Memory before the flood, at its maximum and at the end, in KiB.
    pub(super) fn resident_kib(&self) -> Option<(u64, u64, u64)> {
        let before = self.resident.iter().rev().find(|(at, _)| *at < self.asked)?.1;
        let most = self.resident.iter().map(|(_, kib)| *kib).max()?;
        Some((before, most, self.resident.last()?.1))
    }

    pub(super) const fn history_growth_kib(&self) -> u64 {
        self.history_kib.1.saturating_sub(self.history_kib.0)
    }

    /// Start and end of the flood, in microseconds since the start of the steady load.
    pub(super) fn flooded_us(&self) -> (u32, u32) {
        let from = self.flood.began.saturating_duration_since(self.steady.began);
        let micros = |duration: Duration| u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
        (micros(from), micros(from + self.flood.lasted))
    }

    pub(super) fn json(&self) -> Json {
        let resident = self.resident.iter().map(|(at, kib)| {
            let at = at.saturating_duration_since(self.steady.began);
            json!({ "at_us": u64::try_from(at.as_micros()).unwrap_or(u64::MAX), "resident_kib": kib })
        });
        let (from, to) = self.flooded_us();
        json!({
            "rules": self.n_rules,
            "factor": self.factor,
            "heeds_retry_after": self.obeys_retry_after,
            "peaks_per_second": self.peaks,
            "refused_at_peaks": self.n_refused_at_peaks,
            "goodput_per_second": self.verdicts_per_second(),
            "flood_from_us": from,
            "flood_to_us": to,
            "unloaded": self.unloaded().json(),
            "usual_ms": self.usual_ms(),
            "normal_after_seconds": self.normal_after(),
            "steady": self.steady.json(),
            "flood": self.flood.json(),
            "memory": resident.collect::<Vec<_>>(),
            "history_kib": [self.history_kib.0, self.history_kib.1],
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LoadWindow {
    /// End of the window, in seconds since the start.
    pub(super) at: f64,
    /// NaN without a verdict.
    pub(super) p99_ms: f64,
    n_failed: usize,
}

const fn end_us(answered: &RequestSample) -> u32 {
    answered.due_us.saturating_add(answered.latency_us)
}
