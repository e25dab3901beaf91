//! Charts of the results.

use crate::generator::LoadResult;
use crate::overload::OverloadRun;
use crate::plot::{Chart, Line};
use crate::service::ServiceRun;
use crate::swap::{SwapMethod, SwapRun};

/// Latency over load, one line per service.
pub(super) fn services(runs: &[ServiceRun]) -> Vec<Chart> {
    [("p50", 500), ("p99", 990), ("p99.9", 999)]
        .into_iter()
        .map(|(name, share)| Chart {
            title: format!("{name} of durable injects, corrected"),
            x_label: "offered a second".to_owned(),
            y_label: "ms".to_owned(),
            lines: runs.iter().map(|run| service_line(run, share)).collect(),
            shaded: None,
        })
        .collect()
}

fn service_line(run: &ServiceRun, share: usize) -> Line {
    let points = run.steps.iter().filter_map(|step| {
        let latencies = step.outcome.latencies();
        Some((step.offered?, latencies.permille_ms(share)))
    });
    Line { name: run.name(), points: points.collect() }
}

pub(super) fn swaps(runs: &[SwapRun]) -> Chart {
    let line = |name: &str, value: fn(&SwapRun) -> f64| {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let points = runs.iter().map(|run| (run.n_rules as f64, value(run)));
        Line { name: name.to_owned(), points: points.collect() }
    };
    Chart {
        title: "From a saved script to the first verdict by it".to_owned(),
        x_label: "rules in force".to_owned(),
        y_label: "ms".to_owned(),
        lines: vec![
            line("POST, p50", |run| run.judged(SwapMethod::Api).permille_ms(500)),
            line("POST, longest", |run| run.judged(SwapMethod::Api).longest_ms()),
            line("file, p50", |run| run.judged(SwapMethod::File).permille_ms(500)),
            line("file, longest", |run| run.judged(SwapMethod::File).longest_ms()),
            line("longest inject meanwhile", |run| run.felt().meanwhile.longest_ms()),
            line("longest inject otherwise", |run| run.felt().otherwise.longest_ms()),
        ],
        shaded: None,
    }
}

/// Latency over time: the steady load and the flood.
pub(super) fn overload(run: &OverloadRun) -> Chart {
    let steady = run.windows().into_iter().map(|window| (window.at, window.p99_ms)).collect();
    let (from, to) = run.flooded_us();
    Chart {
        title: format!("{} times the peak is offered", run.factor),
        x_label: "seconds".to_owned(),
        y_label: "ms".to_owned(),
        lines: vec![
            Line { name: "p99 of the steady load".to_owned(), points: steady },
            Line { name: "p99 of the flood, accepted".to_owned(), points: flat(&run.flood, from, to) },
        ],
        shaded: Some((f64::from(from) / 1e6, f64::from(to) / 1e6)),
    }
}

fn flat(flood: &LoadResult, from_us: u32, to_us: u32) -> Vec<(f64, f64)> {
    let p99_ms = flood.latencies().permille_ms(990);
    [from_us, to_us].map(|at_us| (f64::from(at_us) / 1e6, p99_ms)).to_vec()
}
