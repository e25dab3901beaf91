//! A capture below the authorised amount under one id: a numbered change of the payment.

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, Home, Service, audit, sample};

/// A rule that says whether the account paid exactly this sum, for several sums.
fn home() -> Home {
    let rules: Vec<_> = [100, 60, 40, 25]
        .iter()
        .map(|sum| {
            let name = format!("sum_{sum}");
            let condition = format!(r#"sum(amount when source == $current.meta_data.asks, "P1D") == {sum}"#);
            (format!("{name}.ws"), sample::rule(&name, &condition))
        })
        .collect();
    Home::with_rules(&rules)
}

fn payment(id: &str, amount: &Value, status: &str) -> Value {
    json!({
        "transaction_id": id, "amount": amount, "currency": "EUR", "reference": "r", "source": id, "destination": "shop",
        "status": status, "created_at": "2026-01-01T00:00:00Z",
    })
}

fn tell(client: &Client, id: &str, amount: &Value, status: &str) -> Answer {
    let event = json!({"event": "transaction.updated", "data": payment(id, amount, status)});
    client.post("/ledgerwebhook", &event)
}

/// Returns the rules that match a question about the payments of an account.
fn asked(client: &Client, id: &str, n: usize) -> Vec<String> {
    let fields = json!({"created_at": "2026-01-01T00:00:01Z", "meta_data": {"asks": id}});
    client.inject(&sample::with(&sample::transaction(&format!("probe-{id}-{n}")), &fields)).triggered()
}

#[track_caller]
fn check(client: &Client, id: &str, amount: &str, status: &str) {
    let found = client.transaction(id);
    assert!(found.text().contains(&format!(r#""amount":{amount},"#)), "{}", found.text());
    assert_eq!(found.at("/status"), status);
}

#[test]
fn a_capture_below_the_authorised_amount_changes_what_rules_count_from_its_number_on() {
    let home = home();
    let service = Service::start(&home);
    let authorised = service.inject(&payment("p", &json!(100), "authorized")).expect(200);
    assert_eq!(asked(&service, "p", 0), ["sum_100"]);
    for _ in 0..2 {
        assert_eq!(tell(&service, "p", &json!(60), "settled").status, 200);
        check(&service, "p", "60", "settled");
    }
    assert_eq!(asked(&service, "p", 1), ["sum_60"]);
    // The authorisation told again changes nothing, and a later status keeps the amount.
    assert_eq!(tell(&service, "p", &json!(100), "authorized").status, 200);
    assert_eq!(tell(&service, "p", &json!(60), "refunded").status, 200);
    check(&service, "p", "60", "refunded");
    assert_eq!(asked(&service, "p", 2), ["sum_60"]);
    let updates = service.get("/transactions/p/status-updates").expect(200)["status_updates"].clone();
    let amounts = |update: &Value| (update["amount_before"].clone(), update["amount_after"].clone());
    assert_eq!(amounts(&updates[0]), (json!(100), json!(60)));
    assert_eq!(amounts(&updates[1]), (json!(60), json!(60)));
    assert_eq!(service.inject(&payment("p", &json!(100), "authorized")).expect(200), authorised);
    service.kill();
    // From the store alone as well: the new rule reads what the others have.
    home.remove_history();
    let rule = sample::rule(
        "sixty",
        r#"sum(when source == $current.meta_data.asks and status == "refunded", "P2D") == 60"#,
    );
    home.write_rule("sixty.ws", rule);
    let service = Service::start(&home);
    check(&service, "p", "60", "refunded");
    let mut triggered = asked(&service, "p", 3);
    triggered.sort();
    assert_eq!(triggered, ["sixty", "sum_60"]);
    drop(service.stop());
    audit::replay(&home).all_follow();
}

#[test]
fn an_amount_never_grows_and_no_caller_lowers_it() {
    let service = Service::start(&home());
    assert_eq!(service.inject(&payment("p", &json!(100), "authorized")).status, 200);
    for (amount, status) in
        [(60, "pending"), (60, "void"), (60, "failed"), (101, "settled"), (0, "settled"), (-60, "settled")]
    {
        let answer = tell(&service, "p", &json!(amount), status);
        assert_eq!((answer.status, answer.at("/field")), (409, json!("amount")), "{amount} {status}");
    }
    assert_eq!(tell(&service, "p", &json!(60), "settled").status, 200);
    assert_eq!(tell(&service, "p", &json!(70), "settled").status, 409);
    assert_eq!(tell(&service, "p", &json!(40), "settled").status, 200);
    let injected = service.inject(&payment("p", &json!(25), "settled"));
    assert_eq!((injected.status, injected.at("/field")), (409, json!("amount")));
    check(&service, "p", "40", "settled");
    assert_eq!(asked(&service, "p", 0), ["sum_40"]);
    // Another account is another payment, whatever the amount.
    let other = sample::with(&payment("p", &json!(30), "settled"), &json!({"destination": "thief"}));
    let answer = service.post("/ledgerwebhook", &json!({"event": "transaction.settled", "data": other}));
    assert_eq!((answer.status, answer.at("/field")), (409, json!("destination")));
}
