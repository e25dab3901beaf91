//! Which limit a connection comes to, after what.

use super::*;

const LIMITS: ConnectionLimits = ConnectionLimits {
    head: Duration::from_secs(5),
    body: Duration::from_secs(10),
    write: Duration::from_secs(20),
    idle: Duration::from_secs(60),
    age: Duration::from_secs(600),
};

/// Looked at after so many seconds without anything.
#[track_caller]
fn check(pulse: &Pulse, seconds: u64, expected: Option<Overdue>) {
    let now = Instant::now() + Duration::from_secs(seconds);
    assert_eq!(pulse.overdue(now), expected, "after {seconds} s");
    assert_eq!(pulse.deadline().is_some_and(|deadline| deadline <= now), expected.is_some());
}

#[test]
fn who_says_nothing_has_the_time_of_a_head() {
    let pulse = Pulse::new(LIMITS);
    check(&pulse, 4, None);
    check(&pulse, 5, Some(Overdue::Head { has_begun: false }));
}

#[test]
fn a_head_in_pieces_gets_no_more_time_for_each() {
    let pulse = Pulse::new(LIMITS);
    let began = pulse.deadline();
    for _ in 0..3 {
        pulse.heard();
    }
    assert_eq!(pulse.deadline(), began);
    check(&pulse, 5, Some(Overdue::Head { has_begun: true }));
}

#[test]
fn a_body_has_its_time_and_a_while_to_be_told_that_it_is_over() {
    let pulse = Pulse::new(LIMITS);
    pulse.request_with_body();
    check(&pulse, 9, None);
    pulse.heard();
    check(&pulse, 10, Some(Overdue::Body));
    pulse.set_late();
    assert!(pulse.is_body_late());
    check(&pulse, 1, Some(Overdue::BodyForGood));
    pulse.body_ended();
    check(&pulse, 100, None);
}

#[test]
fn whoever_has_asked_may_wait_for_the_answer() {
    let pulse = Pulse::new(LIMITS);
    pulse.request_without_body();
    check(&pulse, 599, None);
    pulse.answered();
    check(&pulse, 59, None);
    check(&pulse, 60, Some(Overdue::Idle));
    pulse.heard();
    check(&pulse, 5, Some(Overdue::Head { has_begun: true }));
}

#[test]
fn the_rest_of_a_refused_body_begins_no_request() {
    let pulse = Pulse::new(LIMITS);
    pulse.request_with_body();
    pulse.answered();
    pulse.heard();
    check(&pulse, 59, None);
    pulse.body_ended();
    pulse.heard();
    check(&pulse, 5, Some(Overdue::Head { has_begun: true }));
}

#[test]
fn an_answer_is_taken_in_good_pieces_or_not_at_all() {
    let pulse = Pulse::new(LIMITS);
    pulse.request_without_body();
    pulse.taken(0);
    pulse.answered();
    check(&pulse, 20, Some(Overdue::Write));
    let waiting_since = pulse.deadline();
    pulse.taken(TAKEN_BYTES_MIN - 1);
    assert_eq!(pulse.deadline(), waiting_since, "one byte is missing");
    pulse.taken(1);
    assert!(pulse.deadline() > waiting_since);
    pulse.taken_whole();
    check(&pulse, 20, None);
}

#[test]
fn an_old_connection_is_told_with_an_answer_or_closed_when_it_is_quiet() {
    let old = ConnectionLimits { age: Duration::ZERO, ..LIMITS };
    let pulse = Pulse::new(old);
    pulse.request_without_body();
    check(&pulse, 6000, None);
    pulse.answered();
    check(&pulse, 4, None);
    check(&pulse, 5, Some(Overdue::Age));
    pulse.request_without_body();
    assert!(!pulse.is_old() && pulse.grow_old() && pulse.is_old());
    pulse.answered();
    check(&pulse, 59, None);
    check(&pulse, 60, Some(Overdue::Idle));
    // Who is still taking the answer is not quiet.
    let taking = Pulse::new(old);
    taking.request_without_body();
    taking.taken(0);
    taking.answered();
    check(&taking, 19, None);
    check(&taking, 20, Some(Overdue::Write));
    taking.taken_whole();
    check(&taking, 4, None);
    check(&taking, 5, Some(Overdue::Age));
    let young = Pulse::new(LIMITS);
    assert!(!young.grow_old() && !young.is_old());
}

#[test]
fn the_last_request_of_a_service_that_stops_does_not_make_a_connection_old() {
    let pulse = Pulse::new(ConnectionLimits { age: Duration::ZERO, ..LIMITS });
    pulse.set_last();
    assert!(!pulse.grow_old() && !pulse.is_old());
}
