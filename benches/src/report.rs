//! Minimum and median of many batches, interleaved so that noise of the machine affects all variants alike.

use std::time::{Duration, Instant};

use anyhow::Context as _;

/// Batch durations of one variant.
#[derive(Debug, Clone)]
pub struct Samples {
    /// Name in the table.
    pub name: &'static str,
    /// Durations in measurement order.
    pub taken: Vec<Duration>,
    sorted: Vec<Duration>,
}

impl Samples {
    /// Returns the fastest batch in nanoseconds per item.
    #[must_use]
    pub fn minimum_ns(&self, n_items: usize) -> f64 {
        per_item(self.sorted.first(), n_items)
    }

    /// Returns the median batch in nanoseconds per item.
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

/// A variant: its name and the function that runs one batch.
pub type Variant<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// Runs every variant `n_batches` times in turn, after one warm-up batch each.
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

/// Returns the comma-separated numbers after this word of the command line, or a default.
///
/// # Errors
/// Returns an error if the value is not a list of numbers.
pub fn numbers(word: &str, otherwise: &[usize]) -> anyhow::Result<Vec<usize>> {
    let said = std::env::args().find_map(|argument| Some(argument.strip_prefix(word)?.to_owned()));
    let Some(said) = said else { return Ok(otherwise.to_vec()) };
    said.split(',').map(|number| number.parse().with_context(|| format!("no number: {number}"))).collect()
}

/// Describes the machine.
#[must_use]
pub fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!("{}, {cores} cores", model.map_or("unknown processor", |(_, name)| name.trim()))
}

/// Returns the resident memory of this process in bytes, or 0 if unavailable.
#[must_use]
pub fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok());
    kibibytes.unwrap_or(0) * 1_024
}

/// Returns the CPU time of all threads of this process, which is more precise than wall time on a busy machine. Zero if
/// unavailable.
#[must_use]
pub fn cpu_time() -> Duration {
    cpu_time_of("self")
}

/// Returns the CPU time of another process.
#[must_use]
pub fn cpu_time_of(process: &str) -> Duration {
    /// Clock tick of every Linux.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let behind_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = behind_name.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u32>().ok());
    TICK * ticks.sum::<u32>()
}
