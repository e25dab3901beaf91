//! Pays, and reports the status that the back end gives each payment.

use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::thread;
use std::time::{Duration, Instant};

use chrono::Utc;
use serde_json::Value as Json;
use tollgate_population::Payment;

use super::DemoPace;
use crate::client::{Client, expect_each};
use crate::error::BenchError;
use crate::interrupt;

/// Longest sleep between two looks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Payments that are judged at once.
const N_AT_ONCE: usize = 16;
/// Status of a payment that was stopped.
const REJECTED: &str = "rejected";

#[derive(Debug)]
pub(super) struct Payer {
    clients: Vec<Client>,
    /// Payments by verdict.
    verdicts: BTreeMap<String, usize>,
}

impl Payer {
    /// Pays over clients that `connect` makes.
    pub(super) fn new(connect: impl Fn() -> Client) -> Self {
        Self { clients: (0..N_AT_ONCE).map(|_| connect()).collect(), verdicts: BTreeMap::new() }
    }

    /// Pays at full speed what was paid in the past, with the status that each payment ended in.
    ///
    /// Payments of one account are judged one after the other; some of different accounts at once.
    ///
    /// # Errors
    /// When the service does not answer with 200.
    pub(super) fn pay_past(&mut self, payments: impl Iterator<Item = Payment>) -> Result<(), BenchError> {
        let (mut group, mut accounts) = (Vec::new(), HashSet::new());
        for payment in payments {
            interrupt::check()?;
            let own = [&payment.source, &payment.destination].into_iter().flatten();
            if group.len() == N_AT_ONCE || own.clone().any(|account| accounts.contains(account)) {
                self.judge(&mem::take(&mut group))?;
                accounts.clear();
            }
            accounts.extend(own.cloned());
            group.push(payment.body(payment.outcome.status()));
        }
        self.judge(&group).map(drop)
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
            let verdict = self.judge(&[payment.body("pending")])?.concat();
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

    /// Returns the verdicts of these payments, at most [`N_AT_ONCE`], which are judged at once.
    fn judge(&mut self, payments: &[String]) -> Result<Vec<String>, BenchError> {
        let answers = expect_each(&mut self.clients, 200, ("POST", "/inject"), payments)?;
        let verdicts: Result<Vec<_>, _> = answers.iter().map(|answer| verdict(answer)).collect();
        let verdicts = verdicts?;
        for verdict in &verdicts {
            *self.verdicts.entry(verdict.clone()).or_default() += 1;
        }
        Ok(verdicts)
    }

    /// Reports a status as a ledger does.
    fn report(&mut self, payment: &Payment, status: &str) -> Result<(), BenchError> {
        let event = format!(r#"{{"event":"transaction.{status}","data":{}}}"#, payment.body(status));
        expect_each(&mut self.clients, 200, ("POST", "/ledgerwebhook"), &[event]).map(drop)
    }
}

fn verdict(answer: &str) -> Result<String, BenchError> {
    let answer: Json = serde_json::from_str(answer).map_err(|error| BenchError::Answer(error.to_string()))?;
    Ok(answer.get("verdict").and_then(Json::as_str).unwrap_or_default().to_owned())
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
