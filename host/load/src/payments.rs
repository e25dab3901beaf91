//! Payments for the benchmarks in `benches`: the transactions of the corpus, sent by the generator to one service.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::batch;
use super::corpus::{Requests, TransactionKind};
use super::error::BenchError;
use super::generator::{self, ArrivalProcess, LoadResult, LoadSpec, OverduePolicy, RefusalPolicy};
use super::samples::Samples;
use super::target::HttpTarget;

/// The time after which a load of a given number of payments ends in any case.
const LASTS_MAX: Duration = Duration::from_hours(24);

/// Sends payments to one service, each with an ID of its own.
#[derive(Debug)]
pub struct PaymentSender {
    target: HttpTarget,
    requests: Requests,
}

/// The result of a load in which every answer was 200.
#[derive(Debug, Clone)]
pub struct AnsweredLoad {
    /// Answers per second.
    pub per_second: f64,
    /// Latencies from the time a payment was due; in a closed loop, from sending it.
    pub latencies: Samples,
}

impl PaymentSender {
    /// Prepares payments for the service at this address, `host:port`.
    ///
    /// # Errors
    /// When the address has another form, or its host cannot be resolved.
    pub fn to(address: &str, kind: TransactionKind) -> Result<Self, BenchError> {
        let target = HttpTarget::at(&format!("http://{address}"))?;
        let requests = Requests::to(&target.host, kind);
        Ok(Self { target, requests })
    }

    /// Sends payments for `duration`. Each connection sends the next one after an answer, so a slow service receives
    /// fewer.
    ///
    /// # Errors
    /// When a payment is not answered with 200.
    pub fn closed_loop(&self, n_connections: usize, duration: Duration) -> Result<AnsweredLoad, BenchError> {
        self.send(ArrivalProcess::Closed, n_connections, duration, &AtomicBool::new(false))
    }

    /// Sends this many payments in the same way, or as many as are answered in 24 hours.
    ///
    /// # Errors
    /// As [`Self::closed_loop`].
    pub fn closed_loop_of(
        &self,
        n_connections: usize,
        n_payments: usize,
    ) -> Result<AnsweredLoad, BenchError> {
        let pace = ArrivalProcess::ClosedOf { n_requests: n_payments };
        self.send(pace, n_connections, LASTS_MAX, &AtomicBool::new(false))
    }

    /// Sends payments at a fixed rate, for `duration` or until `stop` is set. A payment without a free connection waits
    /// for one.
    ///
    /// # Errors
    /// As [`Self::closed_loop`].
    pub fn open_loop(
        &self,
        n_connections: usize,
        per_second: f64,
        duration: Duration,
        stop: &AtomicBool,
    ) -> Result<AnsweredLoad, BenchError> {
        let pace = ArrivalProcess::Open { per_second, overdue: OverduePolicy::Waits };
        self.send(pace, n_connections, duration, stop)
    }

    /// Sends payments in one batch for `duration`, as fast as the service takes them. Returns the verdicts per second.
    ///
    /// # Errors
    /// When a payment gets no verdict.
    pub fn batch(&self, duration: Duration) -> Result<f64, BenchError> {
        batch::run(&self.target, &self.requests, duration)
    }

    fn send(
        &self,
        pace: ArrivalProcess,
        n_connections: usize,
        duration: Duration,
        stop: &AtomicBool,
    ) -> Result<AnsweredLoad, BenchError> {
        let load = LoadSpec { pace, n_connections, duration, refused: RefusalPolicy::GoesOn };
        AnsweredLoad::of(&generator::run(&self.target, &self.requests, load, stop)?)
    }
}

impl AnsweredLoad {
    fn of(result: &LoadResult) -> Result<Self, BenchError> {
        let n_lost = result.n_broken + result.n_unanswered;
        let by_status = result.by_status();
        if n_lost > 0 || by_status.keys().any(|status| *status != 200) {
            return Err(BenchError::Answer(format!(
                "answers by status: {by_status:?}; unanswered: {n_lost}"
            )));
        }
        if result.n_ok() == 0 {
            return Err(BenchError::Nothing("no payment was sent".to_owned()));
        }
        Ok(Self { per_second: result.ok_per_second(), latencies: result.latencies() })
    }
}
