//! The disk of the data directory: whether it takes data, how much is free, and for how long that lasts.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};
use tollgate_store::{DiskSpace, StoreSize, try_to_write};

use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::ReadinessCheck;

/// Interval between checks.
const PAUSE: Duration = Duration::from_secs(1);
/// Time after which a write counts as failed.
const TRIAL_MAX: Duration = Duration::from_secs(5);
/// Free space below which the disk is degraded at any rate.
const FREE_BYTES_LOW: u64 = 256 << 20;
/// Time that the free space must last.
const LASTS_MIN: Duration = Duration::from_secs(24 * 3_600);
/// Time over which the growth of the store is measured.
const MEASURED: Duration = Duration::from_secs(3_600);
/// A service that measured for less time counts as having measured for this long, so that a burst is not taken for a rate.
const MEASURED_MIN: Duration = Duration::from_secs(600);
/// Interval between two measurements.
const BETWEEN_SAMPLES: Duration = Duration::from_secs(60);

/// Examines the disk once a second.
pub(super) struct DiskProbe {
    data_dir: PathBuf,
    metrics: Arc<Metrics>,
    check: ReadinessCheck,
    growth: Growth,
}

impl DiskProbe {
    pub(super) fn new(data_dir: &Path, metrics: &Arc<Metrics>, check: ReadinessCheck) -> Self {
        let growth = Growth::default();
        Self { data_dir: data_dir.to_owned(), metrics: Arc::clone(metrics), check, growth }
    }

    /// Examines the disk, and waits for a write that takes longer than a second; never returns.
    pub(super) async fn follow(mut self) {
        let mut seconds = each_second();
        loop {
            seconds.tick().await;
            let data_dir = self.data_dir.clone();
            let mut trial = spawn_blocking(move || {
                try_to_write(&data_dir)?;
                Ok((DiskSpace::at(&data_dir)?, StoreSize::of(&data_dir)))
            });
            let tried = match timeout(TRIAL_MAX, &mut trial).await {
                Ok(tried) => tried,
                Err(_) => {
                    self.check.failing("the disk of SERVICE_DATA_DIR does not answer");
                    trial.await
                }
            };
            self.report(tried.unwrap_or_else(|error| Err(io::Error::other(error))));
        }
    }

    fn report(&mut self, tried: io::Result<(DiskSpace, StoreSize)>) {
        match tried {
            Ok((DiskSpace { free_bytes, .. }, size)) => {
                self.metrics.disk_measured(free_bytes, size.total());
                self.growth.note(Instant::now(), size.database);
                match self.growth.lack(free_bytes) {
                    Some(lack) => self.check.degraded(lack),
                    None => self.check.ok(),
                }
            }
            Err(error) if takes_nothing(&error) => self.check.failing(format!(
                "SERVICE_DATA_DIR cannot be written, so that every transaction is refused: {error}"
            )),
            Err(error) => {
                self.check.degraded(format!("the disk of SERVICE_DATA_DIR cannot be tested: {error}"));
            }
        }
    }
}

/// Sizes of the database within the last hour.
#[derive(Debug, Default)]
struct Growth {
    /// One a minute, the oldest first.
    samples: VecDeque<(Instant, u64)>,
    /// The last measurement.
    last: Option<(Instant, u64)>,
}

impl Growth {
    fn note(&mut self, now: Instant, n_bytes: u64) {
        self.last = Some((now, n_bytes));
        if self.samples.back().is_none_or(|(then, _)| now.duration_since(*then) >= BETWEEN_SAMPLES) {
            self.samples.push_back((now, n_bytes));
        }
        // The second sample is kept as long as it is within the hour, so the first one is as old as possible.
        while self.samples.get(1).is_some_and(|(then, _)| now.duration_since(*then) >= MEASURED) {
            self.samples.pop_front();
        }
    }

    /// Returns how long this much free space lasts at the rate of the last hour; `None` if the store does not grow.
    fn lasts(&self, free_bytes: u64) -> Option<Duration> {
        let ((begin, before), (end, after)) = (self.samples.front()?, self.last?);
        let grown = after.checked_sub(*before).filter(|grown| *grown > 0)?;
        let measured = end.duration_since(*begin).max(MEASURED_MIN);
        let seconds = u128::from(free_bytes) * u128::from(measured.as_secs()) / u128::from(grown);
        Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX)))
    }

    /// Describes too little free space.
    fn lack(&self, free_bytes: u64) -> Option<String> {
        let lasts = self.lasts(free_bytes).filter(|lasts| *lasts < LASTS_MIN);
        if lasts.is_none() && free_bytes >= FREE_BYTES_LOW {
            return None;
        }
        let lasts = lasts.map_or_else(String::new, |lasts| {
            format!(", enough for {} at the rate of the last hour", words_of(lasts))
        });
        let free = free_bytes >> 20;
        Some(format!(
            "{free} MiB are free for SERVICE_DATA_DIR{lasts}; without free space every transaction is refused"
        ))
    }
}

fn words_of(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    match minutes / 60 {
        0 => format!("{minutes} minutes"),
        hours => format!("{hours} hours"),
    }
}

/// Returns whether the file system takes no data.
fn takes_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem)
}

/// Returns a clock that ticks each second, later if its reader is late.
pub(super) fn each_second() -> Interval {
    let mut pauses = interval(PAUSE);
    pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pauses
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Measures a store that grows by this many bytes a second for so long.
    fn grown(seconds: u64, rate: u64) -> Growth {
        let (begin, mut growth) = (Instant::now(), Growth::default());
        for second in 0..=seconds {
            growth.note(begin + Duration::from_secs(second), second * rate);
        }
        growth
    }

    #[test]
    fn a_store_that_stands_still_needs_a_fixed_amount() {
        let growth = grown(7_200, 0);
        assert_eq!(growth.lack(256 * MIB), None);
        let words = "255 MiB are free for SERVICE_DATA_DIR; without free space every transaction is refused";
        assert_eq!(growth.lack(256 * MIB - 1).as_deref(), Some(words));
    }

    #[test]
    fn free_space_must_last_a_day_at_the_rate_of_the_last_hour() {
        // The same rate, whether it is known for ten minutes or for hours.
        for seconds in [600, 3_600, 20_000] {
            let growth = grown(seconds, MIB);
            assert_eq!(growth.lack(86_400 * MIB), None, "{seconds} s");
            let lack = growth.lack(7_300 * MIB).unwrap();
            assert!(lack.contains("7300 MiB are free") && lack.contains("enough for 2 hours"), "{lack}");
        }
    }

    #[test]
    fn a_burst_is_spread_over_ten_minutes_and_forgotten_after_an_hour() {
        let mut growth = grown(10, 60 * MIB);
        assert_eq!(growth.lasts(3_600 * MIB), Some(Duration::from_secs(3_600)));
        let begin = growth.samples[0].0;
        for minute in 1..=62 {
            growth.note(begin + Duration::from_secs(60 * minute), 600 * MIB);
        }
        assert_eq!(growth.lasts(3_600 * MIB), None);
        assert!(growth.samples.len() <= 62, "{}", growth.samples.len());
    }
}
