//! Repeats a short process life and kills it at each storage call in turn. The calls range from the first folder of an
//! empty data directory to the last sync of the stop.

use tollgate_tests::durability::{Pace, Tally};
use tollgate_tests::faults::{Act, EVERY_CHANGE, Plan, calls};
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::{DurabilityChecker, Home, Service, needs, proof};

/// Number of requests in a life.
const N_REQUESTS_SAMPLE: usize = 20;
const N_REQUESTS_FULL: usize = 200;
/// Number of sampled call positions for each kind of fault.
const N_CALLS_SAMPLE: usize = 5;

/// Starts, serves one client, stops. Returns the exit code, `None` after a signal.
pub(crate) fn live(home: &Home, witness: &mut DurabilityChecker, n_requests: usize) -> (Option<i32>, Tally) {
    match Service::try_start(home) {
        Err(refusal) => (refusal.code, Tally::default()),
        Ok(service) => {
            let pace = Pace { n_clients: 1, n_answers: n_requests, n_requests_max: n_requests };
            let tally = witness.load(&service, pace, || {});
            service.terminate();
            (service.wait().0.code(), tally)
        }
    }
}

/// Checks that the next life, without faults, finds everything and continues.
#[track_caller]
pub(crate) fn check_recovery(home: &Home, witness: &mut DurabilityChecker, when: &str) {
    witness.check(&home.data(), when);
    let service = Service::start(home);
    let tally = witness.read_back(&service, usize::MAX);
    assert_eq!((tally.n_unavailable, tally.n_open), (0, 0), "{when}");
    let pace = Pace { n_clients: 1, n_answers: 5, n_requests_max: 5 };
    let tally = witness.load(&service, pace, || service.terminate());
    assert_eq!(service.wait().0.code(), Some(0), "{when}");
    assert_eq!(tally.n_unavailable, 0, "{when}");
    witness.check(&home.data(), &format!("{when}, and another life"));
}

/// Counts the calls of a class in one life.
pub(crate) fn n_calls(class: &'static str, seed: u64, n_requests: usize) -> usize {
    let home = DurabilityChecker::home();
    let record = home.at("record");
    let plan = Plan { class, record: Some(record.clone()), ..Plan::default() };
    let mut witness = DurabilityChecker::of_seed(seed);
    let (code, tally) = live(&plan.on(&home), &mut witness, n_requests);
    assert_eq!((code, tally.n_unavailable, tally.n_open), (Some(0), 0, 0));
    witness.check(&home.data(), "a life without faults");
    calls(&record).last().map_or(0, |call| call.number)
}

/// Returns all positions, or evenly spread samples.
pub(crate) fn call_numbers(n_calls: usize, n_sample: usize, dice: &mut Dice) -> Vec<usize> {
    if proof::is_full() {
        return proof::share(n_calls).map(|call_number| call_number + 1).collect();
    }
    let part = n_calls.div_ceil(n_sample).max(1);
    (0..n_calls).step_by(part).map(|begin| begin + 1 + dice.below(part.min(n_calls - begin))).collect()
}

#[track_caller]
fn check_every_call(class: &'static str, act: Act) {
    let seed = proof::seed(&format!("{act:?} at every call of `{class}`"));
    let mut dice = Dice::of_seed(seed);
    let n_requests = proof::rounds(N_REQUESTS_SAMPLE, N_REQUESTS_FULL);
    let n_calls = n_calls(class, seed, n_requests);
    assert!(n_calls > 10 * n_requests.min(30), "only {n_calls} calls: the service goes another way");
    let call_numbers = call_numbers(n_calls, N_CALLS_SAMPLE, &mut dice);
    let (n_sampled, mut n_killed) = (call_numbers.len(), 0);
    for at in call_numbers {
        let home = DurabilityChecker::home();
        let mut witness = DurabilityChecker::of_seed(seed);
        let plan = Plan { class, at, act, ..Plan::default() };
        let (code, _) = live(&plan.on(&home), &mut witness, n_requests);
        // The last calls of the recorded life need not occur in every life.
        n_killed += usize::from(code.is_none());
        assert!(code.is_none() || code == Some(0), "ended with {code:?}");
        check_recovery(&home, &mut witness, &format!("{act:?} at {at} of {n_calls} ({class}), seed {seed}"));
    }
    assert!((n_killed + 1) * 10 >= n_sampled * 9, "only {n_killed} of {n_sampled} lives were hit");
    println!("{act:?}: {n_calls} calls in a life, {n_sampled} lives, {n_killed} of them hit, 0 faults");
}

#[test]
fn killed_at_any_storage_call_it_has_lost_nothing() {
    needs!(Sqlite);
    check_every_call(EVERY_CHANGE, Act::Kill);
}

#[test]
fn killed_in_the_middle_of_any_write_it_has_lost_nothing() {
    needs!(Sqlite);
    check_every_call("w", Act::Torn);
}
