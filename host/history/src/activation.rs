//! Activation of queries: each finds the series it needs or has it built.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use crate::HistoryError;
use crate::aggregate::AggregateQuery;
use crate::fill::{FillSource, fill};
use crate::layout::SeriesSpec;
use crate::previous::PreviousQuery;
use crate::row::RowField;
use crate::scope::{Scope, ScopePlan, SelectionKind};
use crate::series::Series;
use parking_lot::Mutex;
use tollgate_guest_abi::{AggregateSpec, PreviousSpec, Semantics};

/// Maximum number of series that hold all transactions with their key fields; every accepted transaction goes into
/// each.
pub const SERIES_MAX: usize = 512;
/// Maximum number of further series that have a selection or a measure. Queries beyond that test rows.
const SELECTED_SERIES_MAX: usize = 256;
/// Active queries and series. Holds weak references only, so unused ones are dropped.
#[derive(Debug, Default)]
pub(super) struct Activation {
    aggregates: HashMap<String, Weak<AggregateQuery>>,
    previous: HashMap<String, Weak<PreviousQuery>>,
    /// By the identity of their specs.
    series: BTreeMap<String, KnownSeries>,
}

#[derive(Debug)]
struct KnownSeries {
    is_plain: bool,
    series: Weak<Series>,
}

/// Returns the aggregate for this spec; equal specs share one. Others can activate queries meanwhile.
///
/// # Errors
/// When the filter is invalid, there are too many series, or the store cannot be read.
pub(super) fn aggregate(
    activation: &Mutex<Activation>,
    spec: &AggregateSpec,
    semantics: Semantics,
    source: FillSource<'_>,
) -> Result<Arc<AggregateQuery>, HistoryError> {
    let identity = identity(spec, semantics);
    if let Some(known) = activation.lock().aggregates.get(&identity).and_then(Weak::upgrade) {
        return Ok(known);
    }
    let (plan, value) = planned(activation, spec, semantics, source)?;
    let scope = scope(activation, plan, source)?;
    let aggregate = Arc::new(AggregateQuery::new(spec.function, value, scope));
    let mut activation = activation.lock();
    if let Some(known) = activation.aggregates.get(&identity).and_then(Weak::upgrade) {
        return Ok(known);
    }
    drop_unused(&mut activation.aggregates);
    activation.aggregates.insert(identity, Arc::downgrade(&aggregate));
    Ok(aggregate)
}

/// Returns the plan of an aggregate, under which it tests rows one by one if there is no room for a series of the rows
/// that it selects.
///
/// # Errors
/// When the filter is invalid.
pub(super) fn planned(
    activation: &Mutex<Activation>,
    spec: &AggregateSpec,
    semantics: Semantics,
    source: FillSource<'_>,
) -> Result<(ScopePlan, RowField), HistoryError> {
    let selecting = match (source.may_select, semantics.has_prices()) {
        (false, _) => SelectionKind::RowByRow,
        (true, true) => SelectionKind::CheapInSeries,
        (true, false) => SelectionKind::InSeries,
    };
    let semantics = semantics.of_values();
    let planned = AggregateQuery::plan(spec, semantics, selecting, source.reading())?;
    if activation.lock().reserve_room_for(&planned.0.spec) {
        return Ok(planned);
    }
    Ok(AggregateQuery::plan(spec, semantics, SelectionKind::RowByRow, source.reading())?)
}

/// Returns the lookup for this spec; equal specs share one. Others can activate queries meanwhile.
///
/// # Errors
/// When there are too many series, or the store cannot be read.
pub(super) fn previous(
    activation: &Mutex<Activation>,
    spec: &PreviousSpec,
    semantics: Semantics,
    source: FillSource<'_>,
) -> Result<Arc<PreviousQuery>, HistoryError> {
    let identity = identity(spec, semantics);
    if let Some(known) = activation.lock().previous.get(&identity).and_then(Weak::upgrade) {
        return Ok(known);
    }
    let plan = PreviousQuery::plan(spec, semantics.of_values(), source.reading())?;
    let previous = Arc::new(PreviousQuery::new(scope(activation, plan, source)?));
    let mut activation = activation.lock();
    if let Some(known) = activation.previous.get(&identity).and_then(Weak::upgrade) {
        return Ok(known);
    }
    drop_unused(&mut activation.previous);
    activation.previous.insert(identity, Arc::downgrade(&previous));
    Ok(previous)
}

