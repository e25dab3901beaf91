//! *swap*: from a saved script to the first verdict by it, and what it costs those who pay meanwhile.
//!
//! Injects go on at a constant rate. A prober asks all the time, also between the swaps, so that it weighs on both alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::BenchOptions;
use super::client::Client;
use super::corpus::{Requests, can_ask, scripts};
use super::error::BenchError;
use super::generator::{
    self, ArrivalProcess, LoadResult, LoadSpec, OverduePolicy, RefusalPolicy, RequestSample,
};
use super::interrupt;
use super::samples::Samples;
use super::temporary_service::TemporaryService;

/// Of what the service took in a closed loop, what is offered meanwhile.
const SHARE: f64 = 0.25;
/// Different aggregates that the rules ask.
const N_AGGREGATES: usize = 10;
/// Between two swaps.
const PAUSE: Duration = Duration::from_millis(250);
/// A rule that does not come takes no longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Whoever is answered so long behind a swap may still feel it.
const AFTERMATH: Duration = Duration::from_millis(20);
/// How much later than usual an answer may be before it counts as delayed.
const DELAY_US: u32 = 5_000;

/// All swaps of one service.
#[derive(Debug)]
pub(super) struct SwapRun {
    pub(super) n_rules: usize,
    pub(super) offered: f64,
    pub(super) swaps: Vec<Swap>,
    /// The injects meanwhile.
    pub(super) outcome: LoadResult,
    /// From the beginning of a change to its end, of removals too.
    windows: Vec<(Instant, Instant)>,
}

/// One script that came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swap {
    pub(super) way: SwapMethod,
    /// Until the service said that it was saved; of a file nobody says so.
    pub(super) saved: Option<Duration>,
    /// Until the first verdict that names it was there.
    pub(super) judged: Duration,
}

/// How a script comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwapMethod {
    Api,
    File,
}

/// What the injects felt of it.
#[derive(Debug)]
pub(super) struct SwapImpact {
    pub(super) meanwhile: Samples,
    pub(super) otherwise: Samples,
    /// Of those meanwhile, how many were refused or lost.
    pub(super) n_failed: usize,
    /// Of each, how many took 5 ms longer than half of the others do otherwise.
    pub(super) n_delayed: usize,
    pub(super) n_delayed_otherwise: usize,
}

/// A throwaway service for every number of rules.
///
/// # Errors
/// When a service does not start, or a rule does not come. What was measured before stays.
pub(super) fn measure(
    options: &BenchOptions,
    directory: &Path,
    say: &dyn Fn(&str),
    runs: &mut Vec<SwapRun>,
) -> Result<(), BenchError> {
    for n_rules in options.swap_rules.iter().copied() {
        say(&format!("swap: {n_rules} rules"));
        let n_aggregates = if can_ask(n_rules, N_AGGREGATES) { N_AGGREGATES } else { 0 };
        let rules = scripts(n_rules, n_aggregates);
        let throwaway = TemporaryService::start(directory, &rules, &options.settings)?;
        let run = under_load(options, &throwaway, n_rules)?;
        let judged = run.judged(SwapMethod::Api);
        say(&format!("  over the API: half within {:.1} ms", judged.permille_ms(500)));
        runs.push(run);
    }
    Ok(())
}

fn under_load(
    options: &BenchOptions,
    throwaway: &TemporaryService,
    n_rules: usize,
) -> Result<SwapRun, BenchError> {
    let requests = Requests::to(&throwaway.target.host);
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
        let mut stage = SwapFixture::of(throwaway);
        let swapped = stage.swap_all(options.n_swaps);
        stop.store(true, Ordering::Relaxed);
        let outcome =
            injects.join().unwrap_or_else(|_| Err(BenchError::Answer("the generator failed".to_owned())));
        let (swaps, outcome) = (swapped?, outcome?);
        Ok(SwapRun { n_rules, offered, swaps, outcome, windows: stage.windows })
    })
}

/// Where scripts come and go.
struct SwapFixture<'a> {
    throwaway: &'a TemporaryService,
    prober: Client,
    n_probes: usize,
    windows: Vec<(Instant, Instant)>,
}

impl<'a> SwapFixture<'a> {
    fn of(throwaway: &'a TemporaryService) -> Self {
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

    /// Asks as during a swap, and changes nothing.
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
        let (beside, place) = (file(self.throwaway.beside()), file(self.throwaway.rules()));
        fs::write(&beside, script(name)).map_err(BenchError::io("write a script"))?;
        let began = Instant::now();
        fs::rename(&beside, &place).map_err(BenchError::io("put a script into the rules directory"))?;
        let judged = self.until(name, true, began)?;
        self.windows.push((began, Instant::now()));
        self.remove(name, |_| fs::remove_file(&place).map_err(BenchError::io("remove a script")))?;
        Ok(Swap { way: SwapMethod::File, saved: None, judged })
    }

    /// Takes a rule away again, and waits until it is gone.
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

    /// How long it took from then until a rule judges, or judges no more.
    fn until(&mut self, name: &str, judges: bool, began: Instant) -> Result<Duration, BenchError> {
        while self.judges(name)? != judges {
            if began.elapsed() > PATIENCE {
                return Err(BenchError::Answer(format!("the rule `{name}` neither comes nor goes")));
            }
        }
        Ok(began.elapsed())
    }

    /// Whether the rule of this name judges a transaction that only it matches.
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
        Samples::of(of_way.map(|swap| micros(swap.judged)))
    }

    pub(super) fn saved(&self) -> Samples {
        Samples::of(self.swaps.iter().filter_map(|swap| swap.saved).map(micros))
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
            Samples::of(ok.map(|answered| answered.latency_us))
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
