//! A wall clock that jumps while a service uses it.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs::{self, File, OpenOptions};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

use super::{CLOCK, text};
use crate::home::Home;

/// The time of day for the service's processes of a home. Monotonic clocks are not affected.
#[derive(Debug)]
pub struct WallClock {
    path: PathBuf,
    file: File,
    apart: TimeDelta,
    /// Time it showed when it was last set.
    since: DateTime<Utc>,
    /// Ranges of time it showed between settings.
    shown: Vec<RangeInclusive<DateTime<Utc>>>,
}

impl WallClock {
    /// Creates a clock that shows system time.
    ///
    /// # Panics
    /// Panics if its file cannot be created.
    #[must_use]
    pub fn at(home: &Home) -> Self {
        let path = home.at("clock");
        fs::write(&path, [0; 8]).expect("a file can be written");
        let file = OpenOptions::new().write(true).open(&path).expect("a file can be opened");
        Self { path, file, apart: TimeDelta::zero(), since: Utc::now().trunc_subsecs(6), shown: Vec::new() }
    }

    /// Returns the same home; a service started on it uses this clock.
    #[must_use]
    pub fn on(&self, home: &Home) -> Home {
        let mut home = home.clone();
        home.set("LD_PRELOAD", text(CLOCK.path()));
        home.set("CLOCK_APART", text(&self.path));
        home
    }

    /// Returns the time it shows.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        Utc::now() + self.apart
    }

    /// Sets the offset from system time.
    ///
    /// # Panics
    /// Panics if its file cannot be written or the offset is too large.
    pub fn set_apart(&mut self, apart: TimeDelta) {
        let nanos = apart.num_nanoseconds().expect("a clock is at most some centuries wrong");
        // A concurrent reader may see either value.
        let before = Utc::now();
        self.file.write_all_at(&nanos.to_ne_bytes(), 0).expect("a file can be written");
        self.shown.push(self.since..=self.now());
        // Times are stored in microseconds.
        (self.apart, self.since) = (apart, (before + apart).trunc_subsecs(6));
    }

    /// Whether it ever showed this time.
    #[must_use]
    pub fn has_shown(&self, time: DateTime<Utc>) -> bool {
        let now = self.since..=self.now();
        self.shown.iter().chain([&now]).any(|shown| shown.contains(&time))
    }
}
