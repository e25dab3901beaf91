//! Power cuts under load: acknowledged transactions had reached the disk.
//!
//! The service's storage calls are recorded. After a kill, the directory is rewritten to a state a disk could hold:
//! everything synced, and a random part of the rest. This is harsher than a real file system, which keeps more than it
//! must, and requires no privileges.

use std::time::Instant;

use tollgate_tests::durability::Tally;
use tollgate_tests::faults::{Plan, until_the_power_fails};
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::partition::Partition;
use tollgate_tests::programs::skip;
use tollgate_tests::{DurabilityChecker, Home, Service, needs, proof};

use crate::crashes::{CYCLES_PER_HOME, N_READ_BACK, home, pace};

/// Runs one load and one power cut.
fn cycle(home: &Home, witness: &mut DurabilityChecker, dice: &mut Dice, plan: &Plan) -> Tally {
    let n_answers = dice.below(200);
    until_the_power_fails(home, plan, dice, |service| {
        let tally = witness.read_back(service, N_READ_BACK);
        let end = || tollgate_tests::process::kill(service.pid());
        tally.and(witness.load(service, pace(n_answers), end))
    })
}

#[test]
fn after_a_power_cut_everything_answered_is_there() {
    needs!(Sqlite);
    let seed = proof::seed("power cuts");
    let cycles = proof::share(proof::rounds(10, 500));
    let (began, mut tally, mut n_stored) = (Instant::now(), Tally::default(), 0);
    for first in cycles.clone().step_by(CYCLES_PER_HOME) {
        let home = home();
        let mut dice = Dice::of_seed(seed.wrapping_add(first as u64));
        let mut witness = DurabilityChecker::of_seed(dice.roll());
        for number in first..cycles.end.min(first + CYCLES_PER_HOME) {
            tally = tally.and(cycle(&home, &mut witness, &mut dice, &Plan::default()));
            witness.check(&home.data(), &format!("power cut {number}"));
        }
        n_stored += witness.n_stored();
    }
    println!("{} power cuts, {:?}: {tally:?}, {n_stored} stored, 0 faults", cycles.len(), began.elapsed());
}

#[test]
fn where_syncs_are_not_made_a_power_cut_is_found_to_lose_what_was_answered() {
    needs!(Sqlite);
    let home = home();
    let mut dice = Dice::of_seed(proof::seed("power cuts without syncs"));
    let mut witness = DurabilityChecker::of_seed(dice.roll());
    assert_eq!(Service::start(&home).stop().0.code(), Some(0));
    let plan = Plan { lies: true, ..Plan::default() };
    for _ in 0..10 {
        let tally = cycle(&home, &mut witness, &mut dice, &plan);
        let faults = witness.faults_at_first_sight(&home.data());
        if faults.iter().any(|fault| fault.contains("lost")) {
            println!("{tally:?}, {} faults, such as {:?}", faults.len(), faults.first());
            return;
        }
    }
    panic!("nobody notices");
}

#[test]
fn after_a_power_cut_of_a_real_file_system_everything_answered_is_there() {
    needs!(Sqlite);
    let partition = match Partition::make() {
        Ok(partition) => partition,
        Err(why) => return skip(&format!("a file system that can be mounted: {why}")),
    };
    let seed = proof::seed("power cuts of ext4");
    let mut dice = Dice::of_seed(seed);
    let mut witness = DurabilityChecker::of_seed(seed);
    let mut home = home();
    let data = partition.path().join("data");
    home.set("SERVICE_DATA_DIR", data.to_str().unwrap());
    let cycles = proof::share(proof::rounds(4, 200)).len();
    let (began, mut tally) = (Instant::now(), Tally::default());
    for number in 0..cycles {
        let service = Service::start(&home);
        tally = tally.and(witness.read_back(&service, N_READ_BACK));
        let pid = service.pid();
        let end = || tollgate_tests::process::kill(pid);
        tally = tally.and(witness.load(&service, pace(dice.below(200)), end));
        service.wait();
        // Cut after the last response, because a file system that is shutting down may confirm a sync it did not make.
        partition.cut_power().unwrap();
        partition.come_back();
        witness.check(&data, &format!("power cut {number} of ext4"));
    }
    println!(
        "{cycles} power cuts of ext4, {:?}: {tally:?}, {} stored, 0 faults",
        began.elapsed(),
        witness.n_stored()
    );
}
