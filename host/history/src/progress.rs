//! Progress of the series that are being filled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_guest_abi::{AggregateSpec, PreviousSpec, Semantics};
use tollgate_model::sequence::Sequence;

use crate::History;
use crate::activation;
use crate::layout::SeriesSpec;
use crate::previous::PreviousQuery;
use crate::series::Series;

/// Progress of one fill.
#[derive(Debug, Default)]
pub(super) struct FillProgress {
    /// Number of the last step that was read.
    seen: AtomicU64,
    /// Number of the last step to read; 0 while no fill runs.
    through: AtomicU64,
    /// Number of row changes that were read and sorted, and of those that are in their place.
    n_sorted: AtomicU64,
    n_put: AtomicU64,
}

impl FillProgress {
    /// Begins a round that reads up to this step.
    pub(super) fn begin(&self, through: Sequence) {
        self.through.store(through.0.max(1), Ordering::Relaxed);
    }

    pub(super) fn reach(&self, seen: Sequence) {
        self.seen.store(seen.0, Ordering::Relaxed);
    }

    /// Records that so many row changes have still to be put in their place.
    pub(super) fn sorted(&self, n_changes: usize) {
        self.n_sorted.fetch_add(n_changes as u64, Ordering::Relaxed);
    }

    pub(super) fn put(&self, n_changes: usize) {
        self.n_put.fetch_add(n_changes as u64, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        for number in [&self.through, &self.seen, &self.n_sorted, &self.n_put] {
            number.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the steps that are read and the changes that are in their place, and how many of both there will be; `None`
    /// while no fill runs.
    fn steps(&self) -> Option<(u64, u64)> {
        let [through, seen, n_sorted, n_put] = [&self.through, &self.seen, &self.n_sorted, &self.n_put]
            .map(|number| number.load(Ordering::Relaxed));
        (through > 0).then(|| (seen.min(through) + n_put.min(n_sorted), through + n_sorted))
    }
}

/// The series that are being filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunningFills {
    /// Their number.
    pub n_series: u64,
    /// Stored transactions and updates that they have still to read or to insert, all together.
    pub n_left: u64,
}

impl History {
    /// Returns the series that are being filled.
    #[must_use]
    pub fn running_fills(&self) -> RunningFills {
        let mut running = RunningFills::default();
        self.activation.lock().each_series(|series| {
            if let Some((seen, through)) = series.progress().steps() {
                running.n_series += 1;
                running.n_left += through - seen;
            }
        });
        running
    }

    /// Returns the share of what these queries need that the history has gathered, from 0 to 1.
    #[must_use]
    pub fn gathered_share(
        &self,
        aggregates: &[AggregateSpec],
        previous: &[PreviousSpec],
        semantics: Semantics,
    ) -> f64 {
        let source = self.source();
        let of_aggregates = aggregates.iter().map(|spec| match self.knows_aggregate(spec, semantics) {
            true => 1.0,
            false => activation::planned(&self.activation, spec, semantics, source)
                .map_or(0.0, |(plan, _)| self.share_of(&plan.spec)),
        });
        let of_previous = previous.iter().map(|spec| match self.knows_previous(spec, semantics) {
            true => 1.0,
            false => PreviousQuery::plan(spec, semantics.of_values(), source.reading())
                .map_or(0.0, |plan| self.share_of(&plan.spec)),
        });
        let n_queries = aggregates.len() + previous.len();
        if n_queries == 0 { 1.0 } else { of_aggregates.chain(of_previous).sum::<f64>() / n_queries as f64 }
    }

    fn share_of(&self, spec: &SeriesSpec) -> f64 {
        let series: Option<Arc<Series>> = self.activation.lock().find(spec);
        let steps = series.and_then(|series| series.progress().steps());
        steps.map_or(0.0, |(seen, through)| seen as f64 / through as f64)
    }
}
