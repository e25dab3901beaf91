//! The cost of a rule is estimated when it is saved, and a rule that costs too much never comes into force.

use std::thread;

use serde_json::{Map, Value, json};
use tollgate_tests::links::metric;
use tollgate_tests::{Client, Home, Service, repository, sample};

/// Payments stored, half of them by one account.
const N_STORED: usize = 4_000;
const N_CLIENTS: usize = 8;
/// Questions of one rule.
const N_QUESTIONS: usize = 16;

fn home(grant: &str) -> Home {
    let mut home = Home::with_rules(&[(
        "a.ws",
        sample::rule("of_file", r#"count(when source == $current.source, "P1D") > 1000000"#),
    )]);
    let policy = format!(r#"{{ "grants": [{{ "source": "file" }}, {grant}] }}"#);
    std::fs::write(home.at("policy.json"), policy).unwrap();
    let policy = home.at("policy.json");
    home.set("SERVICE_RULE_POLICY", policy.to_str().unwrap());
    home
}

/// Stores payments, in parallel; each must be accepted.
fn pay(service: &Service, name: &str, n_payments: usize) {
    thread::scope(|scope| {
        for at in 0..N_CLIENTS {
            let client = service.client();
            scope.spawn(move || (0..n_payments / N_CLIENTS).for_each(|n| pay_once(&client, name, at, n)));
        }
    });
}

fn pay_once(client: &Client, name: &str, at: usize, n: usize) {
    let source = if n.is_multiple_of(2) { "hub".to_owned() } else { format!("acc-{}", n % 500) };
    let metadata =
        json!({"device": format!("{name}-{at}-{n}"), "order": {"id": format!("o-{name}-{at}-{n}")}});
    let fields = json!({"source": source, "amount": n % 1_000, "meta_data": metadata});
    let sent = sample::with(&sample::transaction(&format!("{name}-{at}-{n}")), &fields);
    assert_eq!(client.inject(&sent).expect(200)["verdict"], "approve");
}

/// A rule that compares every past payment with the current one.
fn scan(name: &str) -> String {
    sample::rule(name, r#"count(when amount > $current.amount, "P300D") > 1000000"#)
}

/// A rule whose questions need a series each, with a key that is different for every payment.
fn many_series(name: &str) -> String {
    let fields = ["transaction_id", "metadata.device", "metadata.order.id"];
    let also = ["currency", "source", "destination", "reference", "amount"];
    let keys = fields.iter().flat_map(|field| also.iter().map(move |other| (*field, *other)));
    let asked = keys.take(N_QUESTIONS).map(|(field, other)| {
        format!(r#"count(when {field} == $current.{field} and {other} == $current.{other}, "P30D") > 1000"#)
    });
    sample::rule(name, &asked.collect::<Vec<_>>().join(" and "))
}

#[track_caller]
fn check_refused(service: &Service, script: &str, words: &str) -> Value {
    let refused = service.save(script);
    assert_eq!((refused.status, refused.code().as_str()), (403, "too_expensive"), "{}", refused.text());
    assert!(refused.text().contains(words), "{}", refused.text());
    refused.at("/estimate")
}

#[test]
fn a_scan_is_refused_once_it_costs_too_much_and_only_then() {
    let home = home(r#"{ "source": "api", "profile": "untrusted" }"#);
    let service = Service::start(&home);
    let saved = service.save(&scan("early")).expect(201);
    assert_eq!((&saved["status"], &saved["estimate"]["transactions"]), (&json!("active"), &json!(0)));
    assert_eq!(service.delete(&format!("/instructions/{}", saved["id"])).status, 204);
    pay(&service, "p", N_STORED);
    let estimate = check_refused(&service, &scan("late"), "may use 100000");
    let fuel = estimate["fuel"].as_u64().unwrap();
    assert!((100_000..1_000_000).contains(&fuel), "{estimate}");
    assert_eq!(estimate["transactions"], json!(N_STORED));
    // Which fields a filter compares does not matter, only what it costs.
    let cheap = sample::rule("cheap", r#"count(when amount > 5000, "P300D") > 10"#);
    let saved = service.save(&cheap).expect(201);
    assert!(saved["estimate"]["fuel"].as_u64().unwrap() < 1_000, "{saved}");
    assert!(saved["estimate"]["history_bytes"].as_u64().unwrap() < 1_000, "{saved}");
    // A rule without questions has no estimate.
    assert_eq!(service.save(&sample::rule("plain", "amount > 1")).expect(201)["estimate"], Value::Null);
    assert_eq!(service.get("/instructions").expect(200).as_array().unwrap().len(), 3);
}

#[test]
fn check_shows_what_the_save_will_answer() {
    let home = home(r#"{ "source": "api" }"#);
    let service = Service::start(&home);
    pay(&service, "p", N_STORED / 4);
    let script = scan("scanning");
    let saved = service.save(&script).expect(201)["estimate"].clone();
    std::fs::write(home.at("scanning.ws"), script).unwrap();
    let (data, file) = (home.data().display().to_string(), home.at("scanning.ws").display().to_string());
    let checked = home.command(&["check", "--stored", &data, &file]).output().unwrap();
    let printed = String::from_utf8(checked.stderr).unwrap();
    let expected = format!(
        "estimate with {} stored transactions: {} units of fuel",
        saved["transactions"], saved["fuel"]
    );
    assert!(checked.status.success() && printed.contains(&expected), "{printed}\n{expected}");
    let missing = home.command(&["check", "--stored", "/nowhere", &file]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
}

#[test]
fn check_reads_the_status_words_of_the_service() {
    let mut home = home(r#"{ "source": "api" }"#);
    std::fs::write(home.at("words"), "gebucht = settled\n").unwrap();
    home.set("SERVICE_STATUS_WORDS", &home.at("words").display().to_string());
    let service = Service::start(&home);
    for n in 0..200 {
        let fields = json!({"amount": n, "status": "gebucht"});
        let sent = sample::with(&sample::transaction(&format!("p-{n}")), &fields);
        assert_eq!(service.inject(&sent).status, 200);
    }
    let condition = r#"count(when stage == "settled" and amount > $current.amount, "P300D") > 1000000"#;
    let script = sample::rule("settled", condition);
    let saved = service.save(&script).expect(201)["estimate"].clone();
    std::fs::write(home.at("settled.ws"), script).unwrap();
    let (data, file) = (home.data().display().to_string(), home.at("settled.ws").display().to_string());
    let printed = |has_words: bool| {
        let mut command = home.command(&["check", "--stored", &data, &file]);
        if !has_words {
            command.env_remove("SERVICE_STATUS_WORDS");
        }
        let checked = command.output().unwrap();
        (checked.status.code(), String::from_utf8(checked.stderr).unwrap())
    };
    let expected = format!("estimate with 200 stored transactions: {} units of fuel", saved["fuel"]);
    let ((_, with), (_, without)) = (printed(true), printed(false));
    // Without its words no payment is settled, so there is none to compare.
    let is_so = |printed: &str| printed.contains(&expected);
    assert!(is_so(&with) && !is_so(&without), "{expected}: {}, {}", is_so(&with), is_so(&without));
    std::fs::write(home.at("words"), "gebucht\n").unwrap();
    let (code, words) = printed(true);
    assert!(code == Some(1) && words.contains("SERVICE_STATUS_WORDS"), "{words}");
}

#[test]
fn the_operator_grants_scans_and_memory() {
    let home =
        home(r#"{ "source": "api", "profile": "untrusted", "scans": 900000, "history_bytes": 100000 }"#);
    let service = Service::start(&home);
    pay(&service, "p", N_STORED);
    let saved = service.save(&scan("granted")).expect(201);
    assert!(saved["estimate"]["fuel"].as_u64().unwrap() > 100_000, "{saved}");
    let estimate = check_refused(&service, &many_series("large"), "`history_bytes`");
    assert!(estimate["history_bytes"].as_u64().unwrap() > 100_000, "{estimate}");
}

#[test]
fn the_shipped_rules_need_no_grant_and_take_what_check_tells() {
    let home = home(r#"{ "source": "api" }"#);
    let service = Service::start(&home);
    pay(&service, "p", N_STORED);
    let mut n_saved = 0;
    for path in repository::files("rules", ".ws") {
        let saved = service.save(&repository::read(&path));
        assert_eq!(saved.status, 201, "{}: {}", repository::relative(&path), saved.text());
        n_saved += 1;
    }
    assert!(n_saved > 60, "{n_saved}");
    let rules = repository::root().join("rules").display().to_string();
    let checked =
        home.command(&["check", "--stored", &home.data().display().to_string(), &rules]).output().unwrap();
    let printed = String::from_utf8(checked.stderr).unwrap();
    let total = printed.lines().find(|line| line.starts_with("all ")).unwrap();
    let words: Vec<&str> = total.split(' ').collect();
    let index = words.iter().position(|word| *word == "MiB").unwrap();
    let estimated = words[index - 1].parse::<u64>().unwrap() << 20;
    let taken = metric(&service, "tollgate_history_resident_bytes");
    assert!((taken * 3 / 4..=taken * 5 / 4).contains(&estimated), "{total}; taken: {taken} bytes");
}

#[test]
fn a_rule_in_force_stays_active_whatever_it_costs() {
    let home = home(r#"{ "source": "api", "profile": "untrusted" }"#);
    let service = Service::start(&home);
    let id = service.save(&scan("early")).expect(201)["id"].clone();
    pay(&service, "p", N_STORED / 8);
    service.stop();
    let service = Service::start(&home);
    assert_eq!(service.get(&format!("/instructions/{id}")).expect(200)["status"], "active");
}

#[test]
fn a_rule_whose_history_does_not_fit_never_comes_into_force() {
    let mut home = home(r#"{ "source": "api" }"#);
    home.set("SERVICE_MEMORY_LIMIT", "4MiB");
    home.set("SERVICE_KEYS_ON_DISK", "false");
    let service = Service::start(&home);
    pay(&service, "p", N_STORED);
    let estimate = check_refused(&service, &many_series("large"), "does not fit");
    assert!(estimate["kept_bytes"].as_u64().unwrap() > 4 << 20, "{estimate}");
    pay(&service, "q", 80);
    assert_eq!(service.get("/instructions").expect(200).as_array().unwrap().len(), 1);
}

#[test]
fn when_memory_runs_out_rules_of_the_api_are_suspended_and_no_payment_is_refused() {
    let mut home = home(r#"{ "source": "api" }"#);
    home.set("SERVICE_MEMORY_LIMIT", "8MiB");
    home.set("SERVICE_KEYS_ON_DISK", "false");
    let service = Service::start(&home);
    let small = sample::rule("small", r#"count(when destination == $current.destination, "PT1H") > 1000000"#);
    let small = service.save(&small).expect(201)["id"].clone();
    let large = service.save(&many_series("large")).expect(201)["id"].clone();
    let status = |id: &Value| service.get(&format!("/instructions/{id}")).expect(200)["status"].clone();
    pay_while(&service, || status(&large) == "active");
    assert_eq!(status(&large), "suspended");
    let held = service.get(&format!("/instructions/{large}")).expect(200);
    assert_eq!(held["quarantine"]["cause"], "memory");
    let judged = service.inject(&sample::transaction("after")).expect(200);
    assert_eq!(judged["verdict"], "review");
    service.until("the memory is free", || {
        metric(&service, "tollgate_history_resident_bytes") < 8 << 20
            && service.get("/readyz").text().contains("suspended")
    });
    for id in [&json!(1), &small] {
        assert_eq!(status(id), "active");
    }
    service.stop();
    let service = Service::start(&home);
    let again = service.get(&format!("/instructions/{large}")).expect(200);
    assert_eq!(again["status"], "suspended");
    let refused = service.post(&format!("/instructions/{large}/release"), &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (403, "too_expensive"), "{}", refused.text());
    assert_eq!(service.delete(&format!("/instructions/{large}")).status, 204);
    let last = service.inject(&sample::transaction("last"));
    assert_eq!(last.expect(200)["verdict"], "approve", "{}", last.text());
    service.stop();
    tollgate_tests::audit::replay(&home).all_follow();
}

/// Sends payments with new keys, and with keys that all share, as long as this holds. None is refused.
fn pay_while(service: &Service, holds: impl Fn() -> bool) {
    let mut n_paid = 0;
    while holds() {
        assert!(n_paid < 100, "nothing is suspended");
        thread::scope(|scope| {
            for at in 0..N_CLIENTS {
                let client = service.client();
                scope.spawn(move || {
                    for n in 0..100 {
                        let id = format!("{n_paid}-{at}-{n}");
                        let shared = (0..6).map(|n| (format!("shared{n}"), json!(n % 2)));
                        let mut metadata: Map<String, Value> = shared.collect();
                        metadata.insert("device".to_owned(), json!(id));
                        metadata.insert("order".to_owned(), json!({"id": id}));
                        let sent = sample::with(&sample::transaction(&id), &json!({"meta_data": metadata}));
                        assert_eq!(client.inject(&sent).status, 200);
                    }
                });
            }
        });
        n_paid += 1;
    }
}

#[test]
fn the_rule_that_needs_the_memory_is_suspended_before_small_ones_that_came_later() {
    let mut home = home(r#"{ "source": "api" }"#);
    home.set("SERVICE_MEMORY_LIMIT", "8MiB");
    home.set("SERVICE_KEYS_ON_DISK", "false");
    let service = Service::start(&home);
    let save = |script: &str| service.save(script).expect(201)["id"].clone();
    let old = save(&many_series("old"));
    let small = |n: usize| {
        let field = format!("meta_data.shared{n}");
        let condition = format!(r#"count(when {field} == $current.{field}, "PT1H") > 1000000"#);
        save(&sample::rule(&format!("small{n}"), &condition))
    };
    let young: Vec<Value> = (0..6).map(small).collect();
    let status = |id: &Value| service.get(&format!("/instructions/{id}")).expect(200)["status"].clone();
    pay_while(&service, || status(&old) == "active" && young.iter().all(|id| status(id) == "active"));
    service.until("the memory is free", || metric(&service, "tollgate_history_resident_bytes") < 8 << 20);
    assert_eq!(status(&old), "suspended");
    for id in &young {
        assert_eq!(status(id), "active");
    }
}
