//! The disk of the data directory: whether it takes data, how much is free, and for how long that lasts.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};
use tollgate_history::History;
use tollgate_store::{DiskSpace, StoreSize, try_to_write};

use tollgate_telemetry::metrics::{DiskOutlook, Metrics};
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
/// A service that measured for less time counts as having measured for this long, so that a burst is not taken for a rate. The
/// history writes what left memory at once: its files count as measured for [`MEASURED`].
const MEASURED_MIN: Duration = Duration::from_secs(600);
/// Interval between two samples.
const BETWEEN_SAMPLES: Duration = Duration::from_secs(60);
/// Interval between two measurements of the files, of which the history may have thousands.
const BETWEEN_SIZES: Duration = Duration::from_secs(10);
const DAY_SECONDS: u128 = 24 * 3_600;

/// Examines the disk once a second.
pub(super) struct DiskProbe {
    data_dir: PathBuf,
    metrics: Arc<Metrics>,
    check: ReadinessCheck,
    history: Arc<History>,
    /// The last measurement of the files.
    size: Option<(Instant, StoreSize)>,
    growth: Growth,
}

impl DiskProbe {
    pub(super) fn new(
        data_dir: &Path,
        metrics: &Arc<Metrics>,
        history: &Arc<History>,
        check: ReadinessCheck,
    ) -> Self {
        let (metrics, history) = (Arc::clone(metrics), Arc::clone(history));
        Self { data_dir: data_dir.to_owned(), metrics, check, history, size: None, growth: Growth::default() }
    }

