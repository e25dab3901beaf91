//! Rules ask for the stage of a payment, whatever word the ledger has for it.

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, audit, sample};

fn home() -> Home {
    let of_source = "source == $current.source";
    let rules = [
        ("settled", r#"stage == "Settled""#.to_owned()),
        ("unmoved", r#"stage in ("failed", "expired", "void")"#.to_owned()),
        ("other", r#"stage == "other""#.to_owned()),
        ("moving", r#"stage not_in ("settled", "failed")"#.to_owned()),
        ("counted", format!(r#"count(when {of_source} and stage == "settled", "P1D") >= 2"#)),
        ("key", r#"count(when stage == $current.stage, "P1D") >= 1"#.to_owned()),
        ("filtered", format!(r#"sum(amount when {of_source} and stage != "settled", "P1D") >= 10"#)),
        (
            "matched",
            r#"previous_transaction(within: "P1D", match: { source: $current.source, stage: "returned" })"#
                .to_owned(),
        ),
        ("several", format!(r#"distinct(stage when {of_source}, "P1D") >= 3"#)),
    ];
    let files: Vec<_> =
        rules.iter().map(|(name, when)| (format!("{name}.ws"), sample::rule(name, when))).collect();
    Home::with_rules(&files)
}

fn payment(id: &str, status: Option<&str>) -> Value {
    let fields = json!({"source": "acc-1", "created_at": "2026-01-01T00:00:00Z"});
    let payment = sample::with(&sample::transaction(id), &fields);
    status.map_or(payment.clone(), |status| sample::with(&payment, &json!({ "status": status })))
}

#[track_caller]
fn check(client: &Client, id: &str, status: Option<&str>, expected: &[&str]) {
    let mut names = client.inject(&payment(id, status)).triggered();
    names.sort();
    assert_eq!(names, expected, "{id}: {status:?}");
}

#[test]
fn a_rule_sees_the_stage_of_a_payment_in_the_words_of_any_ledger() {
    let home = home();
    let service = Service::start(&home);
    check(&service, "t1", Some("captured"), &["settled"]);
    check(&service, "t2", Some("ACSC"), &["key", "settled"]);
    check(&service, "t3", Some("on the desk"), &["counted", "moving", "other"]);
    check(&service, "t4", None, &["counted", "filtered"]);
    check(&service, "t5", Some("Refused"), &["counted", "filtered", "unmoved"]);
    let event = json!({"event": "transaction.chargeback", "data": payment("t1", Some("captured"))});
    assert_eq!(service.post("/ledgerwebhook", &event).status, 200);
    check(&service, "t6", Some("held"), &["filtered", "matched", "moving", "several"]);
    service.stop();
    // The stages of the stored payments are the same after a restart.
    let service = Service::start(&home);
    check(&service, "t7", Some("HELD"), &["filtered", "key", "matched", "moving", "several"]);
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), 7);
}

#[test]
fn a_word_that_is_no_stage_is_warned_of() {
    let service = Service::start(&Home::new());
    let saved = service.save(&sample::rule("named", r#"stage == "applied""#)).expect(201);
    assert_eq!(saved["warnings"][0]["code"], json!("W510"), "{saved}");
}
