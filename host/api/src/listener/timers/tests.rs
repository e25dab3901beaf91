//! Tests of connection limits: which limit expires, and when.

use super::*;

const LIMITS: ConnectionLimits = ConnectionLimits {
    head: Duration::from_secs(5),
    body: Duration::from_secs(10),
    write: Duration::from_secs(20),
    idle: Duration::from_secs(60),
    age: Duration::from_secs(600),
};

/// Checks which limit has expired after `seconds` without traffic.
#[track_caller]
fn check(timers: &ConnectionTimers, seconds: u64, expected: Option<ExpiredLimit>) {
    let now = Instant::now() + Duration::from_secs(seconds);
    assert_eq!(timers.overdue(now), expected, "after {seconds} s");
    assert_eq!(timers.deadline().is_some_and(|deadline| deadline <= now), expected.is_some());
}

#[test]
fn a_silent_client_times_out_like_a_slow_head() {
    let timers = ConnectionTimers::new(LIMITS);
    check(&timers, 4, None);
    check(&timers, 5, Some(ExpiredLimit::Head { has_begun: false }));
}

#[test]
fn a_head_in_pieces_gets_no_more_time_for_each() {
    let timers = ConnectionTimers::new(LIMITS);
    let began = timers.deadline();
    for _ in 0..3 {
        timers.note_received();
    }
    assert_eq!(timers.deadline(), began);
    check(&timers, 5, Some(ExpiredLimit::Head { has_begun: true }));
}

#[test]
fn a_body_has_its_time_and_a_late_one_a_while_for_its_refusal() {
    let timers = ConnectionTimers::new(LIMITS);
    timers.request_with_body();
    check(&timers, 9, None);
    timers.note_received();
    check(&timers, 10, Some(ExpiredLimit::Body));
    timers.set_deferred();
    assert!(timers.is_body_late());
    check(&timers, 1, Some(ExpiredLimit::BodyForGood));
    timers.body_ended();
    check(&timers, 100, None);
}

#[test]
fn a_client_that_waits_for_its_answer_is_not_idle() {
    let timers = ConnectionTimers::new(LIMITS);
    timers.request_without_body();
    check(&timers, 599, None);
    timers.answered();
    check(&timers, 59, None);
    check(&timers, 60, Some(ExpiredLimit::Idle));
    timers.note_received();
    check(&timers, 5, Some(ExpiredLimit::Head { has_begun: true }));
}

#[test]
fn the_rest_of_a_refused_body_begins_no_request() {
    let timers = ConnectionTimers::new(LIMITS);
    timers.request_with_body();
    timers.answered();
    timers.note_received();
    check(&timers, 59, None);
    timers.body_ended();
    timers.note_received();
    check(&timers, 5, Some(ExpiredLimit::Head { has_begun: true }));
}

#[test]
fn an_answer_is_taken_in_good_pieces_or_not_at_all() {
    let timers = ConnectionTimers::new(LIMITS);
    timers.request_without_body();
    timers.taken(0);
    timers.answered();
    check(&timers, 20, Some(ExpiredLimit::Write));
    let waiting_since = timers.deadline();
    timers.taken(TAKEN_BYTES_MIN - 1);
    assert_eq!(timers.deadline(), waiting_since, "one byte is missing");
    timers.taken(1);
    assert!(timers.deadline() > waiting_since);
    timers.taken_whole();
    check(&timers, 20, None);
}

#[test]
fn an_old_connection_is_closed_with_an_answer_or_when_it_is_quiet() {
    let old = ConnectionLimits { age: Duration::ZERO, ..LIMITS };
    let timers = ConnectionTimers::new(old);
    timers.request_without_body();
    check(&timers, 6000, None);
    timers.answered();
    check(&timers, 4, None);
    check(&timers, 5, Some(ExpiredLimit::Age));
    timers.request_without_body();
    assert!(!timers.is_old() && timers.grow_old() && timers.is_old());
    timers.answered();
    check(&timers, 59, None);
    check(&timers, 60, Some(ExpiredLimit::Idle));
    // A client that is still reading the response is not quiet.
    let taking = ConnectionTimers::new(old);
    taking.request_without_body();
    taking.taken(0);
    taking.answered();
    check(&taking, 19, None);
    check(&taking, 20, Some(ExpiredLimit::Write));
    taking.taken_whole();
    check(&taking, 4, None);
    check(&taking, 5, Some(ExpiredLimit::Age));
    let young = ConnectionTimers::new(LIMITS);
    assert!(!young.grow_old() && !young.is_old());
}

#[test]
fn the_last_request_of_a_service_that_stops_does_not_make_a_connection_old() {
    let timers = ConnectionTimers::new(ConnectionLimits { age: Duration::ZERO, ..LIMITS });
    timers.set_last();
    assert!(!timers.grow_old() && !timers.is_old());
}
