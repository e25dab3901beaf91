//! No file descriptors are left: accepted connections are served, operations that need a file are refused, and the
//! service recovers.

use std::collections::BTreeMap;

use tollgate_tests::durability::{Pace, Tally};
use tollgate_tests::faults::Plan;
use tollgate_tests::links::metric;
use tollgate_tests::wire::{Wire, exchange, request};
use tollgate_tests::{DurabilityChecker, Home, Service, modules, needs, process, proof, sample};

use crate::crashes::sweep::{check_recovery, live};

/// Open-file limits for a start, from too few to enough.
const FEW: [u64; 5] = [9, 18, 63, 64, 300];
/// Minimum limit for a start.
const FILES_MIN: u64 = 64;
/// Number of transactions committed without free descriptors.
const N_MEANWHILE: u64 = 20;

fn snapshots(service: &Service, outcome: &str) -> u64 {
    metric(service, &format!("tollgate_history_snapshots_total{{outcome=\"{outcome}\"}}"))
}

fn ask(service: &Service, path: &str) -> Vec<u8> {
    request(service.address(), &format!("GET {path}"), &[], b"")
}

#[test]
fn without_files_whoever_is_in_is_served_and_with_them_everybody_is_again() {
    needs!(Sqlite);
    let mut home = DurabilityChecker::home();
    home.set("SERVICE_SNAPSHOT_INTERVAL", "PT1S");
    let mut witness = DurabilityChecker::of_seed(proof::seed("no files"));
    let service = Service::start(&home);
    let durable = || metric(&service, "tollgate_history_transactions");
    let more = |n: u64| {
        let before = durable();
        service.until("more is durable", || durable() >= before + n);
    };
    let rounds = proof::rounds(1, 20);
    let pace = Pace { n_clients: 4, n_answers: 100, n_requests_max: 1_000_000 };
    let tally = witness.load(&service, pace, || {
        for _ in 0..rounds {
            let failed = snapshots(&service, "failed");
            let before = process::limit_files(service.pid(), 3);
            let mut outside = Wire::connect(service.address());
            assert!(outside.send(&ask(&service, "/healthz")));
            more(N_MEANWHILE);
            service.until("a snapshot failed", || snapshots(&service, "failed") > failed);
            for path in ["/healthz", "/readyz", "/instructions"] {
                assert_eq!(service.get(path).status, 200, "{path}");
            }
            let written = snapshots(&service, "written");
            process::limit_files(service.pid(), before);
            assert_eq!(outside.answer().map(|answer| answer.status), Some(200));
            service.until("a snapshot is written", || snapshots(&service, "written") > written);
            more(N_MEANWHILE);
        }
        service.terminate();
    });
    let (status, log) = service.wait();
    assert_eq!(status.code(), Some(0), "{}", log.join("\n"));
    assert_eq!(log.iter().find(|line| line.contains("panicked")), None);
    println!("{rounds} times without files under load: {tally:?}");
    check_recovery(&home, &mut witness, "there were no files");
}

#[test]
fn an_operation_that_needs_a_file_is_refused_until_files_are_available() {
    let service = Service::start(&Home::new());
    assert_eq!(service.inject(&sample::transaction("before")).status, 200);
    let before = process::limit_files(service.pid(), 3);
    // An untrusted module is compiled in a separate process, which requires pipes; a script is not.
    let refused = service.upload("", &modules::rule("large", 5));
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "compiler_unavailable"),
        "{}",
        refused.text()
    );
    assert_eq!(service.inject(&sample::transaction("meanwhile")).status, 200);
    assert_eq!(service.save(&sample::rule("small", "amount < 5")).status, 201);
    assert_eq!(service.transaction("before").status, 200);
    process::limit_files(service.pid(), before);
    assert_eq!(service.upload("", &modules::rule("large", 5)).status, 201);
    let (status, log) = service.stop();
    assert_eq!(status.code(), Some(0));
    assert_eq!(log.iter().find(|line| line.contains("panicked")), None);
}

#[test]
fn a_start_with_few_files_ends_with_a_word_or_lives_and_keeps_a_reserve() {
    needs!(Sqlite);
    let mut ends = BTreeMap::new();
    for files_max in FEW {
        let home = DurabilityChecker::home();
        let mut witness = DurabilityChecker::of_seed(proof::seed("few files"));
        let plan = Plan { files_max: Some(files_max), ..Plan::default() };
        let (code, tally) = live(&plan.on(&home), &mut witness, 10);
        assert_eq!(tally.n_unavailable, 0, "{files_max} files");
        assert_eq!(code, Some(i32::from(files_max < FILES_MIN)), "{files_max} files");
        ends.insert(files_max, code);
        check_recovery(&home, &mut witness, &format!("{files_max} files"));
    }
    println!("starts with so many files ended with: {ends:?}");
}

#[test]
fn connections_never_take_the_files_that_the_rest_needs() {
    needs!(Sqlite);
    const N_CROWD: usize = 400;
    process::allow_files(N_CROWD as u64 + 500);
    let home = DurabilityChecker::home();
    let plan = Plan { files_max: Some(300), ..Plan::default() };
    let mut witness = DurabilityChecker::of_seed(proof::seed("a reserve of files"));
    let service = Service::start(&plan.on(&home));
    let pace = Pace { n_clients: 4, n_answers: 40, n_requests_max: 40 };
    let mut tally = witness.load(&service, pace, || {});
    let crowd: Vec<Wire> = (0..N_CROWD).map(|_| Wire::connect(service.address())).collect();
    for path in ["/healthz", "/readyz", "/metrics"] {
        service.until("the crowd is turned away", || {
            exchange(service.address(), &ask(&service, path)).is_some_and(|answer| answer.status == 200)
        });
    }
    // Accepted operations get the files they need: a compiler process, a snapshot, the store.
    let turned_away = metric(&service, "tollgate_connections_refused_total{reason=\"full\"}");
    let out_of_files = metric(&service, "tollgate_connections_refused_total{reason=\"files\"}");
    assert!(turned_away > 0 && out_of_files == 0, "{turned_away} turned away, {out_of_files} without a file");
    drop(crowd);
    service.until("there are seats again", || {
        exchange(service.address(), &ask(&service, "/instructions"))
            .is_some_and(|answer| answer.status == 200)
    });
    tally = Tally::and(tally, witness.load(&service, pace, || service.terminate()));
    assert_eq!(service.wait().0.code(), Some(0));
    println!("{N_CROWD} connections where 300 files may be open: {turned_away} turned away, {tally:?}");
    witness.check(&home.data(), "a crowd, and few files");
}
