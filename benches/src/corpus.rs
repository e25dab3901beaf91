//! Rules and transactions to measure with: seeded, so everybody measures the same.
//!
//! Of the rules, six in ten compare numbers and texts, two look into lists, one searches a pattern, one asks the
//! history. Each comes twice: as a script, and as the closure a Rust programmer would write for it.

use std::cell::Cell;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use regex::Regex;
use serde_json::{Value as Json, json};
use tollgate::history::{Aggregate, History};
use tollgate::registry::Lists;
use tollgate::sequence::Sequence;
use tollgate::transaction::{Transaction, Value};
use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, Comparison, Condition, FieldPath, Operand, Window,
};

use crate::random::Random;

/// One rule, twice.
pub struct TwinRule {
    /// As an author writes it.
    pub script: String,
    /// As a Rust programmer writes it.
    pub native: Native,
}

/// A rule as native code.
pub type Native = Box<dyn for<'t> Fn(&Context<'t>) -> bool>;

/// What native rules see: the fields they use, read once per transaction, and aggregates asked at most once.
pub struct Context<'t> {
    amount: f64,
    currency: &'t str,
    status: &'t str,
    description: &'t str,
    country: &'t str,
    risk: f64,
    transaction: &'t Transaction,
    as_of: Sequence,
    counts: [Cell<Option<f64>>; WINDOWS.len()],
}

const CURRENCIES: [&str; 4] = ["EUR", "USD", "NGN", "KES"];
const STATUSES: [&str; 4] = ["pending", "applied", "failed", "declined"];
const COUNTRIES: [&str; 12] = ["DE", "FR", "NG", "KE", "US", "GB", "IR", "KP", "BR", "IN", "ZA", "SE"];
const PHRASES: [&str; 6] =
    ["gift card purchase", "rent march", "salary", "crypto exchange top-up", "invoice 4711", "groceries"];
const WORDS: [&str; 5] = ["gift ?card", "crypto", "loan", "casino|poker", "wire"];
const WINDOWS: [&str; 4] = ["PT15M", "PT1H", "P1D", "P7D"];

impl<'t> Context<'t> {
    /// Reads the fields.
    #[must_use]
    pub fn of(transaction: &'t Transaction, as_of: Sequence) -> Self {
        let metadata = |key: &str| transaction.value(&FieldPath::new(["metadata", key]));
        Self {
            amount: transaction.amount.value().to_f64(),
            currency: &transaction.currency,
            status: transaction.status.as_deref().unwrap_or_default(),
            description: transaction.description.as_deref().unwrap_or_default(),
            country: if let Value::Text(country) = metadata("country") { country } else { "" },
            risk: metadata("risk").as_f64(),
            transaction,
            as_of,
            counts: Default::default(),
        }
    }

    fn count(&self, window: usize, aggregate: &Aggregate) -> f64 {
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
    let mut random = Random::seeded(7);
    let counts = WINDOWS.map(|window| count_by_source(window, history));
    let counts: Vec<Arc<Aggregate>> = counts.into_iter().collect::<anyhow::Result<_>>()?;
    (0..n_rules)
        .map(|number| {
            let (when, native) = match number % 10 {
                0..6 => comparison(&mut random),
                6..8 => list(&mut random),
                8 => pattern(&mut random)?,
                _ => aggregate(&mut random, &counts),
            };
            let script =
                format!("rule bench_{number} {{ when {when} then review score 0.5 reason \"bench\" }}");
            Ok(TwinRule { script, native })
        })
        .collect()
}

fn comparison(random: &mut Random) -> (String, Native) {
    let (limit, risk, currency) = (100 + random.below(20_000), random.below(100), random.pick(&CURRENCIES));
    let when = format!("amount > {limit} and metadata.risk >= {risk} and currency == \"{currency}\"");
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let (limit, risk) = (limit as f64, risk as f64);
    (
        when,
        Box::new(move |context| {
            context.amount > limit && context.risk >= risk && context.currency == currency
        }),
    )
}

fn list(random: &mut Random) -> (String, Native) {
    let countries: Vec<&'static str> = (0..5).map(|_| random.pick(&COUNTRIES)).collect();
    let status = random.pick(&STATUSES);
    let quoted: Vec<String> = countries.iter().map(|country| format!("\"{country}\"")).collect();
    let when = format!("status != \"{status}\" and metadata.country in ({})", quoted.join(", "));
    (when, Box::new(move |context| context.status != status && countries.contains(&context.country)))
}

fn pattern(random: &mut Random) -> anyhow::Result<(String, Native)> {
    let pattern = format!("(?i)({})", random.pick(&WORDS));
    let when = format!("description regex \"{pattern}\"");
    let regex = Regex::new(&pattern)?;
    Ok((when, Box::new(move |context| regex.is_match(context.description))))
}

fn aggregate(random: &mut Random, counts: &[Arc<Aggregate>]) -> (String, Native) {
    let (window, limit) = (random.below(WINDOWS.len()), 1 + random.below(20));
    let text = WINDOWS.get(window).copied().unwrap_or("PT1H");
    let when = format!("count(when source == $current.source, \"{text}\") > {limit}");
    let aggregate = counts.get(window).cloned();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let limit = limit as f64;
    let native = move |context: &Context<'_>| {
        aggregate.as_ref().is_some_and(|aggregate| context.count(window, aggregate) > limit)
    };
    (when, Box::new(native))
}

fn count_by_source(window: &str, history: &History) -> anyhow::Result<Arc<Aggregate>> {
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
    Ok(history.aggregate(&spec)?)
}

/// `n_transactions` transactions, always the same, a second apart, over a thousand sources.
///
/// # Errors
/// When the corpus makes one that is none.
pub fn transactions(n_transactions: usize) -> anyhow::Result<Vec<Arc<Transaction>>> {
    let mut random = Random::seeded(11);
    let start: DateTime<Utc> = "2026-03-01T00:00:00Z".parse()?;
    (0..n_transactions)
        .map(|number| {
            let created_at = start + TimeDelta::seconds(i64::try_from(number)?);
            let body = body(&mut random, number, created_at);
            let (transaction, _) = Transaction::parse(body.to_string().as_bytes(), created_at)?;
            Ok(Arc::new(transaction))
        })
        .collect()
}

/// The body of one request.
#[must_use]
pub fn body(random: &mut Random, number: usize, created_at: DateTime<Utc>) -> Json {
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

/// The body of one request of ordinary traffic: of a hundred, ninety-nine match hardly a rule of the corpus, and one is like
/// those of [`body`].
#[must_use]
pub fn ordinary_body(random: &mut Random, number: usize, created_at: DateTime<Utc>) -> Json {
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
