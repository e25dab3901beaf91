//! `GET /stats`

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::{RawQuery, State};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::Serialize;
use tollgate_model::instruction::InstructionId;
use utoipa::{IntoParams, ToSchema};

use super::ApiState;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::query::RequestQuery;
use tollgate_pipeline::activity::{StepFigures, StepLength};

pub(super) const ERRORS: &[ErrorCode] = &[ErrorCode::InvalidField];

/// Schema for the OpenAPI document only.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct StatsParameters {
    /// Begin; by default a day before `to`.
    from: Option<DateTime<Utc>>,
    /// End, exclusive; by default now.
    to: Option<DateTime<Utc>>,
    /// Length of a step: `PT1M` (the default), kept for 24 hours, or `PT1H`, kept for 30 days.
    #[param(example = "PT1M", pattern = "^PT1[MH]$")]
    step: Option<String>,
    /// What a series is of: `verdict` (the default), `rule` (matches) or `failure` (failed rules by kind).
    #[param(example = "verdict", pattern = "^(verdict|rule|failure)$")]
    by: Option<String>,
}

/// Figures of the past in steps of the same length.
#[derive(Serialize, ToSchema)]
#[schema(as = Stats)]
pub(super) struct StatsView {
    /// Begin of the first step.
    #[schema(value_type = DateTime<Utc>)]
    from: String,
    /// End of the last step.
    #[schema(value_type = DateTime<Utc>)]
    to: String,
    /// Length of a step in seconds.
    step_seconds: i64,
    /// Number of steps; each series has a value for each of them, the oldest first.
    steps: usize,
    /// A series for each verdict, rule or kind of failure that occurred.
    series: Vec<SeriesView>,
    /// Times of injects.
    latency: LatencyView,
}

/// Counts of one verdict, rule or kind of failure.
#[derive(Serialize, ToSchema)]
#[schema(as = StatsSeries)]
pub(super) struct SeriesView {
    /// The verdict, the name of the rule or the kind of failure.
    #[schema(example = "approve")]
    key: String,
    /// Id of the rule; null unless the series is of a rule. A rule that was removed has its id as its key.
    #[schema(required = true)]
    instruction_id: Option<i64>,
    /// A count for each step.
    values: Vec<u64>,
}

/// Quantiles of the time to the response of `POST /inject`, for each step in microseconds; null without requests. Each
/// is at most a quarter above the true one.
#[derive(Serialize, ToSchema)]
#[schema(as = StatsLatency)]
pub(super) struct LatencyView {
    /// Median.
    p50_us: Vec<Option<u64>>,
    /// 99th percentile.
    p99_us: Vec<Option<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    Verdict,
    Rule,
    Failure,
}

