//! Estimates what the queries of a rule cost, from a sample of the stored transactions.
//!
//! ```text
//!  store ── sample ─┬─▶ a small history ──▶ fuel of each query, for the latest of the sample
//!                   ├─▶ half of it ───────▶ how that fuel grows with the number of transactions
//!                   └─▶ bytes of each series that the history lacks
//! ```

mod sample;
mod series_size;

use std::sync::Arc;

use tollgate_guest_abi::{AggregateSpec, PreviousSpec, Semantics};
use tollgate_model::named_list::NamedLists;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::aggregate::AggregateQuery;
use crate::lookup_budget::{LookupDeadline, LookupLimits};
use crate::lookup_error::LookupError;
use crate::previous::PreviousQuery;
use crate::residency::INDEX_BYTES;
use crate::row::Columns;
use crate::scope::{Scope, SelectionKind};
use crate::series::Series;
use crate::{History, HistoryError};

use sample::StoredSample;

pub(super) use sample::SampleCache;

/// Transactions of the sample for which each query is asked: the latest, whose windows are full.
const ASKED_MAX: usize = 512;
/// Transactions for which it is asked in any case.
const ASKED_MIN: u64 = 4;
/// Distance between transactions for which a query is asked one after the other; a prime, so that all have their turn.
const STRIDE: usize = 317;
/// Fuel after which the queries of a rule are asked for no more transactions.
const FUEL_OF_AN_ESTIMATE: u64 = 10_000_000;

/// The cost of the queries of a rule, estimated against the stored transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryEstimate {
    /// Number of transactions stored.
    pub n_stored: u64,
    /// Fuel that all queries together take, on average of the latest transactions.
    pub fuel: u64,
    /// Memory of the new series, in bytes, while nothing of them is in the spill file.
    pub bytes: u64,
    /// The part of `bytes` that cannot leave memory.
    pub kept_bytes: u64,
    /// The same where keys leave memory: their places on the disk, and the keys that stay.
    pub kept_without_keys_bytes: u64,
}

/// A query of either kind.
enum Query {
    Aggregate(Arc<AggregateQuery>),
    Previous(Arc<PreviousQuery>),
}

impl History {
    /// Estimates what these queries cost, without activating them. Reads a sample of the stored transactions, which is
    /// kept for a while.
    ///
    /// # Errors
    /// When a filter is invalid, there are too many series, or the store cannot be read.
    pub fn estimate(
        &self,
        aggregates: &[AggregateSpec],
        previous: &[PreviousSpec],
        semantics: Semantics,
        lists: &dyn NamedLists,
    ) -> Result<QueryEstimate, HistoryError> {
        let sample = self.sample()?;
        if sample.transactions.is_empty() {
            return Ok(QueryEstimate::default());
        }
        let empty = self.empty_alike();
        let may_select =
            aggregates.iter().map(|spec| self.may_select(spec, semantics)).collect::<Result<Vec<_>, _>>()?;
        let of = |history: &Self| -> Result<Vec<Query>, HistoryError> {
            let aggregates = aggregates.iter().zip(&may_select).map(|(spec, may_select)| {
                history.aggregate_for_estimate(spec, semantics, *may_select).map(Query::Aggregate)
            });
            let previous = previous.iter().map(|spec| history.previous(spec, semantics).map(Query::Previous));
            aggregates.chain(previous).collect()
        };
        let (queries, of_half, unfilled) = (of(&sample.history)?, of(&sample.half)?, of(&empty)?);
        let fuel_max = FUEL_OF_AN_ESTIMATE / queries.len().max(1) as u64;
        let mut estimate = QueryEstimate { n_stored: sample.n_stored, ..QueryEstimate::default() };
        for ((query, of_half), unfilled) in queries.iter().zip(&of_half).zip(&unfilled) {
            let mean = |query, part| mean_fuel(query, &sample, part, fuel_max, (semantics, lists));
            let least = mean(unfilled, HistoryPart::Whole);
            let whole = (mean(query, HistoryPart::Whole) - least).max(0.0);
            let half = mean(of_half, HistoryPart::Half) - least;
            let fuel = least + whole * sample.scale().powf(growth(half, whole));
            estimate.fuel = estimate.fuel.saturating_add(fuel.ceil() as u64);
        }
        self.add_sizes(&queries, &sample, &mut estimate);
        Ok(estimate)
    }

