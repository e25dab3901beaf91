//! Large volumes of cheaply generated traffic, always spread over one week.
//!
//! Sources follow Zipf's law over [`N_SOURCES`]. Two destinations receive a twentieth of all traffic each; the others
//! are uniform. One transaction in fifty arrives up to a minute late.

use std::sync::Arc;

use chrono::DateTime;
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{EventTime, Json, LongTexts, LongestReads, Transaction, WideObjects};

use crate::random::Random;

/// Number of source accounts.
pub const N_SOURCES: usize = 100_000;
/// Span of event time in microseconds: seven days.
pub const SPAN_MICROS: i64 = 7 * 86_400 * 1_000_000;
/// Start of event time: 2026-03-01, in microseconds since 1970 UTC.
pub const START_MICROS: i64 = 1_772_323_200_000_000;
/// Maximum lateness, in microseconds.
const LATE_MICROS_MAX: usize = 60_000_000;

/// The traffic of one week.
#[derive(Debug, Clone)]
pub struct Traffic {
    random: Random,
    /// Cumulative share of the traffic by source.
    cumulated: Arc<[f64]>,
    n_transactions: usize,
    number: usize,
}

impl Traffic {
    /// Creates this many transactions over the week.
    #[must_use]
    pub fn new(n_transactions: usize) -> Self {
        let mut total = 0.0;
        let weights = (1..=N_SOURCES).map(|rank| {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let weight = 1.0 / rank as f64;
            total += weight;
            total
        });
        let sums: Vec<f64> = weights.collect();
        let cumulated = sums.iter().map(|sum| sum / total).collect();
        Self { random: Random::seeded(23), cumulated, n_transactions, number: 0 }
    }

    /// Draws the rank of a source; 0 is the busiest.
    pub fn source(&mut self) -> usize {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
        let share = (self.random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        self.cumulated.partition_point(|sum| *sum < share).min(N_SOURCES - 1)
    }

    /// Draws a destination; 0 and 1 are the busy ones.
    pub fn destination(&mut self) -> usize {
        match self.random.below(20) {
            busy @ 0..2 => busy,
            _ => 2 + self.random.below(N_SOURCES),
        }
    }

    fn micros(&mut self) -> i64 {
        let share = i128::from(SPAN_MICROS) * to_i128(self.number) / to_i128(self.n_transactions.max(1));
        let late = if self.random.below(50) == 0 { self.random.below(LATE_MICROS_MAX) } else { 0 };
        START_MICROS + i64::try_from(share - to_i128(late)).unwrap_or_default()
    }
}

impl Iterator for Traffic {
    type Item = Transaction;

    fn next(&mut self) -> Option<Transaction> {
        (self.number < self.n_transactions).then(|| {
            self.number += 1;
            let (source, destination, micros) = (self.source(), self.destination(), self.micros());
            let cents = 1 + self.random.below(2_500_000);
            transaction(self.number, source, destination, micros, cents)
        })
    }
}

/// Creates one transaction.
#[must_use]
pub fn transaction(
    number: usize,
    source: usize,
    destination: usize,
    micros: i64,
    cents: usize,
) -> Transaction {
    let amount = Decimal::from_plain(&format!("{}.{:02}", cents / 100, cents % 100)).unwrap_or(Decimal::ZERO);
    let word = |words: &[&str]| words.get(number % words.len()).map(|word| Arc::from(*word));
    Transaction {
        transaction_id: format!("t-{number}").into(),
        amount: amount.into(),
        currency: "EUR".into(),
        source: Some(format!("acc-{source}").into()),
        destination: Some(format!("acc-{destination}").into()),
        reference: "ref".into(),
        description: word(&["rent", "salary", "groceries"]),
        status: word(&["applied", "pending", "failed", "applied", "applied"]),
        hash: None,
        allow_overdraft: number.is_multiple_of(2),
        inflight: number.is_multiple_of(3),
        skip_queue: number.is_multiple_of(5),
        atomic: number.is_multiple_of(7),
        timestamp: EventTime::from_clock(DateTime::from_timestamp_micros(micros).unwrap_or_default()),
        effective_date: None,
        scheduled_for: None,
        inflight_expiry_date: None,
        metadata: None,
        unnamed: Vec::new(),
        left_out: None,
        longest_reads: LongestReads { of_field: 64, n_elements: 0 },
        long_texts: LongTexts::default(),
        wide_objects: WideObjects::default(),
    }
}

/// Adds metadata to a transaction: a device and an address for all, a card merchant for two in five.
#[must_use]
pub fn with_metadata(transaction: Transaction, random: &mut Random) -> Transaction {
    let text = |text: String| Json::Text(text.into());
    let account = transaction.source.as_deref().unwrap_or_default();
    let mut metadata = vec![
        ("device_id".into(), text(format!("dev-{account}-{}", random.below(3)))),
        ("ip".into(), text(format!("10.{}.{}.{}", random.below(4), random.below(256), random.below(256)))),
        ("country".into(), text(random.pick(&["DE", "FR", "NG", "KE"]).to_owned())),
    ];
    if random.below(5) < 2 {
        let card = random.below(2);
        metadata.extend([
            ("card_fingerprint".into(), text(format!("card-{account}-{card}"))),
            ("bin".into(), text(format!("{}", 400_000 + random.below(500)))),
            ("email".into(), text(format!("{account}@example.org"))),
            ("merchant_id".into(), text(format!("m-{}", random.below(5_000)))),
            ("type".into(), text(random.pick(&["sale", "sale", "sale", "refund", "chargeback"]).to_owned())),
        ]);
    }
    Transaction { metadata: Some(Json::Object(metadata)), ..transaction }
}

fn to_i128(number: usize) -> i128 {
    i128::try_from(number).unwrap_or(i128::MAX)
}
