//! A population as a whole: its past, and day by day what comes then.

use chrono::{DateTime, Days, Utc};

use crate::criminal::{self, Story};
use crate::{Cast, Payment, honest};

/// Days of the past that tests and the demo start with.
pub const DAYS: u32 = 75;

/// Days whose stories are known from the start, so that the pasts of their accounts are there when they begin.
const DAYS_FORESEEN: u32 = DAYS + 60;

/// Honest customers and criminals, by a seed.
#[derive(Debug, Clone)]
pub struct Population {
    seed: u64,
    start: DateTime<Utc>,
    cast: Cast,
    stories: Vec<Story>,
}

impl Population {
    /// Returns a population whose day [`DAYS`] begins at the midnight (UTC) before `now`.
    #[must_use]
    pub fn ending_at(now: DateTime<Utc>, seed: u64, n_customers: usize) -> Self {
        let today = now.date_naive();
        let start = today.checked_sub_days(Days::new(u64::from(DAYS))).unwrap_or(today);
        let cast = honest::cast(seed, n_customers, start);
        let start = start.and_hms_opt(0, 0, 0).unwrap_or_default().and_utc();
        let stories =
            (0..DAYS_FORESEEN).flat_map(|day| criminal::beginning_on(&cast, seed, start, day)).collect();
        Self { seed, start, cast, stories }
    }

    /// Returns everybody of the population.
    #[must_use]
    pub fn cast(&self) -> &Cast {
        &self.cast
    }

    /// Returns the payments that were made before the day 0, by people who are not strangers to their bank and for the
    /// stories that need a past, in order of time.
    #[must_use]
    pub fn before(&self) -> Vec<Payment> {
        let past = self.stories.iter().flat_map(|story| &story.past);
        let criminal = past.filter(|payment| payment.created_at < self.start).cloned();
        let honest = honest::before(&self.cast, self.seed, self.start);
        in_order(honest.into_iter().chain(criminal).collect())
    }

    /// Returns the payments of a day, honest and criminal, in order of time.
    #[must_use]
    pub fn day(&self, day: u32) -> Vec<Payment> {
        let from = self.start + Days::new(u64::from(day));
        let to = from + Days::new(1);
        let mut payments = honest::day(&self.cast, self.seed, self.start, day);
        let later = (DAYS_FORESEEN..=day)
            .flat_map(|day| criminal::beginning_on(&self.cast, self.seed, self.start, day));
        let stories = self.stories.iter().cloned().chain(later);
        let criminal = stories.flat_map(|story| story.past.into_iter().chain(story.payments));
        payments.extend(criminal.filter(|payment| (from..to).contains(&payment.created_at)));
        in_order(payments)
    }

    /// Returns the stories that begin within the past of [`DAYS`] days.
    pub fn stories(&self) -> impl Iterator<Item = &Story> {
        let end = self.start + Days::new(u64::from(DAYS));
        self.stories
            .iter()
            .filter(move |story| story.payments.last().is_some_and(|last| last.created_at < end))
    }
}

fn in_order(mut payments: Vec<Payment>) -> Vec<Payment> {
    payments.sort_by(|one, other| one.created_at.cmp(&other.created_at).then_with(|| one.id.cmp(&other.id)));
    payments
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_payment_is_made_once_also_when_days_go_on() {
        let now = DateTime::parse_from_rfc3339("2026-10-15T12:00:00Z").unwrap().to_utc();
        let population = Population::ending_at(now, 1, 60);
        let mut known = BTreeMap::new();
        let payments =
            population.before().into_iter().chain((0..DAYS + 20).flat_map(|day| population.day(day)));
        for payment in payments {
            if let Some(other) = known.insert(payment.id.clone(), payment.clone()) {
                panic!("made twice: {other:?} and {payment:?}");
            }
        }
    }
}
