//! No memory is left: the service ends or refuses requests. No acknowledged transaction is lost, and none is
//! acknowledged without being stored.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use serde_json::json;
use tollgate_tests::durability::{Pace, Tally};
use tollgate_tests::faults::{Act, Errno, Plan, calls};
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::{DurabilityChecker, Home, Refusal, Service, log, needs, process, proof, sample};

use crate::crashes::sweep::{check_recovery, n_calls};

const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;
/// Number of requests in a process life.
const N_REQUESTS: usize = 20;
/// Address-space limits in bytes with which a start is tried.
const FEW: [u64; 3] = [64 << 20, 256 << 20, 8 << 30];
/// Remaining address space under load, in KiB.
const LEFT_KIB: [u64; 2] = [0, 4 << 10];

/// The end of a process life: exit code or signal, and whether the service had begun to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    code: Option<i32>,
    signal: Option<i32>,
    has_begun: bool,
}

impl End {
    fn from_status(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal(), has_begun: true }
    }

    /// Checks that the process stopped, failed with a message, or aborted for lack of memory. A segmentation fault is
    /// valid only in the allocator before the start.
    #[track_caller]
    fn check(self, when: &str) {
        let is_one = match (self.code, self.signal) {
            (Some(code), _) => [0, 1, 101].contains(&code),
            (None, Some(SIGSEGV)) => !self.has_begun,
            (None, signal) => signal == Some(SIGABRT),
        };
        assert!(is_one, "{when}: ended with {self:?}");
    }
}

/// Starts, serves one client, stops.
fn live(home: &Home, witness: &mut DurabilityChecker, n_requests: usize) -> (End, Tally) {
    match Service::try_start(home) {
        Err(Refusal { code, signal, log }) => {
            let has_begun = log.iter().any(|line| log::fields(line).is_some());
            (End { code, signal, has_begun }, Tally::default())
        }
        Ok(service) => {
            let pace = Pace { n_clients: 1, n_answers: n_requests, n_requests_max: n_requests };
            let tally = witness.load(&service, pace, || {});
            service.terminate();
            (End::from_status(service.wait().0), tally)
        }
    }
}

/// Counts the calls of a class during a start on an empty directory.
fn n_calls_of_start(class: &'static str) -> usize {
    let home = DurabilityChecker::home();
    let record = home.at("record");
    let plan = Plan { class, record: Some(record.clone()), ..Plan::default() };
    Service::start(&plan.on(&home)).kill();
    calls(&record).last().map_or(0, |call| call.number)
}

/// Returns call positions in a life: some during the start, most after it.
fn call_numbers(class: &'static str, seed: u64, n_sampled: usize) -> Vec<usize> {
    let mut dice = Dice::of_seed(seed);
    let (n_of_start, n_calls) = (n_calls_of_start(class), n_calls(class, seed, N_REQUESTS));
    println!("{n_calls} calls of `{class}` in a life, {n_of_start} in its start");
    let rest = n_calls.saturating_sub(n_of_start).max(1);
    let call_number = |number: usize| match number % 4 {
        0 => 1 + dice.below(n_of_start),
        _ => 1 + n_of_start + dice.below(rest),
    };
    proof::share(n_sampled).map(call_number).collect()
}

/// Makes every C allocation fail while this file exists.
fn without_memory_while(without: &Path) -> Plan {
    let act = Act::Error(Errno::Enomem);
    Plan { class: "a", at: 1, act, while_there: Some(without.to_owned()), ..Plan::default() }
}

#[track_caller]
fn check(class: &'static str, n_sampled: usize, until: impl Fn(&Home) -> Option<PathBuf>) {
    let seed = proof::seed("no memory at a call");
    let (mut tally, mut ends) = (Tally::default(), BTreeMap::<_, usize>::new());
    let call_numbers = call_numbers(class, seed, n_sampled);
    for &at in &call_numbers {
        let home = DurabilityChecker::home();
        let mut witness = DurabilityChecker::of_seed(seed);
        witness.starve();
        let while_there = until(&home);
        let when = format!("no memory at {at} ({class}, {while_there:?}), seed {seed}");
        let plan = Plan { class, at, act: Act::Error(Errno::Enomem), while_there, ..Plan::default() };
        let (end, answered) = live(&plan.on(&home), &mut witness, N_REQUESTS);
        end.check(&when);
        *ends.entry(end).or_default() += 1;
        tally = tally.and(answered);
        check_recovery(&home, &mut witness, &when);
    }
    println!("no memory at {} calls of `{class}`: ends {ends:?}, {tally:?}, 0 faults", call_numbers.len());
}

