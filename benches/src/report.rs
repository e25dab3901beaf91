//! Minimum and median of many batches, interleaved so that every variant meets the same weather.

use std::time::{Duration, Instant};

use anyhow::Context as _;

/// What one variant took, batch by batch.
#[derive(Debug, Clone)]
pub struct Samples {
    /// As the table names it.
    pub name: &'static str,
    /// In the order in which they were taken.
    pub taken: Vec<Duration>,
    sorted: Vec<Duration>,
}

impl Samples {
    /// The fastest batch, in nanoseconds per item.
    #[must_use]
    pub fn minimum_ns(&self, n_items: usize) -> f64 {
        per_item(self.sorted.first(), n_items)
    }

    /// The middle batch, in nanoseconds per item.
    #[must_use]
    pub fn median_ns(&self, n_items: usize) -> f64 {
        per_item(self.sorted.get(self.sorted.len() / 2), n_items)
    }
}

fn per_item(duration: Option<&Duration>, n_items: usize) -> f64 {
    let nanoseconds = duration.map_or(f64::NAN, |duration| duration.as_secs_f64() * 1e9);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 items")]
    let n_items = n_items as f64;
    nanoseconds / n_items
}

/// A variant and what one batch of it does.
pub type Variant<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// Runs every variant `n_batches` times, in turn, after one batch each to warm up.
pub fn interleave(n_batches: usize, mut variants: Vec<Variant<'_>>) -> Vec<Samples> {
    variants.iter_mut().for_each(|(_, batch)| batch());
    let mut taken: Vec<Vec<Duration>> = variants.iter().map(|_| Vec::with_capacity(n_batches)).collect();
    for _ in 0..n_batches {
        for ((_, batch), durations) in variants.iter_mut().zip(&mut taken) {
            let started = Instant::now();
            batch();
            durations.push(started.elapsed());
        }
    }
    let samples = variants.iter().zip(taken).map(|((name, _), taken)| {
        let mut sorted = taken.clone();
        sorted.sort();
        Samples { name, taken, sorted }
    });
    samples.collect()
}

/// The numbers behind this word of the command line, or these.
///
/// # Errors
/// When something else stands there.
pub fn numbers(word: &str, otherwise: &[usize]) -> anyhow::Result<Vec<usize>> {
    let said = std::env::args().find_map(|argument| Some(argument.strip_prefix(word)?.to_owned()));
    let Some(said) = said else { return Ok(otherwise.to_vec()) };
    said.split(',').map(|number| number.parse().with_context(|| format!("no number: {number}"))).collect()
}

/// The machine, as far as a reader needs it to judge a figure.
#[must_use]
pub fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!("{}, {cores} cores", model.map_or("unknown processor", |(_, name)| name.trim()))
}

/// The memory of this process that is in use, in bytes; 0 where the system does not say.
#[must_use]
pub fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok());
    kibibytes.unwrap_or(0) * 1_024
}

/// What this process has computed so far, all threads together: on a busy machine it says more than the clock. Zero where
/// the system does not say.
#[must_use]
pub fn cpu_time() -> Duration {
    cpu_time_of("self")
}

/// The same of the process with this number.
#[must_use]
pub fn cpu_time_of(process: &str) -> Duration {
    /// Of a second, on every Linux.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let behind_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = behind_name.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u32>().ok());
    TICK * ticks.sum::<u32>()
}