    /// Returns whether new series with so much that cannot leave memory fit into the limit.
    #[must_use]
    pub fn fits(&self, estimate: &QueryEstimate) -> bool {
        self.spill.fits(usize::try_from(estimate.kept_bytes).unwrap_or(usize::MAX))
    }

    /// Returns whether there is room for a series of the rows that this aggregate selects.
    fn may_select(&self, spec: &AggregateSpec, semantics: Semantics) -> Result<bool, HistoryError> {
        let selecting =
            if semantics.has_prices() { SelectionKind::CheapInSeries } else { SelectionKind::InSeries };
        let (plan, _) =
            AggregateQuery::plan(spec, semantics.of_values(), selecting, self.source().reading())?;
        Ok(self.activation.lock().reserve_room_for(&plan.spec))
    }

    /// Adds the sizes of the series that this history lacks, and of the columns that its series lack.
    fn add_sizes(&self, queries: &[Query], sample: &StoredSample, estimate: &mut QueryEstimate) {
        let mut seen: Vec<*const Series> = Vec::new();
        for series in queries.iter().map(|query| query.scope().series()) {
            if seen.contains(&Arc::as_ptr(series)) {
                continue;
            }
            seen.push(Arc::as_ptr(series));
            let layout = series.layout();
            let known = self.activation.lock().find(series.spec()).filter(|known| known.is_attached());
            let held = known.map(|known| known.columns());
            let mut size = sample.size_of(&layout);
            if let Some(held) = held {
                if layout.columns().fields().iter().all(|field| held.fields().contains(field)) {
                    continue;
                }
                size = size.beyond(sample.size_of(&Arc::new(layout.with(Columns::default()))));
            }
            estimate.bytes = estimate.bytes.saturating_add(size.bytes);
            let without_keys = match layout.anchor() {
                Some(_) => size.n_keys.saturating_mul(INDEX_BYTES as u64).min(size.kept_bytes),
                None => size.kept_bytes,
            };
            let kept = if self.spill.residency().is_some() { without_keys } else { size.kept_bytes };
            estimate.kept_bytes = estimate.kept_bytes.saturating_add(kept);
            estimate.kept_without_keys_bytes = estimate.kept_without_keys_bytes.saturating_add(without_keys);
        }
    }
}

impl Query {
    fn scope(&self) -> &Scope {
        match self {
            Self::Aggregate(query) => query.scope(),
            Self::Previous(query) => query.scope(),
        }
    }

    fn fuel(
        &self,
        current: &Transaction,
        as_of: Sequence,
        semantics: Semantics,
        lists: &dyn NamedLists,
    ) -> Result<u64, LookupError> {
        let deadline = LookupDeadline::never();
        let limits = LookupLimits { semantics, ..LookupLimits::none(&deadline) };
        match self {
            Self::Aggregate(query) => Ok(query.answer_within(current, as_of, lists, limits)?.fuel),
            Self::Previous(query) => Ok(query.answer_within(current, as_of, lists, limits)?.fuel),
        }
    }
}

/// Which transactions of the sample a query sees.
#[derive(Debug, Clone, Copy)]
enum HistoryPart {
    Whole,
    /// Every second one.
    Half,
}

/// Returns the fuel of a query on average of the latest transactions, or of as many of them as `fuel_max` suffices for.
fn mean_fuel(
    query: &Query,
    sample: &StoredSample,
    part: HistoryPart,
    fuel_max: u64,
    (semantics, lists): (Semantics, &dyn NamedLists),
) -> f64 {
    let asked = sample.latest(ASKED_MAX);
    let (mut total, mut n_asked) = (0_u64, 0_u64);
    // Spread over all of them, because it may end early.
    for n in 0..asked.len() {
        let Some((sequence, current)) = asked.get(n.wrapping_mul(STRIDE) % asked.len()) else { break };
        let as_of = match part {
            HistoryPart::Whole => *sequence,
            HistoryPart::Half => StoredSample::in_half(*sequence),
        };
        // A query that fails costs no more than one that succeeds.
        total = total.saturating_add(query.fuel(current, as_of, semantics, lists).unwrap_or(0));
        n_asked += 1;
        if total > fuel_max && n_asked >= ASKED_MIN {
            break;
        }
    }
    total as f64 / n_asked.max(1) as f64
}

/// Returns the power of the number of transactions with which a cost grows: 1 for a scan, 0 for a cost that is the same
/// with half of them, such as that of few different values.
fn growth(half: f64, whole: f64) -> f64 {
    if half <= 0.0 || whole <= 0.0 { 1.0 } else { (whole / half).log2().clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests;