/// Returns how many transactions got which verdict, which rules matched, and how long injects took.
///
/// The figures are those of this service, across restarts. They are written to the data directory every five minutes and
/// at a stop, so a killed process loses the latest.
#[utoipa::path(
    get, path = "/stats", tag = "Operation", params(StatsParameters),
    responses((status = 200, description = "The figures.", body = StatsView))
)]
pub(super) async fn get_stats(
    State(api): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Json<StatsView>, ApiError> {
    let query = RequestQuery::read(query.as_deref(), &["from", "to", "step", "by"])?;
    let time = |name| {
        query.get(name, "a time as RFC 3339", |text| {
            DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
        })
    };
    let length = query.get("step", "`PT1M` or `PT1H`", |text| match text {
        "PT1M" => Some(StepLength::Minute),
        "PT1H" => Some(StepLength::Hour),
        _ => None,
    })?;
    let grouping = query.get("by", "`verdict`, `rule` or `failure`", |text| match text {
        "verdict" => Some(Grouping::Verdict),
        "rule" => Some(Grouping::Rule),
        "failure" => Some(Grouping::Failure),
        _ => None,
    })?;
    let (length, grouping) = (length.unwrap_or(StepLength::Minute), grouping.unwrap_or(Grouping::Verdict));
    let now = api.activity.statistics.now();
    let to = time("to")?.unwrap_or(now).min(now);
    let from = time("from")?.unwrap_or_else(|| to - TimeDelta::days(1));
    let range = StepRange::new(length, from, to);
    let figures = api.activity.statistics.between(length, range.time(0), range.time(range.n_steps));
    let names: BTreeMap<i64, String> = match grouping {
        Grouping::Rule => api.intake.names().into_iter().map(|(id, name)| (id.0, name)).collect(),
        Grouping::Verdict | Grouping::Failure => BTreeMap::new(),
    };
    Ok(Json(range.view(&figures, grouping, &names)))
}

/// The steps that a request asks for.
struct StepRange {
    length: StepLength,
    /// Number of the first step since 1970.
    first: i64,
    n_steps: usize,
}

impl StepRange {
    /// Returns the steps that are kept; none if `from` is later than `to`.
    fn new(length: StepLength, from: DateTime<Utc>, to: DateTime<Utc>) -> Self {
        let seconds = length.seconds();
        let (first, end) = (from.timestamp().div_euclid(seconds), to.timestamp().div_euclid(seconds) + 1);
        let n_kept = i64::try_from(length.n_kept()).unwrap_or(i64::MAX);
        let first = first.max(end - n_kept);
        Self { length, first, n_steps: usize::try_from(end - first).unwrap_or_default() }
    }

    fn time(&self, step: usize) -> DateTime<Utc> {
        let number = self.first + i64::try_from(step).unwrap_or(i64::MAX);
        DateTime::from_timestamp(number * self.length.seconds(), 0).unwrap_or_default()
    }

    fn view(
        &self,
        figures: &[(DateTime<Utc>, StepFigures)],
        grouping: Grouping,
        names: &BTreeMap<i64, String>,
    ) -> StatsView {
        let by_time: BTreeMap<DateTime<Utc>, &StepFigures> =
            figures.iter().map(|(at, step)| (*at, step)).collect();
        let steps: Vec<Option<&StepFigures>> =
            (0..self.n_steps).map(|step| by_time.get(&self.time(step)).copied()).collect();
        let quantile =
            |per_mille| steps.iter().map(|step| step.and_then(|step| step.time(per_mille))).collect();
        let shown = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Secs, true);
        StatsView {
            from: shown(self.time(0)),
            to: shown(self.time(self.n_steps)),
            step_seconds: self.length.seconds(),
            steps: self.n_steps,
            series: match grouping {
                Grouping::Verdict => series_of_words(&steps, |step| &step.verdicts),
                Grouping::Failure => series_of_words(&steps, |step| &step.failures),
                Grouping::Rule => series_of_rules(&steps, names),
            },
            latency: LatencyView { p50_us: quantile(500), p99_us: quantile(990) },
        }
    }
}

fn series_of_words(
    steps: &[Option<&StepFigures>],
    counts: impl Fn(&StepFigures) -> &BTreeMap<String, u64>,
) -> Vec<SeriesView> {
    let words: BTreeSet<&String> = steps.iter().flatten().flat_map(|step| counts(step).keys()).collect();
    let value = |step: &Option<&StepFigures>, word: &str| {
        step.and_then(|step| counts(step).get(word).copied()).unwrap_or_default()
    };
    let series = words.into_iter().map(|word| SeriesView {
        key: word.clone(),
        instruction_id: None,
        values: steps.iter().map(|step| value(step, word)).collect(),
    });
    series.collect()
}

fn series_of_rules(steps: &[Option<&StepFigures>], names: &BTreeMap<i64, String>) -> Vec<SeriesView> {
    let matched = |step: &StepFigures, id: i64| step.rules.get(&id).map_or(0, |rule| rule.matched);
    let ids: BTreeSet<i64> = steps.iter().flatten().flat_map(|step| step.rules.keys().copied()).collect();
    let series = ids.into_iter().map(|id| SeriesView {
        key: names.get(&id).cloned().unwrap_or_else(|| InstructionId(id).to_string()),
        instruction_id: Some(id),
        values: steps.iter().map(|step| step.map_or(0, |step| matched(step, id))).collect(),
    });
    series.filter(|series| series.values.iter().any(|n| *n > 0)).collect()
}
