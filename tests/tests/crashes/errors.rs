//! Disk errors: failed writes are not acknowledged, and earlier acknowledged writes remain.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use tollgate_tests::durability::{Pace, Tally};
use tollgate_tests::faults::{Act, Change, Errno, Plan, calls};
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::{DurabilityChecker, Service, needs, proof};

use crate::crashes::sweep::{call_numbers, check_recovery, live, n_calls};

const N_REQUESTS_SAMPLE: usize = 20;
const N_REQUESTS_FULL: usize = 60;
/// A service that cannot continue ends within this time; the margin is for busy machines.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Call class, error, and number of sampled positions. The error occurs once.
const ERRORS: [(&str, Act, usize); 9] = [
    ("s", Act::Error(Errno::Eio), 4),
    ("w", Act::Error(Errno::Eio), 2),
    ("w", Act::Error(Errno::Enospc), 2),
    ("w", Act::Error(Errno::Eintr), 1),
    ("w", Act::Short, 1),
    ("n", Act::Error(Errno::Eio), 2),
    ("n", Act::Error(Errno::Enospc), 1),
    ("r", Act::Error(Errno::Eio), 2),
    ("o", Act::Error(Errno::Emfile), 2),
];

#[test]
fn an_error_at_any_storage_call_costs_nothing_that_was_answered() {
    needs!(Sqlite);
    let seed = proof::seed("errors");
    let mut dice = Dice::of_seed(seed);
    let n_requests = proof::rounds(N_REQUESTS_SAMPLE, N_REQUESTS_FULL);
    for (class, act, n_sample) in ERRORS {
        let n_calls = n_calls(class, seed, n_requests);
        let (mut tally, mut ends) = (Tally::default(), BTreeMap::<_, usize>::new());
        for at in call_numbers(n_calls, n_sample, &mut dice) {
            let when = format!("{act:?} at {at} of {n_calls} ({class}), seed {seed}");
            let home = DurabilityChecker::home();
            let mut witness = DurabilityChecker::of_seed(seed);
            let plan = Plan { class, at, act, ..Plan::default() };
            let (code, answered) = live(&plan.on(&home), &mut witness, n_requests);
            // It stopped or failed with a message, and never crashed.
            assert!(matches!(code, Some(0 | 1)), "{when}: ended with {code:?}");
            *ends.entry(code.unwrap_or(-1)).or_default() += 1;
            tally = tally.and(answered);
            check_recovery(&home, &mut witness, &when);
        }
        println!("{act:?} at calls of `{class}`, {n_calls} in a life: ends {ends:?}, {tally:?}, 0 faults");
    }
}

#[test]
fn a_sync_that_fails_is_not_tried_again_and_ends_the_service() {
    needs!(Sqlite);
    let home = DurabilityChecker::home();
    let seed = proof::seed("a sync that fails");
    let mut witness = DurabilityChecker::of_seed(seed);
    // After the start, from where the WAL is synced for every group.
    let at_the_start = {
        let record = home.at("start");
        let plan = Plan { class: "s", record: Some(record.clone()), ..Plan::default() };
        let service = Service::start(&plan.on(&home));
        let n_calls = calls(&record).last().map_or(0, |call| call.number);
        service.kill();
        n_calls
    };
    fs::remove_dir_all(home.data()).unwrap();
    let record = home.at("record");
    let plan = Plan {
        class: "s",
        at: at_the_start + 10,
        act: Act::Error(Errno::Eio),
        record: Some(record.clone()),
        ..Plan::default()
    };
    let service = Service::start(&plan.on(&home));
    let tally = witness.load(&service, Pace { n_clients: 4, n_answers: 400, n_requests_max: 400 }, || {});
    let began = Instant::now();
    let (status, log) = service.wait();
    assert!(began.elapsed() < END_WITHIN, "it goes on for {:?}", began.elapsed());
    assert_eq!(status.code(), Some(1), "{tally:?}\n{}", log.join("\n"));
    assert!(log.iter().any(|line| line.contains("a commit was not confirmed")), "{}", log.join("\n"));
    assert!(tally.n_granted > 0 && tally.n_unavailable + tally.n_open > 0, "{tally:?}");
    let calls = calls(&record);
    let later: Vec<_> =
        calls.iter().filter(|call| call.number > plan.at && call.what == Change::Sync).collect();
    assert!(later.is_empty(), "a success that proves nothing: {later:?}");
    println!("a sync failed: {tally:?}, the end came {:?} after the last answer", began.elapsed());
    check_recovery(&home, &mut witness, "a sync failed");
}

#[test]
fn while_the_disk_is_full_writes_are_refused_and_reads_go_on_and_then_it_recovers_by_itself() {
    needs!(Sqlite);
    for class in ["w", "wn"] {
        let home = DurabilityChecker::home();
        let mut witness = DurabilityChecker::of_seed(proof::seed("a full disk"));
        let full = home.at("full");
        let plan = Plan {
            class,
            at: 1,
            act: Act::Error(Errno::Enospc),
            while_there: Some(full.clone()),
            ..Plan::default()
        };
        let service = Service::start(&plan.on(&home));
        let pace = |n| Pace { n_clients: 4, n_answers: n, n_requests_max: n };
        let before = witness.load(&service, pace(100), || {});
        assert_eq!(before.n_unavailable, 0, "{before:?}");
        fs::write(&full, "").unwrap();
        let during = witness.load(&service, pace(100), || {});
        assert!(during.n_unavailable > 0 && during.n_granted > 0 && during.n_open == 0, "{during:?}");
        let unready = service.get("/readyz");
        assert_eq!(unready.status, 503, "{}", unready.text());
        assert!(unready.text().contains("\"commits\":\"failing: "), "{}", unready.text());
        service.until("the disk is not ready", || {
            service.get("/readyz").text().contains("\"disk\":\"failing: ")
        });
        assert_eq!(service.transaction("t-0").status, 200, "reads go on");
        assert_eq!(service.get("/instructions").status, 200, "reads go on");
        fs::remove_file(&full).unwrap();
        let began = Instant::now();
        let after = witness.load(&service, pace(100), || {});
        let took = began.elapsed();
        service.until("it is ready again", || service.get("/readyz").status == 200);
        assert_eq!((after.n_unavailable, after.n_open), (0, 0), "{after:?}");
        assert_eq!(service.stop().0.code(), Some(0));
        println!("full, `{class}`: before {before:?}, during {during:?}, after {after:?} in {took:?}");
        check_recovery(&home, &mut witness, "the disk was full");
    }
}
