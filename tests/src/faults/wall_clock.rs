//! A clock on the wall that jumps while a service goes by it.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::fs::{self, File, OpenOptions};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

use super::{CLOCK, text};
use crate::home::Home;

/// What the service's processes of a home take for the time of day; monotonic clocks are the system's.
#[derive(Debug)]
pub struct WallClock {
    path: PathBuf,
    file: File,
    apart: TimeDelta,
    /// When it was set as it is now, by itself.
    since: DateTime<Utc>,
    /// What it showed between two settings.
    shown: Vec<RangeInclusive<DateTime<Utc>>>,
}

impl WallClock {
    /// With the time of the system.
    ///
    /// # Panics
    /// When its file cannot be made.
    #[must_use]
    pub fn at(home: &Home) -> Self {
        let path = home.at("clock");
        fs::write(&path, [0; 8]).expect("a file can be written");
        let file = OpenOptions::new().write(true).open(&path).expect("a file can be opened");
        Self { path, file, apart: TimeDelta::zero(), since: Utc::now().trunc_subsecs(6), shown: Vec::new() }
    }

    /// The same home; a service that starts on it goes by this clock.
    #[must_use]
    pub fn on(&self, home: &Home) -> Home {
        let mut home = home.clone();
        home.set("LD_PRELOAD", text(CLOCK.path()));
        home.set("CLOCK_APART", text(&self.path));
        home
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        Utc::now() + self.apart
    }

    /// From here on it is so far ahead of the system's, or behind it.
    ///
    /// # Panics
    /// When its file cannot be written, or it is too far.
    pub fn set_apart(&mut self, apart: TimeDelta) {
        let nanos = apart.num_nanoseconds().expect("a clock is at most some centuries wrong");
        // Whoever reads it meanwhile may do so by the one or the other.
        let before = Utc::now();
        self.file.write_all_at(&nanos.to_ne_bytes(), 0).expect("a file can be written");
        self.shown.push(self.since..=self.now());
        // Times are kept to the microsecond.
        (self.apart, self.since) = (apart, (before + apart).trunc_subsecs(6));
    }

    /// Whether it ever showed this.
    #[must_use]
    pub fn has_shown(&self, time: DateTime<Utc>) -> bool {
        let now = self.since..=self.now();
        self.shown.iter().chain([&now]).any(|shown| shown.contains(&time))
    }
}
