//! Output of the results as a table, as remarks, and as raw samples.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use serde_json::json;
use tollgate_benches::report::Samples;

use crate::ours::Fused;

/// One variant at one size.
pub(crate) struct Row {
    pub(crate) n_rules: usize,
    pub(crate) name: &'static str,
    remark: &'static str,
    n_transactions: usize,
    samples: Samples,
    /// Nanoseconds per rule.
    pub(crate) minimum: f64,
    pub(crate) median: f64,
    /// Ratio to Tollgate's fused modules at this size; NaN if those were not measured.
    of_minimum: f64,
    of_median: f64,
}

impl Row {
    /// Returns the rows of one size.
    pub(crate) fn all(
        n_rules: usize,
        n_transactions: usize,
        samples: Vec<Samples>,
        remarks: &[&'static str],
    ) -> Vec<Self> {
        let n_items = n_rules * n_transactions;
        let fused = samples.iter().find(|samples| samples.name == Fused::NAME);
        let (fused_minimum, fused_median) = fused.map_or((f64::NAN, f64::NAN), |samples| {
            (samples.minimum_ns(n_items), samples.median_ns(n_items))
        });
        let rows = samples.into_iter().zip(remarks).map(|(samples, remark)| {
            let (minimum, median) = (samples.minimum_ns(n_items), samples.median_ns(n_items));
            Self {
                n_rules,
                name: samples.name,
                remark,
                n_transactions,
                samples,
                minimum,
                median,
                of_minimum: minimum / fused_minimum,
                of_median: median / fused_median,
            }
        });
        rows.collect()
    }
}

pub(crate) fn print_head() {
    println!(
        "\n{:>6}  {:<22} {:>12} {:>9} {:>12} {:>12} {:>12}",
        "rules", "variant", "min ns/rule", "median", "µs/trans.", "min/fused", "median/fused"
    );
}

pub(crate) fn print(rows: &[Row]) {
    for row in rows {
        let micros = row.median * row.n_rules as f64 / 1e3;
        println!(
            "{:>6}  {:<22} {:>12.1} {:>9.1} {micros:>12.2} {:>11.2}x {:>11.2}x",
            row.n_rules, row.name, row.minimum, row.median, row.of_minimum, row.of_median
        );
    }
}

/// Prints the remark of each variant once.
pub(crate) fn print_remarks(rows: &[Row]) {
    println!();
    let largest = rows.last().map_or(0, |row| row.n_rules);
    for row in rows.iter().filter(|row| row.n_rules == largest) {
        println!("{}: {}.", row.name, row.remark);
    }
}

/// Returns every batch in measurement order.
pub(crate) fn json(machine: &str, command: &[String], rows: &[Row]) -> String {
    let rows = rows.iter().map(|row| {
        let batches = row.samples.taken.iter().map(|batch| batch.as_secs_f64() * 1e9);
        json!({
            "rules": row.n_rules,
            "variant": row.name,
            "remark": row.remark,
            "transactions_per_batch": row.n_transactions,
            "minimum_ns_per_rule": row.minimum,
            "median_ns_per_rule": row.median,
            "batch_ns": batches.collect::<Vec<f64>>(),
        })
    });
    let rows: Vec<_> = rows.collect();
    json!({ "machine": machine, "command": command, "samples": rows }).to_string()
}
