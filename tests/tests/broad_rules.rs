//! A rule that would stop most transactions: a warning of the save, and a refusal where the operator asks for one.

use serde_json::{Value, json};
use tollgate_tests::{Answer, Home, Service, sample};

const N_PAYMENTS: usize = 120;

/// Starts a service that has judged payments of 1 to 120, by ten accounts.
fn service(home: &Home, n_payments: usize) -> Service {
    let service = Service::start(home);
    for number in 1..=n_payments {
        let changes = json!({ "amount": number, "source": format!("acc-{}", number % 10) });
        let answer = service.inject(&sample::with(&sample::transaction(&format!("t{number}")), &changes));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    service
}

fn script(name: &str, condition: &str, verdict: &str) -> String {
    format!("rule {name} {{\n  when {condition}\n  then {verdict} score 0.5 reason \"r\"\n}}\n")
}

fn save(service: &Service, query: &str, script: &str) -> Answer {
    service.post(&format!("/compile-and-save-instruction{query}"), &json!({ "script": script }))
}

/// Conditions and verdicts, each with the warning of a save.
const RULES: [(&str, &str, &str, Option<&str>); 7] = [
    ("all", "amount > 0", "block", Some("120 of 120")),
    ("most", "amount > 59", "review", Some("61 of 120")),
    ("half", "amount > 60", "review", None),
    ("none", "amount < 0", "deny", None),
    ("mild", "amount > 0", "alert", None),
    ("allowing", "amount > 0", "allow", None),
    ("frequent", "count(when source == $current.source, \"PT1H\") >= 3", "review", Some("90 of 120")),
];

#[test]
fn a_save_tells_of_a_rule_that_would_have_matched_most_transactions() {
    let service = service(&Home::new(), N_PAYMENTS);
    for (name, condition, verdict, warning) in RULES {
        let script = script(name, condition, verdict);
        let checked = service.post("/instructions/check", &json!({ "script": script, "estimate": true }));
        assert_eq!(checked.at("/would_have_matched"), json!(warning), "{name}: {}", checked.text());
        let saved = save(&service, "", &script);
        assert_eq!(
            (saved.status, saved.at("/would_have_matched")),
            (201, json!(warning)),
            "{name}: {}",
            saved.text()
        );
        let read = service.get(&format!("/instructions/{}", saved.at("/id")));
        assert_eq!(read.at("/would_have_matched"), Value::Null, "only a save tells it");
        let path = format!("/instructions/{}", saved.at("/id"));
        let replaced =
            service.put(&path, "application/json", json!({ "script": script }).to_string().as_bytes());
        assert_eq!((replaced.status, replaced.at("/would_have_matched")), (200, json!(warning)), "{name}");
    }
    let plain =
        service.post("/instructions/check", &json!({ "script": script("other", "amount > 0", "block") }));
    assert_eq!(plain.at("/would_have_matched"), Value::Null, "a check without an estimate tries nothing");
}

#[test]
fn few_transactions_say_nothing_about_a_rule() {
    let service = service(&Home::new(), 99);
    assert_eq!(
        save(&service, "", &script("all", "amount > 0", "block")).at("/would_have_matched"),
        Value::Null
    );
}

#[test]
fn a_broad_rule_waits_for_its_confirmation_where_the_operator_asks_for_one() {
    let mut home = Home::new();
    home.set("SERVICE_CONFIRM_BROAD_RULES", "true");
    let service = service(&home, N_PAYMENTS);
    let broad = script("all", "amount > 0", "block");
    for query in ["", "?confirm=false"] {
        let refused = save(&service, query, &broad);
        assert_eq!((refused.status, refused.code()), (409, "confirmation_required".to_owned()), "{query}");
        assert!(refused.at("/error").as_str().unwrap().contains("120 of 120"), "{}", refused.text());
    }
    assert_eq!(service.get("/instructions").expect(200), json!([]), "nothing is saved");
    let frequent = script("frequent", "count(when source == $current.source, \"PT1H\") >= 3", "review");
    assert_eq!(save(&service, "", &frequent).code(), "confirmation_required");
    let saved = save(&service, "?confirm=true", &broad);
    assert_eq!((saved.status, saved.at("/would_have_matched")), (201, json!("120 of 120")));
    let narrow = save(&service, "", &script("narrow", "amount > 100", "block"));
    assert_eq!(narrow.status, 201, "{}", narrow.text());
    let path = format!("/instructions/{}", narrow.at("/id"));
    let body = json!({ "script": script("narrow", "amount > 1", "block") }).to_string();
    let refused = service.put(&path, "application/json", body.as_bytes());
    assert_eq!((refused.status, refused.code()), (409, "confirmation_required".to_owned()));
    assert_eq!(service.put(&format!("{path}?confirm=true"), "application/json", body.as_bytes()).status, 200);
    home.write_rule("of_file.ws", script("of_file", "amount > 0", "block"));
    service.until("the rule of the file is in force", || {
        service.get("/instructions").text().contains("of_file")
    });
}
