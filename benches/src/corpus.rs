//! Rules and transactions to measure with: seeded, so everybody measures the same.
//!
//! Of the rules, six in ten compare numbers and texts, two look into lists, one searches a pattern, one asks the
//! history. Each comes as its [`Shape`], as a script, and as the closure a Rust programmer would write for it.

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

/// One rule, three times.
pub struct TwinRule {
    /// What it asks.
    pub shape: Shape,
    /// As an author writes it.
    pub script: String,
    /// As a Rust programmer writes it.
    pub native: Native,
}

/// A rule as native code.
pub type Native = Box<dyn for<'t> Fn(&Context<'t>) -> bool>;

/// What native rules see: the fields they use, read once per transaction, and aggregates asked at most once.
pub struct Context<'t> {
    /// As rules compare it.
    pub amount: f64,
    /// Of the amount.
    pub currency: &'t str,
    /// Empty when there is none.
    pub status: &'t str,
    /// Empty when there is none.
    pub description: &'t str,
    /// Empty when there is none.
    pub country: &'t str,
    /// No number when there is none.
    pub risk: f64,
    transaction: &'t Transaction,
    as_of: Sequence,
    counts: [Cell<Option<f64>>; WINDOWS.len()],
}

const PHRASES: [&str; 6] =
    ["gift card purchase", "rent march", "salary", "crypto exchange top-up", "invoice 4711", "groceries"];

/// Where the two fields of a caller's own lie.
static METADATA: LazyLock<[FieldPath; 2]> =
    LazyLock::new(|| ["country", "risk"].map(|key| FieldPath::new(["metadata", key])));

impl<'t> Context<'t> {
    /// Reads the fields.
    #[must_use]
    pub fn of(transaction: &'t Transaction, as_of: Sequence) -> Self {
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

    /// How many the source has sent within one of [`WINDOWS`].
    pub fn count(&self, window: usize, aggregate: &AggregateQuery) -> f64 {
        let answer = || aggregate.answer(self.transaction, self.as_of, &Lists::default()).unwrap_or(f64::NAN);
        let Some(cell) = self.counts.get(window) else { return answer() };
        let count = cell.get().unwrap_or_else(answer);
        cell.set(Some(count));
        count
    }
}

/// `n_rules` rules, always the same.
///
/// # Errors
/// When a pattern or a window of the corpus is none.
pub fn rules(n_rules: usize, history: &History) -> anyhow::Result<Vec<TwinRule>> {
    let counts = counts_by_source(history)?;
    let twins = shapes(n_rules).into_iter().enumerate().map(|(number, shape)| {
        let when = condition(shape);
        let script = format!("rule bench_{number} {{ when {when} then review score 0.5 reason \"bench\" }}");
        Ok(TwinRule { shape, script, native: native(shape, &counts)? })
    });
    twins.collect()
}

/// As the rule language says it.
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

/// As Rust says it.
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

/// The pattern that finds one of [`WORDS`] in any case.
#[must_use]
pub fn pattern(word: usize) -> String {
    format!("(?i)({})", WORDS.get(word).copied().unwrap_or_default())
}

/// How many the source has sent, over each of [`WINDOWS`].
///
/// # Errors
/// When a window of the corpus is none.
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

/// What transactions are like.
#[derive(Debug, Clone, Copy)]
pub enum Traffic {
    /// Each matches many rules of the corpus.
    Suspicious,
    /// Hardly one does.
    Ordinary,
    /// The same, told by a ledger: two events for each, one when it is pending and one when it is applied.
    Reported,
}

/// When the first payment that is reported was created, in seconds since 1970 UTC.
const REPORTED_FROM: i64 = 1_790_000_000;

impl Traffic {
    /// The body of one request.
    #[must_use]
    pub fn body(self, random: &mut Random, number: usize, created_at: DateTime<Utc>) -> Json {
        match self {
            Self::Suspicious => body(random, number, created_at),
            Self::Ordinary => ordinary_body(random, number, created_at),
            Self::Reported => event(number),
        }
    }

    /// Where it is sent.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Suspicious | Self::Ordinary => "/inject",
            Self::Reported => "/ledgerwebhook",
        }
    }
}

/// One of the two events of a payment. Both bring it to the letter, its status apart.
fn event(number: usize) -> Json {
    let payment = number / 2;
    let seconds = REPORTED_FROM.saturating_add(i64::try_from(payment).unwrap_or(i64::MAX));
    let created_at = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    let mut data = ordinary_body(&mut Random::seeded(payment as u64 * 2 + 1), payment, created_at);
    let status = if number.is_multiple_of(2) { "pending" } else { "applied" };
    if let Json::Object(members) = &mut data {
        members.insert("status".to_owned(), json!(status));
    }
    json!({"event": format!("transaction.{status}"), "data": data})
}

/// `n_transactions` transactions, always the same, a second apart, over a thousand sources.
///
/// # Errors
/// When the corpus makes one that is none.
pub fn transactions(n_transactions: usize, traffic: Traffic) -> anyhow::Result<Vec<Arc<Transaction>>> {
    let mut random = Random::seeded(11);
    let start: DateTime<Utc> = "2026-03-01T00:00:00Z".parse()?;
    (0..n_transactions)
        .map(|number| {
            let created_at = start + TimeDelta::seconds(i64::try_from(number)?);
            let body = traffic.body(&mut random, number, created_at);
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

/// Of a hundred, ninety-nine match hardly a rule of the corpus, and one is like those of [`body`].
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
