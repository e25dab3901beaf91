//! The past: a list of transactions, all of them looked at for every question.

use anyhow::Context as _;
use serde_json::Value as Json;
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, Comparison, PreviousSpec, Window};

use super::condition::Scene;
use super::value::Value;
use super::{calendar, missing, relation, summary};

/// Every transaction accepted so far, in order, with the instant of its `created_at`.
#[derive(Debug, Default)]
pub(super) struct Past {
    rows: Vec<(i64, Json)>,
}

impl Past {
    pub(super) fn accept(&mut self, transaction: &Json) -> anyhow::Result<()> {
        let micros = created(transaction).context("a transaction of the oracle has a `created_at`")?;
        self.rows.push((micros, transaction.clone()));
        Ok(())
    }

    /// What an aggregate is, seen from the transaction of a scene.
    pub(super) fn aggregate<'a>(&'a self, spec: &'a AggregateSpec, asked: &Scene<'a>) -> f64 {
        if missing::names_a_missing_current(&spec.filter, asked.current) {
            return 0.0;
        }
        let rows: Vec<&Json> = self
            .window(spec.window, asked.current)
            .filter(|row| Scene { about: row, ..*asked }.holds(&spec.filter))
            .collect();
        let values = || rows.iter().map(|row| Value::read(row, &spec.value));
        #[expect(clippy::cast_precision_loss, reason = "a few rows")]
        match spec.function {
            AggregateFunction::Count => rows.len() as f64,
            AggregateFunction::Distinct => summary::n_distinct(values()) as f64,
            AggregateFunction::Sum => summary::sum(&summary::numbers(values())),
            AggregateFunction::Avg => summary::mean(&summary::numbers(values())),
            AggregateFunction::Min => summary::least(&summary::numbers(values())),
            AggregateFunction::Max => summary::most(&summary::numbers(values())),
            AggregateFunction::Stddev => summary::deviation(&summary::numbers(values())),
        }
    }

    /// Whether one row satisfies all pairs.
    pub(super) fn has<'a>(&'a self, spec: &'a PreviousSpec, asked: &Scene<'a>) -> bool {
        self.window(spec.window, asked.current).any(|row| {
            spec.pairs.iter().all(|pair| {
                relation::stands(Value::read(row, &pair.field), Comparison::Equal, asked.item(&pair.value))
            })
        })
    }

    /// The rows of a window, both ends included.
    fn window(&self, window: Window, current: &Json) -> impl Iterator<Item = &Json> {
        let end = created(current).unwrap_or(i64::MIN);
        let start = end.saturating_sub(i64::from(window.seconds()) * 1_000_000);
        self.rows.iter().filter(move |(micros, _)| (start..=end).contains(micros)).map(|(_, row)| row)
    }
}

fn created(transaction: &Json) -> Option<i64> {
    calendar::instant(transaction.get("created_at")?.as_str()?)
}
