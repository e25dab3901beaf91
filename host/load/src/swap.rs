//! *swap*: measures the time from a saved script to its first verdict, and the effect on other transactions.
//!
//! Injects arrive at a constant rate. A prober runs all the time, also between swaps, so its load affects both phases
//! alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::BenchOptions;
use super::client::Client;
use super::corpus::{Requests, TransactionKind, usual_scripts};
use super::error::BenchError;
use super::generator::{
    self, ArrivalProcess, LoadResult, LoadSpec, OverduePolicy, RefusalPolicy, RequestSample,
};
use super::interrupt;
use super::samples::Samples;
use super::temporary_service::TemporaryService;

/// Offered rate, as a fraction of the throughput in a closed loop.
const SHARE: f64 = 0.25;
const PAUSE: Duration = Duration::from_millis(250);
/// Timeout for a rule to come into force.
const PATIENCE: Duration = Duration::from_secs(60);
/// A swap may affect requests due up to this long after it.
const AFTERMATH: Duration = Duration::from_millis(20);
/// An answer this much later than the usual median counts as delayed.
const DELAY_US: u32 = 5_000;

#[derive(Debug)]
pub(super) struct SwapRun {
    pub(super) n_rules: usize,
    pub(super) offered: f64,
    pub(super) swaps: Vec<Swap>,
    /// Results of the injects during the swaps.
    pub(super) outcome: LoadResult,
    /// Start and end of each change, including removals.
    windows: Vec<(Instant, Instant)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Swap {
    pub(super) way: SwapMethod,
    /// Time until the service confirmed the save; `None` for files.
    pub(super) saved: Option<Duration>,
    /// Time until the first verdict that names the rule.
    pub(super) judged: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwapMethod {
    Api,
    File,
}

/// Effect of the swaps on the injects.
#[derive(Debug)]
pub(super) struct SwapImpact {
    pub(super) meanwhile: Samples,
    pub(super) otherwise: Samples,
    /// Injects refused during changes, and injects lost at any time.
    pub(super) n_failed: usize,
    /// Injects 5 ms slower than the median outside changes: during changes, and outside them.
    pub(super) n_delayed: usize,
    pub(super) n_delayed_otherwise: usize,
}

/// Measures a temporary service for every number of rules.
///
/// # Errors
/// When a service does not start, or a rule does not come into force. Earlier runs stay in `runs`.
pub(super) fn measure(
    options: &BenchOptions,
    directory: &Path,
    say: &dyn Fn(&str),
    runs: &mut Vec<SwapRun>,
) -> Result<(), BenchError> {
    for n_rules in options.swap_rules.iter().copied() {
        say(&format!("swap: {n_rules} rules"));
        let throwaway = TemporaryService::start(directory, &usual_scripts(n_rules), &options.settings)?;
        let run = under_load(options, &throwaway, n_rules)?;
        let judged = run.judged(SwapMethod::Api);
        say(&format!("  over the API: median {:.1} ms", judged.permille_ms(500)));
        runs.push(run);
    }
    Ok(())
}

fn under_load(
    options: &BenchOptions,
    throwaway: &TemporaryService,
    n_rules: usize,
) -> Result<SwapRun, BenchError> {
    let requests = Requests::to(&throwaway.target.host, TransactionKind::Usual);
    let stop = AtomicBool::new(false);
    let load = |pace, duration| LoadSpec {
        pace,
        n_connections: options.connections,
        duration,
        refused: RefusalPolicy::GoesOn,
    };
    let closed =
        generator::run(&throwaway.target, &requests, load(ArrivalProcess::Closed, options.step), &stop)?;
    let offered = (closed.ok_per_second() * SHARE).max(1.0);
    let pace = ArrivalProcess::Open { per_second: offered, overdue: OverduePolicy::Waits };
    thread::scope(|scope| {
        let injects = scope.spawn(|| {
            generator::run(&throwaway.target, &requests, load(pace, Duration::from_secs(3_600)), &stop)
        });
        let mut stage = SwapFixture::new(throwaway);
        let swapped = stage.swap_all(options.n_swaps);
        stop.store(true, Ordering::Relaxed);
        let outcome =
            injects.join().unwrap_or_else(|_| Err(BenchError::Answer("the generator failed".to_owned())));
        let (swaps, outcome) = (swapped?, outcome?);
        Ok(SwapRun { n_rules, offered, swaps, outcome, windows: stage.windows })
    })
}

/// Adds and removes scripts while the load runs.
struct SwapFixture<'a> {
    throwaway: &'a TemporaryService,
    prober: Client,
    n_probes: usize,
    windows: Vec<(Instant, Instant)>,
}

impl<'a> SwapFixture<'a> {
    fn new(throwaway: &'a TemporaryService) -> Self {
        Self { throwaway, prober: throwaway.client(), n_probes: 0, windows: Vec::new() }
    }

