//! Aligned Markdown tables, readable as plain text.

use crate::generator::LoadResult;
use crate::overload::OverloadRun;
use crate::samples::Samples;
use crate::service::{LoadStep, ServiceRun};
use crate::swap::{SwapMethod, SwapRun};

/// Goals of the overload measurement.
const GOODPUT_PERCENT_MIN: f64 = 95.0;
const REFUSAL_MS_MAX: f64 = 5.0;
const GROWTH_MAX: f64 = 1.25;
const NORMAL_SECONDS_MAX: f64 = 5.0;

pub(super) fn services(runs: &[ServiceRun]) -> String {
    let head = [
        "rules",
        "aggregates",
        "offered a second",
        "durable a second",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "uncorrected p99 ms",
        "other outcomes",
        "matched",
        "service, generator cores",
        "RSS MiB",
    ];
    let rows = runs.iter().flat_map(|run| run.steps.iter().map(|step| service_row(run, step)));
    table(&head, rows.collect())
}

fn service_row(run: &ServiceRun, step: &LoadStep) -> Vec<String> {
    let outcome = &step.outcome;
    let (latencies, service) = (outcome.latencies(), outcome.service_times());
    let number = |number: Option<usize>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    vec![
        number(run.corpus.map(|(n_rules, _)| n_rules)),
        number(run.corpus.map(|(_, n_aggregates)| n_aggregates)),
        step.offered.map_or_else(|| "closed loop".to_owned(), |offered| format!("{offered:.0}")),
        format!("{:.0}", outcome.ok_per_second()),
        ms(latencies.permille_ms(500)),
        ms(latencies.permille_ms(990)),
        ms(latencies.permille_ms(999)),
        ms(service.permille_ms(990)),
        otherwise(outcome),
        share(outcome.n_matched, outcome.n_ok()),
        format!("{}, {}", cores(step.service_cores), cores(step.generator_cores)),
        step.resident_kib.map_or_else(|| "?".to_owned(), mib),
    ]
}

pub(super) fn swaps(runs: &[SwapRun]) -> String {
    let head = [
        "rules",
        "way",
        "saved, p50 ms",
        "first verdict, p50 ms",
        "longest ms",
        "injects a second",
        "their p99 ms meanwhile",
        "otherwise",
        "longest ms meanwhile",
        "otherwise",
        "5 ms late meanwhile",
        "otherwise",
        "failed",
    ];
    let rows = runs.iter().flat_map(|run| [SwapMethod::Api, SwapMethod::File].map(|way| swap_row(run, way)));
    table(&head, rows.collect())
}

fn swap_row(run: &SwapRun, way: SwapMethod) -> Vec<String> {
    let (judged, felt) = (run.judged(way), run.felt());
    let saved = if way == SwapMethod::Api { ms(run.saved().permille_ms(500)) } else { String::new() };
    vec![
        run.n_rules.to_string(),
        way.name().to_owned(),
        saved,
        ms(judged.permille_ms(500)),
        ms(judged.longest_ms()),
        format!("{:.0}", run.offered),
        ms(felt.meanwhile.permille_ms(990)),
        ms(felt.otherwise.permille_ms(990)),
        ms(felt.meanwhile.longest_ms()),
        ms(felt.otherwise.longest_ms()),
        share(felt.n_delayed, felt.meanwhile.count()),
        share(felt.n_delayed_otherwise, felt.otherwise.count()),
        felt.n_failed.to_string(),
    ]
}

pub(super) fn overload(run: &OverloadRun) -> String {
    let mut rows = offered_rows(run);
    rows.extend(answered_rows(run));
    rows.extend(memory_rows(run));
    let normal = run.normal_after();
    rows.push(row(
        "normal again after, s",
        normal.map_or_else(|| "not while observed".to_owned(), |seconds| format!("{seconds:.1}")),
        goal(normal.is_some_and(|seconds| seconds <= NORMAL_SECONDS_MAX), &format!("{NORMAL_SECONDS_MAX}")),
    ));
    table(&["overload", "measured", "goal"], rows)
}

fn offered_rows(run: &OverloadRun) -> Vec<Vec<String>> {
    let lasted = run.flood.lasted.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let sent = (run.flood.n_due - run.flood.n_unsent) as f64 / lasted.max(f64::MIN_POSITIVE);
    let goodput = run.goodput() * 100.0;
    let [before, after] = run.peaks;
    let beside = match run.n_refused_at_peaks {
        0 => String::new(),
        n_refused => format!(", with {n_refused} refusals"),
    };
    let left = if run.obeys_retry_after {
        "sent a second, the others had no connection or heeded Retry-After"
    } else {
        "sent a second, the others found no free connection"
    };
    vec![
        row("rules", run.n_rules.to_string(), String::new()),
        row(
            "peak, closed loop, a second, before and after",
            format!("{before:.0}, {after:.0}{beside}"),
            String::new(),
        ),
        row("offered, times the peak", format!("{} for {lasted:.1} s", run.factor), String::new()),
        row(left, format!("{sent:.0}"), String::new()),
        row(
            "goodput, share of the mean of both",
            format!("{goodput:.0} %"),
            goal(goodput >= GOODPUT_PERCENT_MIN, &format!("{GOODPUT_PERCENT_MIN} %")),
        ),
    ]
}

