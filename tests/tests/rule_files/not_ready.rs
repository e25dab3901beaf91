//! Payments while the service is not ready: they are held for review, and a replay derives that.

use std::fs;

use serde_json::{Value, json};
use tollgate_tests::{Answer, Home, Service, audit, sample};

/// Makes a home ready.
type Repair = fn(&Home);

fn with_too_few_rules() -> Home {
    let mut home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1000"))]);
    home.set("SERVICE_RULES_REQUIRED", "2");
    home
}

fn add_a_rule(home: &Home) {
    home.write_rule("b.ws", sample::rule("b", "amount > 1000"));
}

fn without_its_directory() -> Home {
    let home = Home::new();
    fs::remove_dir(home.rules()).unwrap();
    home
}

fn without_its_repository() -> Home {
    let mut home = Home::new();
    home.set("WATCH_SCRIPT_GIT_REPO", &format!("file://{}", home.at("missing").display()));
    home
}

fn event(id: &str, event: &str, status: &str) -> Value {
    let fields = json!({"transaction_id": id, "status": status});
    json!({"event": event, "data": sample::with(&sample::transaction(id), &fields)})
}

fn held(check: &str) -> Value {
    json!([{"instruction_id": 0, "name": check, "failure": "not_ready"}])
}

#[track_caller]
fn check_judged(answer: &Answer, verdict: &str, failures: &Value) {
    let judged = answer.expect(200);
    assert_eq!((&judged["verdict"], &judged["failures"]), (&json!(verdict), failures), "{judged}");
}

/// Holds payments of every intake while this check is failing, also over a restart.
#[track_caller]
fn check_held(home: &Home, check: &str, repair: Option<Repair>) {
    let service = Service::listen(home);
    assert_eq!(service.get("/readyz").status, 503);
    let first = service.inject_admitted(&sample::transaction("inject"));
    check_judged(&first, "review", &held(check));
    assert!(first.at("/reason").as_str().unwrap().contains(&format!("check `{check}`")), "{}", first.text());
    drop(service.post("/ledgerwebhook", &event("event", "transaction.created", "pending")).expect(200));
    check_judged(&service.transaction("event"), "review", &held(check));
    service.kill();

    let service = Service::listen(home);
    check_judged(&service.inject_admitted(&sample::transaction("again")), "review", &held(check));
    assert_eq!(service.inject(&sample::transaction("inject")).text(), first.text(), "a verdict stays");
    drop(service.post("/ledgerwebhook", &event("event", "transaction.applied", "applied")).expect(200));
    assert_eq!(service.transaction("event").at("/status"), "applied");
    let mut n_verdicts = 3;
    if let Some(repair) = repair {
        repair(home);
        service.until("it is ready", || service.get("/readyz").status == 200);
        let (ready, n_sent) = service.inject_until_approved("ready");
        check_judged(&ready, "approve", &json!([]));
        n_verdicts += n_sent as u64;
    }
    assert_eq!(audit::replay(home).all_follow(), n_verdicts);
}

#[test]
fn a_failing_check_of_the_rules_holds_every_new_payment_for_review() {
    check_held(&with_too_few_rules(), "rules", Some(add_a_rule));
    check_held(
        &without_its_directory(),
        "rules_directory",
        Some(|home| fs::create_dir(home.rules()).unwrap()),
    );
    check_held(&without_its_repository(), "git", None);
}

#[test]
fn injects_are_refused_where_the_operator_wants_that_and_known_payments_are_answered() {
    let mut home = with_too_few_rules();
    let service = Service::listen(&home);
    let known = service.inject(&sample::transaction("known"));
    service.kill();
    home.set("SERVICE_WHEN_NOT_READY", "refuse");
    let service = Service::listen(&home);
    let refused = service.inject(&sample::transaction("new"));
    assert_eq!((refused.status, refused.code().as_str()), (503, "not_ready"), "{}", refused.text());
    assert!(
        refused.header("retry-after").is_some() && refused.text().contains("`rules`"),
        "{}",
        refused.text()
    );
    assert_eq!(service.transaction("new").status, 404);
    assert_eq!(service.inject(&sample::transaction("known")).text(), known.text());
    drop(service.post("/ledgerwebhook", &event("known", "transaction.applied", "applied")).expect(200));
    assert_eq!(service.transaction("known").at("/status"), "applied");
    // An event that is refused could be lost.
    drop(service.post("/ledgerwebhook", &event("event", "transaction.created", "pending")).expect(200));
    check_judged(&service.transaction("event"), "review", &held("rules"));
    add_a_rule(&home);
    service.until("it is ready", || service.get("/readyz").status == 200);
    check_judged(&service.inject(&sample::transaction("new")), "approve", &json!([]));
    assert_eq!(audit::replay(&home).all_follow(), 3);
}

#[test]
fn verdicts_are_those_of_the_rules_where_the_operator_wants_that() {
    let mut home = with_too_few_rules();
    home.set("SERVICE_WHEN_NOT_READY", "approve");
    let service = Service::listen(&home);
    assert_eq!(service.get("/readyz").status, 503);
    check_judged(&service.inject(&sample::transaction("t")), "approve", &json!([]));
}

#[test]
fn a_rule_that_is_required_cannot_be_removed_over_the_api() {
    let mut home = Home::new();
    home.set("SERVICE_RULES_REQUIRED", "1");
    let service = Service::listen(&home);
    let path = |saved: &Answer| format!("/instructions/{}", saved.expect(201)["id"]);
    let first = path(&service.save(&sample::rule("first", "amount > 1000")));
    service.until("it is ready", || service.get("/readyz").status == 200);
    let refused = service.delete(&first);
    assert_eq!((refused.status, refused.code().as_str()), (409, "too_few_rules"), "{}", refused.text());
    drop(path(&service.save(&sample::rule("second", "amount > 1000"))));
    assert_eq!(service.delete(&first).status, 204);
    check_judged(&service.inject(&sample::transaction("t")), "approve", &json!([]));
}
