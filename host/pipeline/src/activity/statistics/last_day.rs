//! Matches and failures of rules in the last 24 hours.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use chrono::TimeDelta;
use parking_lot::Mutex;
use tokio::task::JoinError;
use tokio::time::Instant;
use tollgate_model::instruction::InstructionId;

use super::{Statistics, StepFigures, StepLength};

/// Hours that are counted, the present one included.
const N_HOURS: i64 = 24;
/// Time for which readers at the same time share a copy.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// The figures of the last 24 hours, the oldest first; `None` where nothing was counted.
#[derive(Debug)]
pub struct LastDay(Vec<Option<StepFigures>>);

/// The copy that some reader still holds, and when it was made.
#[derive(Debug, Default)]
pub(super) struct HeldLastDay(Mutex<Option<(Instant, Weak<LastDay>)>>);

impl LastDay {
    /// Reads the figures, on a thread of its own because it reads those of all rules. Readers at the same time share a copy.
    ///
    /// # Errors
    /// If that thread fails.
    pub async fn read(statistics: &Arc<Statistics>) -> Result<Arc<Self>, JoinError> {
        let held = statistics.last_day.0.lock().clone();
        let held = held.filter(|(read_at, _)| read_at.elapsed() < SHARED_FOR);
        if let Some(day) = held.and_then(|(_, day)| day.upgrade()) {
            return Ok(day);
        }
        let statistics = Arc::clone(statistics);
        tokio::task::spawn_blocking(move || {
            let day = Arc::new(Self::read_here(&statistics));
            *statistics.last_day.0.lock() = Some((Instant::now(), Arc::downgrade(&day)));
            day
        })
        .await
    }

    fn read_here(statistics: &Statistics) -> Self {
        let now = statistics.now();
        let hour_of = |seconds: i64| seconds.div_euclid(StepLength::Hour.seconds());
        let from = now - TimeDelta::hours(N_HOURS);
        let steps = statistics.between(StepLength::Hour, from, now + TimeDelta::seconds(1));
        let mut by_hour: BTreeMap<i64, StepFigures> =
            steps.into_iter().map(|(at, step)| (hour_of(at.timestamp()), step)).collect();
        let present = hour_of(now.timestamp());
        Self((0..N_HOURS).rev().map(|ago| by_hour.remove(&(present - ago))).collect())
    }

    /// Returns the matches of a rule in each hour.
    pub fn hourly(&self, id: InstructionId) -> Vec<u64> {
        let hours = self.0.iter().map(|hour| hour.as_ref()?.rules.get(&id.0));
        hours.map(|rule| rule.map_or(0, |rule| rule.matched)).collect()
    }

    /// Returns the number of transactions on which a rule failed.
    pub fn failures(&self, id: InstructionId) -> u64 {
        let hours = self.0.iter().filter_map(|hour| hour.as_ref()?.rules.get(&id.0));
        hours.map(|rule| rule.failed).sum()
    }
}
