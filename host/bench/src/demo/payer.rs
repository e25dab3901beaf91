//! Pays, and reports the status that the back end gives each payment.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use chrono::Utc;
use serde_json::Value as Json;
use tollgate_population::Payment;

use super::DemoPace;
use crate::client::Client;
use crate::error::BenchError;
use crate::interrupt;

/// Longest sleep between two looks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Status of a payment that was stopped.
const REJECTED: &str = "rejected";

#[derive(Debug)]
pub(super) struct Payer {
    client: Client,
    /// Payments by verdict.
    verdicts: BTreeMap<String, usize>,
}

impl Payer {
    pub(super) const fn new(client: Client) -> Self {
        Self { client, verdicts: BTreeMap::new() }
    }

    /// Pays at full speed what was paid in the past, with the status that each payment ended in.
    ///
    /// # Errors
    /// When the service does not answer with 200.
    pub(super) fn pay_past(&mut self, payments: impl Iterator<Item = Payment>) -> Result<(), BenchError> {
        for payment in payments {
            interrupt::check()?;
            self.judge(&payment, payment.outcome.status())?;
        }
        Ok(())
    }

    /// Pays at this pace until it is interrupted. The time of a payment is that at which it is played.
    ///
    /// # Errors
    /// As [`Self::pay_past`].
    pub(super) fn pay_live(
        &mut self,
        payments: impl Iterator<Item = Payment>,
        pace: DemoPace,
    ) -> Result<(), BenchError> {
        let (begun, began) = (Instant::now(), Utc::now());
        for (number, payment) in (0_u32..).zip(payments) {
            let due = match pace {
                DemoPace::Rate(rate) => f64::from(number) / rate,
                DemoPace::Speed(speed) => {
                    (payment.created_at - began).to_std().unwrap_or_default().as_secs_f64() / speed
                }
            };
            wait_until(begun + Duration::try_from_secs_f64(due).unwrap_or_default())?;
            let payment = Payment { created_at: Utc::now(), ..payment };
            let verdict = self.judge(&payment, "pending")?;
            let is_rejected = verdict == "block" || (verdict == "review" && payment.story.is_some());
            self.report(&payment, if is_rejected { REJECTED } else { payment.outcome.status() })?;
        }
        Ok(())
    }

    /// Tells how many payments got which verdict.
    pub(super) fn summary(&self) -> String {
        let counts = self.verdicts.iter().map(|(verdict, n)| format!("{n} {verdict}"));
        format!("payments judged: {}", counts.collect::<Vec<_>>().join(", "))
    }

    fn judge(&mut self, payment: &Payment, status: &str) -> Result<String, BenchError> {
        let answer = self.client.expect(200, "POST", "/inject", &payment.body(status))?;
        let answer: Json =
            serde_json::from_str(&answer).map_err(|error| BenchError::Answer(error.to_string()))?;
        let verdict = answer.get("verdict").and_then(Json::as_str).unwrap_or_default().to_owned();
        *self.verdicts.entry(verdict.clone()).or_default() += 1;
        Ok(verdict)
    }

    /// Reports a status as a ledger does.
    fn report(&mut self, payment: &Payment, status: &str) -> Result<(), BenchError> {
        let event = format!(r#"{{"event":"transaction.{status}","data":{}}}"#, payment.body(status));
        self.client.expect(200, "POST", "/ledgerwebhook", &event).map(drop)
    }
}

fn wait_until(due: Instant) -> Result<(), BenchError> {
    loop {
        interrupt::check()?;
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}
