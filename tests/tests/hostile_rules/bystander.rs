//! A client who has nothing to do with the hostile rules, and what it sees of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::{RuleNames, Service, proof, sample};

use super::attacks::Attack;

/// Payments a second, in open loop, and connections that take turns.
const RATE: u32 = 200;
const N_CONNECTIONS: u32 = 8;
/// Length of a block.
const SECONDS: u64 = 2;
const SECONDS_FULL: u64 = 8;
/// Time within which the service answers while hostile rules run.
const PATIENCE: Duration = Duration::from_millis(50);
/// How much p99 may grow besides doubling, and the share of the payments that is answered within [`PATIENCE`]. The short
/// blocks of the CI mode have few payments, on a machine that others may use, and the service is a debug build there.
const SLACK: Duration = Duration::from_millis(300);
const SLACK_FULL: Duration = Duration::from_millis(2);
const SHARE_IN_TIME: f64 = 0.6;
const SHARE_IN_TIME_FULL: f64 = 0.99;

/// Clients that help the author of the rules.
const N_HELPERS: usize = 8;

/// One stretch of time, with or without the rules.
pub(crate) struct Block<'s> {
    pub(crate) service: &'s Service,
    pub(crate) attack: &'s Attack,
    pub(crate) name: String,
}

/// Latencies and answers that the client measured.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    injects: Vec<Duration>,
    health: Vec<Duration>,
    n_unavailable: usize,
    /// Failures of rules of files.
    pub(crate) n_failed_good: usize,
}

impl Block<'_> {
    pub(crate) fn run(&self) -> Latencies {
        let is_over = AtomicBool::new(false);
        let seconds = if proof::is_full() { SECONDS_FULL } else { SECONDS };
        let n_each = u32::try_from(seconds).unwrap() * RATE / N_CONNECTIONS;
        let mut seen = Latencies::default();
        thread::scope(|scope| {
            for helper in 0..N_HELPERS {
                let is_over = &is_over;
                scope.spawn(move || self.help(helper, is_over));
            }
            let watching = scope.spawn(|| self.watch_health(&is_over));
            let started = Instant::now();
            let clients: Vec<_> =
                (0..N_CONNECTIONS).map(|at| scope.spawn(move || self.inject(started, at, n_each))).collect();
            clients.into_iter().for_each(|client| seen.extend(client.join().unwrap()));
            is_over.store(true, Ordering::Relaxed);
            seen.health = watching.join().unwrap();
        });
        seen
    }

    /// Sends what lets the hostile rules take longest, a hundred transactions a second in all.
    fn help(&self, helper: usize, is_over: &AtomicBool) {
        let client = self.service.client();
        let pause = Duration::from_millis(10 * N_HELPERS as u64);
        for n in 0.. {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let next = Instant::now() + pause;
            let id = format!("{}-helper-{helper}-{n}", self.name);
            let fields = (self.attack.sends)(n * N_HELPERS + helper);
            let answer = client.inject(&sample::with(&sample::transaction(&id), &fields));
            assert_eq!(answer.status, 200, "{}", answer.text());
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }

    fn watch_health(&self, is_over: &AtomicBool) -> Vec<Duration> {
        let client = self.service.client();
        let mut taken = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let asked = Instant::now();
            assert_eq!(client.get("/healthz").status, 200);
            taken.push(asked.elapsed());
            thread::sleep(Duration::from_millis(20));
        }
        taken
    }

    /// Injects on schedule; a payment that waits for the one before it waits visibly.
    fn inject(&self, started: Instant, at: u32, n_each: u32) -> Latencies {
        let client = self.service.client();
        let names = RuleNames::of(&client);
        let mut seen = Latencies::default();
        // Where the rules take long, fewer payments are sent.
        let end = started + 2 * (Duration::from_secs(1) / RATE * n_each * N_CONNECTIONS);
        for n in (0..n_each).take_while(|_| Instant::now() < end) {
            let due = started + Duration::from_secs(1) / RATE * (n * N_CONNECTIONS + at);
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
    pub(crate) const HEADER: &'static str =
        "without: p50 p99 within 50 ms, health max | with: p50 p99 within 50 ms, health max | rules";

    pub(crate) fn extend(&mut self, other: Self) {
        self.injects.extend(other.injects);
        self.health.extend(other.health);
        self.n_unavailable += other.n_unavailable;
        self.n_failed_good += other.n_failed_good;
    }

    fn quantile(&self, share: f64) -> Duration {
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

    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn share_within(&self, limit: Duration) -> f64 {
        self.injects.iter().filter(|taken| **taken <= limit).count() as f64 / self.injects.len().max(1) as f64
    }

    fn slowest_health(&self) -> Duration {
        self.health.iter().max().copied().unwrap_or_default()
    }

    pub(crate) fn shown(&self) -> String {
        format!(
            "{:6.1} {:6.1} ms {:6.2} % {:5.0} ms",
            self.quantile(0.5).as_secs_f64() * 1e3,
            self.quantile(0.99).as_secs_f64() * 1e3,
            self.share_within(PATIENCE) * 100.0,
            self.slowest_health().as_secs_f64() * 1e3,
        )
    }

    /// Returns what is wrong by the latencies without the hostile rules.
    pub(crate) fn faults(&self, without: &Self) -> Vec<String> {
        let mut faults = self.faults_of_service();
        let (slack, least) =
            if proof::is_full() { (SLACK_FULL, SHARE_IN_TIME_FULL) } else { (SLACK, SHARE_IN_TIME) };
        let (p99, allowed) = (self.quantile(0.99), 2 * without.quantile(0.99) + slack);
        faults.extend((p99 > allowed).then(|| format!("p99 is {p99:?} of {allowed:?}")));
        let share = self.share_within(PATIENCE);
        faults.extend((share < least).then(|| format!("{share} are answered within {PATIENCE:?}")));
        faults
    }

    /// Returns what is wrong with the answers to payments and to `/healthz`, however long the payments take.
    pub(crate) fn faults_of_service(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let (n_unavailable, n_failed, slowest) =
            (self.n_unavailable, self.n_failed_good, self.slowest_health());
        faults.extend((n_unavailable > 0).then(|| format!("{n_unavailable} payments were refused")));
        faults.extend((n_failed > 0).then(|| format!("rules of files failed {n_failed} times")));
        let is_slow = slowest > PATIENCE;
        faults.extend(is_slow.then(|| format!("/healthz took {slowest:?}")));
        faults
    }
}
