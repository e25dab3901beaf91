//! `tollgate bench`: arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tollgate_load::{BenchOptions, Measurement};

use crate::cli::say;

/// Arguments of `tollgate bench`.
#[derive(Debug, Args)]
pub(super) struct BenchArguments {
    /// Measurements to make [default: all]
    #[arg(value_enum)]
    measures: Vec<MeasureName>,
    /// service: numbers of rules, each with a service of its own
    #[arg(long, value_delimiter = ',', default_value = "0,10,100,1000")]
    rules: Vec<usize>,
    /// service: numbers of different aggregates in the rules, at most 100, each with a service of its own
    #[arg(long, value_delimiter = ',', default_value = "0,10,50")]
    aggregates: Vec<usize>,
    /// Keep-alive connections of the generator
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// Duration of one load step, in seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=600))]
    seconds: u16,
    /// service: load steps, in percent of the rate of a closed loop
    #[arg(long, value_delimiter = ',', default_value = "10,25,50,75,90,100", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    loads: Vec<u32>,
    /// swap: numbers of rules in force while another is added, up to 9,999
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000")]
    swap_rules: Vec<usize>,
    /// swap: number of scripts that are saved, and of files that are written
    #[arg(long, default_value_t = 20)]
    swaps: usize,
    /// overload: rules in force
    #[arg(long, default_value_t = 100)]
    overload_rules: usize,
    /// overload: offered rate, as a multiple of the peak
    #[arg(long, default_value_t = 10.0, value_parser = factor)]
    overload_factor: f64,
    /// overload: duration in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=3_600))]
    overload_seconds: u16,
    /// overload: connections of the flood; the service refuses those beyond its limit of transactions in flight
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    overload_connections: u16,
    /// overload: seconds of use before the peak is measured, so that the history can reach its limit
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=3_600))]
    overload_warm_up: u16,
    /// overload: refused clients wait for one to two times the seconds of Retry-After
    #[arg(long)]
    heed_retry_after: bool,
    /// Measure another installation with the rules in force there (`service` only); it stores what it receives
    #[arg(long, value_name = "http://HOST:PORT")]
    url: Option<String>,
    /// Data directory of temporary services [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Setting of temporary services
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Write all figures and raw samples to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a plot to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MeasureName {
    /// Durable injects per second, and latencies at rising loads
    Service,
    /// Time from a saved script to its first verdict, under load
    Swap,
    /// Behaviour under more load than the service can handle
    Overload,
}

/// Returns the exit code: 1 if a measurement failed.
pub(super) fn bench(arguments: BenchArguments, command: String) -> u8 {
    tollgate_load::run(&arguments.options(command), &say)
}

impl BenchArguments {
    fn options(self, command: String) -> BenchOptions {
        let seconds = |seconds: u16| Duration::from_secs(seconds.into());
        let mut measures: Vec<Measurement> = self.measures.into_iter().map(Measurement::from).collect();
        if measures.is_empty() {
            measures = vec![Measurement::Service, Measurement::Swap, Measurement::Overload];
        }
        BenchOptions {
            measures,
            rules: self.rules,
            aggregates: self.aggregates,
            connections: self.connections.into(),
            step: seconds(self.seconds),
            loads_percent: self.loads,
            swap_rules: self.swap_rules,
            n_swaps: self.swaps,
            overload_rules: self.overload_rules,
            overload_factor: self.overload_factor,
            overload: seconds(self.overload_seconds),
            overload_connections: self.overload_connections.into(),
            overload_warm_up: seconds(self.overload_warm_up),
            obeys_retry_after: self.heed_retry_after,
            url: self.url,
            directory: self.directory,
            settings: self.settings,
            json: self.json,
            svg: self.svg,
            command,
        }
    }
}

impl From<MeasureName> for Measurement {
    fn from(name: MeasureName) -> Self {
        match name {
            MeasureName::Service => Self::Service,
            MeasureName::Swap => Self::Swap,
            MeasureName::Overload => Self::Overload,
        }
    }
}

fn factor(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=1_000.0).contains(&number) { Ok(number) } else { Err("must be from 0.1 to 1000".to_owned()) }
}

pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