    fn swap_all(&mut self, n_swaps: usize) -> Result<Vec<Swap>, BenchError> {
        let mut swaps = Vec::new();
        for number in 0..n_swaps {
            for way in [SwapMethod::Api, SwapMethod::File] {
                self.rest()?;
                swaps.push(match way {
                    SwapMethod::Api => self.over_the_api(&format!("swapped_{number}"))?,
                    SwapMethod::File => self.as_a_file(&format!("swapped_file_{number}"))?,
                });
            }
        }
        self.rest()?;
        Ok(swaps)
    }

    /// Probes as during a swap, without any change.
    fn rest(&mut self) -> Result<(), BenchError> {
        let end = Instant::now() + PAUSE;
        while Instant::now() < end {
            self.judges("nothing")?;
        }
        Ok(())
    }

    fn over_the_api(&mut self, name: &str) -> Result<Swap, BenchError> {
        let mut saver = self.throwaway.client();
        let body = json!({ "script": script(name) }).to_string();
        let began = Instant::now();
        let (saved, judged) = thread::scope(|scope| {
            let saving = scope.spawn(move || {
                let answer = saver.expect(201, "POST", "/compile-and-save-instruction", &body);
                answer.map(|answer| (answer, began.elapsed()))
            });
            let judged = self.until(name, true, began);
            let saved =
                saving.join().unwrap_or_else(|_| Err(BenchError::Answer("the saver failed".to_owned())));
            (saved, judged)
        });
        let ((answer, saved), judged) = (saved?, judged?);
        self.windows.push((began, Instant::now()));
        let saved_as: Json = serde_json::from_str(&answer).unwrap_or_default();
        let id = saved_as.get("id").map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
        self.remove(name, |stage| {
            let path = format!("/instructions/{}", id.unwrap_or_default());
            stage.prober.expect(204, "DELETE", &path, "").map(drop)
        })?;
        Ok(Swap { way: SwapMethod::Api, saved: Some(saved), judged })
    }

    fn as_a_file(&mut self, name: &str) -> Result<Swap, BenchError> {
        let file = |directory: PathBuf| directory.join(format!("{name}.ws"));
        let (beside, path) = (file(self.throwaway.beside()), file(self.throwaway.rules()));
        fs::write(&beside, script(name)).map_err(BenchError::io("write a script"))?;
        let began = Instant::now();
        fs::rename(&beside, &path).map_err(BenchError::io("put a script into the rules directory"))?;
        let judged = self.until(name, true, began)?;
        self.windows.push((began, Instant::now()));
        self.remove(name, |_| fs::remove_file(&path).map_err(BenchError::io("remove a script")))?;
        Ok(Swap { way: SwapMethod::File, saved: None, judged })
    }

    /// Removes a rule and waits until it no longer judges.
    fn remove(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut Self) -> Result<(), BenchError>,
    ) -> Result<(), BenchError> {
        let began = Instant::now();
        change(self)?;
        self.until(name, false, began)?;
        self.windows.push((began, Instant::now()));
        Ok(())
    }