    /// Examines the disk, and waits for a write that takes longer than a second; never returns.
    pub(super) async fn follow(mut self) {
        let mut seconds = each_second();
        loop {
            seconds.tick().await;
            let (data_dir, known) = (self.data_dir.clone(), self.size);
            let mut trial = spawn_blocking(move || {
                try_to_write(&data_dir)?;
                let known = known.filter(|(then, _)| then.elapsed() < BETWEEN_SIZES);
                let size = known.unwrap_or_else(|| (Instant::now(), StoreSize::of(&data_dir)));
                Ok((DiskSpace::at(&data_dir)?, size))
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

    fn report(&mut self, tried: io::Result<(DiskSpace, (Instant, StoreSize))>) {
        match tried {
            Ok((DiskSpace { free_bytes, .. }, (at, size))) => {
                self.metrics.disk_measured(free_bytes, size.total());
                if self.size.is_none_or(|(before, _)| before < at) {
                    self.note(at, size);
                }
                self.size = Some((at, size));
                let outlook = self.growth.outlook(free_bytes, Utc::now());
                self.metrics.disk_expected(outlook);
                match self.growth.lack(free_bytes) {
                    Some(lack) => self.check.degraded(lack),
                    None => self.check.ok_with(words_about(outlook)),
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

    fn note(&mut self, at: Instant, size: StoreSize) {
        let n_stored = self.history.last_sequence().0;
        if n_stored > 0 && !self.history.knows_stored() {
            // A start may write all files of the history anew.
            self.growth = Growth::default();
            return;
        }
        let StoreSize { database, history, .. } = size;
        self.growth.note(DiskSample { at, n_database: database, n_history: history, n_stored });
    }
}

/// The files at one time.
#[derive(Debug, Clone, Copy)]
struct DiskSample {
    at: Instant,
    /// Size of the database.
    n_database: u64,
    /// Size of the history's files.
    n_history: u64,
    /// Transactions stored.
    n_stored: u64,
}

/// Sizes of the files within the last hour.
#[derive(Debug, Default)]
struct Growth {
    /// One a minute, the oldest first.
    samples: VecDeque<DiskSample>,
    /// The last measurement.
    last: Option<DiskSample>,
}

impl Growth {
    fn note(&mut self, sample: DiskSample) {
        self.last = Some(sample);
        let since = |then: &DiskSample| sample.at.saturating_duration_since(then.at);
        if self.samples.back().is_none_or(|then| since(then) >= BETWEEN_SAMPLES) {
            self.samples.push_back(sample);
        }
        // The second sample is kept as long as it is within the hour, so the first one is as old as possible.
        while self.samples.get(1).is_some_and(|then| since(then) >= MEASURED) {
            self.samples.pop_front();
        }
    }

    /// Returns the bytes by which the files grow in a day at the rate of the last hour.
    fn bytes_per_day(&self) -> u128 {
        let (Some(begin), Some(end)) = (self.samples.front(), self.last) else { return 0 };
        let measured = end.at.saturating_duration_since(begin.at);
        let rate = |begin: u64, end: u64, at_least: Duration| {
            u128::from(end.saturating_sub(begin)) * DAY_SECONDS / u128::from(measured.max(at_least).as_secs())
        };
        rate(begin.n_database, end.n_database, MEASURED_MIN) + rate(begin.n_history, end.n_history, MEASURED)
    }

    /// Returns how long this much free space lasts at the rate of the last hour; `None` if the files do not grow.
    fn lasts(&self, free_bytes: u64) -> Option<Duration> {
        let seconds = (u128::from(free_bytes) * DAY_SECONDS).checked_div(self.bytes_per_day())?;
        Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX)))
    }

    /// Returns the bytes by which the files grew for each transaction stored in the last hour; 0 if there is none.
    fn bytes_per_transaction(&self) -> u64 {
        let (Some(begin), Some(end)) = (self.samples.front(), self.last) else { return 0 };
        let n_bytes = |sample: &DiskSample| sample.n_database + sample.n_history;
        let grown = n_bytes(&end).saturating_sub(n_bytes(begin));
        grown.checked_div(end.n_stored.saturating_sub(begin.n_stored)).unwrap_or(0)
    }

    fn outlook(&self, free_bytes: u64, now: DateTime<Utc>) -> DiskOutlook {
        let lasts = self.lasts(free_bytes).and_then(|lasts| chrono::Duration::from_std(lasts).ok());
        let full_at = lasts.and_then(|lasts| now.checked_add_signed(lasts));
        DiskOutlook {
            bytes_per_transaction: self.bytes_per_transaction(),
            bytes_per_day: u64::try_from(self.bytes_per_day()).unwrap_or(u64::MAX),
            full_at: full_at.filter(|time| *time < last_shown()),
        }
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
        let free = two_digits(free_bytes >> 20);
        Some(format!(
            "{free} MiB are free for SERVICE_DATA_DIR{lasts}; without free space every transaction is refused"
        ))
    }
}

/// Returns the first time that has no four digits for its year.
fn last_shown() -> DateTime<Utc> {
    const YEAR_10000: i64 = 253_402_300_800;
    DateTime::from_timestamp(YEAR_10000, 0).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Describes an outlook; empty while nothing grows.
fn words_about(outlook: DiskOutlook) -> String {
    let DiskOutlook { bytes_per_transaction, bytes_per_day, full_at } = outlook;
    let (Some(full_at), 1..) = (full_at, bytes_per_transaction) else { return String::new() };
    format!(
        "{bytes_per_transaction} bytes a transaction, {} MiB a day, full on {} at the rate of the last hour",
        bytes_per_day >> 20,
        full_at.format("%Y-%m-%d")
    )
}

/// Rounds a number down to its first two digits, so that the log has no line for each MiB less.
fn two_digits(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number - number % unit
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

    /// A store of which each transaction takes a KiB.
    fn sample(at: Instant, n_database: u64) -> DiskSample {
        DiskSample { at, n_database, n_history: 0, n_stored: n_database / 1_024 }
    }

    /// Measures a store that grows by this many bytes a second for so long.
    fn grown(seconds: u64, rate: u64) -> Growth {
        let (begin, mut growth) = (Instant::now(), Growth::default());
        for second in 0..=seconds {
            growth.note(sample(begin + Duration::from_secs(second), second * rate));
        }
        growth
    }

    #[test]
    fn a_store_that_stands_still_needs_a_fixed_amount() {
        let growth = grown(7_200, 0);
        assert_eq!(growth.lack(256 * MIB), None);
        let words = "250 MiB are free for SERVICE_DATA_DIR; without free space every transaction is refused";
        assert_eq!(growth.lack(256 * MIB - 1).as_deref(), Some(words));
    }

    #[test]
    fn free_space_that_shrinks_is_told_in_few_steps() {
        let growth = grown(600, 60 * MIB);
        let told: Vec<String> = (1..=40_000).filter_map(|free| growth.lack(free * MIB)).collect();
        let n_lines = told.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((300..500).contains(&n_lines), "{n_lines}");
        assert_eq!(two_digits(0), 0);
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
        let begin = growth.samples[0].at;
        for minute in 1..=62 {
            growth.note(sample(begin + Duration::from_secs(60 * minute), 600 * MIB));
        }
        assert_eq!(growth.lasts(3_600 * MIB), None);
        assert!(growth.samples.len() <= 62, "{}", growth.samples.len());
    }

    #[test]
    fn an_outlook_has_the_bytes_of_a_transaction_and_of_a_day_and_the_day_of_the_end() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let outlook = grown(3_600, MIB).outlook(20 * 86_400 * MIB, now);
        let full_at = DateTime::from_timestamp(1_800_000_000 + 20 * 86_400, 0);
        let expected = DiskOutlook { bytes_per_transaction: 1_024, bytes_per_day: 86_400 * MIB, full_at };
        assert_eq!(outlook, expected);
        let words =
            "1024 bytes a transaction, 86400 MiB a day, full on 2027-02-04 at the rate of the last hour";
        assert_eq!(words_about(outlook), words);
        // Nothing is said of a store that stands still, or that lasts for ages.
        for (rate, free_bytes) in [(0, MIB), (1, u64::MAX)] {
            let outlook = grown(3_600, rate).outlook(free_bytes, now);
            assert_eq!((outlook.full_at, words_about(outlook)), (None, String::new()), "{rate}");
        }
    }

    #[test]
    fn keys_that_leave_memory_at_once_are_spread_over_an_hour() {
        let (begin, mut growth) = (Instant::now(), Growth::default());
        for (seconds, n_history) in [(0, 0), (10, 1_024 * MIB)] {
            let at = begin + Duration::from_secs(seconds);
            growth.note(DiskSample { at, n_database: 0, n_history, n_stored: seconds });
        }
        assert_eq!(growth.bytes_per_day(), u128::from(24 * 1_024 * MIB));
        assert_eq!(growth.lasts(12 * 1_024 * MIB), Some(Duration::from_secs(12 * 3_600)));
    }
}
