//! A client who sends ordinary payments in open loop, and what it sees of others who load the service.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::rule_names::RuleNames;
use crate::service::Service;
use crate::set_on_drop::SetOnDrop;
use crate::{proof, sample};

/// Time within which a bystander is served at once: the limit for `/healthz`, and for a share of the payments.
pub const PATIENCE: Duration = Duration::from_millis(50);
/// The limit for `/healthz` in the sample mode, which runs beside other tests.
const PATIENCE_SAMPLE: Duration = Duration::from_secs(5);
/// Time between two looks at `/healthz`.
const HEALTH_EVERY: Duration = Duration::from_millis(20);

/// The payments of one stretch of time.
#[derive(Debug, Clone, Copy)]
pub struct Bystander<'s> {
    /// The service that is asked.
    pub service: &'s Service,
    /// Prefix of the ids.
    pub name: &'s str,
    /// Payments a second.
    pub rate: u32,
    /// Connections, which take turns.
    pub n_connections: u32,
    /// Length of the stretch, in seconds.
    pub seconds: u32,
}

/// Latencies and answers that a bystander measured.
#[derive(Debug, Default)]
pub struct Latencies {
    injects: Vec<Duration>,
    health: Vec<Duration>,
    /// Payments that were not answered with a verdict.
    pub n_unavailable: usize,
    /// Failures of rules whose names begin with `good`.
    pub n_failed_good: usize,
}

impl Bystander<'_> {
    /// Runs the stretch. `beside` runs in as many threads as `n_beside`, each with its number, until the flag is set.
    ///
    /// # Panics
    /// Panics if `/healthz` fails, or a thread does.
    pub fn run(&self, n_beside: usize, beside: impl Fn(usize, &AtomicBool) + Sync) -> Latencies {
        let is_over = AtomicBool::new(false);
        let mut seen = Latencies::default();
        thread::scope(|scope| {
            let (beside, is_over) = (&beside, &is_over);
            for number in 0..n_beside {
                scope.spawn(move || beside(number, is_over));
            }
            let watching = scope.spawn(|| self.watch_health(is_over));
            let ending = SetOnDrop(is_over);
            let started = Instant::now();
            let clients: Vec<_> =
                (0..self.n_connections).map(|at| scope.spawn(move || self.inject(started, at))).collect();
            for client in clients {
                seen.extend(client.join().expect("the client goes on"));
            }
            drop(ending);
            seen.health = watching.join().expect("the watch goes on");
        });
        seen
    }

    fn watch_health(&self, is_over: &AtomicBool) -> Vec<Duration> {
        let client = self.service.client();
        let mut taken = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let asked = Instant::now();
            assert_eq!(client.get("/healthz").status, 200);
            taken.push(asked.elapsed());
            thread::sleep(HEALTH_EVERY);
        }
        taken
    }

    /// Injects on schedule; a payment that waits for the one before it waits visibly.
    fn inject(&self, started: Instant, at: u32) -> Latencies {
        let client = self.service.client();
        let names = RuleNames::fetch(&client);
        let mut seen = Latencies::default();
        let pause = Duration::from_secs(1) / self.rate;
        let n_each = self.seconds * self.rate / self.n_connections;
        // Where the rules take long, fewer payments are sent.
        let end = started + 2 * (pause * n_each * self.n_connections);
        for n in (0..n_each).take_while(|_| Instant::now() < end) {
            let due = started + pause * (n * self.n_connections + at);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let id = format!("{}-{at}-{n}", self.name);
            let fields = json!({"source": format!("bystander-{}", n % 50), "amount": 5});
            let answer = client.inject(&sample::with(&sample::transaction(&id), &fields));
            seen.injects.push(due.elapsed());
            match answer.status {
                200 => {
                    let failed = names.in_member(&answer, "failures");
                    seen.n_failed_good += failed.iter().filter(|name| name.starts_with("good")).count();
                }
                _ => seen.n_unavailable += 1,
            }
        }
        seen
    }
}

impl Latencies {
    /// Names the figures that [`Latencies::shown`] prints.
    pub const HEADER: &'static str = "p50 p99 within 50 ms, health max";

    /// Adds what was measured in another stretch.
    pub fn extend(&mut self, other: Self) {
        self.injects.extend(other.injects);
        self.health.extend(other.health);
        self.n_unavailable += other.n_unavailable;
        self.n_failed_good += other.n_failed_good;
    }

    /// Returns the latency that this share of the payments does not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.injects.clone();
        sorted.sort();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index"
        )]
        let at = (sorted.len() as f64 * share) as usize;
        sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    /// Returns the share of the payments that were answered within a time.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn share_within(&self, limit: Duration) -> f64 {
        self.injects.iter().filter(|taken| **taken <= limit).count() as f64 / self.injects.len().max(1) as f64
    }

    /// Returns the figures as one text.
    #[must_use]
    pub fn shown(&self) -> String {
        format!(
            "{:6.1} {:6.1} ms {:6.2} % {:5.0} ms",
            self.quantile(0.5).as_secs_f64() * 1e3,
            self.quantile(0.99).as_secs_f64() * 1e3,
            self.share_within(PATIENCE) * 100.0,
            self.slowest_health().as_secs_f64() * 1e3,
        )
    }

    /// Returns what is wrong with the answers to payments and to `/healthz`, however long the payments take.
    #[must_use]
    pub fn faults_of_service(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let (n_unavailable, n_failed, slowest) =
            (self.n_unavailable, self.n_failed_good, self.slowest_health());
        faults.extend((n_unavailable > 0).then(|| format!("{n_unavailable} payments were refused")));
        faults.extend((n_failed > 0).then(|| format!("rules of files failed {n_failed} times")));
        let patience = if proof::is_full() { PATIENCE } else { PATIENCE_SAMPLE };
        faults.extend((slowest > patience).then(|| format!("/healthz took {slowest:?}")));
        faults
    }

    fn slowest_health(&self) -> Duration {
        self.health.iter().max().copied().unwrap_or_default()
    }
}