    /// Waits until the rule starts to judge, or stops. Returns the time since `began`.
    fn until(&mut self, name: &str, judges: bool, began: Instant) -> Result<Duration, BenchError> {
        while self.judges(name)? != judges {
            if began.elapsed() > PATIENCE {
                return Err(BenchError::Answer(format!("the rule `{name}` did not take effect in time")));
            }
        }
        Ok(began.elapsed())
    }

    /// Whether the rule judges a transaction that only it matches.
    fn judges(&mut self, name: &str) -> Result<bool, BenchError> {
        interrupt::check()?;
        self.n_probes += 1;
        let (id, pid) = (self.n_probes, self.throwaway.pid());
        let probe = json!({
            "transaction_id": format!("probe-{pid}-{id}"), "amount": 1, "currency": "XTS", "reference": name,
        });
        let answer = self.prober.expect(200, "POST", "/inject", &probe.to_string())?;
        Ok(answer.contains(&format!("\"name\":\"{name}\"")))
    }
}

fn script(name: &str) -> String {
    format!(
        "rule {name} {{\n  when reference == \"{name}\"\n  then review score 0.5 reason \"Swapped\"\n}}\n"
    )
}

impl SwapRun {
    pub(super) fn judged(&self, way: SwapMethod) -> Samples {
        let of_way = self.swaps.iter().filter(|swap| swap.way == way);
        Samples::new(of_way.map(|swap| micros(swap.judged)))
    }

    pub(super) fn saved(&self) -> Samples {
        Samples::new(self.swaps.iter().filter_map(|swap| swap.saved).map(micros))
    }

    pub(super) fn felt(&self) -> SwapImpact {
        let at = |instant: Instant| micros(instant.saturating_duration_since(self.outcome.began));
        let windows: Vec<(u32, u32)> =
            self.windows.iter().map(|(from, to)| (at(*from), at(*to + AFTERMATH))).collect();
        let is_meanwhile = |answered: &&RequestSample| {
            let end = answered.due_us.saturating_add(answered.latency_us);
            windows.iter().any(|(from, to)| answered.due_us <= *to && end >= *from)
        };
        let (meanwhile, otherwise): (Vec<&RequestSample>, Vec<&RequestSample>) =
            self.outcome.answered.iter().partition(is_meanwhile);
        let latencies = |answered: &[&RequestSample]| {
            let ok = answered.iter().filter(|answered| answered.status == 200);
            Samples::new(ok.map(|answered| answered.latency_us))
        };
        let n_refused = meanwhile.iter().filter(|answered| answered.status != 200).count();
        let (meanwhile, otherwise) = (latencies(&meanwhile), latencies(&otherwise));
        let late = otherwise.permille(500).unwrap_or_default().saturating_add(DELAY_US);
        SwapImpact {
            n_failed: n_refused + self.outcome.n_broken + self.outcome.n_unanswered,
            n_delayed: meanwhile.n_over(late),
            n_delayed_otherwise: otherwise.n_over(late),
            meanwhile,
            otherwise,
        }
    }

    pub(super) fn json(&self) -> Json {
        let felt = self.felt();
        let swaps = self.swaps.iter().map(|swap| {
            json!({
                "way": swap.way.name(),
                "saved_us": swap.saved.map(micros),
                "first_verdict_us": micros(swap.judged),
            })
        });
        json!({
            "rules": self.n_rules,
            "offered_per_second": self.offered,
            "swaps": swaps.collect::<Vec<_>>(),
            "injects": self.outcome.json(),
            "meanwhile": felt.meanwhile.json(),
            "otherwise": felt.otherwise.json(),
            "failed_meanwhile": felt.n_failed,
            "delayed_5_ms_meanwhile": felt.n_delayed,
            "delayed_5_ms_otherwise": felt.n_delayed_otherwise,
        })
    }
}

impl SwapMethod {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Api => "POST",
            Self::File => "file",
        }
    }
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}
