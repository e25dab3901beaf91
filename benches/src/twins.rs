//! Rules in several forms and transactions for them, seeded and the same on every run.
//!
//! Each rule exists as a [`Shape`], as a script, and as the closure a Rust programmer would write. Six in ten rules compare
//! numbers and texts, two search lists, one searches a pattern, and one uses the history. Where a service is measured
//! over HTTP, its rules and transactions are those of `tollgate_load::corpus`.

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, TimeDelta, Utc};
use regex::Regex;
use serde_json::{Value as Json, json};
use tollgate_engine::registry::Lists;
use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, Comparison, Condition, FieldPath, Operand, Window,
};
use tollgate_history::{AggregateQuery, History};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{Transaction, Value};

use crate::random::Random;
use crate::shape::{COUNTRIES, CURRENCIES, STATUSES, Shape, WINDOWS, WORDS, shapes};

/// One rule in three forms.
pub struct TwinRule {
    /// Content of the rule.
    pub shape: Shape,
    /// The rule as a script.
    pub script: String,
    /// The rule as a closure.
    pub native: Native,
}

/// A rule as native code.
pub type Native = Box<dyn for<'t> Fn(&Context<'t>) -> bool>;

/// The inputs of native rules: fields read once per transaction, and aggregates evaluated at most once.
pub struct Context<'t> {
    /// Amount, as rules compare it.
    pub amount: f64,
    /// Currency of the amount.
    pub currency: &'t str,
    /// Status; empty if missing.
    pub status: &'t str,
    /// Description; empty if missing.
    pub description: &'t str,
    /// Country; empty if missing.
    pub country: &'t str,
    /// Risk; NaN if missing.
    pub risk: f64,
    transaction: &'t Transaction,
    as_of: Sequence,
    counts: [Cell<Option<f64>>; WINDOWS.len()],
}

const PHRASES: [&str; 6] =
    ["gift card purchase", "rent march", "salary", "crypto exchange top-up", "invoice 4711", "groceries"];

/// Paths of the two metadata fields.
static METADATA: LazyLock<[FieldPath; 2]> =
    LazyLock::new(|| ["country", "risk"].map(|key| FieldPath::new(["metadata", key])));

impl<'t> Context<'t> {
    /// Reads the fields.
    #[must_use]
    pub fn new(transaction: &'t Transaction, as_of: Sequence) -> Self {
        let [country, risk] = &*METADATA;
        Self {
            amount: transaction.amount.value().to_f64(),
            currency: &transaction.currency,
            status: transaction.status.as_deref().unwrap_or_default(),
            description: transaction.description.as_deref().unwrap_or_default(),
            country: if let Value::Text(country) = transaction.value(country) { country } else { "" },
            risk: transaction.value(risk).as_f64(),
            transaction,
            as_of,
            counts: Default::default(),
        }
    }

    /// Returns the number of transactions of the source within one of [`WINDOWS`].
    pub fn count(&self, window: usize, aggregate: &AggregateQuery) -> f64 {
        let answer = || aggregate.answer(self.transaction, self.as_of, &Lists::default()).unwrap_or(f64::NAN);
        let Some(cell) = self.counts.get(window) else { return answer() };
        let count = cell.get().unwrap_or_else(answer);
        cell.set(Some(count));
        count
    }
}

/// Returns the first `n_rules` rules.
///
/// # Errors
/// Returns an error if a pattern or window is invalid.
pub fn rules(n_rules: usize, history: &History) -> anyhow::Result<Vec<TwinRule>> {
    let counts = counts_by_source(history)?;
    let twins = shapes(n_rules).into_iter().enumerate().map(|(number, shape)| {
        let when = condition(shape);
        let script = format!("rule bench_{number} {{ when {when} then review score 0.5 reason \"bench\" }}");
        Ok(TwinRule { shape, script, native: native(shape, &counts)? })
    });
    twins.collect()
}

/// Returns the condition in the rule language.
fn condition(shape: Shape) -> String {
    match shape {
        Shape::Comparison { limit, risk, currency } => {
            format!("amount > {limit} and metadata.risk >= {risk} and currency == \"{currency}\"")
        }
        Shape::List { status, countries } => {
            let quoted = countries.map(|country| format!("\"{country}\""));
            format!("status != \"{status}\" and metadata.country in ({})", quoted.join(", "))
        }
        Shape::Pattern { word } => format!("description regex \"{}\"", pattern(word)),
        Shape::Aggregate { window, limit } => {
            let window = WINDOWS.get(window).copied().unwrap_or("PT1H");
            format!("count(when source == $current.source, \"{window}\") > {limit}")
        }
    }
}

