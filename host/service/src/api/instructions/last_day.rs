//! Matches and failures of rules in the last 24 hours.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use tollgate_model::instruction::InstructionId;

use crate::activity::{Statistics, StepFigures, StepLength};
use crate::api::error::ApiError;

/// Hours that are counted, the present one included.
const N_HOURS: i64 = 24;

/// The figures of the last 24 hours, the oldest first; `None` where nothing was counted.
pub(super) struct LastDay(Vec<Option<StepFigures>>);

impl LastDay {
    /// Reads the figures, on a thread of its own because it reads those of all rules.
    ///
    /// # Errors
    /// `internal` if that thread fails.
    pub(super) async fn read(statistics: &Arc<Statistics>) -> Result<Self, ApiError> {
        let statistics = Arc::clone(statistics);
        let read = tokio::task::spawn_blocking(move || Self::read_here(&statistics));
        read.await.map_err(|error| ApiError::internal(&error.to_string()))
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
    pub(super) fn hourly(&self, id: InstructionId) -> Vec<u64> {
        let hours = self.0.iter().map(|hour| hour.as_ref()?.rules.get(&id.0));
        hours.map(|rule| rule.map_or(0, |rule| rule.matched)).collect()
    }

    /// Returns the number of transactions on which a rule failed.
    pub(super) fn failures(&self, id: InstructionId) -> u64 {
        let hours = self.0.iter().filter_map(|hour| hour.as_ref()?.rules.get(&id.0));
        hours.map(|rule| rule.failed).sum()
    }
}
