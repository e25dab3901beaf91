//! A wall clock that is set back, by libfaketime: no payment escapes a count, or it is held for review.

use std::fs::File;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use tollgate_tests::programs::{Program, require};
use tollgate_tests::{Home, Service, audit, needs, sample};

const BEGIN: &str = "2026-10-15T12:00:00Z";

/// A home whose clock is set by the test and stands still in between. The monotonic clock goes on.
struct Clock {
    home: Home,
    file: PathBuf,
}

impl Clock {
    fn with_rule(condition: &str) -> Self {
        require(Program::LibFaketime);
        let library = format!("/usr/lib/{}-linux-gnu/faketime/libfaketime.so.1", std::env::consts::ARCH);
        let mut home = Home::with_rules(&[("few.ws", sample::rule("few", condition))]);
        let file = home.at("clock");
        drop(File::create(&file).unwrap());
        for (name, value) in [
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME", "%"),
            ("FAKETIME_FOLLOW_FILE", file.to_str().unwrap()),
            ("FAKETIME_FOLLOW_ABSOLUTE", "1"),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ] {
            home.set(name, value);
        }
        let clock = Self { home, file };
        clock.set(TimeDelta::zero());
        clock
    }

    /// Sets the clock to this time after the begin.
    fn set(&self, after: TimeDelta) {
        let time = BEGIN.parse::<DateTime<Utc>>().unwrap() + after;
        File::options().write(true).open(&self.file).unwrap().set_modified(time.into()).unwrap();
    }
}

fn readiness(service: &Service) -> (u16, String) {
    let answer = service.get("/readyz");
    (answer.status, answer.at("/checks/clock").as_str().unwrap().to_owned())
}

#[track_caller]
fn judge(service: &Service, id: &str) -> Value {
    service
        .inject_admitted(
            &json!({"transaction_id": id, "amount": 10, "currency": "EUR", "reference": "r", "source": "s"}),
        )
        .expect(200)
}

fn held() -> Value {
    json!([{"instruction_id": 0, "name": "clock", "failure": "clock"}])
}

/// Three payments an hour may pass, whatever the clock does.
#[track_caller]
fn check_waited_for(fall: TimeDelta) {
    let clock = Clock::with_rule(r#"count(when source == $current.source, "PT1H") >= 3"#);
    let service = Service::start(&clock.home);
    for id in ["t1", "t2", "t3"] {
        assert_eq!(judge(&service, id)["verdict"], "approve");
    }
    clock.set(-fall);
    assert_eq!(judge(&service, "t4")["triggered"][0]["name"], "few", "the clock is set back by {fall}");
    service.until("readiness says so", || readiness(&service).1.starts_with("degraded: the clock is "));
    let stamp = |id: &str| -> DateTime<Utc> {
        service.transaction(id).at("/created_at").as_str().unwrap().parse().unwrap()
    };
    let ahead = stamp("t4") - stamp("t3");
    assert!(ahead >= TimeDelta::zero() && ahead < TimeDelta::minutes(10), "{ahead}");
    service.kill();
    let service = Service::start(&clock.home);
    assert_eq!(judge(&service, "t5")["triggered"][0]["name"], "few", "after a start");
    service.until("readiness says so", || readiness(&service).1.starts_with("degraded: the clock is "));
    clock.set(TimeDelta::hours(3));
    service.until("the clock has caught up", || readiness(&service) == (200, "ok".to_owned()));
    assert_eq!(judge(&service, "t6")["verdict"], "approve");
    assert_eq!(audit::replay(&clock.home).all_follow(), 6);
}

#[test]
fn a_clock_that_is_set_back_is_waited_for() {
    needs!(LibFaketime);
    check_waited_for(TimeDelta::minutes(6));
    check_waited_for(TimeDelta::hours(25));
}

#[test]
fn payments_are_held_for_the_longest_window_after_a_greater_fall() {
    needs!(LibFaketime);
    let clock = Clock::with_rule(r#"count(when source == $current.source, "PT1H") >= 9"#);
    let service = Service::start(&clock.home);
    assert_eq!(judge(&service, "t1")["verdict"], "approve");
    clock.set(TimeDelta::hours(-27));
    let judged = judge(&service, "t2");
    assert_eq!((&judged["verdict"], &judged["failures"]), (&json!("review"), &held()), "{judged}");
    let (status, said) = readiness(&service);
    assert_eq!(status, 200, "{said}");
    service.until("readiness says so", || readiness(&service).1.contains("more than 26 hours"));
    service.kill();
    clock.set(TimeDelta::hours(-27) + TimeDelta::minutes(59));
    let service = Service::start(&clock.home);
    assert_eq!(judge(&service, "t3")["failures"], held());
    service.kill();
    // A clock that was put right does not tell how long ago it fell.
    clock.set(TimeDelta::zero());
    let service = Service::start(&clock.home);
    assert_eq!(judge(&service, "t4")["failures"], held());
    assert_eq!(audit::replay(&clock.home).all_follow(), 4);
}

#[test]
fn a_hold_for_the_clock_ends_by_the_monotonic_clock() {
    needs!(LibFaketime);
    let clock = Clock::with_rule(r#"count(when source == $current.source, "PT3S") >= 9"#);
    let service = Service::start(&clock.home);
    assert_eq!(judge(&service, "t1")["verdict"], "approve");
    clock.set(TimeDelta::days(-3));
    assert_eq!(judge(&service, "t2")["failures"], held());
    service.until("readiness says so", || readiness(&service).1.contains("more than 26 hours"));
    service.until("the hold ends", || readiness(&service) == (200, "ok".to_owned()));
    let (_, n_sent) = service.inject_until_approved("t3");
    assert_eq!(audit::replay(&clock.home).all_follow(), 2 + n_sent as u64);
}

#[test]
fn without_a_window_no_payment_is_held_for_the_clock() {
    needs!(LibFaketime);
    let clock = Clock::with_rule("amount > 1000");
    let service = Service::start(&clock.home);
    assert_eq!(judge(&service, "t1")["verdict"], "approve");
    clock.set(TimeDelta::days(-3));
    assert_eq!(judge(&service, "t2")["verdict"], "approve");
}
