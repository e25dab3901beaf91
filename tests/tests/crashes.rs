//! Faults under load: every acknowledged transaction is stored with the same verdict, and nothing else is.

mod clock;
mod damage;
mod descriptors;
mod errors;
mod locked;
mod memory;
mod power;
mod seeded;
mod sweep;
mod tampered;

use std::time::{Duration, Instant};

use tollgate_tests::durability::{Pace, Tally};
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::{DurabilityChecker, Home, Service, needs, proof};

const N_CLIENTS: usize = 8;
/// Cycles per data directory. A long run then tests crashes and not its own growth.
const CYCLES_PER_HOME: usize = 25;
/// A load that reaches this many requests did not crash.
const N_REQUESTS_MAX: usize = 100_000;
/// Number of transactions read back after a fault, latest first.
const N_READ_BACK: usize = 40;

/// A home with frequent history snapshots, so that faults interrupt them too.
fn home() -> Home {
    let mut home = DurabilityChecker::home();
    home.set("SERVICE_SNAPSHOT_INTERVAL", "PT1S");
    home
}

fn pace(n_answers: usize) -> Pace {
    Pace { n_clients: N_CLIENTS, n_answers, n_requests_max: N_REQUESTS_MAX }
}

/// Starts the service and returns the duration.
fn start(home: &Home) -> (Service, Duration) {
    let began = Instant::now();
    let service = Service::start(home);
    (service, began.elapsed())
}

#[test]
fn after_kill_9_at_any_time_everything_answered_is_there_and_nothing_else_is() {
    needs!(Sqlite);
    let seed = proof::seed("kill -9");
    let cycles = proof::share(proof::rounds(25, 2_000));
    let (began, mut tally, mut n_starts_killed, mut n_stored) = (Instant::now(), Tally::default(), 0, 0);
    for first in cycles.clone().step_by(CYCLES_PER_HOME) {
        let home = home();
        let mut dice = Dice::of_seed(seed.wrapping_add(first as u64));
        let mut witness = DurabilityChecker::of_seed(dice.roll());
        for cycle in first..cycles.end.min(first + CYCLES_PER_HOME) {
            let (service, start_took) = start(&home);
            tally = tally.and(witness.read_back(&service, N_READ_BACK));
            let pace = pace(dice.below(200));
            let pid = service.pid();
            tally = tally.and(witness.load(&service, pace, || tollgate_tests::process::kill(pid)));
            assert_eq!(service.wait().0.code(), None, "cycle {cycle} ended by itself");
            if dice.chance(30) {
                Service::start_and_kill(&home, start_took.mul_f64(dice.below(1_000) as f64 / 1_000.0));
                n_starts_killed += 1;
            }
            witness.check(&home.data(), &format!("cycle {cycle}"));
        }
        let service = Service::start(&home);
        tally = tally.and(witness.read_back(&service, 300));
        assert_eq!(service.stop().0.code(), Some(0));
        witness.check(&home.data(), "after the last cycle, and a stop");
        n_stored += witness.n_stored();
        println!(
            "up to cycle {}: {:?}, {n_stored} stored, 0 faults",
            first + CYCLES_PER_HOME,
            began.elapsed()
        );
    }
    assert_eq!(tally.n_unavailable, 0, "nobody is sent away by a service that is well");
    println!(
        "{} cycles of load and kill -9, {n_starts_killed} more during a start, {:?}: {tally:?}, {n_stored} stored, 0 faults",
        cycles.len(),
        began.elapsed()
    );
}

#[test]
fn sigterm_under_load_ends_with_0_and_loses_nothing() {
    needs!(Sqlite);
    let home = home();
    let mut witness = DurabilityChecker::of_seed(proof::seed("SIGTERM"));
    let mut tally = Tally::default();
    let cycles = proof::rounds(3, 30);
    for cycle in 0..cycles {
        let service = Service::start(&home);
        tally = tally.and(witness.read_back(&service, N_READ_BACK));
        tally = tally.and(witness.load(&service, pace(100), || service.terminate()));
        let (status, log) = service.wait();
        assert_eq!(status.code(), Some(0), "cycle {cycle}:\n{}", log.join("\n"));
        witness.check(&home.data(), &format!("cycle {cycle}"));
    }
    println!("{cycles} stops under load: {tally:?}, {} stored, 0 faults", witness.n_stored());
}
