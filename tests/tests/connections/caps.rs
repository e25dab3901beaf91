//! More clients than connection slots.

use std::time::{Duration, Instant};

use tollgate_tests::poll::PATIENCE;
use tollgate_tests::wire::{Wire, exchange};
use tollgate_tests::{Answer, Home, Service, process, proof, sample};

use super::{get, inject, number};

/// Number of extra connections accepted for a single health request each.
const HEALTH_SLOTS: usize = 32;

/// Opens connections with an answered request until one is refused. Returns the accepted connections and the refusal.
#[track_caller]
fn fill(service: &Service, n_max: usize) -> (Vec<Wire>, Answer) {
    let request = get(service, "/instructions");
    let mut seated = Vec::new();
    for _ in 0..=n_max {
        let mut wire = Wire::connect(service.address());
        wire.send(&request);
        let answer = wire.answer().expect("an answer, if only a refusal");
        if answer.status == 503 {
            return (seated, answer);
        }
        assert_eq!(answer.status, 200);
        seated.push(wire);
    }
    panic!("{n_max} connections and one more are open");
}

#[track_caller]
fn check_refused(answer: &Answer) {
    assert_eq!((answer.status, answer.code().as_str()), (503, "overloaded"), "{}", answer.text());
    assert_eq!((answer.header("retry-after"), answer.header("connection")), (Some("1"), Some("close")));
}

/// Sends a request on a new connection. Returns the response and its latency.
#[track_caller]
fn timed(service: &Service, request: &[u8]) -> (Answer, Duration) {
    let start = Instant::now();
    let answer = exchange(service.address(), request).expect("an answer");
    (answer, start.elapsed())
}

#[test]
fn one_client_too_many_is_refused_and_health_is_still_answered() {
    let _alone = super::alone();
    let n_max = proof::rounds(40, 10_000);
    process::allow_files(n_max as u64 + 2_000);
    let mut home = Home::new();
    home.set("SERVICE_CONNECTIONS_MAX", &n_max.to_string());
    let service = Service::start(&home);
    let (before_kib, _) = process::resident_kib(service.pid());
    let (mut seated, refusal) = fill(&service, n_max);
    let grown_kib = process::resident_kib(service.pid()).0.saturating_sub(before_kib);
    println!("{} idle connections: {grown_kib} KiB of memory", seated.len());
    // Some slots belong to the harness's own client.
    assert!((n_max - 8..=n_max).contains(&seated.len()), "{} of {n_max} are seated", seated.len());
    check_refused(&refusal);
    let transaction = sample::transaction("late");
    for path in ["/healthz", "/readyz", "/metrics"] {
        let (answer, time) = timed(&service, &get(&service, path));
        println!("{path} beside {} connections: {time:?}", seated.len());
        assert_eq!(answer.status, 200, "{path}");
        assert!(time < Duration::from_secs(5), "{path}: {time:?}");
    }
    let (answer, time) = timed(&service, &inject(&service, &transaction));
    println!("one transaction too many is refused after {time:?}");
    check_refused(&answer);
    assert_eq!(service.transaction("late").status, 404);

    seated.pop();
    service.until("a seat is free", || timed(&service, &inject(&service, &transaction)).0.status == 200);
}

#[test]
fn silent_connections_do_not_block_health_checks() {
    let mut home = Home::new();
    home.set("SERVICE_CONNECTIONS_MAX", "20");
    let service = Service::start(&home);
    let (_seated, _) = fill(&service, 20);
    // Without a request, a connection without a slot is refused at once. One with a slot is closed after a while, so on
    // a slow machine the first may make room for the last.
    let refusal = (0..10).find_map(|_| {
        let mut silent: Vec<Wire> = (0..HEALTH_SLOTS + 1).map(|_| Wire::connect(service.address())).collect();
        silent.pop()?.answer()
    });
    check_refused(&refusal.expect("one of more silent connections than there are places is refused"));
    service.until("they were sent away", || {
        exchange(service.address(), &get(&service, "/readyz")).is_some_and(|answer| answer.status == 200)
    });
    assert!(number(&service, "tollgate_connections_refused_total{reason=\"full\"}") >= 1);
}

#[test]
fn one_address_has_its_share() {
    let mut home = Home::new();
    home.set("SERVICE_CONNECTIONS_PER_ADDRESS", "20");
    let service = Service::start(&home);
    let (mut seated, refusal) = fill(&service, 20);
    check_refused(&refusal);
    check_refused(&timed(&service, &get(&service, "/healthz")).0);
    seated.truncate(4);
    let mut answered = seated.pop().unwrap();
    answered.send(&get(&service, "/metrics"));
    let page = answered.answer().unwrap().text();
    let refused = "tollgate_connections_refused_total{reason=\"address\"} 2";
    assert!(page.contains(refused), "{page}");
}

#[test]
fn a_system_without_files_stops_nobody_who_is_in_and_is_asked_again_in_peace() {
    let service = Service::start(&Home::new());
    let mut seated = Wire::connect(service.address());
    let request = get(&service, "/healthz");
    assert!(seated.send(&request) && seated.answer().is_some());
    let before = process::limit_files(service.pid(), 3);
    let start = Instant::now();
    let mut waiting = Wire::connect(service.address());
    waiting.send(&request);
    let said = service
        .log()
        .wait_for(PATIENCE, |line| line.contains("cannot accept client connections").then_some(()));
    said.expect("the log says so");
    for _ in 0..100 {
        assert!(seated.send(&request) && seated.answer().is_some_and(|answer| answer.status == 200));
    }
    process::limit_files(service.pid(), before);
    assert_eq!(waiting.answer().expect("an answer in the end").status, 200);
    let n_asked = number(&service, "tollgate_connections_refused_total{reason=\"files\"}");
    let n_most = start.elapsed().as_millis() / 50 + 1;
    assert!(u128::from(n_asked) <= n_most, "asked {n_asked} times, at most {n_most} are calm");
}

#[test]
fn more_connections_than_files_are_refused_as_a_setting() {
    let mut home = Home::new();
    home.set("SERVICE_CONNECTIONS_MAX", "1000000");
    let Err(refusal) = Service::try_start(&home) else {
        // If a million files may be open, nothing is refused.
        return;
    };
    assert_eq!(refusal.code, Some(1));
    let log = refusal.log.join("\n");
    assert!(log.contains("SERVICE_CONNECTIONS_MAX"), "{log}");
}
