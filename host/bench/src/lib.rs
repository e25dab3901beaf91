//! The door for sceptics: `tollgate bench` measures the whole service on the machine it runs on.
//!
//! ```text
//!  corpus ──rules──▶ throwaway service ◀──HTTP── generator ──▶ samples ──▶ table, JSON, plot
//! ```
//!
//! It is a client: it knows the service by its command line, its settings and its HTTP interface, and by no other room of this
//! house. What it starts it starts as anybody would, so it measures what anybody would see. Nothing leaves the loopback.

mod client;
pub mod corpus;
mod error;
mod generator;
mod interrupt;
mod machine;
mod overload;
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

use error::BenchError;
use machine::MachineInfo;
use report::BenchReport;
use target::HttpTarget;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measurement {
    /// Durable injects a second, and how late answers are at rising loads.
    Service,
    /// From a saved script to the first verdict by it, while injects go on.
    Swap,
    /// More offered than the service takes.
    Overload,
}

/// What is measured, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchOptions {
    /// Which measures, in this order.
    pub measures: Vec<Measurement>,
    /// *service*: rules in force, a throwaway service for each.
    pub rules: Vec<usize>,
    /// *service*: different aggregates that they ask, a throwaway service for each.
    pub aggregates: Vec<usize>,
    /// Keep-alive connections of the generator.
    pub connections: usize,
    /// How long one step of load lasts.
    pub step: Duration,
    /// *service*: the steps, in hundredths of what the service took in a closed loop.
    pub loads_percent: Vec<u32>,
    /// *swap*: rules in force while another one comes.
    pub swap_rules: Vec<usize>,
    /// *swap*: scripts saved over the API, and as many files.
    pub n_swaps: usize,
    /// *overload*: rules in force.
    pub overload_rules: usize,
    /// *overload*: what is offered, as a multiple of the peak.
    pub overload_factor: f64,
    /// *overload*: for how long.
    pub overload: Duration,
    /// *overload*: connections beside the usual ones, more than the service takes transactions at once.
    pub overload_connections: usize,
    /// *overload*: for how long the service is used before its peak is measured, so that it has a history.
    pub overload_warm_up: Duration,
    /// *overload*: whether who is refused comes back when `Retry-After` says, and not at once.
    pub heeds_retry_after: bool,
    /// Another installation, `http://host:port`: only *service*, with the rules that are in force there.
    pub url: Option<String>,
    /// Where throwaway services keep their data; their disk is part of what is measured.
    pub directory: Option<PathBuf>,
    /// Settings of throwaway services: name and value.
    pub settings: Vec<(String, String)>,
    /// Where everything goes that was measured, with raw samples.
    pub json: Option<PathBuf>,
    /// Where the plot goes.
    pub svg: Option<PathBuf>,
    /// The command, as it was given.
    pub command: String,
}

/// Measures, and shows what it saw; progress and complaints are said. The exit code: 1 when something could not be measured.
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
    // Before anything runs for minutes and cannot be written down.
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
        say(&format!("warning: this stores transactions in {url}, and they stay there"));
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
        write(path, &plot::svg(&report.charts()))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), BenchError> {
    fs::write(path, text)
        .map_err(|source| BenchError::Io { what: format!("write {}", path.display()), source })
}

/// What was measured is what this command answers; the figures go where they can be redirected.
fn show(text: &str) -> Result<(), BenchError> {
    let shown = io::stdout().write_all(format!("{text}\n").as_bytes());
    shown.map_err(BenchError::io("write the figures to standard output"))
}
