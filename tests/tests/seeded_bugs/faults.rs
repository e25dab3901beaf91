//! Faults, each followed by a run of the durability checker.

use std::time::{Duration, Instant};

use tollgate_tests::durability::{Pace, Tally};
use tollgate_tests::faults::{Act, Errno, Plan, calls, until_the_power_fails};
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::{DurabilityChecker, Home, Service, process, proof, tampering};

use crate::seeded_bugs::Build;

const N_CLIENTS: usize = 8;
const N_REQUESTS_MAX: usize = 100_000;
const N_READ_BACK: usize = 40;
/// In a life that ends with a kill or a stop. With two concurrent transactions, reordering is rare.
const N_ANSWERS: usize = 1_000;
/// Number of lives that end with a kill, before one that is stopped.
const N_KILLS: usize = 3;
const N_POWER_CUTS: usize = 5;
/// A service that cannot continue ends within this time; the margin is for busy machines.
const END_WITHIN: Duration = Duration::from_secs(5);

fn pace(n_answers: usize) -> Pace {
    Pace { n_clients: N_CLIENTS, n_answers, n_requests_max: N_REQUESTS_MAX }
}

fn home(build: &Build) -> Home {
    let mut home = build.at(DurabilityChecker::home());
    home.set("SERVICE_SNAPSHOT_INTERVAL", "PT1S");
    home
}

/// Runs one life: reads back earlier transactions, then ends under load.
fn live(service: &Service, witness: &mut DurabilityChecker, n_answers: usize, end: impl FnOnce()) -> Tally {
    let tally = witness.read_back(service, N_READ_BACK);
    tally.and(witness.load(service, pace(n_answers), end))
}

/// Checks that the checker finds no fault and a healthy service refused no request.
#[track_caller]
fn check(home: &Home, witness: &mut DurabilityChecker, tally: Tally) {
    let mut faults = witness.faults(&home.data());
    if tally.n_unavailable > 0 {
        faults.push(format!("{} were sent away by a service that is well", tally.n_unavailable));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

pub(crate) fn kills(build: &Build) {
    let home = home(build);
    let mut witness = DurabilityChecker::of_seed(proof::seed("kills"));
    for _ in 0..N_KILLS {
        let service = Service::start(&home);
        let tally = live(&service, &mut witness, N_ANSWERS, || process::kill(service.pid()));
        service.wait();
        check(&home, &mut witness, tally);
    }
    let service = Service::start(&home);
    let tally = live(&service, &mut witness, N_ANSWERS, || service.terminate());
    assert_eq!(service.wait().0.code(), Some(0));
    check(&home, &mut witness, tally);
    witness.check(&home.data(), "a stop");
}

pub(crate) fn power_cuts(build: &Build) {
    let home = home(build);
    let mut witness = DurabilityChecker::of_seed(proof::seed("power cuts"));
    let mut dice = Dice::of_seed(proof::seed("power cuts"));
    for _ in 0..N_POWER_CUTS {
        let tally = until_the_power_fails(&home, &Plan::default(), &mut dice, |service| {
            live(service, &mut witness, 100, || process::kill(service.pid()))
        });
        check(&home, &mut witness, tally);
    }
}

pub(crate) fn failed_commits(build: &Build) {
    let home = home(build);
    assert_eq!(Service::start(&home).stop().0.code(), Some(0));
    for (table, one_in) in [("transactions", 10), ("status_updates", 4)] {
        let trigger = format!(
            "CREATE TRIGGER seeded_{table} BEFORE INSERT ON {table} WHEN abs(random()) % {one_in} = 0 \
             BEGIN SELECT RAISE(ABORT, 'seeded'); END"
        );
        let _ = tampering::sql(&home.data(), &trigger);
    }
    let mut witness = DurabilityChecker::of_seed(proof::seed("failed commits"));
    for round in 0..3 {
        let service = Service::start(&home);
        let tally = witness.load(&service, pace(250), || process::kill(service.pid()));
        service.wait();
        assert!(tally.n_unavailable > 0, "no commit failed: {tally:?}");
        witness.check(&home.data(), &format!("round {round}"));
    }
}

pub(crate) fn failed_sync(build: &Build) {
    let home = build.at(DurabilityChecker::home());
    let record = home.at("record");
    let plan = Plan { class: "s", record: Some(record.clone()), ..Plan::default() };
    let service = Service::start(&plan.on(&home));
    let at_the_start = calls(&record).last().map_or(0, |call| call.number);
    service.kill();
    std::fs::remove_dir_all(home.data()).unwrap();
    // After the start, from where the WAL is synced for every group.
    let plan = Plan { at: at_the_start + 10, act: Act::Error(Errno::Eio), record: None, ..plan };
    let mut witness = DurabilityChecker::of_seed(proof::seed("a failed sync"));
    let service = Service::start(&plan.on(&home));
    let tally = witness.load(&service, Pace { n_clients: 4, n_answers: 300, n_requests_max: 300 }, || {});
    let began = Instant::now();
    while service.send("GET", "/healthz", &[], &[]).is_ok() {
        assert!(began.elapsed() < END_WITHIN, "it goes on after a sync that failed: {tally:?}");
    }
    assert_eq!(service.wait().0.code(), Some(1), "{tally:?}");
    witness.check(&home.data(), "a sync that failed");
}
