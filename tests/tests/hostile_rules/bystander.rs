//! A client who has nothing to do with the hostile rules, beside clients who help their author.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_tests::bystander::{Bystander, Latencies, PATIENCE};
use tollgate_tests::{Service, proof, sample};

use super::attacks::Attack;

/// Payments a second, in open loop, and connections that take turns.
const RATE: u32 = 200;
const N_CONNECTIONS: u32 = 8;
/// Length of a block.
const SECONDS: usize = 2;
const SECONDS_FULL: usize = 8;
/// How much p99 may grow besides doubling, and the share of the payments that is answered within [`PATIENCE`].
const SLACK: Duration = Duration::from_millis(2);
const SHARE_IN_TIME: f64 = 0.99;

/// Clients that help the author of the rules.
const N_HELPERS: usize = 8;

/// One stretch of time, with or without the rules.
pub(crate) struct Block<'s> {
    pub(crate) service: &'s Service,
    pub(crate) attack: &'s Attack,
    pub(crate) name: String,
}

impl Block<'_> {
    pub(crate) fn run(&self) -> Latencies {
        let seconds = u32::try_from(proof::rounds(SECONDS, SECONDS_FULL)).unwrap();
        let (service, name) = (self.service, self.name.as_str());
        let bystander = Bystander { service, name, rate: RATE, n_connections: N_CONNECTIONS, seconds };
        bystander.run(N_HELPERS, |helper, is_over| self.help(helper, is_over))
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
}

/// Returns what is wrong with the latencies beside hostile rules, by those without.
pub(crate) fn faults(with: &Latencies, without: &Latencies) -> Vec<String> {
    let mut faults = with.faults_of_service();
    if !proof::is_full() {
        // The sample mode runs beside other tests.
        return faults;
    }
    let (p99, allowed) = (with.quantile(0.99), 2 * without.quantile(0.99) + SLACK);
    faults.extend((p99 > allowed).then(|| format!("p99 is {p99:?} of {allowed:?}")));
    let share = with.share_within(PATIENCE);
    faults.extend((share < SHARE_IN_TIME).then(|| format!("{share} are answered within {PATIENCE:?}")));
    faults
}