/// Returns the condition as a closure.
fn native(shape: Shape, counts: &[Arc<AggregateQuery>]) -> anyhow::Result<Native> {
    Ok(match shape {
        Shape::Comparison { limit, risk, currency } => {
            let (limit, risk) = (f64::from(limit), f64::from(risk));
            Box::new(move |context| {
                context.amount > limit && context.risk >= risk && context.currency == currency
            })
        }
        Shape::List { status, countries } => {
            Box::new(move |context| context.status != status && countries.contains(&context.country))
        }
        Shape::Pattern { word } => {
            let regex = Regex::new(&pattern(word))?;
            Box::new(move |context| regex.is_match(context.description))
        }
        Shape::Aggregate { window, limit } => {
            let (aggregate, limit) = (counts.get(window).cloned(), f64::from(limit));
            Box::new(move |context| {
                aggregate.as_ref().is_some_and(|aggregate| context.count(window, aggregate) > limit)
            })
        }
    })
}

/// Returns the case-insensitive pattern for one of [`WORDS`].
#[must_use]
pub fn pattern(word: usize) -> String {
    format!("(?i)({})", WORDS.get(word).copied().unwrap_or_default())
}

/// Returns the aggregates that count by source, one for each of [`WINDOWS`].
///
/// # Errors
/// Returns an error if a window is invalid.
pub fn counts_by_source(history: &History) -> anyhow::Result<Vec<Arc<AggregateQuery>>> {
    WINDOWS.iter().map(|window| count_by_source(window, history)).collect()
}

fn count_by_source(window: &str, history: &History) -> anyhow::Result<Arc<AggregateQuery>> {
    let source = || FieldPath::new(["source"]);
    let spec = AggregateSpec {
        function: AggregateFunction::Count,
        value: FieldPath::new(["amount"]),
        filter: Condition::Compare {
            left: Operand::Field(source()),
            operator: Comparison::Equal,
            right: Operand::Current(source()),
        },
        window: Window::parse(window).ok_or_else(|| anyhow::anyhow!("no window: {window}"))?,
    };
    Ok(history.aggregate(&spec, tollgate_guest_abi::Semantics::CURRENT)?)
}

/// Kind of traffic.
#[derive(Debug, Clone, Copy)]
pub enum Traffic {
    /// Transactions that match many rules.
    Suspicious,
    /// Transactions that match almost no rules.
    Ordinary,
}

/// Returns `n_transactions` transactions, one second apart, from a thousand sources.
///
/// # Errors
/// Returns an error if a transaction is invalid.
pub fn transactions(n_transactions: usize, traffic: Traffic) -> anyhow::Result<Vec<Arc<Transaction>>> {
    let mut random = Random::seeded(11);
    let start: DateTime<Utc> = "2026-03-01T00:00:00Z".parse()?;
    (0..n_transactions)
        .map(|number| {
            let created_at = start + TimeDelta::seconds(i64::try_from(number)?);
            let body = match traffic {
                Traffic::Suspicious => body(&mut random, number, created_at),
                Traffic::Ordinary => ordinary_body(&mut random, number, created_at),
            };
            let (transaction, _) = Transaction::parse(body.to_string().as_bytes(), created_at)?;
            Ok(Arc::new(transaction))
        })
        .collect()
}

fn body(random: &mut Random, number: usize, created_at: DateTime<Utc>) -> Json {
    json!({
        "transaction_id": format!("bench-{number}"),
        "amount": random.below(2_500_000) as f64 / 100.0,
        "currency": random.pick(&CURRENCIES),
        "reference": format!("ref-{number}"),
        "source": format!("acc-{}", random.below(1_000)),
        "destination": format!("acc-{}", random.below(1_000)),
        "description": random.pick(&PHRASES),
        "status": random.pick(&STATUSES),
        "created_at": created_at.to_rfc3339(),
        "meta_data": { "country": random.pick(&COUNTRIES), "risk": random.below(100) },
    })
}

/// Returns a body that matches almost no rule in 99 of 100 cases, and one like those of [`body`] otherwise.
fn ordinary_body(random: &mut Random, number: usize, created_at: DateTime<Utc>) -> Json {
    let mut body = body(random, number, created_at);
    let ordinary = json!({
        "amount": random.below(9_000) as f64 / 100.0,
        "source": format!("acc-{}", random.below(1_000_000)),
        "description": "groceries",
        "meta_data": { "country": "AT", "risk": random.below(10) },
    });
    if let (true, Json::Object(body), Json::Object(ordinary)) = (random.below(100) > 0, &mut body, ordinary) {
        body.extend(ordinary);
    }
    body
}
