//! The history as a list of transactions, scanned in full for every lookup.

use anyhow::Context as _;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero as _;
use serde_json::Value as Json;
use tollgate_guest_abi::{AggregateFunction, AggregateSpec, Comparison, PreviousSpec, Window};

use super::condition::Scene;
use super::value::Value;
use super::{calendar, missing, relation, summary};

/// All accepted transactions in order, with the instant of their `created_at`.
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

    /// Evaluates an aggregate for the current transaction of a scene.
    pub(super) fn aggregate<'a>(&'a self, spec: &'a AggregateSpec, asked: &Scene<'a>) -> Value<'a> {
        if missing::names_a_missing_current(&spec.filter, asked.current) {
            return Value::exact(BigRational::zero());
        }
        let rows: Vec<&Json> = self
            .window(spec.window, asked.current)
            .filter(|row| Scene { about: row, ..*asked }.holds(&spec.filter))
            .collect();
        let values = || rows.iter().map(|row| Value::read(row, &spec.value));
        let whole = |n: usize| Value::exact(BigRational::from(BigInt::from(n)));
        match spec.function {
            AggregateFunction::Count => whole(rows.len()),
            AggregateFunction::Distinct => whole(summary::n_distinct(values())),
            AggregateFunction::Sum => Value::exact(summary::sum(&summary::numbers(values()))),
            AggregateFunction::Avg => Value::computed(summary::mean(&summary::numbers(values()))),
            AggregateFunction::Min => Value::exact(summary::least(&summary::numbers(values()))),
            AggregateFunction::Max => Value::exact(summary::most(&summary::numbers(values()))),
            AggregateFunction::Stddev => Value::computed(summary::deviation(&summary::numbers(values()))),
        }
    }

    /// Whether one row satisfies all pairs.
    pub(super) fn has<'a>(&'a self, spec: &'a PreviousSpec, asked: &Scene<'a>) -> bool {
        self.window(spec.window, asked.current).any(|row| {
            spec.pairs.iter().all(|pair| {
                let found = Value::read(row, &pair.field);
                relation::holds(&found, Comparison::Equal, &asked.item(&pair.value))
            })
        })
    }

    /// Returns the rows of a window, both ends included.
    fn window(&self, window: Window, current: &Json) -> impl Iterator<Item = &Json> {
        let end = created(current).unwrap_or(i64::MIN);
        let start = end.saturating_sub(i64::from(window.seconds()) * 1_000_000);
        self.rows.iter().filter(move |(micros, _)| (start..=end).contains(micros)).map(|(_, row)| row)
    }
}

fn created(transaction: &Json) -> Option<i64> {
    calendar::instant(transaction.get("created_at")?.as_str()?)
}
