//! `tollgate demo`: arguments.

use std::path::PathBuf;

use clap::Args;
use tollgate_load::{DAYS_MAX, DemoOptions, DemoPace};

use crate::cli::bench::setting;
use crate::cli::say;

/// Arguments of `tollgate demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// An empty directory for the data, which stays [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Port of the service; 0 for any
    #[arg(long, default_value_t = 8081)]
    port: u16,
    /// Seed: the same seed makes the same customers and payments
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of customers
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u16).range(20..=5_000))]
    customers: u16,
    /// Speed after the last 75 days: so many times as fast as people pay
    #[arg(long, default_value = "60x", value_name = "FACTORx", value_parser = speed)]
    speed: f64,
    /// Payments a second after the last 75 days, instead of a speed
    #[arg(long, value_name = "N/s", value_parser = rate, conflicts_with = "speed")]
    rate: Option<f64>,
    /// Days of the past to play first
    #[arg(long, default_value_t = DAYS_MAX, value_parser = clap::value_parser!(u32).range(..=i64::from(DAYS_MAX)))]
    days: u32,
    /// Setting of the service
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
}

/// Plays until it is interrupted. Returns the exit code.
pub(super) fn demo(asked: DemoArguments) -> u8 {
    let options = DemoOptions {
        directory: asked.directory,
        port: asked.port,
        seed: asked.seed,
        customers: asked.customers.into(),
        pace: asked.rate.map_or(DemoPace::Speed(asked.speed), DemoPace::Rate),
        days: asked.days,
        settings: asked.settings,
        opens_browser: asked.open,
    };
    tollgate_load::demo(&options, &say)
}

fn speed(text: &str) -> Result<f64, String> {
    number(text.strip_suffix('x').unwrap_or(text), "a factor from 0.1 to 100000, such as 60x")
}

fn rate(text: &str) -> Result<f64, String> {
    number(text.strip_suffix("/s").unwrap_or(text), "a number from 0.1 to 100000 with /s, such as 200/s")
}

fn number(text: &str, allowed: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.1..=100_000.0).contains(number));
    number.ok_or_else(|| format!("must be {allowed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_has_its_unit() {
        for (text, expected) in
            [("60x", Some(60.0)), ("1.5", Some(1.5)), ("0x", None), ("x", None), ("60/s", None)]
        {
            assert_eq!(speed(text).ok(), expected, "{text}");
        }
        for (text, expected) in [("200/s", Some(200.0)), ("200", Some(200.0)), ("-1/s", None), ("200x", None)]
        {
            assert_eq!(rate(text).ok(), expected, "{text}");
        }
    }
}