#[test]
fn without_memory_at_any_call_nothing_is_lost_or_promised_in_vain() {
    needs!(Sqlite);
    for class in ["m", "a"] {
        check(class, proof::rounds(4, 200), |_| None);
    }
}

#[test]
fn without_memory_from_any_call_on_nothing_is_lost_or_promised_in_vain() {
    needs!(Sqlite);
    for class in ["m", "a"] {
        // The rules directory always exists, so memory stays exhausted.
        check(class, proof::rounds(2, 100), |home| Some(home.rules()));
    }
}

#[test]
fn while_the_store_has_no_memory_writes_are_refused_and_then_it_recovers_or_it_ends() {
    needs!(Sqlite);
    let home = DurabilityChecker::home();
    let mut witness = DurabilityChecker::of_seed(proof::seed("a store without memory"));
    let without = home.at("without");
    let service = Service::start(&without_memory_while(&without).on(&home));
    let pace = |n| Pace { n_clients: 4, n_answers: n, n_requests_max: n };
    let before = witness.load(&service, pace(60), || {});
    assert_eq!((before.n_unavailable, before.n_open), (0, 0), "{before:?}");
    witness.starve();
    fs::write(&without, "").unwrap();
    let during = witness.load(&service, pace(40), || {});
    fs::remove_file(&without).unwrap();
    let after = witness.load(&service, pace(60), || service.terminate());
    let end = End::from_status(service.wait().0);
    end.check("the store had no memory");
    println!("the store without memory: before {before:?}, during {during:?}, after {after:?}, {end:?}");
    check_recovery(&home, &mut witness, "the store had no memory");
}

#[test]
fn a_stored_transaction_is_never_reported_missing_for_lack_of_memory() {
    let home = Home::new();
    let without = home.at("without");
    let service = Service::start(&without_memory_while(&without).on(&home));
    let text = json!({"meta_data": {"text": "x".repeat(600)}});
    assert_eq!(service.inject(&sample::with(&sample::transaction("there"), &text)).status, 200);
    // At this size the store uses preallocated memory and cached pages, so only the response lacks memory.
    assert!((0..8).all(|_| service.transaction("there").status == 200));
    fs::write(&without, "").unwrap();
    let answers = (0..8).map_while(|_| service.send("GET", "/transactions/there", &[], &[]).ok());
    let answers: Vec<u16> = answers.map(|answer| answer.status).collect();
    service.terminate();
    let end = End::from_status(service.wait().0);
    println!("asked for what it has no memory for: {answers:?}, {end:?}");
    assert!(answers.iter().all(|status| [200, 503].contains(status)), "{answers:?}");
    end.check("asked for what it has no memory for");
}

#[test]
fn when_memory_ends_under_load_it_dies_or_goes_on_and_loses_nothing() {
    needs!(Sqlite);
    for left_kib in LEFT_KIB {
        let home = DurabilityChecker::home();
        let mut witness = DurabilityChecker::of_seed(proof::seed("no memory under load"));
        let service = Service::start(&home);
        let pid = service.pid();
        let n = proof::rounds(200, 4_000);
        let pace = |n_clients, n| Pace { n_clients, n_answers: n, n_requests_max: n };
        let before = witness.load(&service, pace(4, 40), || {});
        assert_eq!((before.n_unavailable, before.n_open), (0, 0), "{before:?}");
        witness.starve();
        process::limit_memory(pid, (process::field(pid, "VmSize:") + left_kib) << 10);
        let during = witness.load(&service, pace(32, n), || {});
        // The process may be gone already; otherwise it ends now.
        drop(service);
        println!("{left_kib} KiB were left: before {before:?}, then {during:?}");
        check_recovery(&home, &mut witness, &format!("{left_kib} KiB were left"));
    }
}

#[test]
fn a_start_with_little_memory_ends_or_lives_and_loses_nothing() {
    needs!(Sqlite);
    let mut ends = BTreeMap::new();
    for bytes in FEW {
        let home = DurabilityChecker::home();
        let mut witness = DurabilityChecker::of_seed(proof::seed("little memory"));
        witness.starve();
        // Store something that could be lost.
        let (end, tally) = live(&home, &mut witness, 10);
        assert_eq!((end.code, tally.n_unavailable), (Some(0), 0));
        let plan = Plan { memory_bytes_max: Some(bytes), ..Plan::default() };
        let (end, _) = live(&plan.on(&home), &mut witness, 10);
        end.check(&format!("{bytes} bytes"));
        ends.insert(bytes >> 20, end);
        check_recovery(&home, &mut witness, &format!("{bytes} bytes"));
    }
    println!("starts with so many MiB of addresses ended with: {ends:?}");
}
