//! `tollgate bench`: measures the whole service on the machine it runs on.
//!
//! ```text
//!  corpus ──rules──▶ temporary service ◀──HTTP── generator ──▶ samples ──▶ table, JSON, plot
//! ```
//!
//! The benchmarks in `benches` use the same corpus, and the same generator through [`PaymentSender`].
//!
//! The benchmark is a client of the command line, settings and HTTP interface, and uses no other module of the host.
//! All traffic stays on the loopback interface, unless a URL is given.

mod batch;
mod client;
pub mod corpus;
mod demo;
mod error;
mod generator;
mod interrupt;
mod machine;
mod overload;
mod payments;
mod plot;
mod report;
mod samples;
mod service;
mod swap;
mod target;
mod temporary_service;
mod wire;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use demo::{DAYS_MAX, DemoOptions, DemoPace, demo};
pub use error::BenchError;
pub use payments::{AnsweredLoad, PaymentSender};
pub use samples::Samples;

use machine::MachineInfo;
use report::BenchReport;
use target::HttpTarget;

/// The available measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measurement {
    /// Durable injects per second, and latencies at rising loads.
    Service,
    /// Time from a saved script to its first verdict, under load.
    Swap,
    /// More load than the service can take.
    Overload,
}

/// The measurements to run, and their parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchOptions {
    /// Measurements, in this order.
    pub measures: Vec<Measurement>,
    /// *service*: numbers of rules in force, one temporary service for each.
    pub rules: Vec<usize>,
    /// *service*: numbers of distinct aggregates in the rules, one temporary service for each.
    pub aggregates: Vec<usize>,
    /// Keep-alive connections of the generator.
    pub connections: usize,
    /// Duration of one load step.
    pub step: Duration,
    /// *service*: the load steps, in percent of the throughput in a closed loop.
    pub loads_percent: Vec<u32>,
    /// *swap*: numbers of rules in force while another rule is added.
    pub swap_rules: Vec<usize>,
    /// *swap*: the number of scripts saved over the API, and of files written.
    pub n_swaps: usize,
    /// *overload*: rules in force.
    pub overload_rules: usize,
    /// *overload*: the offered rate, as a multiple of the peak.
    pub overload_factor: f64,
    /// *overload*: duration.
    pub overload: Duration,
    /// *overload*: additional connections, more than the service takes transactions at once.
    pub overload_connections: usize,
    /// *overload*: duration of the load before the first peak, which builds up a history.
    pub overload_warm_up: Duration,
    /// *overload*: whether refused connections wait as `Retry-After` says.
    pub obeys_retry_after: bool,
    /// Base URL of another installation, `http://host:port`: only *service* runs, with the rules in force there.
    pub url: Option<String>,
    /// The data directory of temporary services; its disk affects the results.
    pub directory: Option<PathBuf>,
    /// Settings of temporary services: name and value.
    pub settings: Vec<(String, String)>,
    /// Output file for all results, with raw samples.
    pub json: Option<PathBuf>,
    /// Output file for the plot.
    pub svg: Option<PathBuf>,
    /// The command line of this run.
    pub command: String,
}

/// Runs the measurements and prints the results; progress and errors go to `say`. Returns the exit code: 1 after an
/// error.
pub fn run(options: &BenchOptions, say: &dyn Fn(&str)) -> u8 {
    interrupt::listen();
    match measure(options, say) {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("error: {error}"));
            1
        }
    }
}

fn measure(options: &BenchOptions, say: &dyn Fn(&str)) -> Result<(), BenchError> {
    // Fails early when an output file cannot be written.
    for path in [&options.json, &options.svg].into_iter().flatten() {
        write(path, "")?;
    }
    machine::raise_open_files();
    let directory = options.directory.clone().unwrap_or_else(std::env::temp_dir);
    let mut report = BenchReport::new(options, MachineInfo::look(&directory)?);
    if cfg!(debug_assertions) {
        say("warning: this is a debug build; its figures say nothing about a release");
    }
    if let Some(url) = &options.url {
        say(&format!("warning: this stores transactions in {url} permanently"));
        report.services.push(service::elsewhere(&HttpTarget::at(url)?, options, say)?);
    } else {
        for measure in &options.measures {
            match measure {
                Measurement::Service => service::measure(options, &directory, say, &mut report.services)?,
                Measurement::Swap => swap::measure(options, &directory, say, &mut report.swaps)?,
                Measurement::Overload => {
                    report.overload = Some(overload::measure(options, &directory, say)?);
                }
            }
        }
    }
    show(&report.table())?;
    if let Some(path) = &options.json {
        write(path, &report.json().to_string())?;
    }
    if let Some(path) = &options.svg {
        write(path, &plot::svg(&report.charts())?)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), BenchError> {
    fs::write(path, text)
        .map_err(|source| BenchError::Io { what: format!("write {}", path.display()), source })
}

/// Prints the results to standard output, where they can be redirected.
fn show(text: &str) -> Result<(), BenchError> {
    let shown = io::stdout().write_all(format!("{text}\n").as_bytes());
    shown.map_err(BenchError::io("write the figures to standard output"))
}