/// Returns the scope over its series, which is filled first if it lacks something. One query at a time fills a series;
/// different series are filled in parallel.
fn scope(
    activation: &Mutex<Activation>,
    plan: ScopePlan,
    source: FillSource<'_>,
) -> Result<Scope, HistoryError> {
    let series = activation.lock().series_of(&plan.spec, source)?;
    let filling = series.filling().lock();
    let known = series.columns();
    let mut columns = known.clone();
    let places = plan.columns.fields().iter().map(|field| columns.place_of(field)).collect();
    let lacks_columns = columns.fields().len() > known.fields().len();
    let is_longer = plan.window.micros() > series.longest_window();
    // From here on the series keeps everything this query can reach.
    let scope = plan.over(Arc::clone(&series), places);
    let lacks_past = is_longer && series.forgotten().is_some();
    if !series.is_attached() || lacks_columns || lacks_past {
        fill(&series, columns, source)?;
    }
    drop(filling);
    Ok(scope)
}

/// Refills every series that lacks transactions which queries reach from this time, in microseconds since 1970 UTC, or
/// later. Needed after a clock error.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn remember(
    activation: &Mutex<Activation>,
    before: i64,
    source: FillSource<'_>,
) -> Result<(), HistoryError> {
    let all: Vec<Arc<Series>> = activation.lock().live_series().collect();
    for series in all {
        let _filling = series.filling().lock();
        let out_of_reach = series.out_of_reach(before);
        if series.forgotten().is_some_and(|forgotten| forgotten.through > out_of_reach.through) {
            tracing::warn!(
                "a series of the history had discarded transactions that are needed again; it is refilled"
            );
            fill(&series, series.columns(), source)?;
        }
    }
    Ok(())
}

impl Activation {
    pub(super) fn knows_aggregate(&self, spec: &AggregateSpec, semantics: Semantics) -> bool {
        self.aggregates.get(&identity(spec, semantics)).is_some_and(|known| known.strong_count() > 0)
    }

    pub(super) fn knows_previous(&self, spec: &PreviousSpec, semantics: Semantics) -> bool {
        self.previous.get(&identity(spec, semantics)).is_some_and(|known| known.strong_count() > 0)
    }

    /// Returns the series with this spec, which is created if there is none.
    fn series_of(&mut self, spec: &SeriesSpec, source: FillSource<'_>) -> Result<Arc<Series>, HistoryError> {
        if let Some(series) = self.find(spec) {
            return Ok(series);
        }
        if !self.reserve_room_for(spec) {
            return Err(HistoryError::TooManySeries { fields: spec.fields.clone() });
        }
        let series = Series::new(spec.clone(), source.spill, source.reading())?;
        let known = KnownSeries { is_plain: spec.is_plain(), series: Arc::downgrade(&series) };
        self.series.insert(spec.identity(), known);
        Ok(series)
    }

    pub(super) fn each_series(&self, mut show: impl FnMut(&Series)) {
        self.live_series().for_each(|series| show(&series));
    }

    fn live_series(&self) -> impl Iterator<Item = Arc<Series>> {
        self.series.values().filter_map(|known| known.series.upgrade())
    }

    pub(super) fn find(&self, spec: &SeriesSpec) -> Option<Arc<Series>> {
        self.series.get(&spec.identity())?.series.upgrade()
    }

    /// Returns whether this series exists or another one of its kind is allowed.
    pub(super) fn reserve_room_for(&mut self, spec: &SeriesSpec) -> bool {
        if self.find(spec).is_some() {
            return true;
        }
        self.series.retain(|_, known| known.series.strong_count() > 0);
        let n_alike = self.series.values().filter(|known| known.is_plain == spec.is_plain()).count();
        n_alike < if spec.is_plain() { SERIES_MAX } else { SELECTED_SERIES_MAX }
    }
}

/// Forgets the queries that are no longer used, each time before the map grows.
fn drop_unused<Q>(queries: &mut HashMap<String, Weak<Q>>) {
    if queries.len() == queries.capacity() {
        queries.retain(|_, known| known.strong_count() > 0);
    }
}

/// Returns a text that is equal for equal specs under equal semantics.
fn identity(spec: &impl serde::Serialize, semantics: Semantics) -> String {
    // Every map key is a string, so serialization cannot fail.
    serde_json::to_string(&(semantics, spec)).unwrap_or_default()
}
