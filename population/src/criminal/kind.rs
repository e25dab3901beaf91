//! Kinds of stories, and the days on which they begin.

use chrono::{DateTime, Datelike, Days, NaiveDate, Utc, Weekday};
use rand::Rng;

use super::Story;
use super::scene::Scene;
use crate::Cast;
use crate::dice::dice;

/// Days in which every kind begins once.
///
/// Two such spans fit into 75 days after the first 14, with every payment of the stories.
const SPAN: u32 = 30;

/// A kind of story.
pub(super) struct Kind {
    pub(super) typology: &'static str,
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) source: &'static str,
    /// First day on which it may begin: 14 where the usual behaviour of a victim must be known before.
    pub(super) first: u32,
    /// Days that it needs, the first and a spare one counted.
    pub(super) days: u32,
    /// Whether it may begin on a date; some need a weekend or the middle of a month.
    pub(super) fits: fn(NaiveDate) -> bool,
    /// Plays the story; `None` if the cast has nobody fit for it.
    pub(super) tell: fn(&mut Scene<'_>) -> Option<()>,
}

impl Kind {
    /// Returns the story that begins on a day, if one does.
    pub(super) fn beginning_on(
        &self,
        cast: &Cast,
        seed: u64,
        start: DateTime<Utc>,
        day: u32,
    ) -> Option<Story> {
        let span = day.checked_sub(self.first)? / SPAN;
        if self.day_in(seed, start, span)? != day {
            return None;
        }
        let name = format!("{}/{}/day-{day}/1", self.typology, self.name);
        let mut scene = Scene::new(cast, seed, start + Days::new(u64::from(day)), day, name);
        (self.tell)(&mut scene)?;
        scene.finish(self)
    }

    /// Returns the day on which the story of a span begins.
    fn day_in(&self, seed: u64, start: DateTime<Utc>, span: u32) -> Option<u32> {
        let room = SPAN - self.days;
        let name = format!("beginning of {}/{}", self.typology, self.name);
        let drawn = dice(seed, &name, i64::from(span)).random_range(0..room);
        let from = self.first + span * SPAN;
        let days = (0..room).map(|further| from + (drawn + further) % room);
        let date = |day: u32| (start + Days::new(u64::from(day))).date_naive();
        days.into_iter().find(|day| (self.fits)(date(*day)))
    }
}

/// Returns whether branches and offices are open on a date.
pub(super) fn working_day(date: NaiveDate) -> bool {
    !matches!(date.weekday(), Weekday::Sat | Weekday::Sun)
}

/// Returns true: most stories may begin on any date.
pub(super) fn any_date(_: NaiveDate) -> bool {
    true
}
