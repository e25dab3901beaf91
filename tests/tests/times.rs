//! Callers who are not trusted with the time: how far their times may be from the clock, and which time windows use.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use tollgate_tests::{Home, Service, audit, sample};

/// A home with a rule that allows three payments of an account in an hour.
fn home(settings: &[(&str, &str)]) -> Home {
    let limit = sample::rule("limit", r#"count(when source == $current.source, "PT1H") >= 3"#);
    let mut home = Home::with_rules(&[("limit.ws", limit)]);
    settings.iter().for_each(|(name, value)| home.set(name, value));
    home
}

fn payment(id: &str, created_at: DateTime<Utc>) -> Value {
    let fields = json!({"source": "alice", "created_at": created_at.to_rfc3339()});
    sample::with(&sample::transaction(id), &fields)
}

/// Injects twelve payments of an account, each dated a second before the last, and returns how many pass.
fn n_passed_back_dated(service: &Service) -> usize {
    let now = Utc::now();
    let passes = |n: &i64| {
        let answer = service.inject(&payment(&format!("back-{n}"), now - TimeDelta::seconds(*n))).expect(200);
        answer["triggered"].as_array().unwrap().is_empty()
    };
    (0..12).filter(passes).count()
}

#[test]
fn by_default_callers_who_back_date_pass_a_limit() {
    let home = home(&[]);
    assert_eq!(n_passed_back_dated(&Service::start(&home)), 12);
}

#[test]
fn windows_by_arrival_hold_whatever_times_are_sent() {
    let home = home(&[("SERVICE_WINDOW_CLOCK", "arrival")]);
    let service = Service::start(&home);
    assert_eq!(n_passed_back_dated(&service), 3);
    let sent = payment("far", DateTime::UNIX_EPOCH);
    let judged = service.inject(&sent).expect(200);
    assert_eq!(judged["triggered"][0]["name"], "limit", "{judged}");
    assert_eq!(service.inject(&sent).expect(200), judged, "a retry of what was sent");
    let stored = service.client().transaction("far").json();
    assert_eq!(stored["created_at"], sent["created_at"], "the text is kept");
    service.kill();
    let service = Service::start(&home);
    let fourth = service.inject(&payment("after", Utc::now())).expect(200);
    assert_eq!(fourth["triggered"][0]["name"], "limit", "the times of arrival are stored: {fourth}");
    service.stop();
    audit::replay(&home).all_follow();
}

#[test]
fn times_beyond_the_tolerance_are_refused_unless_the_transaction_is_stored() {
    let open = home(&[]);
    let service = Service::start(&open);
    let old = payment("old", Utc::now() - TimeDelta::hours(2));
    let judged = service.inject(&old).expect(200);
    service.stop();
    let mut strict = open;
    strict.set("SERVICE_TIME_TOLERANCE", "PT5M");
    let service = Service::start(&strict);
    for (id, distance, accepted) in [("a", -4, true), ("b", -6, false), ("c", 4, true), ("d", 6, false)] {
        let answer = service.inject(&payment(id, Utc::now() + TimeDelta::minutes(distance)));
        assert_eq!(answer.status, if accepted { 200 } else { 400 }, "{id}: {}", answer.text());
        if !accepted {
            assert_eq!(answer.code(), "invalid_field");
            assert!(answer.text().contains("SERVICE_TIME_TOLERANCE"), "{}", answer.text());
        }
    }
    assert_eq!(service.inject(&sample::transaction("without a time")).status, 200);
    assert_eq!(service.inject(&old).expect(200), judged);
}

#[test]
fn times_beyond_the_tolerance_count_at_the_nearest_time_if_the_operator_says_so() {
    let home = home(&[("SERVICE_TIME_TOLERANCE", "PT5M"), ("SERVICE_TIME_BEYOND", "clamp")]);
    let service = Service::start(&home);
    for n in 0..3 {
        let early = payment(&format!("early-{n}"), Utc::now() - TimeDelta::days(30 * (1 + n)));
        assert!(service.inject(&early).expect(200)["triggered"].as_array().unwrap().is_empty());
    }
    let fourth = service.inject(&payment("now", Utc::now())).expect(200);
    assert_eq!(fourth["triggered"][0]["name"], "limit", "{fourth}");
    let metrics = service.get("/metrics").text();
    assert!(metrics.contains("tollgate_times_clamped_total 3"), "{metrics}");
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), 4);
}