fn answered_rows(run: &OverloadRun) -> Vec<Vec<String>> {
    let (unloaded, accepted, refusals) = (run.unloaded(), run.flood.latencies(), run.flood.refusals());
    let quick = |share: usize, latencies: &Samples| latencies.permille_ms(share);
    let both = |latencies: &Samples| format!("{}, {}", ms(quick(500, latencies)), ms(quick(990, latencies)));
    let is_refused_soon = refusals.count() == 0 || quick(990, &refusals) <= REFUSAL_MS_MAX;
    let n_curt = run.flood.n_without_retry_after;
    vec![
        row("unloaded p50, p99 ms", both(&unloaded), String::new()),
        row(
            "accepted p50, p99 ms",
            both(&accepted),
            goal(quick(990, &accepted) <= run.usual_ms(), &format!("p99 {}", ms(run.usual_ms()))),
        ),
        row("refused p50, p99 ms", both(&refusals), goal(is_refused_soon, &format!("p99 {REFUSAL_MS_MAX}"))),
        row("other outcomes", otherwise(&run.flood), String::new()),
        row("503 without Retry-After", n_curt.to_string(), goal(n_curt == 0, "0")),
    ]
}

/// Rows about memory; empty where the system reports none.
fn memory_rows(run: &OverloadRun) -> Vec<Vec<String>> {
    let Some((before, most, after)) = run.resident_kib() else { return Vec::new() };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let growth = |most: u64| most as f64 / before.max(1) as f64;
    let history = run.history_growth_kib();
    vec![
        row(
            "RSS before, most, after, MiB",
            format!("{}, {}, {}, × {:.2}", mib(before), mib(most), mib(after), growth(most)),
            goal(growth(most) <= GROWTH_MAX, &format!("× {GROWTH_MAX}")),
        ),
        row(
            "of which history of accepted transactions",
            format!("{} MiB; × {:.2} without", mib(history), growth(most.saturating_sub(history))),
            String::new(),
        ),
    ]
}

fn row(what: &str, measured: String, goal: String) -> Vec<String> {
    vec![what.to_owned(), measured, goal]
}

fn goal(is_met: bool, words: &str) -> String {
    format!("{words}: {}", if is_met { "met" } else { "missed" })
}

/// Counts everything without a verdict, by cause.
fn otherwise(outcome: &LoadResult) -> String {
    let by_status = outcome.by_status();
    let statuses = by_status.iter().filter(|(status, _)| **status != 200);
    let mut parts: Vec<String> = statuses.map(|(status, n)| format!("{n} × {status}")).collect();
    for (n, what) in [
        (outcome.n_unsent, "unsent"),
        (outcome.n_unanswered, "unanswered"),
        (outcome.n_broken, "broken"),
        (outcome.n_without_retry_after, "without Retry-After"),
    ] {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    }
    if parts.is_empty() { "0".to_owned() } else { parts.join(", ") }
}

/// Three significant digits.
fn ms(number: f64) -> String {
    match number {
        number if number.is_nan() => "–".to_owned(),
        number if number < 10.0 => format!("{number:.2}"),
        number if number < 100.0 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}

fn cores(number: Option<f64>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| format!("{number:.2}"))
}

fn mib(kib: u64) -> String {
    (kib / 1_024).to_string()
}

fn share(part: usize, whole: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let percent = part as f64 / whole.max(1) as f64 * 100.0;
    format!("{percent:.1} %")
}

fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let head: Vec<String> = head.iter().map(|&word| word.to_owned()).collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows.iter().chain([&head]).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        })
        .collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| {
            let missing = width.saturating_sub(cell.chars().count());
            format!(" {cell}{} |", " ".repeat(missing))
        });
        format!("|{}", padded.collect::<String>())
    };
    let rule: String = widths.iter().map(|width| format!("{}|", "-".repeat(width + 2))).collect();
    let mut lines = vec![line(&head), format!("|{rule}")];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = vec![vec!["1".to_owned(), "größer".to_owned()], vec!["1,000".to_owned(), String::new()]];
        let expected = "| n     | what   |\n|-------|--------|\n| 1     | größer |\n| 1,000 |        |";
        assert_eq!(table(&["n", "what"], rows), expected);
    }

    #[test]
    fn three_digits_of_a_latency_count() {
        assert_eq!([0.126, 9.994, 12.34, 1234.5, f64::NAN].map(ms), ["0.13", "9.99", "12.3", "1234", "–"]);
    }
}
