//! Missing, empty or invalid sources of rules: the service is not ready or keeps its rules, and names the source.

use std::fs;

use tollgate_tests::{Home, Service, log, sample};

fn readiness(service: &Service) -> (u16, String) {
    let answer = service.get("/readyz");
    (answer.status, answer.at("/checks").to_string())
}

#[track_caller]
fn check(service: &Service, status: u16, words: &str) {
    let (found, checks) = readiness(service);
    assert_eq!(found, status, "{checks}");
    assert!(checks.contains(words), "no `{words}` in {checks}");
}

#[test]
fn a_rules_directory_that_was_named_has_to_be_read_once_before_the_service_is_ready() {
    let mut home = Home::new();
    fs::remove_dir(home.rules()).unwrap();
    let service = Service::listen(&home);
    check(&service, 503, "\"rules_directory\":\"failing: the rules directory `");
    check(&service, 503, "set WATCH_SCRIPT_DIR");
    assert!(service.get("/metrics").text().contains("tollgate_readiness_check{check=\"rules_directory\"} 2"));
    fs::create_dir(home.at("next")).unwrap();
    fs::write(home.at("next/a.ws"), sample::rule("a", "amount > 1")).unwrap();
    fs::rename(home.at("next"), home.rules()).unwrap();
    service.until("it is read", || readiness(&service).0 == 200);
    check(&service, 200, "\"rules_directory\":\"ok\"");
    assert_eq!(
        service.inject(&sample::transaction("t0")).triggered(),
        ["a"],
        "not ready before its rules are in force"
    );
    service.kill();

    // Its rules stay in force if the directory is missing at the next start.
    fs::remove_dir_all(home.rules()).unwrap();
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a"]);
    check(&service, 200, "\"rules_directory\":\"degraded: ");
    service.kill();

    // The directory is optional if the operator says so.
    fs::remove_dir_all(home.data()).unwrap();
    fs::create_dir(home.data()).unwrap();
    home.set("SERVICE_SOURCES_OPTIONAL", "true");
    let service = Service::start(&home);
    check(&service, 200, "SERVICE_SOURCES_OPTIONAL");
}

#[test]
fn fewer_rules_than_required_are_not_ready_and_no_change_of_files_goes_below() {
    let mut home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1"))]);
    home.set("SERVICE_RULES_REQUIRED", "2");
    let service = Service::listen(&home);
    check(&service, 503, "failing: 1 rules are in force, and SERVICE_RULES_REQUIRED asks for 2");
    home.write_rule("b.ws", sample::rule("b", "amount > 1"));
    service.until("there are enough", || readiness(&service).0 == 200);
    check(&service, 200, "\"rules\":\"ok\"");

    // An unmounted or wrong volume: the whole change is held back.
    fs::rename(home.rules(), home.at("aside")).unwrap();
    fs::create_dir(home.rules()).unwrap();
    home.write_rule("c.ws", sample::rule("c", "amount > 1"));
    service.until("it is held back", || readiness(&service).1.contains("is held back"));
    check(&service, 200, "\"rules\":\"degraded: a change of the rules directory is held back");
    assert_eq!(service.inject(&sample::transaction("t1")).triggered(), ["a", "b"]);
    assert!(service.get("/metrics").text().contains("tollgate_readiness_check{check=\"rules\"} 1"));
    service.kill();

    // The same at a start.
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t2")).triggered(), ["a", "b"]);
    check(&service, 200, "is held back");
    home.write_rule("d.ws", sample::rule("d", "amount > 1"));
    service.until("there are enough again", || {
        service.inject(&serde_json::json!({"amount": 10, "currency": "EUR", "reference": "r"})).triggered()
            == ["c", "d"]
    });
    check(&service, 200, "\"rules\":\"ok\"");
}

#[test]
fn a_start_without_any_rule_says_so() {
    let service = Service::start(&Home::new());
    let (_, lines) = service.stop();
    let said = lines.iter().find(|line| log::message(line).starts_with("no rule is in force"));
    assert!(said.is_some_and(|line| line.contains("\"WARN\"")), "{}", lines.join("\n"));
}
